"""``ctx`` is killed at random moments beside a real backend; called again, it completes what it began (CX-122)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from tests.core.notes import wait_until
from tests.cortex_chain.deployment import PATIENCE, Deployment, Developer
from tests.cortex_cli.forge_stub import StubForge
from tests.cortex_cli.stub_server import running

KILLS: Final = int(os.environ.get("CORTEX_KILLS", "6"))
"""How often ``ctx`` is killed in all; a long run sets more."""

MARK: Final = "CTX_TEST_MARK"
"""A variable by which a command and all that it started are found."""

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are found by /proc")


class Killer:
    """Goes through the lives of tasks, each with a pull request on a forge, and ends ``ctx`` at random moments."""

    def __init__(self, deployment: Deployment, ada: Developer, forge: StubForge, seed: int) -> None:
        self.deployment = deployment
        self.ada = ada
        self.forge = forge
        self.random = random.Random(seed)
        self.usual: dict[str, float] = {}
        """how long a step takes, in seconds"""
        ada.environment["GH_ENTERPRISE_TOKEN"] = "secret"

    def kill(self, step: tuple[str, ...], number: int) -> None:
        """Begin a step and end it after a random time; return once nothing of it is left."""
        mark = uuid4().hex
        with self.ada.begin(*step, "--json", **{MARK: mark}) as process:
            try:
                process.wait(self.random.uniform(0, 1.1 * self.usual[step[1]]))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, number)
            said = process.communicate(timeout=PATIENCE)
        wait_until(lambda: not any(map(marked_with(mark), processes())))
        wait_until(lambda: not locks_in(self.deployment.remote))  # the server of git may still be at it
        left = locks_in(self.ada.here / ".git")
        assert number == signal.SIGKILL or left == [], said
        for lock in left:
            lock.unlink()  # as the error asks the person to

    def step(self, number: int | None, *step: str) -> dict[str, Any]:
        """Run a step to its end and return its answer; with a signal, it is ended once before."""
        if number is not None:
            self.kill(step, number)
        began = time.monotonic()
        answer = self.ada.ctx(*step)
        self.usual[step[1]] = time.monotonic() - began
        # Killed after its last step, "done" has left nothing to be done again.
        is_left = step[1] == "done" and answer.get("code") == "NotATaskBranch"
        assert answer["success"] or is_left, answer
        return answer

    def work(self, number: int | None = None) -> None:
        """Go through the life of a new task, and check after each step that backend, forge and git agree."""
        deployment, ada, word = self.deployment, self.ada, uuid4().hex
        task_id = deployment.new_task("Look")["id"]
        self.forge.pulls.clear()
        base = deployment.at_remote("rev-parse", "main")
        branch = self.step(number, "tasks", "start", str(task_id))["branch"]
        task = deployment.task(task_id)
        assert (task["status"], task["branch_name"], ada.branch) == ("IN_PROGRESS", branch, branch)
        assert task["assignee"]["name"] == "Ada"
        (ada.here / "work").write_text(word, "utf-8")
        self.step(number, "tasks", "pr", "--message", "Look")
        tip = ada.git("rev-parse", "HEAD")
        assert ada.git("rev-list", "--count", f"{base}..{branch}") == "1"
        assert (deployment.at_remote("rev-parse", branch), ada.git("show", f"{tip}:work")) == (tip, word)
        task = deployment.task(task_id)
        assert (task["status"], task["pull_request"]["number"], len(self.forge.pulls)) == ("REVIEW", 1, 1)
        assert task["pull_request"]["head_sha"] == tip
        deployment.merge(branch)
        self.step(number, "tasks", "done")
        task = deployment.task(task_id)
        assert (task["status"], task["pull_request"]["state"], ada.branch) == ("DONE", "merged", "main")
        assert ada.git("branch", "--format=%(refname:short)") == "main"
        assert (deployment.at_remote("rev-parse", branch), deployment.at_remote("show", "main:work")) == (tip, word)
        kinds = deployment.kinds(task_id)
        assert (kinds.count("pr_opened"), kinds.count("pr_merged")) == (1, 1)
        # Ended by SIGTERM after it had asked the backend, "start" takes that back.
        assert kinds.count("status_changed") in ({3, 5} if number == signal.SIGTERM else {3})


def processes() -> Iterator[int]:
    """Yield the ids of all processes."""
    yield from (int(name) for name in os.listdir("/proc") if name.isdecimal())


def marked_with(mark: str) -> Callable[[int], bool]:
    """Return whether a process has the mark in its environment."""

    def is_marked(process: int) -> bool:
        try:
            return f"{MARK}={mark}".encode() in Path(f"/proc/{process}/environ").read_bytes()
        except OSError:
            return False  # it has ended

    return is_marked


def locks_in(repository: Path) -> list[Path]:
    """Return the locks of git that are left."""
    return [path for path in repository.rglob("*.lock") if path.name != "cortex.lock"]


@pytest.fixture
def killer(deployment: Deployment, ada: Developer) -> Iterator[Killer]:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    with running() as server:
        ada.git("config", "cortex.forge", "github")
        ada.git("config", "cortex.forgeUrl", server.origin)
        made = Killer(deployment, ada, StubForge(server, "github", "", "web"), seed)
        made.work()
        yield made


@pytest.mark.requirement("CX-122", "CX-101", "CX-121")
def test_ctx_that_was_killed_completes_its_work_when_it_is_called_again(killer: Killer) -> None:
    for _ in range(max(1, KILLS // 6)):
        for number in (signal.SIGTERM, signal.SIGKILL):
            killer.work(number)
    assert killer.forge.faults == []

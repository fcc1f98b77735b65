"""``ctx`` is killed at random moments; called again, it completes what it began (CX-122)."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

import pytest

from tests.core.notes import wait_until
from tests.cortex_cli.forge_stub import StubForge
from tests.cortex_cli.stand_in import running
from tests.cortex_cli.workshop import BRANCH, Workshop

PATIENCE: Final = 120.0
"""Seconds that a command may take on a slow machine."""

MARK: Final = "CTX_TEST_MARK"
"""A variable by which a command and all that it started are found."""

STEPS: Final = (
    ("tasks", "start", "42", "--json"),
    ("tasks", "pr", "--json", "--message", "Fix it"),
    ("tasks", "done", "--json"),
)


class Killer:
    """Runs ``ctx`` in a workshop with a forge, to its end or to a random moment."""

    def __init__(self, workshop: Workshop, forge: StubForge, folder: Path, seed: int) -> None:
        self.workshop = workshop
        self.forge = forge
        self.random = random.Random(seed)
        self.usual: dict[str, float] = {}
        """how long a step takes, in seconds"""
        self.environment = {
            **workshop.environment,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "CTX_CONFIG_DIR": str(folder),
            "CTX_URL": workshop.board.server.origin,
            "CTX_TOKEN": "t",
            "GH_TOKEN": "secret",
        }

    def begin(self, step: tuple[str, ...], mark: str = "") -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "cortex_cli", *step],
            cwd=self.workshop.here,
            env={**self.environment, MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, step: tuple[str, ...]) -> dict[str, Any]:
        """Run a step to its end and return its answer."""
        began = time.monotonic()
        out, err = self.begin(step).communicate(timeout=PATIENCE)
        self.usual[step[1]] = time.monotonic() - began
        assert err == ""
        answer: dict[str, Any] = json.loads(out)
        return answer

    def kill(self, step: tuple[str, ...], number: int) -> None:
        """Begin a step and end it after a random time; return once nothing of it is left."""
        mark = uuid4().hex
        with self.begin(step, mark) as process:
            try:
                process.wait(self.random.uniform(0, 1.1 * self.usual[step[1]]))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, number)
            sent = time.monotonic()
            said = process.communicate(timeout=PATIENCE)
        wait_until(lambda: not any(map(self.is_marked(mark), processes())))
        if number == signal.SIGTERM:
            assert self.locks() == [], (time.monotonic() - sent, said, process.returncode)
        for lock in self.locks():
            lock.unlink()  # as the error asks the person to

    def locks(self) -> list[Path]:
        folders = (self.workshop.here / ".git", self.workshop.there)
        return [path for folder in folders for path in folder.rglob("*.lock") if path.name != "cortex.lock"]

    @staticmethod
    def is_marked(mark: str) -> Any:  # noqa: ANN401 - a predicate
        return lambda process: f"{MARK}={mark}".encode() in environment_of(process)

    def reset(self) -> None:
        """Let the task be a new one."""
        self.workshop.git("switch", "--quiet", "main")
        self.workshop.git("branch", "-D", BRANCH, check=False)
        self.workshop.git("push", "--quiet", "origin", f":refs/heads/{BRANCH}", check=False)
        self.workshop.git("fetch", "--quiet", "--prune")
        self.workshop.board.set(status="TODO", assignee=None, branch_name=None, pull_request=None)
        self.workshop.board.history.clear()
        self.forge.pulls.clear()

    def work(self, number: int | None) -> None:
        """Go through the life of a task; with a signal, each step is ended once before it is run to its end."""
        shop = self.workshop
        start, submit, finish = STEPS
        self.step(start, number)
        assert shop.git("symbolic-ref", "--short", "HEAD") == BRANCH
        assert shop.board.task["status"] == "IN_PROGRESS"
        (shop.here / "work").write_text(uuid4().hex)
        base = shop.git("rev-parse", "origin/main")
        self.step(submit, number)
        assert shop.git("rev-list", "--count", f"{base}..{BRANCH}") == "1"
        assert shop.at_remote("rev-parse", BRANCH) == shop.git("rev-parse", BRANCH)
        assert (shop.board.task["status"], len(self.forge.pulls)) == ("REVIEW", 1)
        shop.merge_at_remote(how="squash")
        self.step(finish, number)
        assert shop.git("symbolic-ref", "--short", "HEAD") == "main"
        assert shop.board.task["status"] == "DONE"

    def step(self, step: tuple[str, ...], number: int | None) -> None:
        if number is not None:
            self.kill(step, number)
        answer = self.run(step)
        # Killed between its last two steps, "done" has left the branch, and there is nothing more to find it by.
        is_left = step[1] == "done" and answer.get("code") == "NotATaskBranch"
        assert answer["success"] or is_left, answer


def processes() -> Iterator[int]:
    """Yield the ids of all processes."""
    yield from (int(name) for name in os.listdir("/proc") if name.isdecimal())


def environment_of(process: int) -> bytes:
    """Return the environment of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{process}/environ").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def killer(workshop: Workshop, tmp_path: Path) -> Iterator[Killer]:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    (tmp_path / "config").mkdir(mode=0o700, exist_ok=True)
    path = str(workshop.there).removesuffix(".git")
    with running() as server:
        workshop.git("config", "cortex.forge", "github")
        workshop.git("config", "cortex.forgeUrl", server.origin)
        forge = StubForge(server, "github", BRANCH, quote(path))
        made = Killer(workshop, forge, tmp_path / "config", seed)
        made.work(None)
        made.reset()
        yield made


SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["TERM", "KILL"])
LINUX = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are found by /proc")


@LINUX
@SIGNALS
@pytest.mark.requirement("CX-122", "CX-101")
def test_a_few_kills_lose_nothing(killer: Killer, number: int) -> None:
    for _ in range(3):
        killer.work(number)
        killer.reset()


@LINUX
@SIGNALS
@pytest.mark.long
@pytest.mark.requirement("CX-122")
def test_a_thousand_kills_lose_nothing(killer: Killer, number: int) -> None:
    for _ in range(167):
        killer.work(number)
        killer.reset()

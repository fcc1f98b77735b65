"""The claim of a command ends with the client that has run it, as the system tells (AG-13)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.core.claim_team import Team
from tests.processes import ending

pytestmark = [
    pytest.mark.requirement("AG-13"),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux says when a process has started"),
]

CLIENT = "import subprocess, sys; print(subprocess.call(sys.argv[1:], stdout=2), flush=True); sys.stdin.read()"


@contextmanager
def running_client(tmp_path: Path, *command: str) -> Iterator[subprocess.Popen[str]]:
    """Let a client run a command, and wait until that has ended."""
    client = tmp_path / "codex"
    client.symlink_to(os.path.realpath(sys.executable))
    environment = {**os.environ, "TASK_STORE": f"json:{tmp_path / 'tasks'}"}
    words, pipe = [str(client), "-c", CLIENT, sys.executable, "-m", "tasks_v1_mcp", *command], subprocess.PIPE
    with ending(subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)) as running:
        assert running.stdout
        assert running.stdout.readline() == "0\n"
        yield running


async def test_the_claim_of_a_command_ends_when_its_client_is_killed(tmp_path: Path) -> None:
    agent = Team(tmp_path).join()
    task, other = await agent.create(), await agent.create("Another")
    with running_client(tmp_path, "start", task, "--claim") as running:
        assert "(claimed by Codex since" in (await agent.call("brief"))["brief"]
        assert (await agent.call("claim_task"))["claim"]["task"] == other
        running.kill()
    assert (await agent.call("claim_task"))["claim"]["task"] == task

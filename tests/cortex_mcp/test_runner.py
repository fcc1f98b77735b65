"""A program is ended with what it started, however its start, its run or its runner is broken off (CX-89)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from cortex_mcp.errors import RunnerClosed
from cortex_mcp.runner import OutputTooLong, ProgramRun, Runner
from tests.core.listening import let_others_run, until
from tests.cortex_mcp.ctx_fixture import is_running
from tests.processes import ending

PATH = {"PATH": "/bin:/usr/bin"}


def program(code: str, folder: Path, message: bytes | None = b"") -> ProgramRun:
    """Return a shell that runs ``code`` and writes its process id into a file."""
    return ProgramRun(("/bin/sh", "-c", f"echo $$ > leader; {code}"), folder, PATH, None, message)


def is_quiet(folder: Path) -> bool:
    """Return whether every process has ended whose id is in a file of ``folder``."""
    return not any(is_running(int(pid)) for file in folder.iterdir() for pid in file.read_text().split())


@pytest.mark.requirement("CX-89")
@pytest.mark.parametrize("turns", range(3))
async def test_a_program_whose_call_is_cancelled_again_and_again_is_ended_with_what_it_started(
    turns: int, tmp_path: Path
) -> None:
    call = asyncio.create_task(Runner().run(program("sleep 60 & echo $! > child; wait", tmp_path)))
    for _ in range(turns):
        await asyncio.sleep(0)
    while not call.done():
        call.cancel()
        await asyncio.sleep(0)
    assert call.cancelled()
    await until(lambda: is_quiet(tmp_path))


@pytest.mark.requirement("CX-89")
async def test_a_runner_that_closes_answers_at_once_and_starts_nothing_more(tmp_path: Path) -> None:
    runner = Runner()
    call = asyncio.create_task(runner.run(program("trap '' TERM; sleep 60", tmp_path)))
    await until(lambda: (tmp_path / "leader").exists())
    runner.close()
    for refused in (call, runner.run(program("exit", tmp_path))):
        with pytest.raises(RunnerClosed):
            await refused
    await until(lambda: is_quiet(tmp_path))


@pytest.mark.requirement("CX-89")
async def test_a_program_that_heeds_no_sigterm_has_ended_before_its_call_does(tmp_path: Path) -> None:
    call = asyncio.create_task(Runner().run(program("trap '' TERM; while :; do sleep 0.1; done", tmp_path)))
    await until(lambda: (tmp_path / "leader").exists())
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert is_quiet(tmp_path)


@pytest.mark.requirement("CX-88")
async def test_a_program_that_writes_too_much_is_ended(tmp_path: Path) -> None:
    with pytest.raises(OutputTooLong):
        await Runner().run(program("trap '' PIPE; yes; sleep 60", tmp_path))
    assert is_quiet(tmp_path)


@pytest.mark.requirement("CX-89")
async def test_a_program_that_cannot_be_started_leaves_no_guard(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await Runner().run(ProgramRun(("/nonexistent",), tmp_path, PATH, None))


@pytest.mark.requirement("CX-92")
async def test_what_nobody_asks_for_stays_with_the_program_that_writes_it(tmp_path: Path) -> None:
    code = "for number in $(seq 20000); do echo line-$number; done; : > finished; sleep 60"
    followed = Runner().follow(program(code, tmp_path, message=None))
    async with aclosing(followed) as lines:  # pyrefly: ignore  # it is a generator
        for number in range(1, 10):
            assert await anext(lines) == b"line-%d\n" % number
            await let_others_run(10)
        assert not (tmp_path / "finished").exists()
    await until(lambda: is_quiet(tmp_path))


SERVER = """
import asyncio, sys
from pathlib import Path
from cortex_mcp.runner import ProgramRun, Runner
program = ("/bin/sh", "-c", "trap '' TERM; read -r _; sleep 600 & echo $$ $! > pids; wait")
asyncio.run(Runner().run(ProgramRun(program, Path(sys.argv[1]), {"PATH": "/bin:/usr/bin"}, None, b"go\\n")))
"""
"""A server whose program begins once its guard knows of it: before that, a kill leaves the program alone."""


@pytest.mark.requirement("CX-89")
def test_no_process_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with ending(subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path)])) as server:
        asyncio.run(until(lambda: pids.exists() and pids.read_text().endswith("\n")))
        server.kill()
    asyncio.run(until(lambda: is_quiet(tmp_path)))

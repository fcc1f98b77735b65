"""A program is ended with what it started, however its start, its run or its runner is broken off (CX-89)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cortex_mcp.runner import GRACE_SECONDS, ProgramRun, Runner, RunnerClosed
from tests.core.listening import Clock, until
from tests.cortex_mcp.ctx_fixture import is_running


@pytest.mark.requirement("CX-89")
@pytest.mark.parametrize("turns", range(8))
async def test_a_program_whose_start_is_cancelled_again_and_again_is_ended_with_what_it_started(
    turns: int, tmp_path: Path
) -> None:
    code = f"sleep 60 & echo $! >> {tmp_path}/child; echo $$ >> {tmp_path}/leader; wait"
    call = asyncio.create_task(Runner().run(ProgramRun(("/bin/sh", "-c", code), tmp_path, {}, None)))
    for _ in range(turns):
        await asyncio.sleep(0)
    while not call.done():
        call.cancel()
        await asyncio.sleep(0)
    assert call.cancelled()
    await until(
        lambda: not any(is_running(int(pid)) for file in tmp_path.iterdir() for pid in file.read_text().split())
    )


@pytest.mark.requirement("CX-89")
async def test_a_program_that_starts_while_its_runner_closes_is_ended(tmp_path: Path) -> None:
    runner = Runner()
    call = asyncio.create_task(runner.run(ProgramRun(("/bin/sleep", "60"), tmp_path, {}, None)))
    await asyncio.sleep(0)
    runner.close()
    with pytest.raises(RunnerClosed):
        await call


@pytest.mark.requirement("CX-89")
async def test_a_program_that_heeds_no_sigterm_has_ended_before_its_call_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock.put_into(asyncio.get_running_loop(), monkeypatch)
    written: list[bytes] = []
    code = "trap '' TERM; echo $$; while :; do sleep 0.1; done"
    program = ProgramRun(("/bin/sh", "-c", code), tmp_path, {"PATH": "/bin:/usr/bin"}, 60)
    call = asyncio.create_task(Runner().run(program, written.append))
    await until(lambda: written)
    await clock.move(60)
    await clock.move(0.05)  # it looks whether the program has ended
    assert is_running(int(written[0]))
    clock.now += GRACE_SECONDS
    await until(lambda: not is_running(int(written[0])))
    assert not call.done()
    while not call.done():
        clock.now += 0.05
        await asyncio.sleep(0)
    assert isinstance(call.exception(), TimeoutError)

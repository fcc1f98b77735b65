"""The lock of HEARTBEAT.md: calls of one process share it in rounds with one beginning and one end (C1, C2, C5)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from heartbeat_mcp.rounds import Rounds
from task_core.errors import StoreLocked
from task_core.store.lock import ProcessLock
from tests.core.notes import wait_until
from tests.heartbeat.conftest import other_holder


def nothing() -> None:
    """Begin or end a round without work."""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "HEARTBEAT.md.lock"


@pytest.fixture
def rounds(tmp_path: Path) -> Rounds:
    return Rounds(ProcessLock.beside(tmp_path / "HEARTBEAT.md"), 0.05)


def join(rounds: Rounds) -> None:
    with rounds.call(nothing, nothing):
        pass


@pytest.mark.requirement("C5", "D6")
def test_calls_that_are_under_way_together_begin_once_and_end_once(rounds: Rounds, lock: Path) -> None:
    steps: list[str] = []

    def take_part() -> None:
        with rounds.call(lambda: steps.append("begin"), lambda: steps.append("end")):
            steps.append("call")

    with ThreadPoolExecutor(3) as pool:
        with rounds.call(lambda: steps.append("begin"), lambda: steps.append("end")):
            calls = [pool.submit(take_part) for _ in range(3)]
            wait_until(lambda: steps.count("call") == 3)
            assert not any(call.done() for call in calls)
            with pytest.raises(TimeoutError):
                FileLock(lock).acquire(timeout=0)
        for call in calls:
            call.result()
    assert steps == ["begin", "call", "call", "call", "end"]
    with other_holder(lock), pytest.raises(StoreLocked):
        join(rounds)


@pytest.mark.requirement("C2")
def test_a_call_waits_no_longer_for_a_round_than_it_may(rounds: Rounds) -> None:
    def begin() -> None:
        with ThreadPoolExecutor(1) as pool, pytest.raises(StoreLocked):
            pool.submit(join, rounds).result()

    with rounds.call(begin, nothing):
        pass
    join(rounds)


@pytest.mark.requirement("C3", "D4")
@pytest.mark.parametrize("is_end", [False, True], ids=["beginning", "end"])
def test_a_round_whose_beginning_or_end_fails_leaves_the_lock_free(rounds: Rounds, lock: Path, *, is_end: bool) -> None:
    def fail() -> None:
        raise LookupError("on purpose")

    with pytest.raises(LookupError), rounds.call(*((nothing, fail) if is_end else (fail, nothing))):
        pass
    with other_holder(lock):
        pass
    join(rounds)


@pytest.mark.requirement("CLI-5", "C2")
def test_who_gives_up_waits_for_nobody(tmp_path: Path, lock: Path) -> None:
    rounds = Rounds(ProcessLock.beside(tmp_path / "HEARTBEAT.md"), 600)
    with other_holder(lock):
        rounds.give_up()
        with pytest.raises(StoreLocked):
            join(rounds)

"""The lock of HEARTBEAT.md: calls of one process share it in rounds with one beginning and one end (C1, C2, C5)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from heartbeat_mcp.mirror.lock import Rounds
from task_core.errors import StoreLocked
from task_core.files import ProcessLock
from tests.core.notes import wait_until
from tests.heartbeat.conftest import other_holder


def nothing() -> bool:
    """Begin or end a round without work."""
    return False


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "HEARTBEAT.md.lock"


def rounds_of(
    lock: Path, begin: Callable[[], object] = nothing, end: Callable[[], object] = nothing, seconds: float = 0.05
) -> Rounds:
    return Rounds(
        ProcessLock(lock), seconds, begin=lambda: (begin(), None)[1], end=lambda: end() is True, again=lambda: None
    )


def join(rounds: Rounds) -> None:
    with rounds.call():
        pass


@pytest.mark.requirement("C5", "D6")
def test_calls_that_are_under_way_together_begin_once_and_end_once(lock: Path) -> None:
    steps: list[str] = []
    rounds = rounds_of(lock, lambda: steps.append("begin"), lambda: steps.append("end"))

    def take_part() -> None:
        with rounds.call():
            steps.append("call")

    with ThreadPoolExecutor(3) as pool:
        with rounds.call():
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
def test_a_call_waits_no_longer_for_a_round_than_it_may(lock: Path) -> None:
    seen: list[str] = []

    def begin() -> None:
        if not seen:
            seen.append("first")
            with ThreadPoolExecutor(1) as pool, pytest.raises(StoreLocked):
                pool.submit(join, rounds).result()

    rounds = rounds_of(lock, begin)
    join(rounds)
    join(rounds)
    assert seen


@pytest.mark.requirement("HB-18")
def test_a_round_that_needs_another_is_followed_by_one_without_a_call(lock: Path) -> None:
    ends: list[str] = []
    rounds = rounds_of(lock, end=lambda: ends.append("end") or len(ends) < 3)
    join(rounds)
    wait_until(lambda: len(ends) == 3)
    with other_holder(lock):
        pass


@pytest.mark.requirement("HB-18", "C2")
def test_a_round_of_its_own_waits_for_the_lock_as_long_as_another_process_has_it(lock: Path) -> None:
    ends: list[str] = []
    rounds = rounds_of(lock, end=lambda: ends.append("end") or len(ends) < 2, seconds=0.001)
    join(rounds)
    seen: set[int | None] = set()

    def is_second_try() -> bool:
        seen.update(thread.ident for thread in threading.enumerate() if isinstance(thread, threading.Timer))
        return len(seen) > 1

    with other_holder(lock):
        wait_until(is_second_try)
        assert ends == ["end"]
    wait_until(lambda: len(ends) == 2)


@pytest.mark.requirement("HB-18")
def test_a_call_plans_again_what_no_thread_could_be_started_for(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    ends: list[str] = []
    rounds = rounds_of(lock, end=lambda: ends.append("end") or len(ends) < 3)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        join(rounds)
    join(rounds)
    wait_until(lambda: len(ends) == 3)


@pytest.mark.requirement("HB-18", "CLI-5")
def test_after_the_end_no_round_begins_by_itself(lock: Path) -> None:
    rounds = rounds_of(lock, end=lambda: True)
    join(rounds)
    rounds.give_up()
    wait_until(lambda: not any(isinstance(thread, threading.Timer) for thread in threading.enumerate()))


@pytest.mark.requirement("C3", "D4")
@pytest.mark.parametrize("is_end", [False, True], ids=["beginning", "end"])
def test_a_round_whose_beginning_or_end_fails_leaves_the_lock_free(lock: Path, *, is_end: bool) -> None:
    def fail() -> None:
        raise LookupError("on purpose")

    with pytest.raises(LookupError):
        join(rounds_of(lock, *((nothing, fail) if is_end else (fail, nothing))))
    with other_holder(lock):
        pass
    join(rounds_of(lock))


@pytest.mark.requirement("CLI-5", "C2")
def test_giving_up_waits_for_nobody(lock: Path) -> None:
    rounds = rounds_of(lock, seconds=600)
    with other_holder(lock):
        rounds.give_up()
        with pytest.raises(StoreLocked):
            join(rounds)

"""The lock of HEARTBEAT.md: calls of one process share it in passes with one beginning and one end (C1, C2, C5)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from heartbeat_mcp.mirror import lock as file_lock
from heartbeat_mcp.mirror.lock import SharedPasses
from task_core.errors import StoreLocked
from task_core.files import ProcessLock
from tests.core.notes import DEADLINE, wait_until
from tests.heartbeat.conftest import other_holder


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "HEARTBEAT.md.lock"


class Calls:
    """Calls that share passes, with something to do at the beginning and at the end of each pass."""

    def __init__(
        self,
        lock: Path,
        begin: Callable[[], object] = lambda: None,
        end: Callable[[], object] = lambda: None,
        seconds: float = 0.05,
    ) -> None:
        self.passes = SharedPasses(ProcessLock(lock), seconds, self._open, self._finish)
        self._begin = begin
        self._end = end

    def _open(self) -> object:
        self._begin()
        return object()

    def _finish(self, _: object) -> None:
        if self._end() is True:
            self.passes.plan(self.join)

    def join(self) -> None:
        with self.passes.join():
            pass


@pytest.mark.requirement("C5", "D6")
def test_calls_that_are_under_way_together_begin_once_and_end_once(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_lock, "_MAX_SECONDS", 10 * DEADLINE)
    steps: list[str] = []
    calls = Calls(lock, lambda: steps.append("begin"), lambda: steps.append("end"))

    given: list[object] = []

    def take_part() -> None:
        with calls.passes.join() as joined:
            given.append(joined)
            steps.append("call")

    with ThreadPoolExecutor(3) as pool:
        with calls.passes.join() as joined:
            others = [pool.submit(take_part) for _ in range(3)]
            wait_until(lambda: steps.count("call") == 3)
            assert not any(call.done() for call in others)
            with pytest.raises(TimeoutError):
                FileLock(lock).acquire(timeout=0)
        for call in others:
            call.result()
    assert steps == ["begin", "call", "call", "call", "end"]
    assert given == [joined] * 3
    with other_holder(lock), pytest.raises(StoreLocked):
        calls.join()


@pytest.mark.requirement("C2")
def test_a_call_waits_no_longer_for_a_pass_than_it_may(lock: Path) -> None:
    seen: list[str] = []

    def begin() -> None:
        if not seen:
            seen.append("first")
            with ThreadPoolExecutor(1) as pool, pytest.raises(StoreLocked):
                pool.submit(calls.join).result()

    calls = Calls(lock, begin)
    calls.join()
    calls.join()
    assert seen


@pytest.mark.requirement("HB-18")
def test_a_pass_that_needs_another_is_followed_by_one_without_a_call(lock: Path) -> None:
    ends: list[str] = []
    calls = Calls(lock, end=lambda: ends.append("end") or len(ends) < 3)
    calls.join()
    wait_until(lambda: len(ends) == 3)
    with other_holder(lock):
        pass


@pytest.mark.requirement("HB-18", "C2")
def test_a_pass_of_its_own_waits_for_the_lock_as_long_as_another_process_has_it(lock: Path) -> None:
    ends: list[str] = []
    calls = Calls(lock, end=lambda: ends.append("end") or len(ends) < 2, seconds=0.001)
    calls.join()
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
    calls = Calls(lock, end=lambda: ends.append("end") or len(ends) < 3)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        calls.join()
    calls.join()
    wait_until(lambda: len(ends) == 3)


@pytest.mark.requirement("HB-18", "CLI-5")
def test_after_the_end_no_pass_begins_by_itself(lock: Path) -> None:
    calls = Calls(lock, end=lambda: True)
    calls.join()
    calls.passes.give_up()
    wait_until(lambda: not any(isinstance(thread, threading.Timer) for thread in threading.enumerate()))


@pytest.mark.requirement("C3", "D4")
@pytest.mark.parametrize("is_end", [False, True], ids=["beginning", "end"])
def test_a_pass_whose_beginning_or_end_fails_leaves_the_lock_free(lock: Path, *, is_end: bool) -> None:
    def fail() -> None:
        raise LookupError("on purpose")

    with pytest.raises(LookupError):
        (Calls(lock, end=fail) if is_end else Calls(lock, begin=fail)).join()
    with other_holder(lock):
        pass
    Calls(lock).join()


@pytest.mark.requirement("CLI-5", "C2")
def test_giving_up_waits_for_nobody(lock: Path) -> None:
    calls = Calls(lock, seconds=600)
    with other_holder(lock):
        calls.passes.give_up()
        with pytest.raises(StoreLocked):
            calls.join()

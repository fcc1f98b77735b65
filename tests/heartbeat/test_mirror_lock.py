"""The lock of HEARTBEAT.md: one call at a time has the file, and a pass follows without a call if one is due."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from heartbeat_mcp.mirror import mirror
from task_core.files import HeldFile
from tests.core.notes import in_background, nobody, open_folder, wait_for_turn, wait_until
from tests.heartbeat.conftest import other_holder
from tests.heartbeat.mirror_board import Board, entry, make_task, section

COOL = make_task("cool-apple", "eat an apple")
WILD = make_task("wild-coral", "see the coral")


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board.of(tmp_path, section("- buy milk\n"))


def lock_of(board: Board) -> Path:
    return board.path.with_name("HEARTBEAT.md.lock")


def timers() -> set[int | None]:
    return {thread.ident for thread in threading.enumerate() if isinstance(thread, threading.Timer)}


@pytest.mark.requirement("HB-12", "C5")
def test_calls_at_the_same_time_take_a_bullet_in_once(board: Board) -> None:
    process = board.process()
    with in_background() as start, process.transaction():
        wait_for_turn(*start(*(partial(board.call, process, task) for task in (COOL, WILD))))
    (milk,) = board.tasks.keys() - {COOL.id, WILD.id}
    assert board.text == section(entry(COOL), entry(WILD), entry(board.tasks[milk]))


@pytest.mark.requirement("C2", "C5", "HB-13")
def test_a_call_that_waits_too_long_for_another_leaves_the_file_alone(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = board.process(lock_seconds=0.01)
    calls = iter([WILD])

    real = mirror.make_rename

    def make_late(old: HeldFile | None, data: bytes) -> Callable[[str, str], None]:
        with ThreadPoolExecutor(1) as pool:
            for task in calls:
                pool.submit(board.call, process, task).result()
        return real(old, data)

    monkeypatch.setattr(mirror, "make_rename", make_late)
    board.call(process, COOL)
    assert any("HEARTBEAT.md was left as it is" in warning for warning in board.warnings.take())
    assert not process.is_current()
    board.call(process)
    assert entry(WILD) in board.text


@pytest.mark.requirement("HB-18", "C2")
def test_a_pass_of_its_own_waits_for_the_lock_as_long_as_another_process_has_it(board: Board) -> None:
    process = board.process(lock_seconds=0.001)
    seen: set[int | None] = set()

    def is_second_try() -> bool:
        seen.update(timers())
        return len(seen) > 1

    with board.path.open("a"):
        board.call(process)
    with other_holder(lock_of(board)):
        wait_until(is_second_try)
        assert board.text == section("- buy milk\n")
    wait_until(process.is_current)
    assert len(board.tasks) == 1


@pytest.mark.requirement("HB-18", "C5")
def test_while_a_pass_of_its_own_waits_for_its_turn_no_other_is_planned(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(timer: threading.Timer) -> None:
        planned_by.append(threading.current_thread())
        real(timer)

    planned_by: list[threading.Thread] = []
    real = threading.Thread.start
    monkeypatch.setattr(threading.Timer, "start", start)
    process = board.process()
    with board.path.open("a"):
        board.call(process)
        with process.transaction():
            wait_for_turn(*(thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)))
    assert planned_by.count(threading.current_thread()) == 1
    wait_until(process.is_current)


@pytest.mark.requirement("HB-18")
def test_a_call_plans_again_what_no_thread_could_be_started_for(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    process = board.process()
    with board.path.open("a"):
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", start)
            board.call(process)
        board.call(process)
    wait_until(process.is_current)


@pytest.mark.requirement("HB-18", "CLI-5")
def test_after_the_end_no_pass_begins_and_no_call_waits_for_the_lock(board: Board) -> None:
    process = board.process(lock_seconds=600)
    with board.path.open("a"):
        board.call(process)
        process.close()
        board.call(process)
    wait_until(lambda: not timers())
    with other_holder(lock_of(board)):
        board.call(process, COOL)
    assert COOL.id in board.tasks
    assert board.text == section("- buy milk\n")


@pytest.mark.requirement("C3", "D4")
def test_a_call_that_fails_leaves_the_lock_free(board: Board) -> None:
    process = board.process()
    with pytest.raises(LookupError), process.transaction():
        raise LookupError("on purpose")
    with other_holder(lock_of(board)):
        pass
    board.call(process, COOL)
    assert entry(COOL) in board.text


@pytest.mark.requirement("HB-13", "HB-16")
def test_in_a_folder_that_nobody_may_write_to_the_lines_that_wait_are_counted() -> None:
    with open_folder() as folder:
        board = Board.of(folder, section("- buy milk\n- clean\n"))
        process = board.process()
        folder.chmod(0o555)
        with nobody():
            board.call(process, COOL)
        (warning,) = board.warnings.take()
        assert "HEARTBEAT.md was left as it is" in warning
        assert warning.endswith("In it, 2 lines added by hand cannot become tasks until then.")
        folder.chmod(0o755)
        assert [task.raw_user_request for task in board.call(process)] == ["buy milk", "clean"]

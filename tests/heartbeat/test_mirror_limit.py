"""A section that may take only so many characters (HB-14)."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartbeat_mcp.mirror.entries import overflow_line, render_entry
from heartbeat_mcp.models import HeartbeatStatus, HeartbeatTask
from task_core.files import identify
from tests.heartbeat.mirror_board import Board, make_task

TASKS = [
    make_task("a-one", "first"),
    make_task("a-two", "second", status="Running"),
    make_task("a-three", "third " + "x" * 300),
    make_task("a-four", "fourth", status="Running"),
    make_task("a-five", "fifth"),
]
BY_ID = {task.id: task for task in TASKS}


def entries(*task_ids: str) -> str:
    return "".join(render_entry(BY_ID[task_id]).decode() + "\n" for task_id in task_ids)


def more(count: int) -> str:
    return overflow_line(count).decode() + "\n"


def shown(board: Board) -> str:
    return board.text.removeprefix("## TODO\n")


@pytest.mark.requirement("HB-14")
@pytest.mark.parametrize(
    ("limit", "ids", "hidden"),
    [
        (100_000, ["a-two", "a-four", "a-one", "a-three", "a-five"], 0),
        (len(entries(*BY_ID)), ["a-two", "a-four", "a-one", "a-three", "a-five"], 0),
        (len(entries(*BY_ID)) - 1, ["a-two", "a-four", "a-one", "a-three"], 1),
        (len(entries("a-one", "a-two", "a-four", "a-five")) + len(more(5)), ["a-two", "a-four", "a-one", "a-five"], 1),
        (len(entries("a-two", "a-four")) + len(more(3)), ["a-two", "a-four"], 3),
        (len(entries("a-two", "a-four")) + len(more(3)) - 1, ["a-two"], 4),
        (120, [], 5),
        (1, [], 5),
    ],
)
def test_running_tasks_come_first_and_the_rest_is_counted(
    tmp_path: Path, limit: int, ids: list[str], hidden: int
) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    board.call(board.process(max_chars=limit), *TASKS)
    assert shown(board) == entries(*ids) + (more(hidden) if hidden else "")
    assert len(shown(board)) <= limit or not ids
    before = identify(board.path)
    board.call(board.process(max_chars=limit))
    assert identify(board.path) == before


@pytest.mark.requirement("HB-14")
def test_without_a_limit_the_oldest_come_first(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    board.call(board.process(), *TASKS)
    assert shown(board) == entries(*BY_ID)


@pytest.mark.requirement("HB-14", "HB-12")
def test_what_a_person_wrote_counts_and_stays(tmp_path: Path) -> None:
    text = "\n注意：" + "字" * 50 + "\n\n## B\n"
    board = Board.of(tmp_path, f"## TODO\n{text}")
    limit = len(entries("a-two") + more(4) + "\n" + text.removesuffix("## B\n"))
    board.call(board.process(max_chars=limit), *TASKS)
    body = shown(board).removesuffix("## B\n")
    assert body == "\n" + entries("a-two") + more(4) + text.removesuffix("## B\n")
    assert len(body) == limit
    board.call(board.process(max_chars=len(text)))
    assert shown(board) == "\n" + more(5) + text


@pytest.mark.requirement("HB-14")
def test_the_line_goes_when_there_is_room_again(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    process = board.process(max_chars=150)
    board.call(process, TASKS[0], TASKS[4])
    assert shown(board) == entries("a-one") + more(1)
    board.call(process, board.finished("a-one"))
    assert shown(board) == entries("a-five")


@pytest.mark.requirement("HB-14", "HB-12", "H3")
def test_lines_put_next_to_the_count_are_kept_without_it(tmp_path: Path) -> None:
    board = Board.of(tmp_path, f"## TODO\nabove\n{more(7)}below\n- buy milk\n")
    (milk,) = board.call(board.process())
    assert shown(board) == render_entry(milk).decode() + "\n\nabove\n\nbelow\n"


@pytest.mark.requirement("HB-14", "HB-12")
def test_a_bullet_like_a_task_without_room_is_another_task(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    board.call(board.process(max_chars=1), *TASKS)
    board.path.write_text(f"## TODO\n{more(5)}- fifth\n")
    (twin,) = board.call(board.process(max_chars=1))
    assert twin.raw_user_request == "fifth"
    assert shown(board) == more(6)


@pytest.mark.requirement("HB-14", "HB-12", "D2")
def test_a_bullet_taken_in_before_a_kill_is_not_one_of_those_without_room(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    board.call(board.process(max_chars=1), *TASKS)
    board.path.write_text(f"## TODO\n{more(5)}- fifth\n")
    assert len(board.call_and_die()) == 1
    assert board.call(board.process(max_chars=1)) == []
    assert len(board.tasks) == 6
    assert shown(board) == more(6)


@pytest.mark.requirement("HB-14", "HB-12", "D2")
def test_a_recovery_before_a_kill_takes_nothing_in_twice(tmp_path: Path) -> None:
    board = Board.of(tmp_path, f"## TODO\n{more(2)}- one\n- two\n", is_lost=True)
    assert len(board.call_and_die()) == 2
    assert board.call(board.process(max_chars=1)) == []
    assert shown(board) == more(2)
    # Now that those lines are gone, the same words are other tasks.
    board.save(f"## TODO\n{more(2)}- one\n- two\n")
    assert len(board.call(board.process(max_chars=1))) == 2


@pytest.mark.requirement("HB-14", "HB-12")
def test_finishing_a_task_without_room_in_the_same_call_confuses_nothing(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    process = board.process(max_chars=1)
    board.call(process, *TASKS)
    board.path.write_text(f"## TODO\n{more(5)}- buy milk\n")
    done: HeartbeatTask = BY_ID["a-one"].changed(status=HeartbeatStatus.COMPLETE)
    (milk,) = board.call(process, done)
    assert milk.raw_user_request == "buy milk"
    assert shown(board) == more(5)
    assert process.is_current()
    assert board.call(board.process(max_chars=1)) == []

"""What one call costs HEARTBEAT.md: entries that are known are neither made nor parsed again (HB-9, HB-13)."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Self

import pytest

from heartbeat_mcp.models import HeartbeatStatus, HeartbeatTask
from heartbeat_mcp.passes import TaskFile
from task_core.files import identify
from tests.heartbeat.mirror_board import Board, make_task


class Calls(Counter[str]):
    """Counts the calls of functions by name while it is open."""

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, function: Callable[..., object]) -> None:
        if event == "call":
            self[frame.f_code.co_name] += 1
        elif event == "c_call" and function in {os.write, os.fsync}:
            self[f"os.{function.__name__}"] += 1


def mirrored(folder: Path, count: int) -> tuple[Board, TaskFile]:
    """Return a board with so many tasks, and the process that wrote them."""
    board = Board.of(folder, "# A\n\n## TODO\n\n## B\n\nnotes\n")
    process = board.process()
    board.call(process, *(make_task(f"seed-task-{number}", f"do {number}") for number in range(count)))
    return board, process


def cost(board: Board, process: TaskFile, *tasks: HeartbeatTask, by_others: int = 0) -> tuple[int, ...]:
    """Return parses, writes and replacements of one call; an entry is made at most twice for a task of its own.

    That of a task which others have changed is made once.
    """
    with Calls() as calls:
        board.call(process, *tasks)
    assert calls["render_entry"] <= 2 * len(tasks) + by_others
    return calls["scan"], calls["os.write"], calls["rename_over"]


@pytest.mark.requirement("HB-9", "HB-13", "H1", "D1")
@pytest.mark.parametrize("change", ["create", "update", "finish"])
@pytest.mark.parametrize("count", [10, 300])
def test_a_change_parses_nothing_and_writes_once_however_many_tasks_there_are(
    tmp_path: Path, change: str, count: int
) -> None:
    board, process = mirrored(tmp_path, count)
    task = board.tasks[f"seed-task-{count // 2}"]
    forms = {
        "create": make_task("new-task", "new"),
        "update": task.changed(result="done so far"),
        "finish": task.changed(status=HeartbeatStatus.COMPLETE),
    }
    assert cost(board, process, forms[change]) == (0, 1, 1)


@pytest.mark.requirement("HB-9", "H1")
def test_where_nothing_that_is_shown_changed_nothing_is_parsed_or_written(tmp_path: Path) -> None:
    board, process = mirrored(tmp_path, 30)
    before = identify(board.path)
    assert cost(board, process) == (0, 0, 0)
    assert cost(board, process, board.tasks["seed-task-7"].changed(claude_session_id="not shown")) == (0, 0, 0)
    assert identify(board.path) == before


@pytest.mark.requirement("ST-2", "HB-9")
def test_what_another_server_wrote_is_read_once(tmp_path: Path) -> None:
    board, process = mirrored(tmp_path, 30)
    board.call(board.process(), make_task("their-task", "new"))
    parsed, *writes = cost(board, process, make_task("new-task", "new"), by_others=1)
    assert parsed > 0
    assert writes == [1, 1]
    assert cost(board, process, make_task("other-task", "new")) == (0, 1, 1)

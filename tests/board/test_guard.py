"""A change happens only while the tasks are as they were when it was decided on."""

from __future__ import annotations

from pathlib import Path

from tests.board.board_client import open_board, said


def test_a_change_in_a_store_without_a_list_is_not_mistaken_for_one_in_between(tmp_path: Path) -> None:
    with open_board(tmp_path, "tasks-v1", engine="sqlite") as board:
        response = board.act("start", id="1")
        assert said(response).startswith("No task has the id '1'.")

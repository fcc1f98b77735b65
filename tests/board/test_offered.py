"""Only what the server allows is offered, and what it refuses is said in the words of the page."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.board.board_client import Agent, BoardClient, open_board, said
from tests.servers import record_of

pytestmark = pytest.mark.requirement("PE-10")


def offered(board: BoardClient, task_id: str) -> set[str]:
    """Return the actions and moves in the details of a task."""
    page = board.get("/task", id=task_id).text
    return {*re.findall(r'data-action="(\w+)"', page), *re.findall(r'hx-target="#sheet-body">([A-Z][a-z ]+)<', page)}


def test_a_tree_offers_what_its_order_allows(tree: BoardClient, planner: Agent) -> None:
    below: list[JsonValue] = [
        {"name": "A1", "id": "a1"},
        {"name": "A2", "id": "a2", "tasks": [{"name": "Deep", "id": "deep"}]},
    ]
    root, steps = planner.create("A", tasks=below), {"start", "complete", "remove", "edit", "create_below"}

    def found(task_id: str) -> set[str]:
        return offered(tree, task_id) & {*steps, "reopen"}

    assert found(root) == steps - {"complete"}
    assert found("a1") == steps
    assert found("a2") == found("deep") == steps - {"start", "complete"}
    for task_id in ("a2", "deep"):
        for refused in (
            tree.act("start", id=task_id),
            tree.submit({"action": "complete", "id": task_id}, resolution="x"),
        ):
            assert refused.status_code == 422
            assert said(refused).startswith(("Complete these tasks first: 'A1' (a1)", "Complete its subtasks first"))
    assert tree.act("start", id="a1").status_code == 200
    assert tree.submit(tree.form("complete", id="a1"), resolution="Done").status_code == 200
    assert found("a1") == steps - {"start", "complete"} | {"reopen"}
    assert found("a2") == steps - {"complete"}
    assert found("deep") == steps
    assert found(planner.create("B")) == steps


@pytest.mark.parametrize(("order", "can_start"), [("free", True), ("strict", False)])
def test_roots_are_offered_in_the_order_that_the_settings_ask_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str, *, can_start: bool
) -> None:
    monkeypatch.setenv("ROOT_ORDER", order)
    with open_board(tmp_path, "hierarchy") as board:
        for name in "AB":
            board.submit(board.form("create"), name=name)
        first, second = (line.id for line in board.store.tasks().lines)
        assert "start" in offered(board, first)
        assert ("start" in offered(board, second)) is can_start
        assert (board.act("start", id=second).status_code == 200) is can_start


def test_no_move_is_offered_that_would_make_a_tree_too_deep(tmp_path: Path) -> None:
    agent = Agent(record_of("taskmaster"), tmp_path)
    agent.create("One")
    agent.create("Two")
    with open_board(tmp_path, "taskmaster") as board:
        assert {"create_below", "Below the task before it"} <= offered(board, "2")
        agent.call("add_subtask", id="2", title="Part")
        assert "create_below" in offered(board, "2")
        assert "Below the task before it" not in offered(board, "2")
        assert {"create_below", "Below the task before it"}.isdisjoint(offered(board, "2.1"))
    agent.close()


def test_a_column_says_from_which_statuses_a_task_may_come(columns: BoardClient, lister: Agent) -> None:
    lister.create("Buy milk")
    found = re.findall(r'data-status="(\w+)" data-tone="\w*" data-sources="([^"]*)"', columns.shown())
    assert {status: json.loads(unescape(sources)) for status, sources in found} == {
        "pending": [],
        "in_progress": ["pending"],
        "done": ["in_progress"],
        "canceled": ["done", "in_progress", "pending"],
    }


def test_a_mistake_has_the_name_of_the_field_on_the_page(columns: BoardClient) -> None:
    shown = columns.submit(columns.form("create"), title="", topic_id="Not A Slug").text
    (fault,) = re.findall(r'<p class="said" lang="en">(.*?)</p>', shown)
    assert fault.startswith(("Title: ", "Topic: "))
    assert re.search(r"call again|\b[a-z]+_[a-z]+\b", fault.replace("space_industry", "")) is None

"""Tasks are moved within a tree by the server's own rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.board.board_client import Agent, BoardClient, open_board, said
from tests.servers import record_of


def names(tasks: list[dict[str, Any]]) -> list[object]:
    return [[task["name"], names(task["tasks"])] if task.get("tasks") else task["name"] for task in tasks]


@pytest.fixture
def roots(planner: Agent) -> dict[str, str]:
    """Return the ids of three roots by name; the first has two subtasks."""
    first = planner.create("A", tasks=[{"name": "A1", "id": "a1"}, {"name": "A2", "id": "a2"}])
    return {"A": first, "B": planner.create("B"), "C": planner.create("C")}


def test_a_task_goes_where_it_is_put(tree: BoardClient, planner: Agent, roots: dict[str, str]) -> None:
    ids = {"": "", **roots}
    for task, parent, before, outline in (
        ("C", "A", "", [["A", ["A1", "A2", "C"]], "B"]),
        ("C", "A", "a2", [["A", ["A1", "C", "A2"]], "B"]),
        ("a2", "A", "a1", [["A", ["A2", "A1", "C"]], "B"]),
        ("a1", "A", "", [["A", ["A2", "C", "A1"]], "B"]),
        ("a1", "", "", [["A", ["A2", "C"]], "B", "A1"]),
        ("a1", "", "B", [["A", ["A2", "C"]], "A1", "B"]),
        ("C", "", "A", ["C", ["A", ["A2"]], "A1", "B"]),
    ):
        place = {"id": ids.get(task, task), "parent": ids.get(parent, parent), "before": ids.get(before, before)}
        response = tree.act("place_below" if parent else "place_on_top", **place)
        assert response.status_code == 200, said(response)
        assert names(planner.call("listTasks")["tasks"]) == outline


def test_a_place_that_is_not_there_any_more_is_reported(
    tree: BoardClient, planner: Agent, roots: dict[str, str]
) -> None:
    before = planner.call("listTasks")
    response = tree.act("place_below", id=roots["C"], parent=roots["A"], before=roots["B"])
    assert response.status_code == 409
    assert planner.call("listTasks") == before


def test_the_servers_rules_decide(tree: BoardClient, roots: dict[str, str]) -> None:
    response = tree.act("place_below", id=roots["A"], parent="a1", before="")
    assert response.status_code == 422
    assert said(response) == "A task cannot be moved below itself."


@pytest.fixture
def project(tmp_path: Path) -> Iterator[tuple[BoardClient, Agent]]:
    """Return the board over a Task Master project, and an agent on it."""
    agent = Agent(record_of("taskmaster"), tmp_path)
    with open_board(tmp_path, "taskmaster") as board:
        yield board, agent
    agent.close()


def test_a_task_becomes_a_subtask_and_a_task_again(project: tuple[BoardClient, Agent]) -> None:
    board, agent = project
    first, second = agent.create("Release"), agent.create("Build")
    assert board.act("place_below", id=second, parent=first, before="").status_code == 200
    assert agent.get(f"{first}.1")["title"] == "Build"
    assert board.act("place_on_top", id=f"{first}.1", parent="", before="").status_code == 200
    assert [task["title"] for task in agent.call("get_tasks")["tasks"]] == ["Release", "Build"]


def test_where_tasks_have_no_order_a_place_before_another_is_refused(project: tuple[BoardClient, Agent]) -> None:
    board, agent = project
    first, second = agent.create("Release"), agent.create("Build")
    response = board.act("place_on_top", id=second, parent="", before=first)
    assert (response.status_code, said(response)) == (409, "This server does not order tasks. Nothing was changed.")

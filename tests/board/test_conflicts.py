"""What others change meanwhile is reported with both versions, and never overwritten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from task_board.stores import BoardStore
from task_board.web.decisions import DECISIONS, Asked, decide_step
from tests.board.board_client import Agent, BoardClient, events_of, open_board, read_fields, said
from tests.servers import ServerRecord, record_of


def test_what_an_agent_changed_is_shown_to_an_open_form_and_overwritten_only_once_it_was_seen(
    record: ServerRecord, board: BoardClient, agent: Agent
) -> None:
    task_id = agent.create("Buy milk")
    form = {**board.form("edit", id=task_id), f"now.{record.text}": "Buy bread"}
    assert board.post("/compare", **form).text.strip() == ""
    agent.rename(task_id, "Buy oat milk")
    shown = board.post("/compare", **form).text
    assert "Buy oat milk" in shown
    assert "Buy bread" in shown
    response = board.submit(form)
    assert response.status_code == 409
    assert "Somebody else has changed this task" in response.text
    assert '<td class="theirs">Buy oat milk' in response.text
    assert '<td class="yours">Buy bread</td>' in response.text
    assert agent.get(task_id)[record.text] == "Buy oat milk"
    assert board.submit(read_fields(response.text)).status_code == 200
    assert agent.get(task_id)[record.text] == "Buy bread"


def test_fields_that_the_user_did_not_touch_are_taken_over(columns: BoardClient, lister: Agent) -> None:
    task_id = lister.create("Buy milk", description="Two litres")
    form = columns.form("edit", id=task_id)
    lister.call("update_task", id=task_id, description="Three litres", tags=["shop"])
    refused = read_fields(columns.submit(form, title="Buy bread").text)
    assert (refused["now.title"], refused["now.description"]) == ("Buy bread", "Three litres")
    assert columns.submit(refused).status_code == 200
    task = lister.get(task_id)
    assert (task["title"], task["description"], task["tags"]) == ("Buy bread", "Three litres", ["shop"])


def test_the_same_change_by_both_is_not_disputed(columns: BoardClient, lister: Agent) -> None:
    task_id = lister.create("Buy milk")
    form = columns.form("edit", id=task_id)
    lister.rename(task_id, "Buy bread")
    response = columns.submit(form, title="Buy bread")
    assert response.status_code == 409
    assert "data-use" not in response.text


def test_an_open_form_learns_that_its_task_is_gone(tree: BoardClient, planner: Agent) -> None:
    task_id = planner.create("Release")
    planner.create("Other")
    form = tree.form("edit", id=task_id)
    planner.call("deleteTask", id=task_id)
    assert f"No task has the id &#39;{task_id}&#39;" in tree.post("/compare", **form).text
    response = tree.submit(form, name="New")
    assert (response.status_code, response.headers["hx-reswap"]) == (422, "none")
    assert f"No task has the id '{task_id}'" in said(response)


def test_a_task_that_an_agent_has_moved_in_the_tree_is_not_moved_back(tree: BoardClient, planner: Agent) -> None:
    first, second, third = (planner.create(name) for name in "ABC")
    planner.call("updateTask", id=second, parentId=third)
    before = planner.call("listTasks")
    response = tree.act("place_below", id=second, parent=first, was_parent="")
    assert response.status_code == 409
    assert said(response).startswith("Somebody else has changed this task")
    assert planner.call("listTasks") == before
    assert tree.act("place_below", id=second, parent=first, was_parent=third).status_code == 200
    assert tree.act("place_on_top", id="99", parent="", was_parent="").status_code == 422


def test_only_what_the_server_says_is_marked_as_english(tmp_path: Path, planner: Agent) -> None:
    task_id = planner.create("Release")
    with open_board(tmp_path, "hierarchy", language="zh") as board:
        form = board.form("complete", id=task_id)
        assert '<p class="said" lang="en">' in board.submit(form).text
        planner.call("startTask", id=task_id)
        response = board.submit(form, resolution="Shipped")
        assert response.status_code == 409
        assert '<p class="said">' in response.text
        refused = board.act("start", id="99")
        assert events_of(refused)["said"]["english"] == said(refused)
        moved_on = board.act("start", id=task_id, was_status="todo")
        assert events_of(moved_on)["said"]["english"] == ""


def test_a_task_that_somebody_else_has_moved_is_not_moved_again(columns: BoardClient, lister: Agent) -> None:
    task_id = lister.create("Buy milk")
    lister.call("update_task_status", id=task_id, status="in_progress")
    response = columns.post("/act", id=task_id, status="canceled", was_status="pending")
    assert response.status_code == 409
    assert said(response) == "Somebody else has moved this task to In progress meanwhile. Nothing was changed."
    assert lister.get(task_id)["status"] == "in_progress"


def test_a_task_that_has_changed_is_shown_again_before_it_is_removed(tree: BoardClient, planner: Agent) -> None:
    task_id = planner.create("Release")
    form = tree.form("remove", id=task_id)
    planner.rename(task_id, "Release 2")
    response = tree.post("/act", **form)
    assert response.status_code == 409
    assert "Release 2" in response.text
    assert tree.post("/act", **read_fields(response.text)).status_code == 200


def change_between(monkeypatch: pytest.MonkeyPatch, rename: Callable[[int], None], *, times: int) -> None:
    """Let somebody else change the store after each of the first decisions, before the call that follows from it."""
    left = [times]
    decide_edit = DECISIONS["edit"]

    def decide(store: BoardStore, asked: Asked) -> dict[str, JsonValue] | None:
        arguments = decide_edit(store, asked)
        if left[0]:
            left[0] -= 1
            rename(left[0])
        return arguments

    monkeypatch.setitem(DECISIONS, "edit", decide)


def test_a_change_in_the_last_moment_is_not_overwritten_and_one_elsewhere_only_delays(
    record: ServerRecord, board: BoardClient, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id, other = agent.create("Buy milk"), agent.create("Read mail")
    form = board.form("edit", id=task_id)
    change_between(monkeypatch, lambda number: agent.rename(other, f"Read mail {number}"), times=3)
    assert board.submit(form, **{record.text: "Buy bread"}).status_code == 200
    assert agent.get(task_id)[record.text] == "Buy bread"
    assert agent.get(other)[record.text] == "Read mail 0"
    form = board.form("edit", id=task_id)
    change_between(monkeypatch, lambda _: agent.rename(task_id, "Buy oat milk"), times=1)
    assert board.submit(form, **{record.text: "Buy butter"}).status_code == 409
    assert agent.get(task_id)[record.text] == "Buy oat milk"


def test_a_store_that_never_rests_is_an_error_and_nothing_is_changed(
    columns: BoardClient, lister: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id, other = lister.create("Buy milk"), lister.create("Read mail")
    form = columns.form("edit", id=task_id)
    change_between(monkeypatch, lambda number: lister.rename(other, f"Read mail {number}"), times=1000)
    response = columns.submit(form, title="Buy bread")
    assert response.status_code == 409
    assert "The tasks change too quickly right now." in response.text
    assert lister.get(task_id)["title"] == "Buy milk"


def test_a_completion_does_not_overwrite_the_words_of_an_agent(tree: BoardClient, planner: Agent) -> None:
    task_id = planner.create("Release")
    form = tree.form("complete", id=task_id)
    planner.call("updateTask", id=task_id, resolution="Shipped by the agent")
    response = tree.submit(form, resolution="Shipped")
    assert response.status_code == 409
    assert '<td class="theirs">Shipped by the agent' in response.text
    assert (planner.get(task_id)["resolution"], planner.get(task_id)["status"]) == ("Shipped by the agent", "todo")
    assert tree.submit(read_fields(response.text)).status_code == 200
    assert planner.get(task_id)["resolution"] == "Shipped"


@pytest.fixture
def beats(tmp_path: Path) -> Iterator[tuple[BoardClient, Agent, Path]]:
    """Return the board over a HEARTBEAT.md, an agent on it, and the file."""
    agent = Agent(record_of("heartbeat"), tmp_path)
    with open_board(tmp_path, "heartbeat") as board:
        yield board, agent, tmp_path / "HEARTBEAT.md"
    agent.close()


def tick(path: Path) -> None:
    path.write_text(path.read_text("utf-8").replace("[Pending]", "[x]"), "utf-8")


def test_a_task_that_was_ticked_off_by_hand_is_not_moved(beats: tuple[BoardClient, Agent, Path]) -> None:
    board, agent, path = beats
    task_id = agent.create("Buy milk")
    tick(path)
    response = board.act("start", id=task_id, was_status="Pending")
    assert response.status_code == 409
    assert said(response).splitlines() == [
        "Somebody else has moved this task to Complete meanwhile. Nothing was changed.",
        f"Statuses set in HEARTBEAT.md by hand were applied: {task_id} (Complete).",
    ]
    assert agent.get(task_id)["status"] == "Complete"


def test_a_task_that_is_ticked_off_in_the_last_moment_is_not_moved(
    beats: tuple[BoardClient, Agent, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    board, agent, path = beats
    task_id = agent.create("Buy milk")

    def decide(store: BoardStore, asked: Asked) -> dict[str, JsonValue]:
        arguments = decide_step(store, asked)
        tick(path)
        return arguments

    monkeypatch.setitem(DECISIONS, "start", decide)
    assert board.act("start", id=task_id, was_status="Pending").status_code == 409
    assert agent.get(task_id)["status"] == "Complete"

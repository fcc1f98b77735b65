"""Everything that people do on the board goes through the server's own tools, on every server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.board.board_client import FIRST_STATUS, Agent, BoardClient, events_of, open_board, said
from tests.servers import SERVERS, ServerRecord, record_of

STARTED = {"heartbeat": "Running", "hierarchy": "in_progress", "taskmaster": "in-progress", "tasks-v1": "in_progress"}
DONE = {"heartbeat": "Complete", "hierarchy": "done", "taskmaster": "done", "tasks-v1": "done"}


def test_a_board_and_an_agent_see_and_change_the_same_tasks(
    record: ServerRecord, board: BoardClient, agent: Agent
) -> None:
    assert "No tasks here yet." in board.get().text
    response = board.submit(board.form("create"), **{record.text: "Buy <milk> & bread"})
    assert response.status_code == 200
    assert events_of(response)["closed"]
    assert [task[record.text] for task in agent.call(record.list)["tasks"]] == ["Buy <milk> & bread"]
    task_id = agent.create("Buy <milk>")
    page = board.get().text
    assert "Buy &lt;milk&gt;<" in page
    assert f'data-id="{task_id}"' in page
    assert "Buy &lt;milk&gt;" in board.get("/task", id=task_id).text
    before = agent.get(task_id)
    response = board.submit(board.form("edit", id=task_id))
    assert (response.status_code, said(response)) == (200, "Nothing was changed.")
    assert agent.get(task_id) == before
    assert board.submit(board.form("edit", id=task_id), **{record.text: "Buy bread"}).status_code == 200
    after = agent.get(task_id)
    assert after[record.text] == "Buy bread"
    changing = {record.text, "updated_at", "updatedAt"}
    assert {name: before[name] for name in before.keys() - changing} == {
        name: after[name] for name in before.keys() - changing
    }
    response = board.act("start", id=task_id, was_status=FIRST_STATUS[record.name])
    assert said(response) == "Started 'Buy bread'"
    assert agent.get(task_id)["status"] == STARTED[record.name]


@pytest.mark.parametrize(
    ("record", "engine"),
    [*((record, "json") for record in SERVERS), (record_of("hierarchy"), "sqlite")],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_task_goes_through_its_states(record: ServerRecord, engine: str, tmp_path: Path) -> None:
    with open_board(tmp_path, record.name, engine=engine) as board:
        board.submit(board.form("create"), **{record.text: "Buy milk"})
        task_id = board.store.tasks().lines[0].id
        for status in (STARTED[record.name], DONE[record.name]):
            response = board.post("/act", id=task_id, status=status)
            if "opened" in events_of(response):
                response = board.submit(board.form("complete", id=task_id), resolution="Bought")
            assert response.status_code == 200, response.text
            assert board.store.view.task(task_id)["status"] == status


def test_the_details_offer_the_steps_of_the_status_and_no_others(columns: BoardClient, lister: Agent) -> None:
    task_id = lister.create("Buy milk")
    offered = columns.get("/task", id=task_id).text
    assert [name in offered for name in ('data-action="start"', 'data-action="complete"')] == [True, False]
    lister.call("update_task_status", id=task_id, status="canceled")
    offered = columns.get("/task", id=task_id).text
    assert 'data-action="edit"' in offered
    assert 'data-action="start"' not in offered


def test_a_step_that_the_rules_forbid_shows_the_servers_message(columns: BoardClient, lister: Agent) -> None:
    task_id = lister.create("Buy milk")
    response = columns.post("/act", id=task_id, status="done")
    assert response.status_code == 422
    assert "A task that is 'pending' cannot become 'done'." in said(response)
    assert lister.get(task_id)["status"] == "pending"


def test_a_status_that_nothing_leads_to_is_refused(columns: BoardClient, lister: Agent) -> None:
    response = columns.post("/act", id=lister.create("Buy milk"), status="pending")
    assert (response.status_code, said(response)) == (422, "A task cannot be moved to Pending here.")


def test_a_task_that_is_gone_is_an_error_of_the_server(board: BoardClient) -> None:
    board.submit(board.form("create"), **{board.store.actions.create.fields[0]: "Buy milk"})
    response = board.act("start", id="99")
    assert response.status_code == 422
    assert "99" in said(response)
    assert "99" in board.get("/task", id="99").text
    assert "This task is gone</h2>" in board.get("/task", id="99").text
    response = board.submit({"form": "1", "action": "edit", "id": "99"})
    assert (response.status_code, response.headers["hx-reswap"]) == (422, "none")
    assert "99" in said(response)


def test_an_item_is_added_to_a_list_and_the_others_stay_as_they_are(tmp_path: Path) -> None:
    agent = Agent(record_of("heartbeat"), tmp_path)
    task_id = agent.create("Buy milk", ideas=["two\nlines", "a\u2028b"])
    ideas = agent.get(task_id)["ideas"]
    with open_board(tmp_path, "heartbeat") as board:
        form = board.form("edit", id=task_id)
        board.submit(form, ideas=f"{form['now.ideas']}\nnew")
    assert agent.get(task_id)["ideas"] == [*ideas, "new"]
    agent.close()


def test_a_mistake_is_shown_at_its_field_and_nothing_is_lost(columns: BoardClient) -> None:
    response = columns.submit(columns.form("create"), title="Buy milk", topic_id="Not A Slug", description="Two litres")
    assert response.status_code == 422
    assert 'aria-invalid="true"' in response.text
    assert "Give 1 to 100 lower-case letters" in response.text
    assert "Two litres" in response.text
    assert not columns.store.tasks().lines


def test_lists_choices_and_empty_fields_become_arguments(columns: BoardClient, lister: Agent) -> None:
    columns.submit(columns.form("create"), title="Buy milk", tags="shop\n\n food \n", priority="high", category="")
    (task,) = lister.call("list_tasks")["tasks"]
    assert (task["tags"], task["priority"], task["category"]) == (["shop", "food"], "high", "other")
    form = columns.form("edit", id=task["id"])
    assert (form["now.tags"], form["now.priority"]) == ("shop\nfood", "high")
    columns.submit(form, tags="", priority="", category="tech")
    task = lister.get(task["id"])
    assert (task["tags"], task["priority"], task["category"]) == ([], "medium", "tech")


def test_a_removal_asks_first_and_removes_what_was_seen(tree: BoardClient, planner: Agent) -> None:
    task_id = planner.create("Release", tasks=[{"name": "Build"}])
    form = tree.form("remove", id=task_id)
    assert tree.act("remove", id=task_id).status_code == 409
    assert tree.post("/act", **form).status_code == 200
    assert planner.call("listTasks")["tasks"] == []


def test_a_subtask_is_added_below_its_parent(tree: BoardClient, planner: Agent) -> None:
    task_id = planner.create("Release")
    tree.submit(tree.form("create_below", parent=task_id), name="Build")
    assert [task["name"] for task in planner.get(task_id)["tasks"]] == ["Build"]


def test_the_resolution_that_a_completion_needs_is_asked_for(tree: BoardClient, planner: Agent) -> None:
    task_id = planner.create("Release")
    response = tree.post("/act", id=task_id, status="done")
    assert events_of(response)["opened"]["url"] == f"hierarchy/form?action=complete&id={task_id}"
    form = tree.form("complete", id=task_id)
    assert tree.submit(form).status_code == 422
    assert tree.submit(form, resolution="Shipped").status_code == 200
    assert planner.get(task_id)["resolution"] == "Shipped"


def test_the_longest_text_can_be_edited_in_any_language(tree: BoardClient, planner: Agent) -> None:
    task_id = planner.create("Release", description="奶" * 100_000)
    assert tree.submit(tree.form("edit", id=task_id), description="牛" * 100_000).status_code == 200
    assert planner.get(task_id)["description"] == "牛" * 100_000


def test_what_a_form_cannot_offer_stays_as_it_is(tmp_path: Path) -> None:
    agent = Agent(record_of("taskmaster"), tmp_path)
    agent.create("X")
    agent.close()
    path = next(tmp_path.rglob("tasks.json"))
    path.write_text(path.read_text("utf-8").replace('"X"', '"two\\nlines"').replace('"medium"', '"urgent"'), "utf-8")
    with open_board(tmp_path, "taskmaster") as board:
        assert board.submit(board.form("edit", id="1"), details="New").status_code == 200
        task = board.store.view.task("1")
    assert (task["title"], task["priority"], task["details"]) == ("two\nlines", "urgent", "New")

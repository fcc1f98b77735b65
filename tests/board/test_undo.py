"""The message after every change undoes it, and the details of a task show its history (PE-7, PE-15)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from pydantic import JsonValue

from tests.board.board_client import Agent, BoardClient, events_of, open_board, said
from tests.servers import ServerRecord, record_of

if TYPE_CHECKING:
    from httpx2 import Response

STAMPS: Final = {"updated_at", "updatedAt"}

SERVERS: Final = ("heartbeat", "hierarchy", "tasks-v1")

each_store = pytest.mark.parametrize(
    ("name", "engine"), [*((name, engine) for name in SERVERS for engine in ("json", "sqlite")), ("taskmaster", "json")]
)


def undo(board: BoardClient, response: Response) -> Response:
    """Press Undo in the message that an answer shows."""
    return board.post("/undo", number=str(events_of(response)["said"]["undo"]))


def stored(board: BoardClient) -> list[dict[str, JsonValue]]:
    """Return all tasks without the time of their last change."""
    tasks = [board.store.view.task(line.id) for line in board.store.tasks().lines]
    return [{name: value for name, value in task.items() if name not in STAMPS} for task in tasks]


def plain(page: str) -> str:
    """Return the text of a part of a page."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).split()).replace(" :", ":")


def make_changes(record: ServerRecord, board: BoardClient) -> list[tuple[str, Callable[[], Response]]]:
    """Return what each message says, and the change that it is about."""

    def line() -> dict[str, Any]:
        found = board.store.tasks().lines[0]
        return {"id": found.id, "was_status": found.status}

    def complete() -> Response:
        return board.submit(board.form("complete", **line()), resolution="Bought", result="Bought")

    return [
        ("Created 'Buy milk'", lambda: board.submit(board.form("create"), **{record.text: "Buy **milk**"})),
        ("Changed 'Buy bread'", lambda: board.submit(board.form("edit", **line()), **{record.text: "Buy bread"})),
        ("Started 'Buy bread'", lambda: board.act("start", **line())),
        ("Completed 'Buy bread'", complete),
    ]


@pytest.mark.requirement("PE-7")
@each_store
def test_every_change_is_named_undone_and_done_again(name: str, engine: str, tmp_path: Path) -> None:
    record = record_of(name)
    with open_board(tmp_path, record.name, engine=engine) as board:
        for words, change in make_changes(record, board):
            before = stored(board)
            response = change()
            assert said(response) == words
            after = stored(board)
            assert after != before
            undone = undo(board, response)
            assert (undone.status_code, stored(board)) == (200, before)
            assert said(undone).startswith("Undid a change to 'Buy ")
            assert events_of(undone)["closed"]
            assert undo(board, undone).status_code == 200
            assert stored(board) == after


@pytest.mark.requirement("PE-7")
def test_a_tree_comes_back_to_its_place_and_a_move_is_taken_back(tree: BoardClient, planner: Agent) -> None:
    release = planner.create("Release", tasks=[{"name": "Build", "tasks": [{"name": "Link"}]}])
    party = planner.create("Party")
    before = planner.call("listTasks")
    removed = tree.post("/act", **tree.form("remove", id=release))
    assert said(removed) == "Removed 'Release'"
    undone = undo(tree, removed)
    assert said(undone) == "Undid a change to 'Release'"
    assert planner.call("listTasks") == before
    assert said(undo(tree, undone)) == "Undid a change to 'Release'"
    undo(tree, removed)
    moved = tree.act("place_below", id=party, parent=release, before="")
    assert said(moved) == "Moved 'Party'"
    undo(tree, moved)
    assert planner.call("listTasks") == before


@pytest.mark.requirement("PE-7")
@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "Nothing was undone: Title of 'Buy oat milk' has changed since. It is now: Buy oat milk"),
        ("zh", "没有撤销：“Buy oat milk”的标题之后又有更改，现在是：Buy oat milk"),
        ("ja", "元に戻していません。「Buy oat milk」のタイトルがその後変更されました。現在の値：Buy oat milk"),
    ],
)
def test_a_change_is_not_undone_over_a_later_one(tmp_path: Path, lister: Agent, language: str, words: str) -> None:
    task_id = lister.create("Buy milk")
    with open_board(tmp_path, "tasks-v1", language=language) as board:
        renamed = board.submit(board.form("edit", id=task_id), title="Buy bread")
        lister.rename(task_id, "Buy oat milk")
        response = undo(board, renamed)
    assert (response.status_code, said(response)) == (422, words)
    assert lister.get(task_id)["title"] == "Buy oat milk"


def test_a_status_that_has_changed_since_is_named_as_on_the_page(columns: BoardClient, lister: Agent) -> None:
    task_id = lister.create("Buy milk")
    started = columns.act("start", id=task_id)
    lister.call("update_task_status", id=task_id, status="done")
    assert said(undo(columns, started)).endswith("Status of 'Buy milk' has changed since. It is now: Done")


def test_a_change_that_cannot_be_undone_says_why(tree: BoardClient, planner: Agent) -> None:
    created = tree.submit(tree.form("create"), name="Release")
    (release,) = planner.call("listTasks")["tasks"]
    planner.create("Build", parentId=release["id"])
    assert said(undo(tree, created)).startswith("Nothing was undone.\nChange 1 was not undone: ")
    assert said(tree.post("/undo", number="99")).startswith("Nothing was undone.\nThe history has no change 99")
    assert [tree.post("/undo", number=text).status_code for text in ("", "0", "x", "9" * 30)] == [400] * 4
    assert tree.store.document
    tree.store.document.write_text("{", "utf-8")
    response = undo(tree, created)
    assert response.status_code == 422
    assert events_of(response)["said"]["english"]
    assert 'role="alert"' in tree.get("/history", id=release["id"]).text


@pytest.mark.requirement("PE-7", "PE-15")
def test_without_a_history_nothing_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASK_HISTORY_DAYS", "0")
    with open_board(tmp_path, "tasks-v1") as board:
        response = board.submit(board.form("create"), title="Buy milk")
        assert said(response) == "Created 'Buy milk'"
        assert events_of(response)["said"]["undo"] == 0
        task_id = board.store.tasks().lines[0].id
        assert "/history" not in board.get("/task", id=task_id).text
        assert "No changes are known." in board.get("/history", id=task_id).text
        assert board.post("/undo", number="1").status_code == 404


@pytest.mark.requirement("PE-15")
def test_the_details_show_by_whom_and_from_what_a_task_was_changed(columns: BoardClient, lister: Agent) -> None:
    task_id = lister.create("Buy <b>milk</b>", tags=["a", "b"])
    columns.act("start", id=task_id)
    lister.call("update_task", id=task_id, title="Buy bread", tags=[])
    assert f"/history?id={task_id}" in columns.get("/task", id=task_id).text
    page = columns.get("/history", id=task_id).text
    entries = [plain(entry) for entry in page.split('<p id="change-')[1:]]
    assert [("Undo" in entry, entry.count("→")) for entry in entries] == [(True, 2), (True, 1), (True, 0)]
    assert "Title: Buy &lt;b&gt;milk&lt;/b&gt; → Buy bread" in entries[0]
    assert "Tags: a b → —" in entries[0]
    assert "Board Changed Status: Pending → In progress" in entries[1]
    assert "mcp 0.1.0 Created" in entries[2]
    first = re.findall(r"{&#34;number&#34;: (\d+)}", page)[-1]
    assert said(columns.post("/undo", number=first)).startswith("Nothing was undone: ")


@pytest.mark.requirement("PE-15")
def test_a_change_of_many_tasks_counts_the_others_and_an_edit_by_hand_is_one(tree: BoardClient, planner: Agent) -> None:
    release = planner.create("Release", tasks=[{"name": "Build"}, {"name": "Ship"}])
    assert "with other tasks: 2" in tree.get("/history", id=release).text
    assert tree.store.document
    tree.store.document.write_text(tree.store.document.read_text("utf-8").replace("Release", "Launch"), "utf-8")
    planner.create("Party")
    assert "Edit by hand Changed Name: Release → Launch" in plain(tree.get("/history", id=release).text)


def test_a_value_too_long_to_be_kept_is_not_shown_and_not_undone(tree: BoardClient, planner: Agent) -> None:
    task_id = planner.create("Release")
    planner.call("updateTask", id=task_id, completion_criteria=["奶" * 50_000, "茶" * 50_001])
    page = tree.get("/history", id=task_id).text
    assert "Completion criteria: — → …" in plain(page)
    assert page.count("<button") == 1

"""The tasks as people see them: those in the store, the oldest first, whatever HEARTBEAT.md says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from heartbeat_mcp.settings import HeartbeatSettings
from heartbeat_mcp.view import HeartbeatView, open_view
from task_core.errors import TaskNotFound
from task_core.view import View
from tests.heartbeat.conftest import Desk, call
from tests.postgres import share_pool
from tests.untouched import untouched


@pytest.fixture
def kept_desk(tmp_path: Path) -> Desk:
    """A list in a database, where archived tasks are beside the others."""
    return Desk(tmp_path, "sqlite")


@pytest.fixture
def shown(kept_desk: Desk) -> Iterator[View]:
    values = {"heartbeat_file_path": str(kept_desk.heartbeat), **kept_desk.store}
    view = open_view(share_pool(HeartbeatSettings.model_validate(values)))
    yield view
    view.close()


async def add(desk: Desk, request: str, **updates: str) -> str:
    server = desk.server()
    task_id: str = (await call(server, "task_create", raw_user_request=request))["id"]
    if updates:
        await call(server, "task_update", task_id=task_id, updates={**updates})
    server.end()
    return task_id


async def test_tasks_are_listed_the_oldest_first_the_finished_ones_too(kept_desk: Desk, shown: View) -> None:
    for request, status in (("a", "Complete"), ("b", "Pending"), ("c", "Running"), ("d", "Fail")):
        await add(kept_desk, request, status=status)
    assert [line[1:5] for line in shown.lines()] == [
        ("Complete", "a", "", 0),
        ("Pending", "b", "", 0),
        ("Running", "c", "", 0),
        ("Fail", "d", "", 0),
    ]
    assert [line.text for line in shown.lines(["pending", "running"])] == ["b", "c"]
    assert [line.text for line in shown.lines(shown.finished)] == ["a", "d"]


async def test_what_is_running_is_next_and_then_what_waits_for_longest(kept_desk: Desk, shown: View) -> None:
    assert shown.next() is None
    first, second = await add(kept_desk, "a"), await add(kept_desk, "b")
    assert shown.next() == first
    await call(kept_desk.server(), "task_update", task_id=second, updates={"status": "Running"})
    assert shown.next() == second
    for task_id, left in ((second, first), (first, None)):
        await call(kept_desk.server(), "task_update", task_id=task_id, updates={"status": "Complete"})
        assert shown.next() == left


async def test_an_archived_task_is_not_listed_but_found_and_marked(kept_desk: Desk, shown: View) -> None:
    old = await add(kept_desk, "long ago", status="Complete")
    kept_desk.now += timedelta(days=30)
    new = await add(kept_desk, "now")
    assert [line.id for line in shown.lines()] == [new]
    assert (shown.task(old)["raw_user_request"], shown.task(old)["archived"]) == ("long ago", True)
    assert shown.task(new) == await call(kept_desk.server(), "task_get", task_id=new)
    with pytest.raises(TaskNotFound, match=f"Did you mean '{old}"):
        shown.task(f"{old}x")


@pytest.mark.requirement("PE-16")
@pytest.mark.parametrize("engine", ["json", "sqlite"])
async def test_archived_tasks_are_listed_on_request(tmp_path: Path, engine: str) -> None:
    desk = Desk(tmp_path, engine)
    await add(desk, "long ago", status="Complete")
    desk.now += timedelta(days=30)
    await add(desk, "now")
    view = open_view(HeartbeatSettings.model_validate({"heartbeat_file_path": str(desk.heartbeat), **desk.store}))
    assert isinstance(view, HeartbeatView)
    found = [[(line.text, line.note) for line in view.archived(words)] for words in ((), ["complete"], ["fail"])]
    view.close()
    assert found == [[("long ago", "archived")], [("long ago", "archived")], []]


async def test_neither_the_file_nor_what_a_person_wrote_into_it_is_touched(stored_desk: Desk) -> None:
    task_id = await add(stored_desk, "a")
    text = stored_desk.heartbeat.read_text("utf-8")
    stored_desk.heartbeat.write_text(f"{text}- buy milk\n", "utf-8")
    with untouched(stored_desk.folder):
        view = open_view(HeartbeatSettings(heartbeat_file_path=stored_desk.heartbeat))
        assert [line.id for line in view.lines()] == [task_id]
        view.close()

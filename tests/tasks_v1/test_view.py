"""The tasks as people see them: the newest first, and next what matters most."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from task_core.models import format_timestamp
from task_core.store import Engine
from task_core.view import View
from tasks_v1_mcp.settings import TasksSettings
from tasks_v1_mcp.view import open_view
from tests.postgres import ON_POSTGRES, share_pool
from tests.tasks_v1.conftest import ServedStore


@pytest.fixture(params=[Engine.JSON, Engine.SQLITE, ON_POSTGRES], ids=str)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> ServedStore:
    return ServedStore(tmp_path, engine=Engine(request.param))


@pytest.fixture
def shown(kept: ServedStore) -> Iterator[View]:
    view = open_view(share_pool(TasksSettings.model_validate(kept.place)))
    yield view
    view.close()


async def test_tasks_are_listed_the_newest_first_with_a_priority_that_is_not_the_usual(
    kept: ServedStore, shown: View
) -> None:
    for title, priority in (("Read", "low"), ("Write", "medium"), ("Send", "high")):
        await kept.call("create_task", title=title, priority=priority)
    lines = [*shown.lines()]
    assert [line[1:5] for line in lines] == [
        ("pending", "Send", "high", 0),
        ("pending", "Write", "", 0),
        ("pending", "Read", "low", 0),
    ]
    assert [line.text for line in lines] == await kept.titles(limit=100)


async def test_a_line_has_what_the_board_shows(kept: ServedStore, shown: View) -> None:
    task = await kept.task("create_task", title="Read", description="All of it", tags=["a"], topic_id="books")
    (line,) = shown.lines()
    assert (line.priority, line.topic, [*line.tags], line.more) == ("medium", "books", ["a"], "All of it")
    assert [format_timestamp(moment) for moment in (line.created_at, line.changed_at) if moment] == [
        task["created_at"],
        task["updated_at"],
    ]


async def test_a_task_is_shown_as_its_tool_shows_it(kept: ServedStore, shown: View) -> None:
    task = await kept.task("create_task", title="Read", description="All of it", tags=["a"])
    assert shown.task(str(task["id"])) == task


async def test_what_is_in_progress_is_next_and_then_what_matters_most(kept: ServedStore, shown: View) -> None:
    assert shown.next() is None
    ids: dict[str, str] = {}
    for title, priority in (("a", "medium"), ("b", "high"), ("c", "high"), ("d", "low")):
        ids[title] = str((await kept.task("create_task", title=title, priority=priority))["id"])
    assert shown.next() == ids["c"]
    await kept.call("update_task_status", id=ids["d"], status="in_progress")
    assert shown.next() == ids["d"]
    await kept.call("update_task_status", id=ids["d"], status="canceled")
    assert shown.next() == ids["c"]
    (line,) = shown.lines(["canceled"])
    assert (line.id, line.status, line.text, line.note, line.priority) == (ids["d"], "canceled", "d", "low", "low")


def test_work_has_ended_where_no_status_follows(shown: View) -> None:
    assert {*shown.finished} == {"done", "canceled"} < {*shown.statuses}

"""Ids, the store file, and what a person edits there (C4, ST-1, ST-3, ST-4)."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable
from datetime import datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from task_core.store import MemoryStore
from tasks_v1_mcp.arguments import TaskCreate
from tasks_v1_mcp.models import StoredTask
from tasks_v1_mcp.service import IdMaker, TaskService
from tests.tasks_v1.conftest import START, Desk
from tests.tool_client import ToolFailed


def ids_at(moments: Iterable[datetime], taken: Iterable[str] = ()) -> list[str]:
    maker = IdMaker(Random(3))
    known = list(taken)
    return [maker.new_id(moment, known) for moment in moments]


@pytest.mark.requirement("C4")
@given(st.lists(st.integers(-(10**7), 10**7), max_size=40))
def test_ids_rise_and_none_comes_again_however_the_clock_goes(seconds: list[int]) -> None:
    ids = ids_at(START + timedelta(seconds=second) for second in seconds)
    assert ids == sorted(set(ids))
    assert [name for name in ids if not re.fullmatch(r"task_[0-9A-HJKMNP-TV-Z]{12}", name)] == []


@pytest.mark.requirement("C4")
def test_many_ids_in_one_microsecond_rise_too() -> None:
    ids = ids_at([START] * 300)
    assert ids == sorted(set(ids))


@pytest.mark.requirement("C4")
def test_an_id_that_is_taken_is_passed_over() -> None:
    (taken,) = ids_at([START])
    (other,) = ids_at([START], [taken])
    assert taken < other


@pytest.mark.requirement("C4", "C1")
def test_threads_at_one_moment_make_as_many_tasks_as_they_asked_for() -> None:
    store: MemoryStore[StoredTask] = MemoryStore()
    service = TaskService(store, lambda: START, Random(5))

    def work() -> None:
        for _ in range(25):
            service.create_task(TaskCreate(title="x"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.read()) == 100


@pytest.mark.requirement("ST-1")
async def test_the_store_has_one_task_a_line_in_plain_utf8(desk: Desk) -> None:
    await desk.call("create_task", title="研究航天产业")
    await desk.call("create_task", title="b")
    lines = desk.store.read_text("utf-8").splitlines()
    assert lines[:2] == ["{", '"version": 1,']
    tasks = [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"')]
    assert [task["title"] for task in tasks] == ["研究航天产业", "b"]
    assert "研究航天产业" in lines[3]
    assert "trail" not in lines[3]


async def test_no_answer_shows_the_earlier_places_of_a_task(desk: Desk) -> None:
    task = await desk.task("create_task", title="x")
    changed = await desk.task("update_task", id=task["id"], priority="high")
    assert desk.stored()[0]["trail"] == [[task["updated_at"], "medium"]]
    assert "trail" not in changed
    assert "trail" not in str(await desk.call("list_tasks"))


@pytest.mark.requirement("ST-3", "L2")
async def test_what_a_person_edits_is_seen_and_kept(desk: Desk) -> None:
    task = await desk.task("create_task", title="x")
    text = desk.store.read_text("utf-8").replace('"title":"x"', '"title":"by hand","mood":"good","priority":3')
    desk.store.write_text(text.replace('"priority":"medium",', ""), "utf-8")
    assert await desk.titles() == ["by hand"]
    moved = await desk.task("update_task_status", id=task["id"], status="in_progress")
    assert (moved["title"], moved["mood"], moved["priority"]) == ("by hand", "good", "high")
    assert desk.stored()[0]["mood"] == "good"


@pytest.mark.requirement("ST-3", "L1", "WARN-1")
async def test_a_damaged_store_is_kept_aside_and_the_answer_says_so(desk: Desk) -> None:
    desk.restart()
    desk.store.write_bytes(b'{"tasks": [')
    answer = await desk.call("list_tasks")
    (copy,) = desk.store.parent.glob("tasks.json.corrupt-*")
    assert (answer["tasks"], copy.read_bytes()) == ([], b'{"tasks": [')
    assert copy.name in str(answer["warnings"])


@pytest.mark.requirement("ST-4")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_task", {"title": "x"}),
        ("list_tasks", {}),
        ("update_task_status", {"id": "task_1", "status": "done"}),
        ("get_task", {"id": "task_1"}),
        ("update_task", {"id": "task_1", "title": "x"}),
    ],
)
async def test_a_newer_store_is_left_alone_and_every_tool_says_so(
    desk: Desk, tool: str, arguments: dict[str, str]
) -> None:
    desk.restart()
    desk.store.write_text('{"version": 2, "tasks": []}')
    with pytest.raises(ToolFailed, match=r"^StoreNewer: "):
        await desk.call(tool, **arguments)
    assert desk.store.read_text() == '{"version": 2, "tasks": []}'


@pytest.mark.requirement("ST-2")
async def test_two_servers_on_one_store_see_each_other(desk: Desk) -> None:
    other = Desk(desk.folder, desk.era, desk.now + timedelta(hours=1))
    task = await desk.task("create_task", title="a")
    await other.call("create_task", title="b")
    await other.call("update_task_status", id=task["id"], status="in_progress")
    assert (await desk.task("get_task", id=task["id"]))["status"] == "in_progress"
    assert await desk.titles() == ["b", "a"]

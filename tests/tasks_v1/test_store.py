"""Ids, the document, and what a person edits there (C4, ST-1, ST-3, ST-4)."""

import json
import re
import threading
from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_core.store import MemoryDatabase, Store
from tasks_v1_mcp.arguments import CreateTaskArguments
from tasks_v1_mcp.models import KIND, StoredTask
from tests.tasks_v1.conftest import START, ServedStore, service_over
from tests.tool_client import ToolFailed


def created_at(moments: Iterable[datetime]) -> list[StoredTask]:
    """Return the tasks that a server creates when its clock shows these moments."""
    service = service_over(Store(MemoryDatabase(), KIND, clock=iter(moments).__next__))
    return [service.create_task(CreateTaskArguments(title="x")) for _ in moments]


@pytest.mark.requirement("C4", "EN-16")
@settings(max_examples=30)
@given(st.lists(st.integers(-(10**7), 10**7), max_size=20))
def test_ids_and_moments_rise_however_the_clock_goes(seconds: list[int]) -> None:
    tasks = created_at([START + timedelta(seconds=second) for second in seconds])
    ids, moments = [task.id for task in tasks], [task.created_at for task in tasks]
    assert (ids, moments) == (sorted({*ids}), sorted({*moments}))
    assert [name for name in ids if not re.fullmatch(r"task_[0-9A-HJKMNP-TV-Z]{12}", name)] == []


@pytest.mark.requirement("C4", "EN-16")
def test_changes_under_a_clock_that_stands_still_have_moments_one_microsecond_apart() -> None:
    assert [task.created_at - START for task in created_at([START] * 3)] == [
        *(timedelta(microseconds=number) for number in range(3))
    ]


@pytest.mark.requirement("C4", "C1")
def test_threads_at_one_moment_make_as_many_tasks_as_they_asked_for() -> None:
    store = Store(MemoryDatabase(), KIND)
    service = service_over(store)

    def work() -> None:
        for _ in range(25):
            service.create_task(CreateTaskArguments(title="x"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as tasks:
        assert len(tasks) == 100


@pytest.mark.requirement("ST-1")
async def test_the_store_has_one_task_a_line_in_plain_utf8(served: ServedStore) -> None:
    await served.call("create_task", title="研究航天产业")
    await served.call("create_task", title="b")
    lines = served.store.read_text("utf-8").splitlines()
    assert lines[:2] == ["{", '"version": 1,']
    tasks = [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"')]
    assert [task["title"] for task in tasks] == ["研究航天产业", "b"]
    assert "研究航天产业" in lines[3]


@pytest.mark.requirement("ST-3", "L2")
async def test_what_a_person_edits_is_seen_and_kept(served: ServedStore) -> None:
    task = await served.task("create_task", title="x")
    text = served.store.read_text("utf-8").replace('"title":"x"', '"title":"by hand","mood":"good","priority":3')
    served.store.write_text(text.replace('"priority":"medium",', ""), "utf-8")
    assert await served.titles() == ["by hand"]
    moved = await served.task("update_task_status", id=task["id"], status="in_progress")
    assert (moved["title"], moved["mood"], moved["priority"]) == ("by hand", "good", "high")
    assert served.stored()[0]["mood"] == "good"


@pytest.mark.requirement("ST-3", "ERR-2")
async def test_a_damaged_document_is_left_alone_until_somebody_repairs_it(served: ServedStore) -> None:
    task = await served.task("create_task", title="x")
    whole = served.store.read_bytes()
    served.store.write_bytes(whole[:-9])
    for tool, arguments in (("list_tasks", {"query": "x"}), ("create_task", {"title": "y"})):
        with pytest.raises(ToolFailed, match=r"^StoreDamaged: .*tasks\.json.* line \d+, column \d+"):
            await served.call(tool, **arguments)
    assert served.store.read_bytes() == whole[:-9]
    served.store.write_bytes(whole)
    assert await served.task("get_task", id=task["id"]) == task


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
    served: ServedStore, tool: str, arguments: dict[str, str]
) -> None:
    served.restart()
    served.store.write_text('{"version": 2, "tasks": []}')
    with pytest.raises(ToolFailed, match=r"^StoreNewer: "):
        await served.call(tool, **arguments)
    assert served.store.read_text() == '{"version": 2, "tasks": []}'


@pytest.mark.requirement("ST-2", "EN-5")
async def test_two_servers_on_one_store_see_each_other(kept_served: ServedStore) -> None:
    other = ServedStore(kept_served.folder, kept_served.era, kept_served.engine, kept_served.now + timedelta(hours=1))
    task = await kept_served.task("create_task", title="a")
    await other.call("create_task", title="b")
    await other.call("update_task_status", id=task["id"], status="in_progress")
    assert (await kept_served.task("get_task", id=task["id"]))["status"] == "in_progress"
    assert await kept_served.titles() == ["b", "a"]

"""Start, cleaning and recovery: what a server does with the files it finds (HB-7, HB-15, HB-16, ST-4)."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from random import Random

import pytest
from pydantic import JsonValue

from heartbeat_mcp.archive import Archive
from heartbeat_mcp.arguments import TaskCreate, TaskList
from heartbeat_mcp.mirror import Mirror
from heartbeat_mcp.models import Task
from heartbeat_mcp.service import HeartbeatService, TaskMaker
from task_core.store import JsonFileStore, ListCodec
from task_core.warning_list import WarningList
from tests.core.notes import in_background, wait_for_turn
from tests.heartbeat.conftest import Desk, call
from tests.tool_client import ToolFailed
from tests.wire.line_client import PATIENCE

SECTION = """# Agent

## Routine
- [ ] water the plants

## TODO
- [Running] cool-apple: 写登录
  - [Required] Raw User Request: 写登录
  - [Optional] Raw Reference: docs/auth.md
  - Idea:
    - first
    - second
  - Status: Running
  <!-- task_id: cool-apple -->
- buy milk
- [x] pay the rent
"""


async def ids(desk: Desk, **arguments: bool) -> list[str]:
    return [str(task["id"]) for task in (await call(desk.server(), "task_list", **arguments))["tasks"]]


@pytest.mark.requirement("HB-8", "HB-15")
async def test_the_first_start_makes_a_file_with_the_section_alone(desk: Desk) -> None:
    assert await ids(desk) == []
    assert desk.heartbeat.read_bytes() == b"## TODO\n"
    assert not desk.state.exists()


@pytest.mark.requirement("HB-15", "L1")
async def test_without_a_store_the_tasks_of_the_section_are_taken(desk: Desk) -> None:
    desk.heartbeat.write_text(SECTION, "utf-8")
    tasks = (await call(desk.server(), "task_list", include_completed=True))["tasks"]
    assert [(t["status"], t["raw_user_request"]) for t in tasks] == [
        ("Running", "写登录"),
        ("Pending", "buy milk"),
        ("Complete", "pay the rent"),
    ]
    first = tasks[0]
    assert (first["id"], first["raw_reference"], first["ideas"]) == ("cool-apple", "docs/auth.md", ["first", "second"])
    assert tasks[2]["completed_at"] == tasks[2]["created_at"]
    assert set(desk.stored()) == {t["id"] for t in tasks}
    assert await ids(desk, include_completed=True) == [t["id"] for t in tasks]


@pytest.mark.requirement("HB-16", "L1", "WARN-1")
async def test_a_damaged_store_is_kept_aside_and_recovered_from_the_section(desk: Desk) -> None:
    desk.heartbeat.write_text(SECTION, "utf-8")
    desk.state.write_bytes(b'{"tasks": [')
    page = await call(desk.server(), "task_list")
    assert [t["raw_user_request"] for t in page["tasks"]] == ["写登录", "buy milk"]
    (copy,) = desk.folder.glob("heartbeat_state.json.corrupt-*")
    assert copy.read_bytes() == b'{"tasks": ['
    (warning,) = page["warnings"]
    assert copy.name in warning
    assert "3 tasks were recovered" in warning


@pytest.mark.requirement("ST-4", "HB-16")
@pytest.mark.parametrize("tool", ["task_create", "task_update", "task_list", "task_get"])
async def test_a_newer_store_is_left_alone_and_every_tool_says_so(desk: Desk, tool: str) -> None:
    desk.state.write_text('{"version": 2, "tasks": []}')
    arguments: dict[str, dict[str, JsonValue]] = {
        "task_create": {"raw_user_request": "x"},
        "task_update": {"task_id": "cool-apple", "updates": {"status": "Running"}},
        "task_get": {"task_id": "cool-apple"},
    }
    with pytest.raises(ToolFailed, match=r"^StoreNewer: "):
        await call(desk.server(), tool, **arguments.get(tool, {}))
    assert desk.state.read_text() == '{"version": 2, "tasks": []}'
    assert not desk.heartbeat.exists()


@pytest.mark.requirement("ST-4", "HB-16", "L1")
async def test_a_folder_in_place_of_the_store_is_unreadable_until_it_is_mended(desk: Desk) -> None:
    desk.state.mkdir()
    server = desk.server()
    with pytest.raises(ToolFailed, match=r"^StoreUnreadable: .*heartbeat_state.json"):
        await call(server, "task_list")
    desk.state.rmdir()
    assert (await call(server, "task_list"))["tasks"] == []


@pytest.mark.requirement("HB-7")
async def test_old_finished_tasks_move_to_the_archive_at_start(desk: Desk) -> None:
    server = desk.server()
    old, new = [str((await call(server, "task_create", raw_user_request=text))["id"]) for text in "ab"]
    await call(server, "task_update", task_id=old, updates={"status": "Complete", "result": "成"})
    desk.now += timedelta(days=7)
    await call(server, "task_update", task_id=new, updates={"status": "Fail"})

    assert await ids(desk, include_completed=True) == [new]
    assert set(desk.stored()) == {new}
    assert await ids(desk, include_archived=True) == [old, new]
    archived = await call(desk.server(), "task_get", task_id=old)
    assert (archived["archived"], archived["result"]) == (True, "成")
    with pytest.raises(ToolFailed, match=r"^InvalidArguments: .*archived; create a new one"):
        await call(desk.server(), "task_update", task_id=old, updates={"status": "Running"})
    with pytest.raises(ToolFailed, match=r"^TaskNotFound: ") as caught:
        await call(desk.server(), "task_update", task_id=old[:-1], updates={"status": "Running"})
    assert caught.value.details["near"][0] == old
    assert json.loads((desk.folder / "heartbeat_archive.jsonl").read_text("utf-8"))["id"] == old


@pytest.mark.requirement("HB-7")
async def test_retention_zero_cleans_at_once_and_fractions_count(desk: Desk) -> None:
    server = desk.server()
    task_id = str((await call(server, "task_create", raw_user_request="x"))["id"])
    await call(server, "task_update", task_id=task_id, updates={"status": "Complete"})
    half = desk.server(task_retention_days="0.5")
    assert len((await call(half, "task_list", include_completed=True))["tasks"]) == 1
    nothing = desk.server(task_retention_days="0")
    assert (await call(nothing, "task_list", include_completed=True))["tasks"] == []


@pytest.mark.requirement("HB-7", "HB-13")
async def test_when_the_archive_cannot_be_written_finished_tasks_stay(desk: Desk) -> None:
    server = desk.server()
    task_id = str((await call(server, "task_create", raw_user_request="x"))["id"])
    await call(server, "task_update", task_id=task_id, updates={"status": "Complete"})
    (desk.folder / "heartbeat_archive.jsonl").mkdir()
    page = await call(desk.server(task_retention_days="0"), "task_list", include_completed=True)
    assert [t["id"] for t in page["tasks"]] == [task_id]
    assert any("archive" in warning for warning in page["warnings"])


@pytest.mark.requirement("HB-1", "C4")
async def test_archived_ids_and_ids_in_the_file_are_not_given_again(desk: Desk) -> None:
    server = desk.server()
    first = str((await call(server, "task_create", raw_user_request="x"))["id"])
    await call(server, "task_update", task_id=first, updates={"status": "Complete"})
    await ids(desk)
    desk.server(task_retention_days="0")
    await call(desk.server(task_retention_days="0"), "task_list")
    assert desk.stored() == {}
    # A server started anew draws the same random ids, so that only the check keeps them apart.
    second = str((await call(desk.server(), "task_create", raw_user_request="y"))["id"])
    assert second != first


@pytest.mark.requirement("HB-13")
async def test_without_sync_the_file_is_read_only_to_recover(desk: Desk) -> None:
    desk.heartbeat.write_text(SECTION, "utf-8")
    server = desk.server(auto_sync_enabled="false")
    assert len((await call(server, "task_list"))["tasks"]) == 2
    await call(server, "task_create", raw_user_request="not shown")
    assert desk.heartbeat.read_text("utf-8") == SECTION


@pytest.mark.requirement("ST-3", "D7")
async def test_what_a_person_edits_in_the_store_is_seen_at_the_next_call(desk: Desk) -> None:
    server = desk.server()
    task_id = str((await call(server, "task_create", raw_user_request="x"))["id"])
    edited = (
        desk.state.read_text("utf-8")
        .replace('"x"', '"edited by hand"')
        .replace('"version": 1', '"version": 1, "mine": [1]')
    )
    desk.state.write_text(edited, "utf-8")
    assert (await call(server, "task_get", task_id=task_id))["raw_user_request"] == "edited by hand"
    await call(server, "task_create", raw_user_request="y")
    assert json.loads(desk.state.read_text("utf-8"))["mine"] == [1]


@pytest.mark.requirement("ST-3", "L1")
async def test_a_broken_edit_is_kept_aside_and_the_last_good_state_goes_on(desk: Desk) -> None:
    server = desk.server()
    task_id = str((await call(server, "task_create", raw_user_request="x"))["id"])
    await call(server, "task_update", task_id=task_id, updates={"status": "Complete"})
    desk.state.write_bytes(desk.state.read_bytes()[:-9])
    page = await call(server, "task_list", include_completed=True)
    assert [t["id"] for t in page["tasks"]] == [task_id]
    assert len(list(desk.folder.glob("*.corrupt-*"))) == 1
    assert len(page["warnings"]) == 1


@pytest.mark.requirement("HB-16", "ST-2")
async def test_what_another_process_has_done_since_is_not_undone_from_an_old_memory(desk: Desk) -> None:
    one, other = desk.server(), desk.server()
    first, second = [str((await call(one, "task_create", raw_user_request=text))["id"]) for text in ("a", "b")]
    await call(other, "task_update", task_id=first, updates={"status": "Complete"})
    await call(other, "task_update", task_id=second, updates={"status": "Running", "result": "half"})
    desk.state.write_bytes(desk.state.read_bytes()[:-40])
    page = await call(one, "task_list", include_completed=True)
    # Whether the finished one is known still depends on whether the first server has looked in between.
    statuses = {task["id"]: (task["status"], task["result"]) for task in page["tasks"]}
    assert statuses.pop(first, None) in {None, ("Complete", None)}
    assert statuses == {second: ("Running", "half")}
    assert "recovered" in page["warnings"][0]


@pytest.mark.requirement("HB-15", "WARN-1")
async def test_a_recovery_without_a_store_is_told(desk: Desk) -> None:
    desk.heartbeat.write_text(SECTION, "utf-8")
    assert (await call(desk.server(), "task_list"))["warnings"] == [
        "heartbeat_state.json was not there; 3 tasks were recovered."
    ]


@pytest.mark.requirement("HB-7", "HB-12")
async def test_with_retention_zero_a_finished_line_is_taken_in_once_and_then_archived(desk: Desk) -> None:
    await call(desk.server(), "task_create", raw_user_request="x")
    desk.heartbeat.write_text("## TODO\n- [x] pay the rent\n", "utf-8")
    for _ in range(3):
        await call(desk.server(task_retention_days="0"), "task_list")
    tasks = (await call(desk.server(), "task_list", include_archived=True))["tasks"]
    assert [task["raw_user_request"] for task in tasks] == ["x", "pay the rent"]
    assert "rent" not in desk.heartbeat.read_text("utf-8")


@pytest.mark.requirement("HB-7", "HB-12")
def test_a_finished_line_is_not_archived_in_the_save_that_takes_it_in(desk: Desk) -> None:
    service, store = unbounded(desk)
    store.batch_seconds = 10.0
    service.create_task(TaskCreate.model_validate({"raw_user_request": "x"}))
    desk.heartbeat.write_text("## TODO\n- [x] pay the rent\n", "utf-8")
    begun, ends = threading.Semaphore(0), [threading.Event(), threading.Event()]

    def hold(end: threading.Event) -> None:
        with store.transaction():
            begun.release()
            assert end.wait(PATIENCE)

    with in_background() as start:
        start(lambda: hold(ends[0]))
        assert begun.acquire(timeout=PATIENCE)
        wait_for_turn(*start(service.clean))
        wait_for_turn(*start(lambda: hold(ends[1])))
        ends[0].set()
        assert begun.acquire(timeout=PATIENCE)
        # The line is a task by now and not yet saved: for a call that begins now it was finished before.
        wait_for_turn(*start(lambda: service.list_tasks(TaskList())))
        ends[1].set()
    assert "rent" not in desk.heartbeat.read_text("utf-8")
    again, _ = unbounded(desk)
    again.clean()
    tasks = again.list_tasks(TaskList(include_archived=True))
    assert [task.model_dump().get("archived") for task in tasks] == [None, True]


def unbounded(desk: Desk) -> tuple[HeartbeatService, JsonFileStore[Task]]:
    """Return what a server would keep its tasks with whose finished tasks go at once."""
    warnings = WarningList()
    mirror = Mirror(desk.heartbeat, warnings)
    archive = Archive(desk.folder / "heartbeat_archive.jsonl", warnings)
    maker = TaskMaker(mirror, archive, desk.clock, Random(7))
    codec = ListCodec(Task, index_field="id_to_index")
    store = JsonFileStore(desk.state, codec, warnings, recover=maker.recovered, on_commit=mirror.write)
    service = HeartbeatService(
        store, mirror, archive, maker, warnings, check_reference=lambda *_: None, retention_days=0, clock=desk.clock
    )
    return service, store

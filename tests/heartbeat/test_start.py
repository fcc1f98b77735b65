"""Start, cleaning and recovery: what a server does with the files it finds (HB-7, HB-15, HB-16, ST-4)."""

from __future__ import annotations

import json
import os
from datetime import timedelta

import pytest
from pydantic import JsonValue

from heartbeat_mcp.arguments import TaskCreate, TaskList
from heartbeat_mcp.settings import HeartbeatSettings
from tests.heartbeat.conftest import Desk, call
from tests.heartbeat.parts import parts_of
from tests.tool_client import ToolFailed

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


KEPT = "The section as it was is in HEARTBEAT.md.bak."


@pytest.mark.requirement("HB-8", "HB-15")
async def test_the_first_start_makes_a_file_with_the_section_alone(stored_desk: Desk) -> None:
    assert await ids(stored_desk) == []
    assert stored_desk.heartbeat.read_bytes() == b"## TODO\n"
    assert not stored_desk.state.exists()


@pytest.mark.requirement("HB-15", "L1")
async def test_without_a_store_the_tasks_of_the_section_are_taken(stored_desk: Desk) -> None:
    stored_desk.heartbeat.write_text(SECTION, "utf-8")
    tasks = (await call(stored_desk.server(), "task_list", include_completed=True))["tasks"]
    assert [(t["status"], t["raw_user_request"]) for t in tasks] == [
        ("Running", "写登录"),
        ("Pending", "buy milk"),
        ("Complete", "pay the rent"),
    ]
    first = tasks[0]
    assert (first["id"], first["raw_reference"], first["ideas"]) == ("cool-apple", "docs/auth.md", ["first", "second"])
    assert tasks[2]["completed_at"] == tasks[2]["created_at"]
    assert await ids(stored_desk, include_completed=True) == [t["id"] for t in tasks]


TORN = b'{\n"version": 1,\n"tasks": [\n{"id": "cool'


@pytest.mark.requirement("HB-16", "L1", "WARN-1")
@pytest.mark.parametrize("data", [TORN, TORN[:3], b"\0" * 4096], ids=["cut off", "cut off at once", "zero bytes"])
async def test_a_store_that_a_crash_cut_off_is_kept_aside_and_recovered_from_the_section(
    stored_desk: Desk, data: bytes
) -> None:
    stored_desk.heartbeat.write_text(SECTION, "utf-8")
    stored_desk.state.write_bytes(data)
    page = await call(stored_desk.server(), "task_list")
    assert [t["raw_user_request"] for t in page["tasks"]] == ["写登录", "buy milk"]
    (copy,) = stored_desk.folder.glob("heartbeat_state.json.corrupt-*")
    assert copy.read_bytes() == data
    damage, recovery = page["warnings"]
    assert copy.name in damage
    assert recovery.startswith("The store was empty; its tasks were recovered from HEARTBEAT.md: cool-apple, ")


@pytest.mark.requirement("HB-16", "ST-3")
@pytest.mark.parametrize(
    "data",
    [
        b'{"tasks": [',
        b'{"tasks": [}',
        b"[1, 2",
        TORN.replace(b"{", b"{\xff", 1),
        TORN.replace(b"cool", b'cool"}, {"id": "cool"}]}'),
        b'{"version": 1, "tasks": [{"id": "cool-apple"}]}',
        b'{"tasks": NaN}',
        b"<<<<<<< HEAD\n",
    ],
)
async def test_any_other_damage_is_left_alone_with_all_files_and_every_tool_says_where(
    stored_desk: Desk, data: bytes
) -> None:
    stored_desk.heartbeat.write_text(SECTION, "utf-8")
    stored_desk.state.write_bytes(data)
    server = stored_desk.server()
    for tool in CALLS if data == b"[1, 2" else ["task_list"]:
        with pytest.raises(ToolFailed, match=r"^StoreDamaged: The store 'heartbeat_state.json' is damaged at line "):
            await call(server, tool, **CALLS[tool])
    assert stored_desk.state.read_bytes() == data
    assert stored_desk.heartbeat.read_text("utf-8") == SECTION
    assert {path.suffix for path in stored_desk.folder.iterdir()} <= {".md", ".json", ".lock"}
    stored_desk.state.unlink()
    assert len((await call(server, "task_list"))["tasks"]) == 2


@pytest.mark.requirement("HB-16", "ST-5")
@pytest.mark.parametrize("data", [TORN, b"", b" \n"], ids=["cut off", "empty", "blank"])
async def test_a_store_that_somebody_may_be_writing_is_waited_for(stored_desk: Desk, data: bytes) -> None:
    stored_desk.heartbeat.write_text(SECTION, "utf-8")
    stored_desk.state.write_bytes(data)
    just_now = stored_desk.now.timestamp() + 4
    os.utime(stored_desk.state, (just_now, just_now))
    server = stored_desk.server()
    with pytest.raises(ToolFailed, match=r"^StoreDamaged: "):
        await call(server, "task_list")
    assert stored_desk.state.read_bytes() == data
    stored_desk.now += timedelta(seconds=10)
    assert len((await call(server, "task_list"))["tasks"]) == 2


CALLS: dict[str, dict[str, JsonValue]] = {
    "task_create": {"raw_user_request": "x"},
    "task_update": {"task_id": "cool-apple", "updates": {"status": "Running"}},
    "task_get": {"task_id": "cool-apple"},
    "task_list": {},
}


@pytest.mark.requirement("ST-4", "HB-16")
async def test_a_newer_store_is_left_alone_and_every_tool_says_so(stored_desk: Desk) -> None:
    stored_desk.state.write_text('{"version": 2, "tasks": []}')
    server = stored_desk.server()
    for tool, arguments in CALLS.items():
        with pytest.raises(ToolFailed, match=r"^StoreNewer: "):
            await call(server, tool, **arguments)
    assert stored_desk.state.read_text() == '{"version": 2, "tasks": []}'
    assert not stored_desk.heartbeat.exists()


@pytest.mark.requirement("ST-4", "HB-16", "L1")
async def test_a_folder_in_place_of_the_store_is_unreadable_until_it_is_fixed(stored_desk: Desk) -> None:
    stored_desk.state.mkdir()
    server = stored_desk.server()
    with pytest.raises(ToolFailed, match=r"^StoreUnreadable: .*heartbeat_state.json"):
        await call(server, "task_list")
    stored_desk.state.rmdir()
    assert (await call(server, "task_list"))["tasks"] == []


@pytest.mark.requirement("HB-7")
async def test_old_finished_tasks_move_to_the_archive_at_start(kept_desk: Desk) -> None:
    server = kept_desk.server()
    old, new = [str((await call(server, "task_create", raw_user_request=text))["id"]) for text in "ab"]
    await call(server, "task_update", task_id=old, updates={"status": "Complete", "result": "成"})
    kept_desk.now += timedelta(days=7)
    await call(server, "task_update", task_id=new, updates={"status": "Fail"})

    assert await ids(kept_desk, include_completed=True) == [new]
    assert await ids(kept_desk, include_archived=True) == [old, new]
    archived = await call(kept_desk.server(), "task_get", task_id=old)
    assert (archived["archived"], archived["result"]) == (True, "成")
    with pytest.raises(ToolFailed, match=r"^InvalidArguments: .*archived; create a new one"):
        await call(kept_desk.server(), "task_update", task_id=old, updates={"status": "Running"})
    with pytest.raises(ToolFailed, match=r"^TaskNotFound: ") as caught:
        await call(kept_desk.server(), "task_update", task_id=old[:-1], updates={"status": "Running"})
    assert caught.value.details["near"][0] == old
    if kept_desk.engine == "json":
        assert json.loads((kept_desk.folder / "heartbeat_archive.jsonl").read_text("utf-8"))["id"] == old


@pytest.mark.requirement("HB-7")
async def test_retention_zero_cleans_at_once_and_fractions_count(stored_desk: Desk) -> None:
    server = stored_desk.server()
    task_id = str((await call(server, "task_create", raw_user_request="x"))["id"])
    await call(server, "task_update", task_id=task_id, updates={"status": "Complete"})
    half = stored_desk.server(task_retention_days="0.5")
    assert len((await call(half, "task_list", include_completed=True))["tasks"]) == 1
    nothing = stored_desk.server(task_retention_days="0")
    assert (await call(nothing, "task_list", include_completed=True))["tasks"] == []


@pytest.mark.requirement("HB-7", "HB-13")
async def test_when_the_archive_cannot_be_written_finished_tasks_stay(stored_desk: Desk) -> None:
    server = stored_desk.server()
    task_id = str((await call(server, "task_create", raw_user_request="x"))["id"])
    await call(server, "task_update", task_id=task_id, updates={"status": "Complete"})
    (stored_desk.folder / "heartbeat_archive.jsonl").mkdir()
    page = await call(stored_desk.server(task_retention_days="0"), "task_list", include_completed=True)
    assert [t["id"] for t in page["tasks"]] == [task_id]
    assert any("archive" in warning for warning in page["warnings"])


@pytest.mark.requirement("HB-1", "C4")
async def test_archived_ids_and_ids_in_the_file_are_not_given_again(kept_desk: Desk) -> None:
    server = kept_desk.server()
    first = str((await call(server, "task_create", raw_user_request="x"))["id"])
    await call(server, "task_update", task_id=first, updates={"status": "Complete"})
    await ids(kept_desk)
    kept_desk.server(task_retention_days="0")
    await call(kept_desk.server(task_retention_days="0"), "task_list")
    assert await ids(kept_desk, include_completed=True) == []
    # A restarted server draws the same random ids, so that only the check keeps them apart.
    second = str((await call(kept_desk.server(), "task_create", raw_user_request="y"))["id"])
    assert second != first


@pytest.mark.requirement("HB-13")
async def test_without_sync_the_file_is_read_only_to_recover(stored_desk: Desk) -> None:
    stored_desk.heartbeat.write_text(SECTION, "utf-8")
    server = stored_desk.server(auto_sync_enabled="false")
    assert len((await call(server, "task_list"))["tasks"]) == 2
    await call(server, "task_create", raw_user_request="not shown")
    assert stored_desk.heartbeat.read_text("utf-8") == SECTION


@pytest.mark.requirement("ST-3", "D7")
async def test_what_a_person_edits_in_the_store_is_seen_at_the_next_call(stored_desk: Desk) -> None:
    server = stored_desk.server()
    task_id = str((await call(server, "task_create", raw_user_request="x"))["id"])
    edited = (
        stored_desk.state.read_text("utf-8")
        .replace('"x"', '"edited by hand"')
        .replace('"version": 1', '"version": 1, "mine": [1]')
    )
    stored_desk.state.write_text(edited, "utf-8")
    assert (await call(server, "task_get", task_id=task_id))["raw_user_request"] == "edited by hand"
    await call(server, "task_create", raw_user_request="y")
    assert json.loads(stored_desk.state.read_text("utf-8"))["mine"] == [1]


@pytest.mark.requirement("HB-15", "HB-16", "ST-5")
@pytest.mark.parametrize("is_torn", [True, False], ids=["cut off", "removed"])
async def test_a_store_that_is_lost_while_serving_comes_back_from_the_section(
    stored_desk: Desk, *, is_torn: bool
) -> None:
    server = stored_desk.server()
    first = await call(server, "task_create", raw_user_request="a", ideas=["think"])
    if is_torn:
        stored_desk.state.write_bytes(stored_desk.state.read_bytes()[:-40])
    else:
        stored_desk.state.unlink()
    second = await call(server, "task_create", raw_user_request="b")
    page = await call(server, "task_list")
    assert [(task["id"], task["ideas"]) for task in page["tasks"]] == [(first["id"], ["think"]), (second["id"], [])]
    assert second["warnings"][-1] == f"The store was empty; its tasks were recovered from HEARTBEAT.md: {first['id']}."
    assert stored_desk.heartbeat.read_text("utf-8").count("task_id") == 2


@pytest.mark.requirement("HB-15", "HB-16")
def test_a_store_that_is_lost_before_the_section_is_written_comes_back_from_it(stored_desk: Desk) -> None:
    values = {"heartbeat_file_path": str(stored_desk.heartbeat), "task_fsync": "false"}
    parts = parts_of(HeartbeatSettings.model_validate(values), stored_desk.clock)
    first = parts.service.create_task(TaskCreate.model_validate({"raw_user_request": "a"}))
    with parts.file.transaction():
        stored_desk.state.unlink()
    assert [task.id for task in parts.service.list_tasks(TaskList()).tasks] == [first.id]
    assert stored_desk.stored().keys() == {first.id}
    assert f"task_id: {first.id}" in stored_desk.heartbeat.read_text("utf-8")


@pytest.mark.requirement("HB-16", "ST-2")
async def test_what_another_process_has_done_since_is_not_undone_from_an_old_memory(stored_desk: Desk) -> None:
    one, other = stored_desk.server(), stored_desk.server()
    first, second = [str((await call(one, "task_create", raw_user_request=text))["id"]) for text in ("a", "b")]
    await call(other, "task_update", task_id=first, updates={"status": "Complete"})
    await call(other, "task_update", task_id=second, updates={"status": "Running", "result": "half"})
    stored_desk.state.write_bytes(stored_desk.state.read_bytes()[:-40])
    page = await call(one, "task_list", include_completed=True)
    assert [(task["id"], task["status"], task["result"]) for task in page["tasks"]] == [(second, "Running", "half")]
    assert "its tasks were recovered from HEARTBEAT.md" in page["warnings"][-1]


@pytest.mark.requirement("HB-15", "WARN-1")
async def test_a_recovery_without_a_store_is_reported(stored_desk: Desk) -> None:
    stored_desk.heartbeat.write_text(SECTION, "utf-8")
    page = await call(stored_desk.server(), "task_list", include_completed=True)
    named = ", ".join(task["id"] for task in page["tasks"])
    assert page["warnings"] == [f"The store was empty; its tasks were recovered from HEARTBEAT.md: {named}. {KEPT}"]


@pytest.mark.requirement("HB-7", "HB-12")
async def test_with_retention_zero_a_finished_line_is_taken_in_once_and_then_archived(stored_desk: Desk) -> None:
    await call(stored_desk.server(), "task_create", raw_user_request="x")
    stored_desk.heartbeat.write_text("## TODO\n- [x] pay the rent\n", "utf-8")
    for _ in range(3):
        await call(stored_desk.server(task_retention_days="0"), "task_list")
    tasks = (await call(stored_desk.server(), "task_list", include_archived=True))["tasks"]
    assert [task["raw_user_request"] for task in tasks] == ["x", "pay the rent"]
    assert "rent" not in stored_desk.heartbeat.read_text("utf-8")

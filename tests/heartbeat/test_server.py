"""What a model is shown, and what the server does on its own (TOOL-1, TOOL-4, HB-5, HB-7, HB-12)."""

from __future__ import annotations

import errno
import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from mcp.client import Client
from mcp_types import Tool

from heartbeat_mcp.arguments import TaskCreate, TaskList
from heartbeat_mcp.server import build_server
from heartbeat_mcp.settings import HeartbeatSettings
from tests.core.faults import Fault, watched
from tests.heartbeat.acts import HeartbeatBench, with_line
from tests.heartbeat.conftest import Desk, call, other_holder
from tests.heartbeat.parts import parts_of
from tests.resource_client import read_text
from tests.tool_client import ToolFailed

SHOWN = ("name", "title", "description", "inputSchema")


def compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


async def tools_of(desk: Desk) -> list[Tool]:
    async with Client(desk.server().sdk) as client:
        return (await client.list_tools()).tools


@pytest.mark.requirement("TOOL-4")
async def test_what_a_model_pays_to_see_the_tools_stays_small(desk: Desk) -> None:
    tools = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in await tools_of(desk)]
    assert sum(len(compact({name: tool[name] for name in SHOWN})) for tool in tools) <= 3_000
    assert [tool["name"] for tool in tools if len(compact(tool["outputSchema"])) > 700] == []
    assert b"$ref" not in compact(tools)


@pytest.mark.requirement("TOOL-1")
async def test_every_tool_and_every_parameter_says_what_it_is_for(desk: Desk) -> None:
    for tool in await tools_of(desk):
        assert tool.description
        assert tool.annotations
        hints = tool.annotations.model_dump(exclude={"title"})
        assert None not in hints.values()
        assert hints["read_only_hint"] is (tool.name in {"task_list", "task_get"})
        assert all(part["description"] for part in tool.input_schema["properties"].values())


@pytest.mark.requirement("HB-2", "HB-3")
async def test_only_create_and_updates_are_open(desk: Desk) -> None:
    schemas = {tool.name: tool.input_schema for tool in await tools_of(desk)}
    closed = {name for name, schema in schemas.items() if schema["additionalProperties"] is False}
    assert closed == {"task_update", "task_list", "task_get"}
    assert schemas["task_update"]["properties"]["updates"]["additionalProperties"] is not False


@pytest.mark.requirement("HB-5")
async def test_a_finished_task_is_still_got_by_its_id(desk: Desk) -> None:
    server = desk.server()
    task_id = (await call(server, "task_create", raw_user_request="x"))["id"]
    done = await call(server, "task_update", task_id=task_id, updates={"status": "Complete"})
    assert await call(server, "task_get", task_id=task_id) == done


@pytest.mark.requirement("HB-7")
async def test_while_serving_cleaning_comes_round_again(desk: Desk) -> None:
    settings = HeartbeatSettings(heartbeat_file_path=desk.heartbeat, task_retention_days=0)
    server = build_server(settings, clock=desk.clock, cleaning_seconds=0.01)
    async with Client(server.sdk) as client:
        created = (await client.call_tool("task_create", {"raw_user_request": "x"})).structured_content or {}
        await client.call_tool("task_update", {"task_id": created["id"], "updates": {"status": "Complete"}})
        with anyio.fail_after(20):
            while (await client.call_tool("task_list", {"include_completed": True})).structured_content != {
                "tasks": []
            }:
                pass
    assert (desk.folder / "heartbeat_archive.jsonl").exists()


@pytest.mark.requirement("HB-7", "HB-13", "P2")
@pytest.mark.parametrize("name", ["heartbeat_archive.jsonl", "heartbeat_state.json", "HEARTBEAT.md"])
async def test_cleaning_that_fails_again_and_again_ends_no_server(stored_desk: Desk, name: str) -> None:
    settings = HeartbeatSettings(
        heartbeat_file_path=stored_desk.heartbeat, task_retention_days=0, task_lock_timeout=0.1
    )
    blocked = stored_desk.folder / name
    kept = stored_desk.folder / "kept"
    created = await call(stored_desk.server(), "task_create", raw_user_request="x")
    server = build_server(settings, clock=stored_desk.clock, cleaning_seconds=0.001)
    async with Client(server.sdk) as client:
        if blocked.exists():
            blocked.rename(kept)
        while not blocked.is_dir():  # a clean-up may make the file anew
            blocked.unlink(missing_ok=True)
            with suppress(FileExistsError):
                blocked.mkdir()
        for _ in range(10):
            await client.call_tool("task_list", {})
        blocked.rmdir()
        if kept.exists():
            kept.rename(blocked)
        done = {"task_id": created["id"], "updates": {"status": "Complete"}}
        with anyio.fail_after(20):
            while not (stored_desk.folder / "heartbeat_archive.jsonl").exists():
                await client.call_tool("task_update", done)  # it may fail while a clean-up holds the lock


@pytest.mark.requirement("HB-7", "P2")
async def test_an_unforeseen_fault_in_cleaning_ends_no_server(
    stored_desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    faults = iter(range(5))

    def clock() -> datetime:
        if next(faults, None) is not None:
            raise ZeroDivisionError
        return stored_desk.clock()

    settings = HeartbeatSettings(heartbeat_file_path=stored_desk.heartbeat)
    server = build_server(settings, clock=clock, cleaning_seconds=0.001)
    async with Client(server.sdk) as client:
        with anyio.fail_after(20):
            while caplog.text.count("The clean-up failed with ZeroDivisionError") < 5:
                await anyio.lowlevel.checkpoint()
        assert not (await client.call_tool("task_create", {"raw_user_request": "x"})).is_error


@pytest.mark.requirement("HB-12", "WARN-1")
async def test_a_line_added_by_hand_is_a_task_at_the_next_call_and_a_warning_says_so_once(desk: Desk) -> None:
    server = desk.server()
    first = await call(server, "task_create", raw_user_request="x")
    desk.heartbeat.write_text(desk.heartbeat.read_text("utf-8") + "- buy milk\n", "utf-8")
    page = await call(server, "task_list")
    _, task = page["tasks"]
    assert (task["status"], task["raw_user_request"]) == ("Pending", "buy milk")
    assert page["warnings"] == [f"Lines added to HEARTBEAT.md by hand are now tasks: {task['id']}."]
    assert await call(server, "task_list") == {"tasks": [first, task]}


@pytest.mark.requirement("HB-12", "D5", "C2")
def test_when_the_lock_is_held_elsewhere_a_list_comes_without_what_was_added_by_hand(stored_desk: Desk) -> None:
    # Without a clean-up in the background, which could take it in while a reader still waits.
    values = {"heartbeat_file_path": stored_desk.heartbeat, "task_lock_timeout": 0.2, **stored_desk.store}
    parts = parts_of(HeartbeatSettings.model_validate(values), stored_desk.clock)
    parts.service.create_task(TaskCreate.model_validate({"raw_user_request": "x"}))
    for count in (1, 2):  # a cause that has passed is reported again
        stored_desk.heartbeat.write_text(stored_desk.heartbeat.read_text("utf-8") + "- buy milk\n", "utf-8")
        with stored_desk.hold():
            assert len(parts.service.list_tasks(TaskList()).tasks) == count
            assert any("were not taken in" in warning for warning in parts.warnings.take())
        assert len(parts.service.list_tasks(TaskList()).tasks) == count + 1


@pytest.mark.requirement("WARN-1", "ERR-2", "HB-12")
def test_a_line_that_could_not_be_saved_is_not_reported_as_a_task(tmp_path: Path) -> None:
    with_line(tmp_path)
    bench = HeartbeatBench(tmp_path)
    with watched(Fault(1, errno.ENOSPC, for_good=True), {"rename_with"}):
        assert len(bench.service.list_tasks(TaskList()).tasks) == 2
    warnings = " ".join(bench.warnings.take())
    assert "were not taken in" in warnings
    assert "are now tasks" not in warnings
    milk = bench.service.list_tasks(TaskList()).tasks[-1]
    assert milk.raw_user_request == "by hand: buy milk"
    assert bench.warnings.take() == [f"Lines added to HEARTBEAT.md by hand are now tasks: {milk.id}."]


@pytest.mark.requirement("C2")
async def test_a_start_while_the_lock_is_held_elsewhere_is_a_warning(stored_desk: Desk) -> None:
    await call(stored_desk.server(), "task_create", raw_user_request="x")
    with stored_desk.hold():
        server = stored_desk.server(task_lock_timeout="0.2")
        page = await call(server, "task_list")
        assert any("locked" in warning for warning in page["warnings"])
        with pytest.raises(ToolFailed, match=r"^StoreLocked: "):
            await call(server, "task_create", raw_user_request="y")
    await call(server, "task_create", raw_user_request="y")


@pytest.mark.requirement("C4", "HB-15")
async def test_an_entry_whose_task_is_archived_is_not_taken_in_again(kept_desk: Desk) -> None:
    server = kept_desk.server()
    task_id = (await call(server, "task_create", raw_user_request="x"))["id"]
    stale = kept_desk.heartbeat.read_bytes()
    await call(server, "task_update", task_id=task_id, updates={"status": "Complete"})
    await call(kept_desk.server(task_retention_days="0"), "task_list")
    kept_desk.heartbeat.write_bytes(stale)
    if kept_desk.engine == "json":  # the archive outlives the document
        kept_desk.state.unlink()
        kept_desk.heartbeat.write_bytes(stale)
    assert (await call(kept_desk.server(), "task_list", include_completed=True))["tasks"] == []
    assert task_id not in kept_desk.heartbeat.read_text("utf-8")


@pytest.mark.requirement("EN-19", "HB-7")
async def test_archived_tasks_of_a_database_are_not_counted_or_listed_unless_asked_for(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "sqlite")
    server = desk.server()
    task_id = (await call(server, "task_create", raw_user_request="x"))["id"]
    await call(server, "task_update", task_id=task_id, updates={"status": "Complete"})
    later = desk.server(task_retention_days="0")
    assert await call(later, "task_list", include_completed=True) == {"tasks": []}
    assert "There are none." in await read_text(later, "tasks://summary")
    (archived,) = (await call(later, "task_list", include_archived=True))["tasks"]
    assert archived["archived"] is True
    assert [path.name for path in tmp_path.iterdir() if "archive" in path.name] == []


@pytest.mark.requirement("EN-17", "EN-19")
async def test_a_list_without_a_file_is_served_from_its_store_alone(tmp_path: Path) -> None:
    settings = HeartbeatSettings(task_store=f"sqlite:{tmp_path}/tasks.db")
    server = build_server(settings)
    task = await call(server, "task_create", raw_user_request="x")
    again = build_server(settings)
    assert await call(again, "task_get", task_id=task["id"]) == task
    assert not (tmp_path / "HEARTBEAT.md").exists()


@pytest.mark.requirement("EN-21")
async def test_an_agent_that_was_away_lists_what_changed(stored_desk: Desk) -> None:
    server = stored_desk.server(task_extra_tools="changes")
    first = await call(server, "task_create", raw_user_request="x")
    token = (await call(server, "list_changes"))["token"]
    second = await call(stored_desk.server(), "task_create", raw_user_request="y")
    changed = await call(server, "task_update", task_id=first["id"], updates={"status": "Running"})
    page = await call(server, "list_changes", since=token)
    assert (page["changes"], page["more"], page["reset"]) == ([second, changed], False, False)
    async with Client(stored_desk.server().sdk) as client:
        assert "list_changes" not in {tool.name for tool in (await client.list_tools()).tools}


@pytest.mark.requirement("CLI-5", "C2", "HB-13")
async def test_a_server_that_ends_waits_for_no_lock_of_the_file(stored_desk: Desk) -> None:
    server = stored_desk.server(task_lock_timeout="600")
    with other_holder(stored_desk.folder / "HEARTBEAT.md.lock"), anyio.fail_after(20):
        server.close()
        made = await call(server, "task_create", raw_user_request="x")
    assert any("HEARTBEAT.md was left as it is" in warning for warning in made["warnings"])

"""What is read of the to-do list as resources (RES-1 to RES-7)."""

from __future__ import annotations

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from tests.heartbeat.conftest import Desk, call
from tests.resource_client import read_json, read_text
from tests.tool_client import Era


@pytest.mark.requirement("RES-2")
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_the_list_has_the_active_tasks_in_short_oldest_first(desk: Desk, era: Era) -> None:
    server = desk.server()
    first = await call(server, "task_create", raw_user_request="x" * 1_000, ideas=["an idea"])
    second = await call(server, "task_create", raw_user_request="two\nlines")
    done = await call(server, "task_create", raw_user_request="done")
    await call(server, "task_update", task_id=done["id"], updates={"status": "Complete"})
    assert await read_json(server, "tasks://list", era) == {
        "tasks": [
            {
                "id": first["id"],
                "status": "Pending",
                "raw_user_request": "x" * 159 + "…",
                "created_at": first["created_at"],
                "updated_at": first["updated_at"],
            },
            {
                "id": second["id"],
                "status": "Pending",
                "raw_user_request": "two\nlines",
                "created_at": second["created_at"],
                "updated_at": second["updated_at"],
            },
        ],
        "total": 2,
        "left_out": 0,
    }


@pytest.mark.requirement("RES-4")
async def test_the_list_has_a_hundred_tasks_at_most(desk: Desk) -> None:
    desk.heartbeat.write_text("## TODO\n" + "".join(f"- task {number}\n" for number in range(130)), "utf-8")
    listed = await read_json(desk.server(), "tasks://list")
    assert (len(listed["tasks"]), listed["total"], listed["left_out"]) == (100, 130, 30)


@pytest.mark.requirement("RES-2", "HB-5")
async def test_a_task_is_what_task_get_returns_archived_ones_too(kept_desk: Desk) -> None:
    server = kept_desk.server(task_retention_days="0")
    made = await call(server, "task_create", raw_user_request="x", ideas=["a"], colour="red")
    assert await read_json(server, f"tasks://{made['id']}") == made
    await call(server, "task_update", task_id=made["id"], updates={"status": "Complete"})
    later = kept_desk.server(task_retention_days="0")
    archived = await read_json(later, f"tasks://{made['id']}")
    assert archived["archived"] is True
    assert archived == await call(later, "task_get", task_id=made["id"])


@pytest.mark.requirement("RES-3", "RES-4", "S3")
async def test_the_summary_has_counts_what_runs_and_what_waits(desk: Desk) -> None:
    server = desk.server()
    names = [
        (await call(server, "task_create", raw_user_request=text))["id"] for text in ("one", "## two\n<b>", "three")
    ]
    await call(server, "task_update", task_id=names[0], updates={"status": "Fail"})
    await call(server, "task_update", task_id=names[2], updates={"status": "Running"})
    assert await read_text(server, "tasks://summary") == (
        "# Tasks\n\n3 in all: 1 Pending, 1 Running, 1 Fail.\n\n"
        f"## Active\n- {names[2]}: three\n\n"
        f"## Next\n- {names[1]}: \\#\\# two \\<b\\>\n"
    )


@pytest.mark.requirement("RES-2", "HB-12")
async def test_reading_takes_in_what_a_person_wrote(desk: Desk) -> None:
    server = desk.server()
    desk.heartbeat.write_text("## TODO\n- buy milk\n", "utf-8")
    assert [task["raw_user_request"] for task in (await read_json(server, "tasks://list"))["tasks"]] == ["buy milk"]


@pytest.mark.requirement("RES-6")
async def test_a_listener_is_notified_of_a_task_that_changed(desk: Desk) -> None:
    async with Client(desk.server().sdk) as client:
        made = await client.call_tool("task_create", {"raw_user_request": "x"})
        uri = f"tasks://{made.structured_content['id']}"
        async with client.listen(resource_subscriptions=[uri]) as news:
            updates = {"status": "Running"}
            await client.call_tool("task_update", {"task_id": uri.removeprefix("tasks://"), "updates": updates})
            assert await anext(news) == ResourceUpdated(uri)


@pytest.mark.requirement("RES-7", "ST-4")
async def test_a_store_of_a_newer_version_is_named_not_shown(stored_desk: Desk) -> None:
    stored_desk.state.write_text('{"version": 99, "tasks": []}', "utf-8")
    async with Client(stored_desk.server().sdk) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource("tasks://summary")
    assert (caught.value.code, caught.value.data["code"]) == (-32603, "StoreNewer")

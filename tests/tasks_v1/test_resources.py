"""What is read of a person's tasks as resources, on every engine (RES-1 to RES-7, EN-5)."""

import json

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from tests.resource_client import read_json, read_text
from tests.tasks_v1.conftest import ServedStore, make_task


@pytest.mark.requirement("RES-2")
async def test_the_list_is_what_list_tasks_shows_unfiltered(served: ServedStore) -> None:
    server = served.restart()
    await served.call("create_task", title="old", description="long")
    await served.call("create_task", title="new", tags=["a"])
    page = await served.call("list_tasks")
    listed = await read_json(server, "tasks://list", served.era)
    assert listed == {"tasks": page["tasks"], "total": 2, "left_out": 0}
    assert [task["title"] for task in listed["tasks"]] == ["new", "old"]


@pytest.mark.requirement("RES-4")
async def test_the_list_has_a_hundred_tasks_at_most(served: ServedStore) -> None:
    server = served.restart()
    tasks = [make_task(number).model_dump(mode="json") for number in range(103)]
    served.store.write_text(json.dumps({"version": 1, "tasks": tasks}), "utf-8")
    listed = await read_json(server, "tasks://list", served.era)
    assert (len(listed["tasks"]), listed["total"], listed["left_out"]) == (100, 103, 3)


@pytest.mark.requirement("RES-2")
async def test_a_task_is_the_one_that_get_task_returns(served: ServedStore) -> None:
    server = served.restart()
    made = await served.task("create_task", title="x", description="long")
    await served.call("update_task", id=made["id"], priority="high")
    assert await read_json(server, f"tasks://{made['id']}", served.era) == await served.task("get_task", id=made["id"])


@pytest.mark.requirement("RES-3", "RES-4", "S3")
async def test_the_summary_has_counts_what_is_in_progress_and_what_waits_by_priority(any_served: ServedStore) -> None:
    server = any_served.restart()
    wanted = [("low", "a"), ("medium", "b [c](d)"), ("high", "e"), ("medium", "f"), ("medium", "g")]
    names = [(await any_served.task("create_task", title=title, priority=priority))["id"] for priority, title in wanted]
    await any_served.call("update_task_status", id=names[3], status="in_progress")
    await any_served.call("update_task_status", id=names[4], status="canceled")
    assert await read_text(server, "tasks://summary", any_served.era) == (
        "# Tasks\n\n5 in all: 3 pending, 1 in_progress, 1 canceled.\n\n"
        f"## Active\n- {names[3]}: f\n\n"
        f"## Next\n- {names[2]}: e (high)\n- {names[1]}: b \\[c\\](d)\n- {names[0]}: a (low)\n"
    )


@pytest.mark.requirement("RES-6")
async def test_a_listener_is_notified_only_of_the_task_that_changed(any_served: ServedStore) -> None:
    async with Client(any_served.restart().sdk) as client:
        made = [await client.call_tool("create_task", {"title": title}) for title in "ab"]
        first, second = [result.structured_content["task"]["id"] for result in made]
        async with client.listen(resource_subscriptions=[f"tasks://{first}", f"tasks://{second}"]) as news:
            for task_id in (second, first):
                await client.call_tool("update_task_status", {"id": task_id, "status": "canceled"})
                assert await anext(news) == ResourceUpdated(f"tasks://{task_id}")


@pytest.mark.requirement("RES-7", "ST-4")
async def test_a_store_of_a_newer_version_is_named_not_shown(served: ServedStore) -> None:
    server = served.restart()
    served.store.write_text('{"version": 99, "tasks": []}', "utf-8")
    async with Client(server.sdk, mode=served.era) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource("tasks://list")
    assert (caught.value.code, caught.value.data["code"]) == (-32603, "StoreNewer")

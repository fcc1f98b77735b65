"""No answer floods a model: every tool and resource of every server, with tasks as large as they may be (TOOL-9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_types import TextContent
from pydantic import JsonValue

from heartbeat_mcp.models import KIND as HEARTBEAT
from heartbeat_mcp.server import build_server as build_heartbeat
from heartbeat_mcp.settings import HeartbeatSettings
from hierarchy_mcp.server import build_server as build_hierarchy
from hierarchy_mcp.settings import HierarchySettings
from task_core.bounds import LISTED_TEXT, MAX_ANSWER, size_of
from tasks_v1_mcp.server import build_server as build_tasks
from tasks_v1_mcp.settings import TasksSettings
from tests.resource_client import read_json, read_text
from tests.servers import SERVERS, ServerRecord
from tests.tool_client import OpenClient

Object = dict[str, Any]

WIDE: Final = "\U0001f9ed"
"""A character of four bytes."""

RAW: Final = "\x01"
"""A character that JSON writes with six bytes."""

SIGN: Final = "\U000e0041"
"""A character that a table and a summary write with nine characters."""


async def ask(server: OpenClient, tool: str, **arguments: JsonValue) -> Object:
    """Return the structured result of a call, whose two forms each stay within the bounds."""
    result = await server.result(tool, arguments)
    (text,) = result.content
    assert isinstance(text, TextContent)
    assert len(text.text.encode()) <= MAX_ANSWER
    assert size_of(result.structured_content) <= MAX_ANSWER
    content: Object = result.structured_content
    return content


async def tell(server: OpenClient, tool: str, **arguments: JsonValue) -> Object:
    """Return the structured result of a call about one named task, which is whole whatever its size."""
    result = await server.result(tool, arguments)
    assert not result.is_error
    content: Object = result.structured_content
    return content


async def pages(server: OpenClient, tool: str, way: str, **arguments: JsonValue) -> list[Object]:
    """Return what the pages of a list show, one after the other; ``way`` is the argument that continues it."""
    found: list[Object] = []
    more: dict[str, JsonValue] = {}
    while True:
        page = await ask(server, tool, **arguments, **more)
        assert page["tasks"] or not found
        found += page["tasks"]
        last = page.get("next_cursor") if way == "cursor" else found[-1]["id"] if "left_out" in page else None
        if last is None:
            return found
        more = {way: last}


async def changes(server: OpenClient, token: str) -> list[Object]:
    found: list[Object] = []
    while True:
        page = await ask(server, "list_changes", since=token, limit=100)
        found += page["changes"]
        if not page["more"]:
            return found
        token = page["token"]


async def look_at_resources(server: OpenClient) -> None:
    for uri in ("tasks://list", "tasks://summary"):
        assert len((await read_text(server.server, uri)).encode()) <= MAX_ANSWER


def heartbeat(folder: Path) -> OpenClient:
    values = {"heartbeat_file_path": folder / "HEARTBEAT.md", "task_store": "memory:", "task_extra_tools": "changes"}
    return OpenClient(build_heartbeat(HeartbeatSettings.model_validate(values)))


def hierarchy() -> OpenClient:
    return OpenClient(build_hierarchy(HierarchySettings(task_extra_tools="changes")))


def tasks_v1() -> OpenClient:
    return OpenClient(build_tasks(TasksSettings(task_store="memory:", task_extra_tools="changes")))


def ids(tasks: list[Object]) -> list[str]:
    return [task["id"] for task in tasks]


@pytest.mark.requirement("TOOL-9", "HB-4")
async def test_heartbeat_pages_show_every_task_once_whatever_its_size(tmp_path: Path) -> None:
    server = heartbeat(tmp_path)
    token = (await ask(server, "list_changes"))["token"]
    made = []
    for n in range(14):
        free: JsonValue = {"k": [[WIDE * 100] * 20] * 20} if n % 7 == 2 else {}
        task = await tell(
            server,
            "task_create",
            raw_user_request=(RAW if n % 2 else "x") * (100_000 if n % 5 == 0 else 900),
            ideas=[WIDE * 1_000] * (200 if n % 7 == 1 else 1),
            extra_fields=free,
        )
        made.append(task["id"])
    for limit in (100, 1_000, 3):
        assert ids(await pages(server, "task_list", "after", limit=limit)) == made
    assert ids(await pages(server, "task_list", "after", include_archived=True)) == made
    assert ids(await changes(server, token)) == made
    await look_at_resources(server)


@pytest.mark.requirement("HB-4")
async def test_heartbeat_cuts_each_text_in_a_list_and_marks_its_task(tmp_path: Path) -> None:
    server = heartbeat(tmp_path)
    long = await tell(server, "task_create", raw_user_request="x" * 2_001, ideas=["y" * 3_000, "z"])
    short = await tell(server, "task_create", raw_user_request="x" * 2_000)
    first, second = (await ask(server, "task_list"))["tasks"]
    assert first == {**long, "raw_user_request": "x" * 1_999 + "…", "ideas": ["y" * 1_999 + "…", "z"], "cut": True}
    assert second == short
    assert await tell(server, "task_get", task_id=long["id"]) == long


@pytest.mark.requirement("TOOL-9", "V1-2")
async def test_pages_of_tasks_v1_show_every_task_once_whatever_its_size() -> None:
    server = tasks_v1()
    token = (await ask(server, "list_changes"))["token"]
    made = []
    for n in range(24):
        task = await ask(
            server,
            "create_task",
            title=WIDE * 200,
            description=RAW * 4_000,
            tags=[f"{tag:02}" + WIDE * 48 for tag in range(20)],
            source=RAW * 100,
            priority=n % 3 + 1,
        )
        made.append(task["task"]["id"])
    for order in ("created_at_desc", "priority_desc", "updated_at_desc"):
        for more in (dict[str, JsonValue](), dict[str, JsonValue](include_description=True)):
            found = await pages(server, "list_tasks", "cursor", order_by=order, limit=100, **more)
            assert sorted(ids(found)) == sorted(made)
            assert not any("cut" in task for task in found)
    assert ids(await changes(server, token)) == made
    await look_at_resources(server)


@pytest.mark.requirement("TOOL-9")
async def test_a_task_that_a_person_made_too_large_does_not_block_the_pages_of_tasks_v1(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    server = OpenClient(build_tasks(TasksSettings(tasks_file_path=path)))
    made = [(await ask(server, "create_task", title=f"t{n}", description="small"))["task"]["id"] for n in range(3)]
    path.write_text(path.read_text("utf-8").replace('"title":"t1"', f'"title":"{"x" * 90_000}"'), "utf-8")
    for more in (dict[str, JsonValue](), dict[str, JsonValue](include_description=True)):
        found = await pages(server, "list_tasks", "cursor", **more)
        assert ids(found) == made[::-1]
        assert [task.get("cut", False) for task in found] == [False, True, False]
        assert len(found[1]["title"]) == LISTED_TEXT
    assert len((await tell(server, "get_task", id=made[1]))["task"]["title"]) == 90_000


@pytest.mark.requirement("TOOL-9", "HI-2", "HI-5", "HI-6")
@pytest.mark.parametrize("sign", [WIDE, SIGN], ids=["wide", "escaped"])
async def test_no_answer_of_hierarchy_is_too_long_whatever_the_size_of_its_tasks(sign: str) -> None:
    server = hierarchy()
    token = (await ask(server, "list_changes"))["token"]
    name = (sign if sign != SIGN else WIDE + SIGN) * (500 if sign != SIGN else 250)
    texts: Object = {"completion_criteria": [WIDE * 500] * 20, "constraints": [RAW * 500] * 20}
    deepest: Object = {"name": name, "id": "L90", "description": "d" * 60_000}
    for level in range(89, 0, -1):
        deepest = {"name": name, "id": f"L{level}", "tasks": [deepest], **(texts if level % 9 == 0 else {})}
    await tell(server, "createTask", **deepest)
    beside: list[Object] = [{"name": name, "id": f"s{n}", "description": WIDE * 5_000} for n in range(50)]
    await tell(server, "createTask", name=name, id="wide", tasks=[*beside])
    roots = ["L1", "wide", *(f"r{n}" for n in range(60))]
    for root in roots[2:]:
        await tell(server, "createTask", name=name, id=root, description="r" * 5_000)
    await tell(server, "createTask", name="large", id="large", description="l" * 99_000, constraints=[WIDE * 9] * 200)
    roots.append("large")
    for depth in (None, 0, 3):
        assert ids(await pages(server, "listTasks", "after", depth=depth)) == roots
    assert ids(await pages(server, "listTasks", "after", parentId="wide")) == [task["id"] for task in beside]
    await look_at_resources(server)
    started = await ask(server, "startTask", id="L1", table=True)
    assert (started["active_task"]["id"], started["cut"]) == ("L90", True)
    assert started["hierarchy_summary"].splitlines()[-1] == "Tasks not shown: 142; listTasks shows them."
    for task_id, following in (("L90", "s0"), ("s0", "s1"), ("large", "s1")):
        step = await ask(server, "completeTask", id=task_id, resolution=RAW * 99_000, table=True)
        assert (step["task"]["id"], step["next_task_id"]) == (task_id, following)
    refused = await ask(server, "completeTask", id="wide", resolution="x")
    assert (len(refused["error"]["details"]["incomplete"]), refused["error"]["details"]["count"]) == (20, 49)
    refused = await ask(server, "startTask", id="s9")
    assert (len(refused["error"]["details"]["blocking"]), refused["error"]["details"]["count"]) == (8, 8)
    found = await changes(server, token)
    assert sorted({task["id"] for task in found}) == sorted({*ids(beside), *roots, *(f"L{n}" for n in range(1, 91))})
    assert len(found) == 90 + 1 + 50 + 61


@pytest.mark.requirement("TOOL-9", "RES-4")
async def test_the_list_of_trees_leaves_out_a_level_that_does_not_fit() -> None:
    server = hierarchy()
    below: list[JsonValue] = [{"name": WIDE * 500, "id": f"t{n}"} for n in range(98)]
    await tell(server, "createTask", name="a", id="a", tasks=below)
    found = await read_json(server.server, "tasks://list")
    assert found == {
        "tasks": [{"id": "a", "name": "a", "status": "todo", "subtask_count": 98}],
        "total": 99,
        "left_out": 98,
    }
    for n in range(1, 90):
        await tell(server, "createTask", name=WIDE * 500, id=f"r{n}")
    found = await read_json(server.server, "tasks://list")
    assert found["left_out"] == found["total"] - len(found["tasks"]) > 99
    assert size_of(found) <= MAX_ANSWER


@pytest.mark.requirement("TOOL-9")
async def test_one_start_of_a_usual_size_is_not_cut() -> None:
    server = hierarchy()
    await tell(server, "createTask", name="a", id="a", description="d" * 9_000, tasks=[{"name": "b", "id": "b"}])
    started = await ask(server, "startTask", id="a")
    assert "cut" not in started
    assert len(started["task"]["description"]) == 9_000


@pytest.mark.requirement("TOOL-9", "TOOL-3")
async def test_an_error_lists_at_most_twenty_things_and_counts_the_rest(tmp_path: Path) -> None:
    server = heartbeat(tmp_path)
    text = "{" + ",".join(f'"{n}":1,"{n}":2' for n in range(70)) + "}"
    details = (await ask(server, "task_create", raw_user_request="x", extra_fields=text))["error"]["details"]
    assert (len(details["keys"]), details["more"]) == (20, 50)
    wrong: JsonValue = [1] * 200
    details = (await ask(server, "task_create", raw_user_request="x", ideas=wrong))["error"]["details"]
    assert len(details["fields"]) + details["more"] == 200
    assert len(details["fields"]) <= 20
    reserved: dict[str, JsonValue] = dict.fromkeys(HEARTBEAT.record_type.model_fields, 1)
    details = (await ask(server, "task_create", raw_user_request="x", extra_fields=reserved))["error"]["details"]
    assert len(details["fields"]) + details.get("more", 0) == len(HEARTBEAT.record_type.model_fields)


@pytest.mark.requirement("PE-20")
@pytest.mark.parametrize("record", SERVERS, ids=[record.name for record in SERVERS])
async def test_the_text_of_an_answer_is_whole_as_some_clients_show_nothing_else(
    record: ServerRecord, tmp_path: Path
) -> None:
    server = OpenClient(record.built(tmp_path))
    for tool in (record.create, record.list):
        result = await server.result(tool, record.call(tool))
        (text,) = result.content
        assert isinstance(text, TextContent)
        assert json.loads(text.text) == result.structured_content

"""What hosts refuse in the schema of a tool, and that no server publishes it (TOOL-8)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from mcp.client import Client
from pydantic import JsonValue

from task_core.server.app import TaskServer
from tests.servers import PROGRAMS, program_of, record_of
from tests.tool_client import call_tool, tool_schemas

Object = dict[str, JsonValue]

KEYWORDS: Final = {
    *("type", "description", "default", "properties", "required", "additionalProperties", "items", "enum", "anyOf"),
    *("format", "pattern", "maxLength", "maxItems", "maxProperties", "minimum", "maximum"),
}
"""The keywords that every host knows."""

TYPES: Final = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}

MAX_LEVELS: Final = 5
"""Levels of objects in a schema (OpenAI strict, older models)."""

MAX_PROPERTIES: Final = 100
"""Properties of a schema, at every level together (OpenAI strict, older models)."""


class Refusal(NamedTuple):
    """Something that a host refuses in one node of a schema."""

    host: str
    reason: str
    is_in: Callable[[Object], bool]
    example: Object


def list_of(node: Object, keyword: str) -> list[JsonValue]:
    found = node.get(keyword)
    return found if isinstance(found, list) else []


def options_of(node: Object) -> list[JsonValue]:
    return list_of(node, "anyOf")


def is_typed(node: JsonValue) -> bool:
    return isinstance(node, dict) and isinstance(node.get("type"), str)


def is_of_another_type(node: Object) -> bool:
    default, kind = node.get("default"), node.get("type")
    return "default" in node and isinstance(kind, str) and not isinstance(default, TYPES[kind])


REFUSALS: Final = (
    Refusal(
        *("Gemini", "a node without a type: 'field predicate failed: $type == Type.STRING'"),
        lambda node: "type" not in node and not options_of(node),
        {"description": "anything"},
    ),
    Refusal(
        *("Gemini", "a list of types: 'Proto field is not repeating, cannot start list'"),
        lambda node: "type" in node and not is_typed(node),
        {"type": ["string", "null"]},
    ),
    Refusal(
        *("Gemini", "an enumeration of anything but words: 'Invalid value at enum (TYPE_STRING), 1'"),
        lambda node: any(not isinstance(value, str) for value in list_of(node, "enum")),
        {"enum": ["low", 1]},
    ),
    Refusal(
        *("Gemini", "an enumeration of another type: 'enum: only allowed for STRING type'"),
        lambda node: "enum" in node and node.get("type") != "string",
        {"type": "integer", "enum": ["a"]},
    ),
    Refusal(
        *("Gemini", "'Unknown name \"const\"'"),
        lambda node: "const" in node,
        {"type": "string", "const": "todo"},
    ),
    Refusal(
        *("Gemini and LlamaIndex", "a reference, which recurses without end where it leads back"),
        lambda node: not {"$ref", "$defs"}.isdisjoint(node),
        {"type": "array", "items": {"$ref": "#"}},
    ),
    Refusal(
        *("Gemini", "a format of text other than date-time: 'only enum and date-time are supported for STRING type'"),
        lambda node: node.get("format", "date-time") != "date-time",
        {"type": "string", "format": "uri"},
    ),
    Refusal(
        *("Gemini and OpenAI strict", "a keyword that is not in the subset that all hosts share, such as prefixItems"),
        lambda node: not KEYWORDS.issuperset(node),
        {"type": "array", "items": {"type": "string"}, "prefixItems": []},
    ),
    Refusal(
        *("OpenAI strict", "alternatives that have no type of their own, or only one alternative"),
        lambda node: "anyOf" in node and not (len(options_of(node)) > 1 and all(map(is_typed, options_of(node)))),
        {"anyOf": [{"type": "string"}, {"enum": ["a"]}]},
    ),
    Refusal(
        *("OpenAI strict", "a required property that does not exist"),
        lambda node: not set(list_of(node, "required")) <= {*properties_of(node)},
        {"type": "object", "properties": {}, "required": ["a"]},
    ),
    Refusal(
        *("VS Code", "'array type must have items'"),
        lambda node: node.get("type") == "array" and not isinstance(node.get("items"), dict),
        {"type": "array"},
    ),
    Refusal(
        *("VS Code", "a default of another type than its own"),
        is_of_another_type,
        {"type": "string", "default": 5},
    ),
)


def properties_of(node: Object) -> Object:
    found = node.get("properties")
    return found if isinstance(found, dict) else {}


def nodes_in(node: JsonValue, path: str = "", levels: int = 1) -> Iterator[tuple[str, Object, int]]:
    """Yield every node of a schema with its path and how many objects it is in."""
    if not isinstance(node, dict):
        return
    yield path, node, levels
    for name, child in properties_of(node).items():
        yield from nodes_in(child, f"{path}.{name}", levels + 1)
    yield from nodes_in(node.get("items"), f"{path}[]", levels)
    for place, option in enumerate(options_of(node)):
        yield from nodes_in(option, f"{path}|{place}", levels)


def server(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> TaskServer:
    monkeypatch.setenv("TASK_EXTRA_TOOLS", "all")
    return program_of(name).built(folder)


each_server = pytest.mark.parametrize("name", [record.command for record in PROGRAMS])


@pytest.mark.requirement("TOOL-8")
@each_server
async def test_no_host_refuses_a_published_schema(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas = await tool_schemas(server(name, tmp_path, monkeypatch))
    sets: tuple[str, ...] = getattr(program_of(name).settings_type, "extra_sets", ())
    assert ("list_changes" in schemas, "brief" in schemas) == ("changes" in sets, "brief" in sets)
    found = [
        f"{tool}{path}: {refusal.host} refuses {refusal.reason}"
        for tool, schema in schemas.items()
        for path, node, _ in nodes_in(schema)
        for refusal in REFUSALS
        if refusal.is_in(node)
    ]
    assert found == []


@pytest.mark.requirement("TOOL-8")
@each_server
async def test_every_schema_is_a_small_object_under_a_plain_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tool, schema in (await tool_schemas(server(name, tmp_path, monkeypatch))).items():
        nodes = [*nodes_in(schema)]
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool)
        assert schema["type"] == "object"
        assert isinstance(schema["properties"], dict)
        assert max(levels for _, _, levels in nodes) <= MAX_LEVELS
        assert sum(len(properties_of(node)) for _, node, _ in nodes) <= MAX_PROPERTIES


@pytest.mark.requirement("TOOL-8")
@each_server
async def test_every_node_of_an_output_schema_has_a_type(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Client(server(name, tmp_path, monkeypatch).sdk) as client:
        tools = (await client.list_tools()).tools
    bare = [
        f"{tool.name}{path}"
        for tool in tools
        for schema in [tool.output_schema or {}, *(tool.output_schema or {}).get("$defs", {}).values()]
        for path, node, _ in nodes_in(schema)
        if not {"type", "anyOf", "$ref"} & node.keys()
    ]
    assert bare == []


@pytest.mark.requirement("TOOL-1", "TOOL-8")
@each_server
async def test_every_parameter_at_every_level_is_described(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tool, schema in (await tool_schemas(server(name, tmp_path, monkeypatch))).items():
        bare = [
            f"{tool}{path}.{parameter}"
            for path, node, _ in nodes_in(schema)
            for parameter, part in properties_of(node).items()
            if not (isinstance(part, dict) and part.get("description"))
        ]
        assert bare == []


@pytest.mark.requirement("TOOL-8")
@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.reason[:40])
def test_what_a_host_refuses_is_found(refusal: Refusal) -> None:
    schema: Object = {"type": "object", "properties": {"a": refusal.example}}
    assert [path for path, node, _ in nodes_in(schema) if refusal.is_in(node)][:1] in (
        ["|0"],
        [".a"],
        [".a|1"],
        [".a[]"],
    )


FILTERS: Final = [
    ("heartbeat-mcp", "task_list", ["days_to_keep_completed"]),
    ("hierarchy-mcp", "listTasks", ["parentId", "depth"]),
    ("tasks-v1-mcp", "list_tasks", ["status", "category", "topic_id", "tags_any", "priority", "query"]),
    ("cortex-mcp", "list_tasks", ["status", "cursor"]),
]
"""The filters that have no published default."""


@pytest.mark.requirement("TOOL-8")
@pytest.mark.parametrize(("name", "tool", "parameters"), FILTERS, ids=[name for name, _, _ in FILTERS])
async def test_a_filter_says_what_leaving_it_out_means(
    name: str, tool: str, parameters: list[str], tmp_path: Path
) -> None:
    schema = (await tool_schemas(program_of(name).built(tmp_path)))[tool]
    for parameter in parameters:
        part = properties_of(schema)[parameter]
        assert isinstance(part, dict)
        assert re.search("default|left out", str(part["description"]), re.IGNORECASE)


@pytest.mark.requirement("TOOL-8")
async def test_an_integer_may_be_written_with_a_point(tmp_path: Path) -> None:
    hierarchy = record_of("hierarchy-mcp").built(tmp_path)
    await call_tool(hierarchy, "createTask", {"name": "a", "id": "a", "insertIndex": 0.0})
    await call_tool(hierarchy, "createTask", {"name": "b", "id": "b"})
    await call_tool(hierarchy, "updateTask", {"id": "b", "insertIndex": 0.0})
    page = await call_tool(hierarchy, "listTasks", {"limit": 1.0, "depth": 0.0})
    assert [task["id"] for task in page["tasks"]] == ["b"]
    heartbeat = record_of("heartbeat-mcp").built(tmp_path)
    assert await call_tool(heartbeat, "task_list", {"limit": 5.0, "days_to_keep_completed": 1}) == {"tasks": []}
    tasks = record_of("tasks-v1-mcp").built(tmp_path)
    created = await call_tool(tasks, "create_task", {"title": "x", "priority": 3.0})
    assert created["task"]["priority"] == "high"
    assert (await call_tool(tasks, "list_tasks", {"limit": 5.0, "priority": 3}))["total"] == 1


NULLS: Final = [
    ("heartbeat-mcp", "task_update", ("updates",)),
    ("hierarchy-mcp", "updateTask", ()),
    ("tasks-v1-mcp", "update_task", ()),
]


@pytest.mark.requirement("TOOL-8", "HB-3", "HI-3", "V1-5")
@pytest.mark.parametrize(("name", "tool", "within"), NULLS, ids=[name for name, _, _ in NULLS])
async def test_null_clears_every_field_that_is_published_with_it(
    name: str, tool: str, within: tuple[str, ...], tmp_path: Path
) -> None:
    served = record_of(name).built(tmp_path)
    schema = (await tool_schemas(served))[tool]
    for step in within:
        part = properties_of(schema)[step]
        assert isinstance(part, dict)
        schema = part
    nullable = [
        field
        for field, part in properties_of(schema).items()
        if isinstance(part, dict) and {"type": "null"} in options_of(part)
    ]
    assert nullable
    if within:
        task = await call_tool(
            served, "task_create", {"raw_user_request": "x", "raw_reference": "a.md", "ideas": ["i"]}
        )
        cleared = await call_tool(served, tool, {"task_id": task["id"], "updates": dict.fromkeys(nullable)})
        assert [cleared[field] for field in nullable if cleared[field]] == []
        return
    record = record_of(name)
    created = await call_tool(served, record.create, {record.text: "x", "description": "y"})
    changed = (await call_tool(served, tool, {"id": created["task"]["id"], **dict.fromkeys(nullable)}))["task"]
    assert {changed.get(field) or None for field in nullable} <= {None, "other", "medium"}

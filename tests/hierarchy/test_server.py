"""The server as a whole: its tools, its settings, its command, and memory without a file (R4, R5, TOOL-1, TOOL-4)."""

from __future__ import annotations

import json
import runpy
import socket
import sys
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path

import anyio
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp_types import TextContent, Tool
from pydantic import JsonValue

from hierarchy_mcp.__main__ import main
from hierarchy_mcp.server import build_server
from hierarchy_mcp.settings import HierarchySettings
from task_core.bootstrap import BadSettings
from task_core.cli.settings import load_settings
from task_core.server.app import TaskServer
from tests.core.command_line import command_line
from tests.hierarchy.conftest import ServedTree, dig, tree

TOOLS = ["createTask", "getTask", "listTasks", "updateTask", "deleteTask", "startTask", "completeTask"]


async def tools() -> list[Tool]:
    async with Client(ServedTree(None).server.sdk) as client:
        return list((await client.list_tools()).tools)


def schemas_in(schema: JsonValue) -> list[dict[str, JsonValue]]:
    """Return the schema of every property, at whatever depth."""
    if isinstance(schema, list):
        return [found for part in schema for found in schemas_in(part)]
    if not isinstance(schema, dict):
        return []
    own = schema.get("properties")
    found = [part for part in own.values() if isinstance(part, dict)] if isinstance(own, dict) else []
    return found + [inner for part in schema.values() for inner in schemas_in(part)]


@pytest.mark.requirement("R5.1")
async def test_all_tools_are_there() -> None:
    assert [tool.name for tool in await tools()] == TOOLS


@pytest.mark.requirement("TOOL-1")
async def test_every_tool_and_parameter_is_described_and_every_tool_annotated() -> None:
    for tool in await tools():
        assert tool.description
        assert tool.title
        assert [schema for schema in schemas_in(tool.input_schema) if "description" not in schema] == []
        assert tool.annotations is not None
        assert None not in tool.annotations.model_dump(exclude={"title"}).values()
    async with Client(ServedTree(None).server.sdk) as client:
        assert "startTask" in str(client.instructions)


@pytest.mark.requirement("TOOL-4")
async def test_the_tools_cost_a_model_little() -> None:
    shown = [
        json.dumps(
            {"name": tool.name, "title": tool.title, "description": tool.description, "inputSchema": tool.input_schema},
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for tool in await tools()
    ]
    assert sum(len(text.encode()) for text in shown) <= 4_800
    results = {tool.name: json.dumps(tool.output_schema, separators=(",", ":")) for tool in await tools()}
    assert {name: len(text) for name, text in results.items() if len(text) > 700} == {}
    assert [name for name, text in results.items() if "$ref" in text] == []


@pytest.mark.requirement("R5.6", "TOOL-2")
async def test_the_schema_of_create_shows_one_level_of_subtasks_and_is_closed() -> None:
    create = (await tools())[0].input_schema
    subtask = dig(create, "properties", "tasks", "items")
    assert isinstance(subtask, dict)
    assert "parentId" in create["properties"]
    assert "parentId" not in str(subtask["properties"])
    assert dig(subtask, "properties", "tasks", "items") == {"type": "object"}
    assert "$ref" not in str(create)
    assert [tool.name for tool in await tools() if tool.input_schema["additionalProperties"] is not False] == []
    assert subtask["additionalProperties"] is False


@pytest.mark.requirement("R5.3")
async def test_a_result_is_the_same_object_as_data_and_as_text() -> None:
    async with Client(ServedTree(None).server.sdk) as client:
        result = await client.call_tool("createTask", {"name": "日本語"})
    (text,) = result.content
    assert isinstance(text, TextContent)
    assert json.loads(text.text) == result.structured_content
    assert "日本語" in text.text


CALLS: list[tuple[str, dict[str, JsonValue]]] = [
    ("createTask", {"name": "a", "id": "a", "tasks": [{"name": "b", "id": "b"}, {"name": "c"}]}),
    ("getTask", {"id": "a"}),
    ("listTasks", {}),
    ("startTask", {"id": "a"}),
    ("getTask", {"id": "nobody"}),
    ("completeTask", {"id": "b", "resolution": "x"}),
    ("updateTask", {"id": "b", "status": "todo"}),
    ("deleteTask", {"id": "a"}),
]

watching: list[list[str]] = []
"""Lists for the hook below, which cannot be removed, to note what touches files in; usually none."""


def note(event: str, _: object) -> None:
    if watching and (event == "open" or event.startswith("os.")):
        watching[0].append(event)


async def touches(server: TaskServer) -> int:
    """Return how often the calls touch a file, once all that is loaded late has been loaded."""
    found: list[str] = []
    async with Client(server.sdk) as client:
        for tool, arguments in CALLS:
            await client.call_tool(tool, arguments)
        watching.append(found)
        for tool, arguments in CALLS:
            await client.call_tool(tool, arguments)
        watching.clear()
    return len(found)


@pytest.mark.requirement("R4.2", "R4.5")
async def test_in_memory_no_tool_touches_a_file(tmp_path: Path) -> None:
    sys.addaudithook(note)
    assert await touches(build_server(HierarchySettings(file_path=None))) == 0
    assert [*tmp_path.iterdir()] == []
    assert await touches(build_server(HierarchySettings(file_path=tmp_path / "tasks.json"))) > 0
    assert sorted(tmp_path.iterdir()) == sorted(tmp_path.glob("tasks.json*"))


@pytest.mark.requirement("R4.2")
async def test_without_a_file_the_tasks_end_with_the_server() -> None:
    served = ServedTree(None)
    await served.create(tree("a"))
    served.restart()
    assert await served.statuses() == {}


@pytest.mark.requirement("CLI-3")
@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"FILE_PATH": "/nobody/has/this/x.json"}, "FILE_PATH is '/nobody/has/this/x.json': name a file in a folder"),
        ({"ROOT_ORDER": "loose"}, "ROOT_ORDER is 'loose': "),
        ({"LOG_LEVEL": "LOUD"}, "LOG_LEVEL is 'LOUD': "),
    ],
    ids=["folder", "order", "level"],
)
def test_a_bad_setting_is_named_with_its_value_and_what_was_expected(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], message: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(BadSettings) as caught:
        load_settings(HierarchySettings)
    assert message in str(caught.value)
    assert "Expected: " in str(caught.value)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    for name, value in {"FILE_PATH": str(path), "ROOT_ORDER": "strict"}.items():
        monkeypatch.setenv(name, value)
    settings = load_settings(HierarchySettings)
    assert (settings.file_path, settings.root_order) == (path, "strict")
    monkeypatch.setenv("FILE_PATH", "")
    assert load_settings(HierarchySettings).file_path is None


@pytest.mark.requirement("CLI-1")
def test_the_command_knows_its_version_and_its_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["hierarchy-mcp", "--version"])
    with pytest.raises(SystemExit) as ending:
        main()
    assert (ending.value.code, capsys.readouterr().out) == (0, f"hierarchy-mcp {version('hierarchy-mcp')}\n")
    monkeypatch.setattr(sys, "argv", ["hierarchy-mcp", "--help"])
    monkeypatch.delitem(sys.modules, "hierarchy_mcp.__main__")
    with pytest.raises(SystemExit) as ending:
        runpy.run_module("hierarchy_mcp", run_name="__main__")
    assert (ending.value.code, "ROOT_ORDER" in capsys.readouterr().out) == (0, True)


@pytest.mark.requirement("CLI-1", "DOC-1", "EN-17", "EN-18")
@pytest.mark.usefixtures("_own_process")
def test_the_command_moves_the_tasks_to_a_database_and_looks_at_them(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    served = ServedTree(tmp_path / "tasks.json")
    anyio.run(partial(served.create, tree("a", tree("b"), tree("c"))))
    document = served.bytes
    monkeypatch.setenv("TASK_STORE", f"sqlite:{tmp_path.resolve()}/tasks.db")

    def said(*arguments: str) -> bytes:
        monkeypatch.setattr(sys, "argv", ["hierarchy-mcp", *arguments])
        with pytest.raises(SystemExit) as ending:
            main()
        assert ending.value.code in {None, 0}
        return capfdbinary.readouterr().out

    said("import", str(served.path))
    assert said("export") == document
    assert b"tasks.db holds 3 tasks in " in said("doctor")


@pytest.fixture
def _own_process() -> Iterator[None]:
    with command_line():
        yield


@pytest.mark.requirement("CLI-1", "CLI-3")
@pytest.mark.usefixtures("_own_process")
def test_an_address_that_another_serves_ends_the_command_with_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        monkeypatch.setattr(sys, "argv", ["hierarchy-mcp", "--transport", "http", "--port", port])
        with pytest.raises(SystemExit) as ending:
            main()
    assert ending.value.code == 2
    assert capsys.readouterr().err.startswith(f"hierarchy-mcp: 127.0.0.1:{port} cannot be used: ")


@pytest.mark.requirement("R5.5", "CLI-1", "TOOL-6", "ST-2")
async def test_the_command_serves_on_stdio(tmp_path: Path) -> None:
    file = str(tmp_path / "tasks.json")
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "hierarchy_mcp"], env={"FILE_PATH": file})
    beside = build_server(HierarchySettings(file_path=Path(file)))
    async with Client(parameters) as one, Client(beside.sdk, mode="legacy") as two:
        assert [tool.name for tool in (await one.list_tools()).tools] == TOOLS
        created = await one.call_tool("createTask", tree("a", tree("b"), tree("c")))
        assert created.is_error is False
        started = await two.call_tool("startTask", {"id": "a"})
        assert dig(started.structured_content, "active_task", "id") == "b"
        error = await one.call_tool("startTask", {"id": "c"})
        assert error.is_error is True
        assert dig(error.structured_content, "error", "code") == "ExecutionOrder"

"""The documents say what is there: links lead somewhere, examples parse and run, nothing public is left out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from mcp import Client

import heartbeat_mcp.server
import hierarchy_mcp.server
import tasks_v1_mcp.server
from heartbeat_mcp.settings import HeartbeatSettings
from hierarchy_mcp.settings import HierarchySettings
from task_core.server.app import TaskServer
from task_core.server.settings import ServerSettings, described
from tasks_v1_mcp.settings import TasksSettings
from tests.packaging.projects import PROJECTS, ROOT

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *(project.folder / "README.md" for project in PROJECTS.values())]

SETTINGS: dict[str, type[ServerSettings]] = {
    "heartbeat-mcp": HeartbeatSettings,
    "hierarchy-mcp": HierarchySettings,
    "tasks-v1-mcp": TasksSettings,
}

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def built(name: str, folder: Path) -> TaskServer:
    if name == "heartbeat-mcp":
        return heartbeat_mcp.server.build_server(HeartbeatSettings(heartbeat_file_path=folder / "HEARTBEAT.md"))
    if name == "hierarchy-mcp":
        return hierarchy_mcp.server.build_server(HierarchySettings())
    return tasks_v1_mcp.server.build_server(TasksSettings(tasks_file_path=folder / "tasks.json"))


@each_document
def test_every_relative_link_leads_to_a_file(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@each_document
def test_every_json_block_parses_and_every_client_configuration_starts_a_server(document: Path) -> None:
    for block in blocks(document.read_text("utf-8"), "json"):
        configuration = json.loads(block)
        for entry in (configuration.get("mcpServers") or configuration.get("servers") or {}).values():
            name = Path(entry["command"]).name
            assert entry.get("env", {}).keys() <= {variable for variable, _, _ in described(SETTINGS[name])}


@pytest.mark.parametrize("name", SETTINGS)
async def test_the_readme_of_a_server_names_every_tool_argument_and_setting(name: str, tmp_path: Path) -> None:
    text = (ROOT / "packages" / name / "README.md").read_text("utf-8")
    async with Client(built(name, tmp_path).sdk) as client:
        tools = (await client.list_tools()).tools
    names = {item for tool in tools for item in [tool.name, *tool.input_schema["properties"]]}
    names |= {variable for variable, _, _ in described(SETTINGS[name])}
    assert [item for item in sorted(names) if f"`{item}" not in text] == []


@pytest.mark.requirement("CLI-1", "CLI-3")
def test_the_readme_of_heartbeat_has_every_setting_with_its_default() -> None:
    text = (ROOT / "packages/heartbeat-mcp/README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|", text, flags=re.MULTILINE))
    settings = {name: default.removeprefix("default ") for name, _, default in described(HeartbeatSettings)}
    assert rows.keys() == settings.keys()
    assert [name for name, default in settings.items() if default != "not set" and default not in rows[name]] == []


async def test_the_example_of_the_core_runs(tmp_path: Path) -> None:
    (example,) = blocks((ROOT / "packages/task-core/README.md").read_text("utf-8"), "python")
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec", dont_inherit=True), names)  # noqa: S102 - running it is the test
    build = names["build_server"]
    assert callable(build)
    server = build(tmp_path / "notes.json")
    assert isinstance(server, TaskServer)
    async with Client(server.sdk) as client:
        added = await client.call_tool("add_note", {"text": "buy milk"})
        notes = await client.call_tool("list_notes", {})
    assert notes.structured_content == {"notes": [added.structured_content]}

"""The documents say what is there: links lead somewhere, examples parse and run, nothing public is left out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from mcp import Client

from heartbeat_mcp.server import build_server
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.server.app import TaskServer
from task_core.server.settings import described
from tests.packaging.projects import PROJECTS, ROOT

HEARTBEAT = (ROOT / "packages/heartbeat-mcp/README.md").read_text("utf-8")
CORE = (ROOT / "packages/task-core/README.md").read_text("utf-8")
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *(project.folder / "README.md" for project in PROJECTS.values())]

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@each_document
def test_every_relative_link_leads_to_a_file(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@each_document
def test_every_client_configuration_is_json_that_starts_the_server(document: Path) -> None:
    for block in blocks(document.read_text("utf-8"), "json"):
        (servers,) = json.loads(block).values()
        assert servers["heartbeat"]["command"].endswith("/heartbeat-mcp")
        assert servers["heartbeat"]["env"].keys() <= {name for name, _, _ in described(HeartbeatSettings)}


async def test_the_readme_of_heartbeat_names_every_tool_and_argument(tmp_path: Path) -> None:
    server = build_server(HeartbeatSettings(heartbeat_file_path=tmp_path / "HEARTBEAT.md"))
    async with Client(server.sdk) as client:
        tools = (await client.list_tools()).tools
    names = {name for tool in tools for name in [tool.name, *tool.input_schema["properties"]]}
    assert [name for name in sorted(names) if f"`{name}`" not in HEARTBEAT] == []


@pytest.mark.requirement("CLI-3")
def test_the_readme_of_heartbeat_has_every_setting_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|", HEARTBEAT, flags=re.MULTILINE))
    settings = {name: default for name, _, default in described(HeartbeatSettings)}
    assert rows.keys() == settings.keys()
    plain = {name: default.removeprefix("default ") for name, default in settings.items()}
    assert [name for name, default in plain.items() if default != "not set" and default not in rows[name]] == []


async def test_the_example_of_the_core_runs(tmp_path: Path) -> None:
    (example,) = blocks(CORE, "python")
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)  # noqa: S102 - running it is the test
    build = names["build_server"]
    assert callable(build)
    server = build(tmp_path / "notes.json")
    assert isinstance(server, TaskServer)
    async with Client(server.sdk) as client:
        added = await client.call_tool("add_note", {"text": "buy milk"})
        notes = await client.call_tool("list_notes", {})
    assert notes.structured_content == {"notes": [added.structured_content]}

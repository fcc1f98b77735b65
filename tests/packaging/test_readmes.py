"""The documents say what is there: links lead somewhere, examples parse and run, nothing public is left out."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from mcp import Client
from pydantic import TypeAdapter

from task_core.cli.main import run
from task_core.cli.settings import StoreServerSettings, describe_settings
from task_core.server.app import TaskServer
from tests.packaging.documents import DOCUMENTS, Command, blocks, commands, read_command
from tests.packaging.projects import ROOT
from tests.packaging.servers import COMMANDS, Entry, at_home, installed, variables
from tests.packaging.shown_commands import check_command, is_run
from tests.servers import program_of
from tests.wire.line_client import LineClient

BOX = r'[\w.]+(\["[^"]+"\])?'
PICTURES = {"flowchart": rf"  {BOX}( --> {BOX})*", "sequenceDiagram": r"  \w+->>\w+: \w+\(\)"}
"""The lines of each kind of picture."""


def check_picture(text: str) -> None:
    kind, *lines = text.splitlines()
    assert [line for line in lines if not re.fullmatch(PICTURES[kind.partition(" ")[0]], line)] == []


MEMBERS = ("mcpServers", "servers", "mcp_servers")
"""Where configurations of clients have their servers."""

PARSERS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "python": ast.parse,
    "toml": tomllib.loads,
    "sh": lambda text: [read_command(line) for line in text.splitlines() if line.strip()],
    "markdown": MarkdownIt().parse,
    "mermaid": check_picture,
    "jsonl": lambda text: [*map(json.loads, text.splitlines())],
    "text": str,  # what a command writes
}
"""The languages of blocks, and what reads each."""

each_server = pytest.mark.parametrize("name", COMMANDS)


def readme(name: str) -> str:
    return (ROOT / "packages" / name / "README.md").read_text("utf-8")


def missing(names: set[str], text: str) -> list[str]:
    """Return the names that no code in the text is or begins with."""
    return [name for name in sorted(names) if not re.search(rf"`{re.escape(name)}(?![\w-])", text)]


async def offered(server: TaskServer) -> set[str]:
    """Return the name of everything that a server offers, and of everything that a call of it takes."""
    names: set[str] = set()
    async with Client(server.sdk) as client:
        for tool in (await client.list_tools()).tools:
            names |= {tool.name, *tool.input_schema["properties"]}
        if client.server_capabilities.prompts:
            for prompt in (await client.list_prompts()).prompts:
                names |= {prompt.name, *(argument.name for argument in prompt.arguments or ())}
        if client.server_capabilities.resources:
            names |= {resource.uri for resource in (await client.list_resources()).resources}
            templates = (await client.list_resource_templates()).resource_templates
            names |= {template.uri_template for template in templates}
    return names


def test_every_relative_link_leads_to_a_file() -> None:
    links = [(path, link) for path in DOCUMENTS for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text("utf-8"))]
    assert [f"{path}: {link}" for path, link in links if not (path.parent / link).exists()] == []


@pytest.mark.requirement("README-2")
def test_every_block_is_in_a_language_that_reads_it() -> None:
    for block in (block for path in DOCUMENTS for block in blocks(path)):
        PARSERS[block.language](block.text)


@pytest.mark.long
@pytest.mark.requirement("README-2")
def test_every_command_runs_or_names_what_is_there(tmp_path: Path) -> None:
    shown = {
        str(command): command
        for path in DOCUMENTS
        for is_in_block, command in commands(path)
        if not (is_in_block and is_run(command))  # tests/docs/test_blocks.py runs the blocks
    }
    for number, command in enumerate(shown.values()):
        (folder := tmp_path / str(number)).mkdir()
        check_command(command, folder)


@pytest.mark.requirement("README-2")
def test_a_command_is_separated_from_its_variables_and_comments() -> None:
    assert read_command("A=1 B='x y' heartbeat-mcp --help  # so") == Command(
        {"A": "1", "B": "x y"}, ["heartbeat-mcp", "--help"]
    )


@pytest.mark.requirement("README-2")
@pytest.mark.parametrize(
    "line",
    [
        "rm -rf /",
        "python3 hatchw run nothing",
        "python3 hatchw test tests/nowhere",
        "bash .ci/walk",
        "pip install ./packages/heartbeat-mcp",
        "pip install ./packages/task-core ./packages/none",
        "HEARTBEAT_FILE_PATH=HEARTBEAT.md heartbeat-mcp",
        "HEARTBEAT_PATH=/path/to/HEARTBEAT.md heartbeat-mcp",
        "hierarchy-mcp --transport pigeon",
        "/opt/hierarchy-mcp --help",
        "claude mcp add tasks --env FILE_PATH=/path/to/tasks.json -- tasks-v1-mcp",
    ],
)
def test_a_command_that_would_fail_is_found(line: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        check_command(read_command(line), tmp_path)


@pytest.mark.requirement("CLIENT-1", "README-2")
def test_every_client_configuration_starts_a_server(tmp_path: Path) -> None:
    entries = {entry.model_dump_json(): entry for path in DOCUMENTS for entry in entries_in(path)}
    for entry in entries.values():
        command = installed(entry.command)
        assert entry.env.keys() <= variables(Path(command).name)
        with LineClient(command=(command, *entry.args), environment=at_home(tmp_path, **entry.env)) as session:
            assert session.request("tools/list")["result"]["tools"]


def entries_in(document: Path) -> Iterator[Entry]:
    """Yield each server in the client configurations that a document shows."""
    for block in blocks(document):
        read = {"json": json.loads, "toml": tomllib.loads}.get(block.language)
        configuration = read(block.text) if read else dict[str, object]()
        found = next((configuration[name] for name in MEMBERS if name in configuration), dict[str, object]())
        yield from TypeAdapter(dict[str, Entry]).validate_python(found).values()


@pytest.mark.requirement("README-1")
@each_server
async def test_the_readme_of_a_server_names_everything_that_it_offers(name: str, tmp_path: Path) -> None:
    assert missing(await offered(program_of(name).built(tmp_path)), readme(name)) == []


@pytest.mark.requirement("README-1", "CLI-1")
@each_server
def test_the_readme_of_a_server_names_every_option_and_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(program_of(name).program(), ["--help"])
    text = capsys.readouterr().out
    options = set(re.findall(r"--[a-z][a-z-]*", text))
    commands = re.findall(r"^(?:  COMMAND)? {10,}([a-z]+) {2,}\S", text, flags=re.MULTILINE)
    assert options >= {"--transport", "--help"}
    assert {*commands} >= {"install", "doctor", "serve"}
    assert missing({*options, *commands}, readme(name)) == []


@pytest.mark.requirement("README-1", "CLI-1", "CLI-3")
@each_server
def test_the_readme_of_a_server_has_every_setting_with_its_default(name: str) -> None:
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|", readme(name), flags=re.MULTILINE))
    settings = {
        variable: default.removeprefix("default ")
        for variable, _, default in describe_settings(program_of(name).settings_type)
    }
    assert rows.keys() == settings.keys()
    told = {variable: default for variable, default in settings.items() if "/" not in default}
    assert [name for name, default in told.items() if default != "not set" and default not in rows[name]] == []


@pytest.mark.requirement("README-1")
def test_the_readmes_say_the_same_of_the_settings_that_servers_share() -> None:
    for variable in StoreServerSettings.model_fields:
        found = {name: re.findall(rf"^\| `{variable.upper()}` .*$", readme(name), re.MULTILINE) for name in COMMANDS}
        assert len({row for rows in found.values() for row in rows}) == 1, found

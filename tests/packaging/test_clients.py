"""The configurations for clients have the form that each client reads, and start what they name (CLIENT-1, -2)."""

from __future__ import annotations

import json
import re
import tomllib
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import pytest

from examples.clients.library_programs import LIBRARIES
from examples.clients.scripted_model import ScriptedModel, serve_model
from examples.clients.try_clients import PROGRAMS, main
from mcp_client_install.clients import CLIENTS
from tests.packaging.projects import ROOT
from tests.packaging.servers import COMMANDS, Entry, at_home, installed, variables
from tests.wire.line_client import PATIENCE, LineClient, Message

FOLDER: Final = ROOT / "examples" / "clients"


def read_entry(client: str, server: str) -> Entry:
    """Return the only entry of a file, which holds nothing else."""
    form = CLIENTS[client]
    text = (FOLDER / client / f"{server}{form.suffix}").read_text("utf-8")
    document = tomllib.loads(text) if form.suffix == ".toml" else json.loads(text)
    assert list(document) == [form.member]
    (entry,) = document[form.member].values()
    if client == "opencode":  # the command is one list, and its variables have a longer name
        command, *args = entry.pop("command")
        entry |= {"command": command, "args": args, "env": entry.pop("environment")}
    return Entry.model_validate(entry)


@pytest.mark.requirement("CLIENT-1")
def test_every_client_has_a_file_for_every_server_and_no_other() -> None:
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    expected = {f"{client}/{server}{form.suffix}" for client, form in CLIENTS.items() for server in COMMANDS}
    assert {file for file in files if not file.endswith((".py", ".pyc"))} == {*expected, "README.md"}


@pytest.mark.requirement("CLIENT-2")
def test_the_readme_says_of_every_client_that_is_tried_which_version_and_what_to_watch_for() -> None:
    table = (FOLDER / "README.md").read_text("utf-8").partition("| client | version tried | watch for |\n")[2]
    rows = re.findall(r"^\| ([^|]+) \| (\d[\d.]*) \|", table, re.MULTILINE)
    assert [name for name, _ in rows] == [*PROGRAMS, *LIBRARIES]
    assert CLIENTS.keys() >= PROGRAMS.keys()


@pytest.mark.requirement("CLIENT-2")
def test_a_client_that_is_not_installed_is_not_tested_and_fails_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["codex", "fastmcp"]) == 0
    *_, codex, library = capsys.readouterr().out.splitlines()
    assert "NOT TESTED: codex is not on PATH" in codex
    assert "NOT TESTED" in library


def ask(model: ScriptedModel, path: str, tools: list[Message]) -> str:
    """Return the text of what a model answers to a client that offers these tools."""
    connection = HTTPConnection(model.url.removeprefix("http://"), timeout=PATIENCE)
    try:
        connection.request("POST", path, json.dumps({"tools": tools}))
        return connection.getresponse().read().decode()
    finally:
        connection.close()


@pytest.mark.requirement("CLIENT-2")
@pytest.mark.parametrize(
    ("path", "tool"),
    [
        ("/v1/messages", {"name": "mcp__tasks__create_task"}),
        ("/v1/responses", {"name": "tasks_create_task"}),
        ("/v1/responses", {"type": "namespace", "name": "mcp__tasks", "tools": [{"name": "create_task"}]}),
        ("/v1/chat/completions", {"type": "function", "function": {"name": "tasks-create_task"}}),
        ("/v1beta/m:streamGenerateContent", {"functionDeclarations": [{"name": "create_task"}]}),
    ],
)
def test_the_scripted_model_calls_each_tool_once_and_is_done(path: str, tool: Message) -> None:
    with serve_model({"create_task": {"title": "Paint"}}) as model:
        first, then = ask(model, path, [tool]), ask(model, path, [tool])
    assert ("create_task" in first, "Paint" in first, "Done." in then) == (True, True, True)


@pytest.mark.requirement("CLIENT-2")
def test_the_scripted_model_searches_once_for_tools_that_a_client_holds_back() -> None:
    held_back: list[Message] = [{"type": "function", "function": {"name": "tool_search"}}]
    with serve_model({"create_task": {}}) as model:
        first, then = (ask(model, "/v1/chat/completions", held_back) for _ in range(2))
    assert ("tool_search" in first, "Done." in then) == (True, True)


@pytest.mark.requirement("CLIENT-1")
def test_the_readme_says_where_the_files_of_every_client_go() -> None:
    text = (FOLDER / "README.md").read_text("utf-8")
    assert [client for client in CLIENTS if f"| [{client}]({client}) |" not in text] == []


@pytest.mark.process
@pytest.mark.requirement("CLIENT-1")
@pytest.mark.parametrize("server", COMMANDS)
def test_a_configuration_starts_its_server(server: str, tmp_path: Path) -> None:
    starts: dict[str, Entry] = {}
    for client, form in CLIENTS.items():
        entry = read_entry(client, server)
        assert (entry.type or "") == form.transport
        assert (Path(entry.command).is_absolute(), Path(entry.command).name) == (True, server)
        assert entry.env.keys() < variables(server)
        starts[entry.model_dump_json(exclude={"type"})] = entry
    for entry in starts.values():
        environment = at_home(tmp_path, **entry.env)
        assert [name for name in entry.env if Path(environment[name]).parent != tmp_path] == []
        with LineClient(command=(installed(entry.command), *entry.args), environment=environment) as session:
            tools = session.request("tools/list")["result"]["tools"]
        assert len(tools) >= 4

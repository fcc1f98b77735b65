"""The configurations for clients have the form that each client reads, and start what they name (CLIENT-1)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from pydantic import TypeAdapter

from tests.packaging.projects import ROOT
from tests.packaging.servers import SETTINGS, Entry, at_home, installed, variables
from tests.wire.line_client import LineClient

CLIENTS: Final = ROOT / "examples" / "clients"


class Form(NamedTuple):
    """What a client reads: a kind of file, the member with the servers, and whether an entry says its transport."""

    suffix: str
    member: str
    has_type: bool


FORMS: Final = {
    "claude-code": Form(".json", "mcpServers", has_type=True),
    "claude-desktop": Form(".json", "mcpServers", has_type=False),
    "codex": Form(".toml", "mcp_servers", has_type=False),
    "cursor": Form(".json", "mcpServers", has_type=True),
    "gemini-cli": Form(".json", "mcpServers", has_type=False),
    "vscode": Form(".json", "servers", has_type=True),
}


def read_entry(client: str, server: str) -> Entry:
    """Return the only entry of a file, which holds nothing else."""
    form = FORMS[client]
    text = (CLIENTS / client / f"{server}{form.suffix}").read_text("utf-8")
    document = tomllib.loads(text) if form.suffix == ".toml" else json.loads(text)
    assert list(document) == [form.member]
    (entry,) = TypeAdapter(dict[str, Entry]).validate_python(document[form.member]).values()
    return entry


@pytest.mark.requirement("CLIENT-1")
def test_every_client_has_a_file_for_every_server_and_no_other() -> None:
    files = {path.relative_to(CLIENTS).as_posix() for path in CLIENTS.rglob("*") if path.is_file()}
    expected = {f"{client}/{server}{form.suffix}" for client, form in FORMS.items() for server in SETTINGS}
    assert files == {*expected, "README.md"}


@pytest.mark.requirement("CLIENT-1")
def test_the_readme_says_where_the_files_of_every_client_go() -> None:
    text = (CLIENTS / "README.md").read_text("utf-8")
    assert [client for client in FORMS if f"| [{client}]({client}) |" not in text] == []


@pytest.mark.requirement("CLIENT-1")
@pytest.mark.parametrize("client", FORMS)
@pytest.mark.parametrize("server", SETTINGS)
def test_a_configuration_starts_its_server(client: str, server: str, tmp_path: Path) -> None:
    entry = read_entry(client, server)
    assert entry.type == ("stdio" if FORMS[client].has_type else None)
    assert (Path(entry.command).is_absolute(), Path(entry.command).name) == (True, server)
    assert entry.env.keys() < variables(server)
    environment = at_home(tmp_path, **entry.env)
    assert [name for name in entry.env if Path(environment[name]).parent != tmp_path] == []
    with LineClient(command=(installed(entry.command), *entry.args), environment=environment) as session:
        tools = session.request("tools/list")["result"]["tools"]
    assert len(tools) >= 4

"""The entries of clients: what starts this server, what does not, and what stays in them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_client_install.plans import Server
from tests.install.machine import COMMAND, Machine, snapshot

CURSOR = ".cursor/mcp.json"


def entry(path: Path, name: str = "heartbeat") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))["mcpServers"][name]
    return found


def test_two_lists_are_two_entries_by_two_names(machine: Machine) -> None:
    machine.has("cursor")
    machine("install", "--yes")
    machine("install", "--yes", "--name", "second", "--set", f"HEARTBEAT_FILE_PATH={machine.project}/B.md")
    assert entry(machine.home / CURSOR, "second")["env"] == {"HEARTBEAT_FILE_PATH": f"{machine.project}/B.md"}
    machine("uninstall", "--yes", "--name", "second")
    assert entry(machine.home / CURSOR)["env"] == {"HEARTBEAT_FILE_PATH": f"{machine.data}/heartbeat-mcp/HEARTBEAT.md"}
    machine("uninstall", "--yes")
    assert snapshot(machine.home / ".cursor") == {}


OURS: Final[list[dict[str, Any]]] = [
    {"command": "uvx", "args": ["heartbeat-mcp"]},
    {"command": "uvx", "args": ["heartbeat-mcp@latest"]},
    {"command": "uvx", "args": ["--refresh", "heartbeat-mcp"]},
    {"command": "uvx", "args": ["--with", "mcp-task-core", "--from=heartbeat-mcp", "heartbeat-mcp"]},
    {"command": "uv", "args": ["tool", "run", "heartbeat-mcp"]},
    {"command": "uvx", "args": ["--from", "heartbeat-mcp[postgresql]==1.0", "python"]},
    {"command": "uv", "args": ["run", "--directory", "/srv/tasks", "heartbeat-mcp"]},
    {"command": "/usr/bin/python3", "args": ["-m", "heartbeat_mcp"], "env": {"HEARTBEAT_FILE_PATH": "/p/H.md"}},
    {"command": "C:\\tools\\heartbeat-mcp.exe"},
]
"""Entries that start the server, however it was installed."""

OTHERS: Final = [
    '{"command": "npx", "args": ["-y", "other"]}',
    '{"command": "npx", "args": ["-y", "mcp-remote", "https://x/heartbeat-mcp", "--header", "Bearer hunter2"]}',
    '{"command": "docker", "args": ["run", "-i", "ghcr.io/acme/heartbeat-mcp"]}',
    '{"command": "ssh", "args": ["box", "heartbeat-mcp"]}',
    '{"command": "/opt/mine.sh", "args": ["--log-dir", "/var/log/heartbeat-mcp"]}',
    '{"command": "uvx", "args": ["mcp-proxy", "https://x/heartbeat-mcp"]}',
    '{"command": "uvx", "args": ["mcpo", "--api-key", "hunter2", "--", "uvx", "heartbeat-mcp"]}',
    '{"command": "uvx", "args": ["--with", "heartbeat-mcp", "other"]}',
    '{"command": "python3", "args": ["mine.py", "heartbeat-mcp"]}',
    '{"command": "python3", "args": ["--version"]}',
    '{"command": "python3", "args": ["-m", "other", "heartbeat-mcp"]}',
    '{"url": "http://x"}',
    "5",
    "[]",
]
"""Entries that start something else, in JSON."""


def test_an_entry_is_known_by_the_program_that_it_starts_however_that_was_installed() -> None:
    server = Server("heartbeat-mcp", "heartbeat")
    assert [entry for entry in OURS if not server.is_started_by(entry)] == []
    assert [entry for entry in OTHERS if server.is_started_by(json.loads(entry))] == []


@pytest.mark.parametrize("ours", [OURS[1], OURS[-2]])
def test_an_entry_that_starts_this_server_in_another_way_is_brought_up_to_date(
    machine: Machine, ours: dict[str, Any]
) -> None:
    machine.has("cursor")
    file = machine.home / CURSOR
    env = {"env": {"HEARTBEAT_FILE_PATH": str(machine.project / "H.md")}} if "env" in ours else {}
    before = json.dumps({"mcpServers": {"heartbeat": {**ours, **env, "timeout": 5}}})
    file.write_text(before)
    machine("install", "--yes")
    assert file.with_name("mcp.json.before-heartbeat-mcp").read_text() == before
    new = entry(file)
    assert (new["command"], new["args"], new["timeout"]) == (COMMAND, [], 5)
    assert new["env"] == env.get("env", {"HEARTBEAT_FILE_PATH": f"{machine.data}/heartbeat-mcp/HEARTBEAT.md"})
    copy = "The old file is kept as mcp.json.before-heartbeat-mcp."
    assert machine("uninstall", "--yes").out.endswith(f"Wrote {file}. {copy}\n")
    found = snapshot(file.parent)
    assert found == {"mcp.json": b'{"mcpServers": {}}', "mcp.json.before-heartbeat-mcp": before.encode()}


def test_an_entry_is_found_in_each_file_that_a_client_may_have(machine: Machine) -> None:
    folder = machine.home / ".config/opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text("{}")
    machine("install", "--yes")
    (folder / "opencode.json").write_text("{}")
    machine("uninstall", "--yes")
    assert snapshot(folder) == {"opencode.json": b"{}", "opencode.jsonc": b"{}"}


def test_what_another_server_is_started_with_is_not_shown_and_cannot_drive_a_terminal(machine: Machine) -> None:
    machine.has("cursor")
    other = {"command": "\x1b[2J", "args": ["--key", "hunter2"]}
    (machine.home / CURSOR).write_text(json.dumps({"mcpServers": {"heartbeat": other}}))
    err = machine("install", "--yes").err
    assert "'heartbeat' already starts another server (\\u{1b}[2J). The file was not changed. Choose" in err
    assert "hunter2" not in err


@pytest.mark.parametrize("other", [OTHERS[1], "5"])
def test_an_entry_of_somebody_else_is_neither_replaced_nor_removed(machine: Machine, other: str) -> None:
    machine.has("cursor", "codex")
    file = machine.home / CURSOR
    file.write_text(f'{{"mcpServers": {{"heartbeat": {other}}}}}')
    before = file.read_bytes()
    done = machine("install", "--yes")
    assert done.code == 1
    assert f"{file}: 'heartbeat' already starts another server" in done.err
    assert "The file was not changed. Choose another --name, or remove that entry.\n" in done.err
    assert (machine.home / ".codex/config.toml").exists()  # what is possible is done
    machine("uninstall", "--yes")
    assert (file.read_bytes(), os.listdir(file.parent)) == (before, ["mcp.json"])


def test_the_command_must_be_installed(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine.has("cursor")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    done = machine("install", "--yes")
    assert (done.code, done.err) == (
        1,
        "heartbeat-mcp install: heartbeat-mcp is not installed as a command: install it first, as its README "
        "describes\n",
    )
    command = tmp_path / "bin" / "heartbeat-mcp"
    command.touch(0o755)
    machine("install", "--yes")
    assert entry(machine.home / CURSOR)["command"] == str(command)
    windows = tmp_path / "heartbeat-mcp.exe"
    windows.touch(0o755)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "heartbeat-mcp"), "install"])
    machine("install", "--yes")
    assert entry(machine.home / CURSOR)["command"] == str(windows)


def test_arguments_that_were_added_to_the_entry_stay(machine: Machine) -> None:
    machine.has("cursor")
    config = machine.home / ".config" / "opencode"
    config.mkdir(parents=True)
    (config / "AGENTS.md").touch()
    machine("install", "--yes")
    mine = ["--log-level", "DEBUG"]
    file = machine.home / CURSOR
    file.write_text(file.read_text().replace('"args": []', f'"args": {json.dumps(mine)}'))
    other = config / "opencode.json"
    words = json.loads(other.read_text())["mcp"]["heartbeat"]["command"]
    other.write_text(other.read_text().replace(json.dumps(words[0]), json.dumps([*words, *mine])[1:-1]))
    machine("install", "--yes", "--set", "HEARTBEAT_SECTION=LIST")
    assert (entry(file)["args"], entry(file)["env"]["HEARTBEAT_SECTION"]) == (mine, "LIST")
    assert json.loads(other.read_text())["mcp"]["heartbeat"]["command"] == [*words, *mine]
    assert sorted(os.listdir(file.parent)) == ["mcp.json"]

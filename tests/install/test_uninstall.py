"""Uninstalling gives files back as they were, and keeps what others have done to them since."""

from __future__ import annotations

import json

import pytest

from tests.install.machine import COMMAND, Machine, snapshot

CURSOR = ".cursor/mcp.json"


def test_an_older_copy_is_never_overwritten_and_the_newest_counts(machine: Machine) -> None:
    machine.has("cursor")
    file = machine.home / CURSOR
    file.with_name("mcp.json.before-heartbeat-mcp").write_text("mine")
    file.with_name("mcp.json.before-heartbeat-mcp.old").write_text("mine too")
    file.write_text('{"mcpServers": {}}')
    assert "kept as mcp.json.before-heartbeat-mcp.2." in machine("install", "--yes").out
    machine("uninstall", "--yes")
    assert file.read_text() == '{"mcpServers": {}}'
    assert sorted(path.name for path in file.parent.iterdir()) == [
        "mcp.json",
        "mcp.json.before-heartbeat-mcp",
        "mcp.json.before-heartbeat-mcp.old",
    ]


TWO = ["heartbeat", "hierarchy"]


@pytest.mark.parametrize(
    ("client", "old"),
    [
        (".cursor/mcp.json", None),
        (".cursor/mcp.json", '{\n  "mcpServers": {}\n}\n'),
        (".cursor/mcp.json", '{"mcpServers": { // mine\n} }'),
        (".cursor/mcp.json", '{\n\t// mine\n\t"mcpServers": {"a": {"command": "x"},},\n}'),
        (".codex/config.toml", "# mine\na = 1\n"),
    ],
)
def test_two_servers_go_without_a_trace_in_any_order(machine: Machine, client: str, old: str | None) -> None:
    machine.has(client[1:].partition("/")[0])
    file = machine.home / client
    if old is not None:
        file.write_text(old)
    for server in TWO:
        machine("install", "--yes", server=server)
    for server in TWO if client.endswith("toml") or old is None else TWO[::-1]:
        assert machine("uninstall", "--yes", server=server).code == 0
    assert snapshot(file.parent) == ({} if old is None else {file.name: old.encode()})


@pytest.mark.parametrize(
    ("client", "old", "changed"),
    [
        (".cursor/mcp.json", '{"a": 1}', ('"a": 1', '"b": 2')),
        (".cursor/mcp.json", '{"mcpServers": {"a": {"url": "x"}}}', ('"a": {"url": "x"}', '"b": 2')),
        (".cursor/mcp.json", '{"a": 1 /* one */}', ("/* one */", "")),
        (".codex/config.toml", "a = 1 # one\n", ("# one", "")),
    ],
)
def test_once_others_have_changed_the_file_a_copy_stays(
    machine: Machine, client: str, old: str, changed: tuple[str, str]
) -> None:
    machine.has(client[1:].partition("/")[0])
    file = machine.home / client
    file.write_text(old)
    machine("install", "--yes")
    file.write_text(file.read_text().replace(*changed))
    assert f"The old file is kept as {file.name}.before-heartbeat-mcp.\n" in machine("uninstall", "--yes").out
    assert file.with_name(f"{file.name}.before-heartbeat-mcp").read_text() == old


SWITCHED_OFF = '// "github": {"command": "npx", "env": {"TOKEN": "mine"}},'


@pytest.mark.parametrize("old", [None, '{"theme": "dark"}', '{"mcpServers": {}}'])
def test_a_server_that_is_switched_off_by_a_comment_stays(machine: Machine, old: str | None) -> None:
    machine.has("cursor")
    file = machine.home / CURSOR
    if old:
        file.write_text(old)
    machine("install", "--yes")
    file.write_text(file.read_text().replace('"mcpServers": {', f'"mcpServers": {{ {SWITCHED_OFF}\n'))
    machine("uninstall", "--yes")
    assert SWITCHED_OFF in file.read_text()
    assert "heartbeat" not in file.read_text()


def test_a_server_that_moves_and_comes_back_goes_without_its_file(machine: Machine) -> None:
    machine.has("cursor")
    file = machine.home / CURSOR
    machine("install", "--yes")
    first = file.read_text()
    for words in (first.replace(COMMAND, "/elsewhere/bin/heartbeat-mcp"), first.replace(COMMAND, "/b/heartbeat-mcp")):
        file.write_text(words)
        machine("install", "--yes")
    machine("uninstall", "--yes")
    assert not file.exists()


def test_a_server_that_has_moved_since_goes_too_and_the_file_of_before_comes_back(machine: Machine) -> None:
    machine.has("cursor")
    file = machine.home / CURSOR
    file.write_text('{"mcpServers": {}}')
    machine("install", "--yes")
    moved = file.read_text().replace(COMMAND, "/elsewhere/bin/heartbeat-mcp")
    file.write_text(moved)
    assert "kept as mcp.json.before-heartbeat-mcp.2." in machine("install", "--yes").out
    assert "kept as mcp.json.before-heartbeat-mcp.2." in machine("uninstall", "--yes").out
    assert snapshot(file.parent) == {
        "mcp.json": b'{"mcpServers": {}}',
        "mcp.json.before-heartbeat-mcp.2": moved.encode(),
    }


@pytest.mark.parametrize("damage", ['{"a": ', '{"mcpServers": [], "b": 1}'])
def test_a_copy_that_somebody_has_damaged_only_makes_the_way_back_less_exact(machine: Machine, damage: str) -> None:
    machine.has("cursor")
    file = machine.home / CURSOR
    file.write_text('{"a": 1}')
    machine("install", "--yes")
    file.with_name("mcp.json.before-heartbeat-mcp").write_text(damage)
    assert "The old file is kept as mcp.json.before-heartbeat-mcp.\n" in machine("uninstall", "--yes").out
    assert json.loads(file.read_text()) == {"a": 1, "mcpServers": {}}

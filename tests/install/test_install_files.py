"""The files of clients stay as they are, or become what they should: links, rights, damage, and other programs."""

from __future__ import annotations

import errno
import os
import stat
import sys
from argparse import Namespace
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from mcp_client_install.clients import CLIENTS
from mcp_client_install.console import Console
from mcp_client_install.edits.documents import GUIDES
from mcp_client_install.files import FileRewritten, open_text, save
from mcp_client_install.plans import Addition, PlannedChange, Server, plan_guide, plan_install, plan_uninstall
from tests.core.faults import EFFECTS, Fault, watched
from tests.core.notes import nobody, open_folder
from tests.install.machine import Machine, snapshot

CURSOR = ".cursor/mcp.json"
SERVER = Server("heartbeat-mcp", "heartbeat")
COMMAND = "/bin/heartbeat-mcp"
ADDITION = Addition(CLIENTS["cursor"]._replace(hook=None), SERVER, COMMAND, {"F": "/p"}, adds_hook=False)

BEGIN = b"<!-- heartbeat-mcp heartbeat: begin -->\n"
END = b"<!-- heartbeat-mcp heartbeat: end -->\n"

DAMAGED = {
    "half written": b'{"mcpServers": {"a": {',
    "a key twice": b'{"mcpServers": {}, "mcpServers": {}}',
    "in conflict": b'<<<<<<< HEAD\n{"mcpServers": {}}\n=======\n',
    "no object": b'["mcpServers"]',
    "no object inside": b'{"mcpServers": []}',
    "Latin-1": '{"mcpServers": {"é": {}}}'.encode("latin-1"),
    "UTF-16": '{"mcpServers": {}}'.encode("utf-16"),
    "zeros after a power cut": bytes(64),
}


def plan_entry(file: Path) -> PlannedChange:
    change = plan_install(file, ADDITION)
    assert change
    return change


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_file_that_cannot_be_read_is_left_as_it_is_and_the_reason_given(machine: Machine, data: bytes) -> None:
    machine.has("cursor")
    file = machine.home / CURSOR
    file.write_bytes(data)
    done = machine("install", "cursor", "--yes")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"{file}: ")
    assert done.err.endswith(". The file was not changed. Correct that and run the command again.\n")
    assert snapshot(file.parent) == {"mcp.json": data}


@pytest.mark.parametrize("command", ["heartbeat-mcp", "heartbeat_mcp"])
def test_a_damaged_file_is_in_the_way_of_uninstall_only_if_it_names_the_server(machine: Machine, command: str) -> None:
    machine.has("cursor")
    file = machine.home / CURSOR
    file.write_text('{"mcpServers": {')
    assert machine("uninstall", "--yes") == (0, "There is nothing to change.\n", "")
    file.write_text(f'{{"mcpServers": {{"heartbeat": {{"command": "{command}"')
    done = machine("uninstall", "--yes")
    assert (done.code, ": line 1 column " in done.err) == (1, True)


def folder(path: Path) -> None:
    path.mkdir()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def circle(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize("make", [folder, fifo, circle], ids=lambda make: make.__name__)
def test_what_is_not_a_file_is_left_as_it_is(machine: Machine, make: Callable[[Path], None]) -> None:
    machine.has("cursor")
    make(machine.home / CURSOR)
    for action in ("install", "uninstall"):
        done = machine(action, "cursor", "--yes")
        assert (done.code, done.out) == (1, "")
        assert "mcp.json: " in done.err
    assert os.listdir(machine.home / ".cursor") == ["mcp.json"]


def test_a_link_stays_a_link_and_its_file_is_changed_with_its_mode(machine: Machine) -> None:
    machine.has("cursor")
    dotfiles = machine.home / "dotfiles"
    dotfiles.mkdir()
    real, link = dotfiles / "cursor.json", machine.home / CURSOR
    real.write_text("{}")
    real.chmod(0o640)
    link.symlink_to("../dotfiles/cursor.json")
    before = snapshot(machine.home)
    machine("install", "--yes")
    assert (link.is_symlink(), "heartbeat" in real.read_text()) == (True, True)
    assert {stat.S_IMODE(path.stat().st_mode) for path in dotfiles.iterdir()} == {0o640, 0o600}
    machine("uninstall", "--yes")
    assert snapshot(machine.home) == before
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_link_to_a_file_that_is_not_there_yet_stays_one(machine: Machine) -> None:
    machine.has("cursor")
    link = machine.home / CURSOR
    link.symlink_to(machine.home / "dotfiles" / "cursor.json")
    (machine.home / "dotfiles").mkdir()
    before = snapshot(machine.home)
    machine("install", "--yes")
    assert "heartbeat" in (machine.home / "dotfiles" / "cursor.json").read_text()
    machine("uninstall", "--yes")
    assert (snapshot(machine.home), link.is_symlink()) == (before, True)


def test_a_folder_of_the_project_stays_while_something_else_is_in_it(machine: Machine) -> None:
    other = machine.project / ".cursor" / "rules.md"
    machine("install", "cursor", "--scope", "project", "--yes")
    other.touch()
    machine("uninstall", "--yes")
    assert [*other.parent.iterdir()] == [other]


def test_no_link_leads_out_of_a_project(machine: Machine) -> None:
    before = b"alias x=y\n"
    (machine.home / ".bashrc").write_bytes(before)
    (machine.home / "out").mkdir()
    (machine.project / "AGENTS.md").symlink_to("../.bashrc")
    (machine.project / ".cursor").symlink_to(machine.home / "out")
    done = machine("install", "cursor", "--scope", "project", "--agents-file", "--yes")
    assert (done.code, done.out) == (1, "")
    assert f"/AGENTS.md: a link leads out of the project, to {machine.home}/.bashrc. The file was not ch" in done.err
    assert f"/mcp.json: a link leads out of the project, to {machine.home}/out/mcp.json. " in done.err
    theirs = b'{"mcpServers": {"heartbeat": {"command": "heartbeat-mcp"}}}'
    (machine.home / "out" / "mcp.json").write_bytes(theirs)
    assert machine("uninstall", "--yes").code == 1
    assert snapshot(machine.home / "out") == {"mcp.json": theirs}
    assert (machine.home / ".bashrc").read_bytes() == before


def test_a_file_with_two_names_is_changed_once(machine: Machine) -> None:
    machine.has("cursor", "copilot")
    (machine.home / ".copilot" / "mcp-config.json").symlink_to("../.cursor/mcp.json")
    (machine.home / CURSOR).write_text("{}")
    (machine.project / "AGENTS.md").write_text("# Rules\n")
    (machine.project / "CLAUDE.md").symlink_to("AGENTS.md")
    before = snapshot(machine.home)
    for action in ("install", "uninstall"):
        done = machine(action, "cursor", "copilot-cli", "--agents-file", "--yes")
        assert (done.code, done.err, done.out.count("Wrote")) == (0, "", 2)
    assert snapshot(machine.home) == before


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_may_not_be_written_is_left_as_it_is(is_folder: bool) -> None:
    with open_folder() as home:
        place = home / ".cursor"
        place.mkdir()
        (place / "mcp.json").write_text("{}")
        place.chmod(0o555 if is_folder else 0o777)
        (place / "mcp.json").chmod(0o444)
        with nobody():
            change = plan_entry(place / "mcp.json")
            with pytest.raises(PermissionError):
                change.make()
        assert snapshot(home) == {".cursor": None, ".cursor/mcp.json": b"{}"}


@pytest.mark.parametrize("is_there", [True, False])
def test_what_another_program_writes_in_the_meantime_is_kept(tmp_path: Path, is_there: bool) -> None:
    file = tmp_path / "mcp.json"
    if is_there:
        file.write_text("{}")
    change = plan_entry(file)
    file.write_text('{"theirs": 1}')
    with pytest.raises(FileRewritten):
        change.make()
    assert snapshot(tmp_path) == {"mcp.json": b'{"theirs": 1}'}


def test_a_change_by_another_program_is_reported_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mcp.json"

    def plan() -> PlannedChange:
        change = plan_entry(file)
        file.write_text("{}")
        return change

    assert Console(Namespace(yes=True, dry_run=False), str).carry_out({file: plan}) == {file}
    assert capsys.readouterr().err == (
        f"{file}: another program has changed it in the meantime. The file was not changed. Run the command again.\n"
    )


@pytest.mark.parametrize("before", [None, "{}"])
def test_what_another_program_writes_before_the_entry_is_removed_is_kept(tmp_path: Path, before: str | None) -> None:
    file = tmp_path / "mcp.json"
    if before:
        file.write_text(before)
    plan_entry(file).make()
    change = plan_uninstall(CLIENTS["cursor"], file, SERVER)
    assert change
    file.write_text(file.read_text() + "// theirs\n")
    now = snapshot(tmp_path)
    with pytest.raises(FileRewritten):
        change.make()
    assert snapshot(tmp_path) == now


def test_a_file_that_another_program_removes_before_the_entry_is_removed_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    plan_entry(file).make()
    change = plan_uninstall(CLIENTS["cursor"], file, SERVER)
    assert change
    file.unlink()
    with pytest.raises(FileRewritten):
        change.make()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_root_changes_keeps_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}")
    os.chown(file, 1234, 4321)
    plan_entry(file).make()
    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 4321)


def test_a_disk_that_fails_at_any_call_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    outcomes = set[tuple[bool, str]]()
    for number in count(1):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "mcp.json").write_text("{}")
        change = plan_entry(folder / "mcp.json")
        has_failed = False
        with watched(Fault(number, errno.EIO), only=EFFECTS) as calls:
            try:
                change.make()
            except OSError:
                has_failed = True
        names = {path: data for path, data in snapshot(folder).items() if path != "mcp.json"}
        assert (folder / "mcp.json").read_bytes() == (b"{}" if has_failed else change.data)
        assert names == ({} if has_failed else {"mcp.json.before-heartbeat-mcp": b"{}"})
        if len(calls) < number:
            break
        outcomes.add((has_failed, calls[number - 1]))
    assert {name for has_failed, name in outcomes if has_failed} >= {"open", "fsync", "replace"}


def test_a_disk_that_fails_is_reported_with_the_file(machine: Machine) -> None:
    machine.has("cursor", "codex")
    with watched(Fault(1, errno.EIO), only={"replace"}):
        done = machine("install", "--yes")
    why = "Input/output error [EIO]. The file was not changed. Fix the cause and run the command again."
    assert (done.code, done.err) == (1, f"{machine.home / CURSOR}: {why}\n")
    assert f"Wrote {machine.home}/.codex/config.toml.\n" in done.out


def test_a_section_for_agents_goes_without_a_trace(machine: Machine) -> None:
    machine.has("cursor")
    for text in ("# Rules", "# Rules\n", "# Rules\n\n", "# Rules\r\n", "# Rules\r\rbe kind\r", "\n"):
        file = machine.project / "CLAUDE.md"
        file.write_bytes(text.encode())
        machine("install", "--yes", "--agents-file")
        assert file.read_bytes().startswith(text.encode())
        assert b"MCP server `heartbeat`" in file.read_bytes()
        machine("uninstall", "--yes")
        assert file.read_bytes() == text.encode()
    assert sorted(os.listdir(machine.project)) == [".git", "CLAUDE.md"]


def test_a_section_that_was_edited_is_written_again_and_text_after_it_stays(tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    plan_guide(file, SERVER, "## Tasks\n\nold", tmp_path).make()
    file.write_text(f"{file.read_text()}\nafter\n")
    plan_guide(file, SERVER, "## Tasks\n\nnew", tmp_path).make()
    assert file.read_text() == (
        "after\n\n<!-- heartbeat-mcp heartbeat: begin -->\n## Tasks\n\nnew\n<!-- heartbeat-mcp heartbeat: end -->\n"
    )
    assert not plan_guide(file, SERVER, "## Tasks\n\nnew", tmp_path).is_needed
    plan_guide(file, SERVER, None, tmp_path).make()
    assert file.read_text() == "after\n"
    assert not plan_guide(file, SERVER, None, tmp_path).is_needed
    assert not plan_guide(tmp_path / "none.md", SERVER, None, tmp_path).is_needed


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (BEGIN, "does not have each of the marks"),
        (END + BEGIN, "does not have each of the marks"),
        ((BEGIN + b"a\n" + END) * 2, "does not have each of the marks"),
        (b"\xff", "not UTF-8 text"),
    ],
)
def test_a_file_for_agents_with_damaged_marks_is_left_as_it_is(machine: Machine, data: bytes, said: str) -> None:
    machine.has("cursor")
    file = machine.project / "AGENTS.md"
    file.write_bytes(data)
    for action in ("install", "uninstall"):
        done = machine(action, "--yes", "--agents-file")
        assert (done.code, said in done.err) == (1, True)
        assert file.read_bytes() == data


def test_a_long_line_is_shown_with_line_breaks(machine: Machine) -> None:
    machine.has("cursor")
    (machine.home / CURSOR).write_text(f'{{"a": "{"x" * 700}", "mcpServers": {{}}}}')
    done = machine("install", "--dry-run")
    assert '+    "heartbeat": {\n' in done.out
    assert max(map(len, done.out.splitlines())) <= 500


def test_what_a_terminal_would_obey_is_shown_in_letters(machine: Machine) -> None:
    machine.has("codex")
    (machine.home / ".codex/config.toml").write_text("a = 1\n# \u200b\tred\u202e\n")
    assert "\n # \\u{200b}\tred\\u{202e}\n" in machine("install", "--dry-run").out


def test_a_copy_is_made_before_the_file_changes_and_only_once(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("old")
    (copy,) = save(open_text(file), b"new", "x-mcp", is_private=True, needs_copy=True)
    assert (copy.read_text(), stat.S_IMODE(copy.stat().st_mode)) == ("old", 0o600)
    assert save(open_text(file), b"newer", "x-mcp", is_private=True, needs_copy=False) == []


def test_two_names_are_two_sections(tmp_path: Path) -> None:
    file, second = tmp_path / "AGENTS.md", SERVER._replace(name="second")
    plan_guide(file, SERVER, "one", tmp_path).make()
    before = file.read_bytes()
    plan_guide(file, second, "two", tmp_path).make()
    assert file.read_bytes().startswith(before)
    plan_guide(file, second, None, tmp_path).make()
    assert file.read_bytes() == before


def test_a_section_is_removed_only_from_the_file_that_is_named(machine: Machine) -> None:
    for name in GUIDES:
        machine("install", "cursor", "--yes", "--agents-file", name)
    machine("uninstall", "--yes", "--agents-file", "AGENTS.md")
    assert sorted(os.listdir(machine.project)) == [".git", "CLAUDE.md"]


def test_output_that_nobody_can_read_is_given_up(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has("cursor")
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        done = machine("install", "--yes")
    assert (done.code, done.err) == (1, "heartbeat-mcp install: [Errno 28] No space left on device\n")
    assert snapshot(machine.home / ".cursor") == {}

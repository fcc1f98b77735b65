"""The last lines of ``install``, and its work with a terminal, input and output of any kind."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from task_core.cli.registration import ProgramRegistration
from tests.install.machine import COMMAND, Machine
from tests.servers import program_of

CURSOR = ".cursor/mcp.json"


def environment_of(machine: Machine) -> dict[str, str]:
    """Return the settings in the entry of Cursor."""
    found: dict[str, str] = json.loads((machine.project / CURSOR).read_text("utf-8"))["mcpServers"]["heartbeat"]["env"]
    return found


def test_input_that_is_closed_is_no_terminal_and_output_that_lacks_a_character_gets_an_escape(machine: Machine) -> None:
    machine.has("cursor")
    (machine.home / CURSOR).write_text('{"mcpServers": {"日": {"command": "x"}}}')
    words = ["/bin/sh", "-c", f"exec {COMMAND} install --set HEARTBEAT_FILE_PATH=/tmp/H.md <&-"]
    env = {"HOME": str(machine.home), "PATH": os.environ["PATH"], "PYTHONIOENCODING": "ascii"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    done = subprocess.run(words, cwd=machine.project, env=env, text=True, timeout=60, check=False, **pipes)
    assert '"\\u65e5": {"command": "\\u2026"}' in done.stdout
    assert (done.returncode, "there is no terminal to ask on: pass --yes" in done.stderr) == (1, True)


def test_the_list_that_a_server_would_find_itself_is_the_default(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.has("cursor")
    (machine.project / "sub").mkdir()
    monkeypatch.chdir(machine.project / "sub")
    (machine.project / "sub" / "HEARTBEAT.md").touch()
    done = machine("install", "--yes", "--scope", "project")
    assert environment_of(machine) == {"HEARTBEAT_FILE_PATH": f"{machine.project}/sub/HEARTBEAT.md"}
    assert done.out.endswith(f"\nSee the tasks: {COMMAND} list\n")


@pytest.mark.parametrize(
    ("server", "words", "said"),
    [
        ("heartbeat", (), "{1} list"),
        ("heartbeat", ("--scope", "project"), "{1} list"),
        ("taskmaster", (), "{1} list"),
        ("taskmaster", ("--scope", "project"), "{1} list"),
        ("cortex-mcp", (), "{1} list"),
        ("tasks-v1", ("--set", "TASKS_FILE_PATH=/tasks.json"), "{1} list"),
        ("hierarchy", ("--set", "TASK_STORE=sqlite:/tasks.db", "--name", "b"), "TASK_STORE=sqlite:/tasks.db {1} list"),
        ("hierarchy", ("--set", "FILE_PATH=a b", "--name", "b"), "FILE_PATH='{0}/a b' {1} list"),
    ],
)
def test_the_command_that_shows_the_tasks_is_said(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, server: str, words: tuple[str, ...], said: str
) -> None:
    machine.has("cursor")
    folder = machine.project / "a b"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    if "--name" in words:  # then two entries have different lists
        machine("install", "--yes", server=server)
    done = machine("install", "--yes", *words, server=server)
    command = Path(COMMAND).with_name(program_of(server).command)
    assert (done.code, done.out.splitlines()[-1]) == (0, f"See the tasks: {said.format(folder, command)}")


def test_tasks_that_cannot_be_seen_have_no_command(machine: Machine) -> None:
    memory = ("install", "cursor", "--yes", "--set", "TASK_STORE=memory:")
    assert "See the tasks" not in machine(*memory, server="tasks-v1").out
    assert "See the tasks" not in machine("install", "cursor", "--yes", "--set", "HEARTBEAT_FILE_PATH=").out
    assert "See the tasks" not in machine("install", "cursor", "--yes", "--set", "FILE_PATH=", server="hierarchy").out


def test_a_list_elsewhere_is_seen_with_the_command_alone(machine: Machine, tmp_path: Path) -> None:
    out = machine("install", "cursor", "--yes", server="tasks-v1").out
    assert out.endswith(f"\nSee the tasks: {Path(COMMAND).with_name('tasks-v1-mcp')} list\n")
    (tmp_path / "bin" / "hierarchy-mcp").touch(0o755)
    out = machine("install", "cursor", "--yes", server="hierarchy").out
    assert out.endswith("\nSee the tasks: hierarchy-mcp list\n")


def test_clients_that_share_a_file_each_have_their_next_step(machine: Machine) -> None:
    out = machine("install", "claude-code", "copilot-cli", "--scope", "project", "--yes").out
    assert "\nClaude Code: start claude; /mcp shows whether it is connected; approve the server when" in out
    assert "\nCopilot CLI: start copilot; /mcp show lists the server; trust the folder when" in out
    assert machine("install", "cursor", "cursor", "--yes").out.count("\nCursor: ") == 1


def test_one_file_of_a_project_has_paths_of_this_machine(machine: Machine) -> None:
    done = machine("install", "cursor", "--scope", "project", "--yes")
    assert "\n.cursor/mcp.json has paths of this machine: do not commit it.\n" in done.out


def test_what_comes_next_is_said_for_each_client_that_was_written(machine: Machine) -> None:
    machine.has("cursor", "codex")
    (machine.home / CURSOR).write_text("{")
    done = machine("install", "--yes")
    assert (done.code, "\nCodex: start codex; " in done.out, "Cursor: " in done.out) == (1, True, False)
    (machine.home / ".codex/config.toml").write_text("[")
    assert machine("install", "--yes").out == ""


def test_the_section_of_a_server_without_a_greeting_ends_with_what_the_server_is() -> None:
    program = program_of("heartbeat").program()._replace(greeting="")
    assert ProgramRegistration(program).section("tasks") == (
        "## Tasks\n\nUse the tools of the MCP server `tasks` for the tasks of this project. " + program.description()
    )

"""Hooks for the start of a session: ``install --agents`` adds them, and ``uninstall`` restores every byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_client_install.clients import CLIENTS
from tests.install.machine import COMMAND, Machine, snapshot

RUN: Final = f"{COMMAND} brief --hook"

GROUPS: Final = ("hooks", "SessionStart")
FLAT: Final = ("hooks", "sessionStart")


def group(client: str, **options: int) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": f"{RUN} {client}", **options}]}


COPILOT: Final = {
    "type": "command",
    "bash": f"{RUN} copilot-cli",
    "powershell": f"& {RUN} copilot-cli",
    "timeoutSec": 10,
}
HOOKS: Final[dict[str, tuple[str, str, tuple[str, str], dict[str, Any]]]] = {
    "claude-code": (".claude/settings.json", ".claude/settings.local.json", GROUPS, group("claude-code", timeout=10)),
    "codex": (".codex/hooks.json", ".codex/hooks.json", GROUPS, group("codex", timeout=10)),
    "gemini-cli": (".gemini/settings.json", ".gemini/settings.json", GROUPS, group("gemini-cli", timeout=10_000)),
    "qwen-code": (".qwen/settings.json", ".qwen/settings.json", GROUPS, group("qwen-code")),
    "copilot-cli": (".copilot/hooks/heartbeat-mcp.json", ".github/hooks/heartbeat-mcp.json", FLAT, COPILOT),
    "vscode": (".copilot/hooks/heartbeat-mcp.json", ".github/hooks/heartbeat-mcp.json", FLAT, COPILOT),
    "cursor": (".cursor/hooks.json", ".cursor/hooks.json", FLAT, {"command": f"{RUN} cursor"}),
}
"""The file for all projects and the one for a project, the place in it, and the item there."""

OTHER: Final = '{"type": "command", "command": "echo \'secret", "bash": "echo \'secret"}'
SHAPES: Final[dict[str, str | None]] = {
    "missing": None,
    "blank": "\n",
    "empty": "{}",
    "one line": '{"theme": "dark", "hooks": {}}',
    "byte order mark": '\ufeff{\n  "theme": "dark"\n}\n',
    "Windows lines and tabs": '{\r\n\t// mine\r\n\t"version": 1,\r\n\t"hooks": {\r\n\t\t"Stop": [],\r\n\t},\r\n}\r\n',
    "foreign groups": '{\n  "hooks": {\n    "SessionStart": [\n      // mine\n      {\n        "matcher": "startup",\n'
    f'        "hooks": [{OTHER}]\n      }}, /* last */\n    ]\n  }}\n}}\n',
    "foreign commands": f'{{"hooks": {{"sessionStart": [{OTHER}, 1], "SessionStart": [1, {{}}]}}}}',
}


def read(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Read JSON whose comments are known and whose strings have none."""
    plain = text.removeprefix("\ufeff").replace("// mine", "").replace("/* last */", "")
    lines = "".join(plain.split("\r\n" if "\r" in plain else "\n"))
    compact = lines.replace("\t", "").replace("  ", "")
    return json.loads(compact.replace(",}", "}").replace(",]", "]").replace(", ]", "]"))


@pytest.mark.requirement("AG-10")
@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("client", HOOKS)
def test_each_client_gets_its_hook_last_and_every_byte_comes_back(machine: Machine, client: str, scope: str) -> None:
    user, project, path, item = HOOKS[client]
    folder, name = (machine.home, user) if scope == "user" else (machine.project, project)
    file, event = folder / name, path[1]
    for shape, text in SHAPES.items():
        if text is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        before = {path: data for path, data in snapshot(machine.home).items() if data is not None}
        words = ("install", client, "--agents", "--yes", "--scope", scope)
        assert machine(*words).code == 0, shape
        said = read(file.read_text("utf-8")) if text is None or "\r" not in text else read(file.read_bytes().decode())
        former: dict[str, Any] = read(text) if text and text.strip() else {}
        assert said["hooks"][event] == [*former.get("hooks", {}).get(event, []), item], shape
        assert {name: it for name, it in said.items() if name not in {"hooks", "mcpServers", "version"}} == {
            name: it for name, it in former.items() if name not in {"hooks", "version"}
        }
        if text is None or not text.strip():
            assert said.get("version") == (1 if path is FLAT else None)
        first = snapshot(machine.home)
        assert machine(*words).out.startswith("There is nothing to change.\n"), shape
        assert machine("install", client, "--yes", "--scope", scope).out.startswith("There is nothing to change.\n")
        assert snapshot(machine.home) == first
        assert machine("uninstall", client, "--yes", "--scope", scope).code == 0
        after = {path: data for path, data in snapshot(machine.home).items() if data is not None}
        assert after == before, shape
        file.unlink(missing_ok=True)


def test_a_hook_is_written_in_the_style_of_the_file(machine: Machine) -> None:
    file = machine.home / ".claude/settings.json"
    file.parent.mkdir()
    file.write_bytes((SHAPES["foreign groups"] or "").encode())
    machine("install", "claude-code", "--agents", "--yes")
    assert file.read_text("utf-8") == (
        '{\n  "hooks": {\n    "SessionStart": [\n      // mine\n      {\n        "matcher": "startup",\n'
        f'        "hooks": [{OTHER}]\n      }}, /* last */\n      {{\n        "hooks": [\n          {{\n'
        f'            "type": "command",\n            "command": "{RUN} claude-code",\n            "timeout": 10\n'
        "          }\n        ]\n      },\n    ]\n  }\n}\n"
    )


def test_a_command_that_has_changed_is_replaced_and_what_the_user_set_beside_it_stays(machine: Machine) -> None:
    file = machine.home / ".claude/settings.json"
    machine("install", "claude-code", "--agents", "--yes")
    ours = file.read_text("utf-8").replace('"timeout": 10', '"timeout": 99')
    for old in ("/elsewhere/bin/heartbeat-mcp", "uvx heartbeat-mcp"):
        file.write_text(ours.replace(COMMAND, old))
        assert machine("install", "claude-code", "--yes").code == 0  # without --agents, too
        assert file.read_text("utf-8") == ours
    other = ours.replace(f"{RUN} claude-code", f"{COMMAND} brief")
    file.write_text(other)
    machine("install", "claude-code", "--yes")
    assert file.read_text("utf-8") == other  # that is the user's own


def test_in_a_group_with_the_commands_of_others_only_ours_goes_and_what_that_empties(machine: Machine) -> None:
    file = machine.home / ".claude/settings.json"
    machine("install", "claude-code", "--agents", "--yes")
    ours = json.loads(file.read_text("utf-8"))["hooks"]["SessionStart"][0]["hooks"][0]
    other = {"type": "command", "command": "mine"}
    cases: list[tuple[list[object], dict[str, object]]] = [
        ([{"hooks": [other, ours, ours]}, {"hooks": [ours]}], {"SessionStart": [{"hooks": [other]}]}),
        ([{"matcher": "startup", "hooks": [ours]}, {"hooks": [ours, ours]}], {}),
    ]
    for groups, left in cases:
        file.write_text(json.dumps({"hooks": {"SessionStart": groups, "Stop": []}}))
        machine("uninstall", "--yes")
        assert json.loads(file.read_text("utf-8")) == {"hooks": {**left, "Stop": []}}


@pytest.mark.parametrize("text", ["{", '{"hooks": []}', '{"hooks": {"SessionStart": {}}}', '{"a": 1, "a": 2}'])
def test_a_file_that_is_not_understood_is_left_alone_and_the_server_is_added(machine: Machine, text: str) -> None:
    file = machine.home / ".claude/settings.json"
    file.parent.mkdir()
    file.write_text(text)
    done = machine("install", "claude-code", "--agents", "--yes")
    assert (done.code, file.read_text("utf-8")) == (1, text)
    assert done.err.startswith(f"{file}: ")
    assert "heartbeat" in (machine.home / ".claude.json").read_text("utf-8")
    assert machine("install", "claude-code", "--yes").code == 0
    assert snapshot(file.parent) == {"settings.json": text.encode()}
    assert machine("uninstall", "--yes").code == 0


def test_two_servers_leave_a_file_as_it_was_in_any_order(machine: Machine) -> None:
    servers = ["heartbeat", "hierarchy"]
    for client, (name, *_) in HOOKS.items():
        for order in (servers, servers[::-1]):
            for text in (None, SHAPES["foreign groups"], '{\n    "version": 1\n}'):
                file = machine.home / name
                if text is not None:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text)
                before = {path: data for path, data in snapshot(machine.home).items() if data is not None}
                for server in servers:
                    machine("install", client, "--agents", "--yes", server=server)
                for server in order:
                    machine("uninstall", client, "--yes", server=server)
                assert {path: data for path, data in snapshot(machine.home).items() if data is not None} == before
                file.unlink(missing_ok=True)


def test_no_text_of_the_hooks_of_others_is_shown(machine: Machine) -> None:
    file = machine.home / ".claude/settings.json"
    file.parent.mkdir()
    file.write_text(SHAPES["foreign groups"] or "")
    for words in (("install", "claude-code", "--agents", "--yes"), ("uninstall", "--yes")):
        done = machine(*words)
        assert ("secret" in done.out, f'"command": "{RUN} claude-code"' in done.out) == (False, True)


def environment_of(machine: Machine) -> dict[str, str]:
    found: dict[str, str] = json.loads((machine.home / ".cursor/mcp.json").read_text("utf-8"))["mcpServers"][
        "heartbeat"
    ]["env"]
    return found


QUESTION: Final = "Several agents or long projects? [y/N] "


@pytest.mark.requirement("AG-1")
@pytest.mark.requirement("AG-10")
def test_a_person_is_asked_once_and_yes_switches_on_every_set_of_tools_and_adds_the_hook(machine: Machine) -> None:
    machine.has("cursor")
    hooks = machine.home / ".cursor/hooks.json"
    for words in (("--yes",), ("--dry-run",), ("--print",)):
        assert QUESTION not in machine("install", *words, answers="").err
    assert machine("install", "--scope", "user", answers="\ny\n").err.startswith(QUESTION)
    assert ("TASK_EXTRA_TOOLS" in environment_of(machine), hooks.exists()) == (False, False)
    assert machine("install", "--scope", "user", answers="Yes\ny\n").err == f"{QUESTION}Make these changes? [y/N] "
    assert (environment_of(machine)["TASK_EXTRA_TOOLS"], hooks.exists()) == ("all", True)
    assert machine("install", "--scope", "user", answers="").err == ""
    machine("install", "--agents", "--yes", "--set", "TASK_EXTRA_TOOLS=brief")
    assert environment_of(machine)["TASK_EXTRA_TOOLS"] == "brief"
    machine("uninstall", "--yes")
    assert machine("install", "--scope", "user").code == 1  # without a terminal
    assert not hooks.exists()


@pytest.mark.requirement("AG-10")
def test_what_a_hook_needs_is_said_and_a_client_without_one_gets_a_line_for_its_agents(machine: Machine) -> None:
    done = machine("install", "codex", "opencode", "vscode", "claude-code", "--agents", "--yes").out
    assert "\nCodex: type /hooks and trust the new hook, which does not run before.\n" in done
    assert "\nOpenCode: it runs nothing at the start of a session; install --agents-file lets its agents" in done
    assert "\nVS Code: it runs the hooks of Claude Code, so it has none of its own.\n" in done
    assert not (machine.home / ".copilot").exists()
    done = machine("install", "opencode", "--agents", "--agents-file", "--yes").out
    assert "it runs nothing" not in done
    agents = (machine.project / "AGENTS.md").read_text("utf-8")
    assert "Begin every session with its tool `brief`.\n<!--" in agents
    machine("install", "opencode", "--agents-file", "--yes")
    assert (machine.project / "AGENTS.md").read_text("utf-8") == agents
    machine("uninstall", "--yes")
    machine("install", "opencode", "--agents-file", "--yes")
    assert "Begin every session" not in (machine.project / "AGENTS.md").read_text("utf-8")


def test_hooks_are_printed_and_shown_beside_the_entries(machine: Machine) -> None:
    done = machine("install", "cursor", "gemini-cli", "--agents", "--print")
    assert f"Cursor, {machine.home}/.cursor/hooks.json:\n" in done.out
    printed = json.loads(done.out.partition("settings.json:\n")[2])
    assert (printed["hooks"]["SessionStart"], "heartbeat" in printed["mcpServers"]) == ([HOOKS["gemini-cli"][3]], True)
    shown = machine("install", "codex", "--agents", "--dry-run").out
    assert f'+            "command": "{RUN} codex",\n' in shown
    assert not (machine.home / ".codex").exists()


def test_the_files_of_a_project_with_hooks_are_named(machine: Machine) -> None:
    out = machine("install", "claude-code", "--agents", "--scope", "project", "--yes").out
    assert "\n.mcp.json, .claude/settings.local.json have paths of this machine: do not commit them.\n" in out


def test_the_folder_of_claude_may_be_elsewhere(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    machine("install", "claude-code", "--agents", "--yes")
    assert {*snapshot(tmp_path / "claude")} == {".claude.json", "settings.json"}


def test_doctor_says_which_clients_begin_with_a_brief(machine: Machine) -> None:
    machine("install", "cursor", "codex", "opencode", "--agents", "--yes")
    (machine.home / ".codex/hooks.json").write_text("{")
    lines = machine("doctor").out.splitlines()
    briefed = [line for line in lines if line.endswith(", with a brief at the start of each session")]
    assert len(briefed) == 1
    assert "Cursor (all projects)" in briefed[0]


def test_every_client_with_a_hook_is_tried_here() -> None:
    assert {*HOOKS} == {name for name, client in CLIENTS.items() if client.hook}

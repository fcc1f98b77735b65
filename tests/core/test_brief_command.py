"""The command ``brief`` as a hook: its list, its form, and the change at which the next brief of a session begins."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from heartbeat_mcp.server import build_server
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.cli.main import run
from task_core.cli.program import Program
from task_core.cli.session_commands import read_input, recall, remember
from task_core.server.app import TaskServer
from tests.core.command_line import command_line
from tests.tool_client import call_tool

Brief = Callable[..., str]


@contextmanager
def stdin(patch: pytest.MonkeyPatch, data: bytes, *, is_closed: bool = True) -> Iterator[None]:
    """Let the standard input have some data, after which it ends, or stays open."""
    ours, theirs = os.pipe()
    os.write(theirs, data)
    if is_closed:
        os.close(theirs)
    with open(ours, encoding="utf-8") as pipe:
        patch.setattr("sys.stdin", pipe)
        yield
    if not is_closed:
        os.close(theirs)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TaskServer:
    monkeypatch.setenv("HEARTBEAT_FILE_PATH", str(tmp_path / "HEARTBEAT.md"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return build_server(HeartbeatSettings())


@pytest.fixture
def brief(server: TaskServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Brief:
    del server

    def print_brief(*words: str, given: object = None, client: str = "claude-code") -> str:
        with stdin(monkeypatch, json.dumps(given).encode()), command_line(), suppress(SystemExit):
            run(Program.of("heartbeat_mcp"), ["brief", "--hook", client, *words])
        return capsys.readouterr().out

    return print_brief


async def add(server: TaskServer, text: str) -> None:
    await call_tool(server, "task_create", {"raw_user_request": text})


@pytest.mark.requirement("AG-8")
@pytest.mark.parametrize("name", ["session_id", "sessionId"])
async def test_a_session_hears_what_has_changed_since_its_last_brief(
    server: TaskServer, brief: Brief, name: str
) -> None:
    assert brief(given={name: "a"}) == ""
    await add(server, "Paint it")
    assert "## Changed in the last 24 hours" in brief(given={name: "a"})
    await add(server, "Sell it")
    second = brief(given={name: "a"}, client="codex")  # the session has its own id
    assert "## Changed since change 1\n" in second
    assert ("- added by mcp 0.1.0: " in second, second.count("- added by")) == (True, 1)
    assert "Changed" not in brief(given={name: "a"})
    assert "## Changed in the last 24 hours" in brief(given={name: "b"})
    assert "## Changed since change 0\n" in brief("--since", "0", given={name: "a"})


@pytest.mark.requirement("AG-8")
async def test_without_an_id_the_folder_and_the_client_are_the_session(server: TaskServer, brief: Brief) -> None:
    await add(server, "Paint it")
    second = ""
    for folder in ("/a", "/b", ""):
        first, second = (brief(given={"cwd": folder}) for _ in range(2))
        assert ("Changed" in first, "Changed" in second) == (True, False)
    for other in (None, [1], "x", {"cwd": str(Path.cwd())}):
        assert (brief(given=other) == second, "## Next" in second) == (True, True)
    assert "Changed" in brief(given={"cwd": "/a"}, client="codex")


async def test_a_list_that_begins_anew_is_shown_from_its_beginning(
    server: TaskServer, brief: Brief, tmp_path: Path
) -> None:
    await add(server, "Paint it")
    brief(given={"session_id": "a"})
    file = next((tmp_path / "state").rglob("sessions.json"))
    (key,) = json.loads(file.read_text("utf-8"))
    assert key == f"a {tmp_path / 'heartbeat_state.json'}"
    file.write_text(json.dumps({key: 99}))
    assert "## Changed in the last 24 hours" in brief(given={"session_id": "a"})


async def test_vs_code_gets_its_own_form_from_the_hooks_of_others(server: TaskServer, brief: Brief) -> None:
    await add(server, "Paint it")
    said: Any = json.loads(brief(given={"sessionId": "a", "hookEventName": "SessionStart"}))
    assert said["hookSpecificOutput"]["additionalContext"].startswith("## Next\n")


async def test_a_hook_shows_the_list_of_its_client(
    server: TaskServer, brief: Brief, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(server, "Paint it")
    monkeypatch.delenv("HEARTBEAT_FILE_PATH")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "p" / ".git").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "p")
    for name, file in (
        (".cursor/mcp.json", tmp_path / "other" / "HEARTBEAT.md"),
        (".claude.json", tmp_path / "HEARTBEAT.md"),
    ):
        entry: dict[str, Any] = {"command": "heartbeat-mcp", "args": [], "env": {"HEARTBEAT_FILE_PATH": str(file)}}
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"mcpServers": {"heartbeat": entry}}))
    assert ("Paint it" in brief(), brief(client="cursor")) == (True, "")
    assert "Paint it" in brief("--client", "claude-code", client="cursor")


def test_a_bad_setting_lets_the_session_start_without_a_word(
    brief: Brief, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TASK_LOCK_TIMEOUT", "soon")
    assert (brief(), capsys.readouterr().err) == ("", "")


def test_input_that_stays_open_is_read_as_far_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    with stdin(monkeypatch, b'{"a": 1}', is_closed=False):
        assert read_input() == {"a": 1}
    with stdin(monkeypatch, b'{"a": ', is_closed=False):
        assert read_input() == {}
    monkeypatch.setattr("sys.stdin", None)
    assert read_input() == {}


def test_a_terminal_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    with open(theirs, encoding="utf-8") as terminal, open(ours, "rb"):
        monkeypatch.setattr("sys.stdin", terminal)
        assert read_input() == {}


def test_two_hundred_sessions_are_remembered_and_a_failure_is_none(tmp_path: Path) -> None:
    file = tmp_path / "a" / "sessions.json"
    for number in range(250):
        remember(file, f"s{number % 210}", number)
    known = recall(file)
    assert (len(known), known["s39"], "s40" in known, "s50" in known) == (200, 249, False, True)
    assert [path.name for path in file.parent.iterdir()] == ["sessions.json"]
    for text in ("{", "[]", '{"a": "x"}', "[" * 100_000):
        file.write_text(text)
        assert recall(file) == {}
    remember(file / "below", "a", 1)
    assert file.is_file()

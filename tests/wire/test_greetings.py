"""What real servers say before the SDK is loaded, which nobody can tell from what the SDK says (START-1 to -4)."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pytest

from task_core.command.settings import load_settings
from tests.core.test_server_greeting import DESCRIPTION
from tests.servers import program_of
from tests.wire.greetings import METHODS, PACKAGES, files_in, greeting_paths
from tests.wire.line_client import INITIALIZE, PATIENCE, Era, LineClient

EACH_SERVER: Final = pytest.mark.parametrize("package", PACKAGES)
OTHER_MODULES: Final = frozenset({"mcp", "mcp.server", "mcp.client", "mcp.server.mcpserver", "httpx2", "cryptography"})
"""The clients of the SDK, and its other servers."""
MOST_MODULES: Final = 60
"""Modules between the start of the interpreter and the first answer; some Pythons have a few more than others."""


def started(package: str, folder: Path, era: Era = "legacy") -> LineClient:
    return LineClient(era, (sys.executable, "-m", package), files_in(folder))


@pytest.mark.requirement("START-1", "START-2", "START-4")
@pytest.mark.parametrize(("package", "era"), [*((package, "legacy") for package in PACKAGES), (PACKAGES[0], "modern")])
def test_every_first_request_has_one_answer_and_calls_go_on_without_what_stdio_does_not_need(
    package: str, era: Era, tmp_path: Path
) -> None:
    with LineClient(era, (sys.executable, "-X", "importtime", "-m", package), files_in(tmp_path)) as client:
        client.write(b"".join(client.line(method, None, number) for number, method in enumerate(METHODS)))
        early = client.collect(range(len(METHODS)))
        call = client.request("tools/call", {"name": program_of(package).list, "arguments": {}})
        assert call["result"]["isError"] is False
        client.write(b"".join(client.line(method, None, number) for number, method in enumerate(METHODS)))
        assert client.collect(range(len(METHODS))) == early
        client.close_input()
        assert (client.rest(), client.exit_code()) == ([], 0)
        loaded = set(re.findall(r"\| +(\S+)$", client.log, re.MULTILINE))
    assert "mcp.server.lowlevel.server" in loaded
    assert loaded.isdisjoint(OTHER_MODULES)


@pytest.mark.requirement("START-2")
def test_a_line_that_ends_after_the_sdk_was_loaded_is_read_whole(tmp_path: Path) -> None:
    with started("tasks_v1_mcp", tmp_path) as client:
        call = client.call_line(7, "list_tasks")
        client.write(client.line("tools/list", None, 6) + call[:40])
        client.collect([6])
        client.write(call[40:])
        assert client.collect([7])[7]["result"]["isError"] is False


@pytest.fixture
def unfinished(tmp_path: Path) -> Iterator[LineClient]:
    """A server that greets, and will never be built; what is set of it is plain."""
    settings = {"LOG_LEVEL": "INFO|WARNING", "SOME_FILE_PATH": "(.+)", "TASK_STORE": "(?:json|sqlite):(/.+)"}
    greeting = tmp_path / "greeting.json"
    rules = {"any_of": ["SOME_FILE_PATH"], "not_both": ["OTHER_FILE_PATH", "TASK_STORE"]}
    greeting.write_text(json.dumps({"mcp": version("mcp"), "settings": settings, **rules, **DESCRIPTION}), "utf-8")
    files = {"SOME_FILE_PATH": str(tmp_path / "file"), "TASK_STORE": f"sqlite:{tmp_path}/tasks.db"}
    given = {"LOG_LEVEL": "INFO", "WORKSPACE": "x", **files}
    with LineClient(environment={"TOY_GREETING": "slow", "TOY_GREETING_FILE": str(greeting), **given}) as client:
        yield client
        client.process.kill()


FORGED: Final = {**DESCRIPTION, "legacy": {**DESCRIPTION["legacy"], "answers": {"tools/list": "forged"}}}
"""A greeting whose answer shows whether it was used."""


@pytest.mark.requirement("START-1", "START-3")
@pytest.mark.parametrize(
    ("text", "is_used"),
    [
        (json.dumps({"mcp": version("mcp"), "settings": {}, "any_of": [], "not_both": ["x"], **FORGED}), True),
        (json.dumps({"mcp": "0.9.9", "settings": {}, "any_of": [], "not_both": ["x"], **FORGED}), False),
        (json.dumps({"mcp": version("mcp"), **FORGED})[:-9], False),
        (None, False),
    ],
    ids=["of this version", "of another version", "torn", "missing"],
)
def test_a_greeting_is_left_out_unless_it_is_whole_and_of_the_installed_version(
    text: str | None, is_used: bool, tmp_path: Path
) -> None:
    greeting = tmp_path / "greeting.json"
    if text is not None:
        greeting.write_text(text, "utf-8")
    slow = {"TOY_GREETING": "slow"} if is_used else {}  # else a busy machine may ask too late for the greeting
    with LineClient(environment={"TOY_GREETING_FILE": str(greeting), **slow}) as client:
        answer = client.request("tools/list")["result"]
        assert answer == ("forged" if is_used else DESCRIPTION["legacy"]["answers"]["tools/list"])
        if is_used:
            client.process.kill()


@pytest.mark.requirement("START-1")
def test_first_requests_are_answered_while_the_server_is_still_being_built(unfinished: LineClient) -> None:
    assert unfinished.request("tools/list")["result"] == DESCRIPTION["legacy"]["answers"]["tools/list"]
    assert unfinished.request("ping")["result"] == {}


@pytest.mark.requirement("START-1", "P3")
def test_a_client_that_never_reads_is_greeted_only_as_far_as_the_pipe_takes(unfinished: LineClient) -> None:
    unfinished.write(b"".join(unfinished.line("tools/list", None, number) for number in range(300)))
    unfinished.process.send_signal(signal.SIGTERM)
    assert unfinished.exit_code() == 0


@pytest.mark.requirement("START-2")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how large a pipe is to be")
def test_an_answer_that_a_small_pipe_did_not_take_at_once_comes_whole(tmp_path: Path) -> None:
    client = started("taskmaster_mcp", tmp_path)
    fcntl.fcntl(client.process.stdout or -1, fcntl.F_SETPIPE_SZ, select.PIPE_BUF)
    with client:
        client.write(b"".join(client.line(method, None, number) for number, method in enumerate(METHODS)))
        client.write(client.call_line(99, "none"))
        answers = client.collect([*range(len(METHODS)), 99])
        assert len(answers[1]["result"]["tools"]) > 3
        assert answers[99]["result"]["isError"] is True


@pytest.mark.requirement("START-1", "CLI-5")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_server_that_is_asked_to_end_during_the_greeting_ends(unfinished: LineClient, end: signal.Signals) -> None:
    unfinished.process.send_signal(end)
    assert unfinished.exit_code() == 0
    assert "Traceback" not in unfinished.log


@pytest.mark.requirement("START-2", "P3")
def test_a_client_that_resets_the_connection_while_it_is_greeted_ends_the_server(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode()
    ours.sendall(hello)
    command, end = [sys.executable, "-m", "tasks_v1_mcp"], theirs.fileno()
    with subprocess.Popen(command, stdin=end, stdout=end, env={**os.environ, **files_in(tmp_path)}) as server:
        theirs.close()
        ours.sendall(b"\n")
        assert ours.recv(1)  # what is not read when it closes resets the connection
        ours.close()
        assert server.wait(PATIENCE) == 0


@pytest.mark.requirement("START-2")
def test_requests_in_a_file_are_answered_by_the_sdk_alone(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}) + "\n")
    with lines.open() as stdin:
        ended = subprocess.run(
            [sys.executable, "-m", "tasks_v1_mcp"],
            stdin=stdin,
            capture_output=True,
            env={**os.environ, **files_in(tmp_path)},
            timeout=PATIENCE,
            check=True,
        )
    assert json.loads(ended.stdout)["id"] == 1


@pytest.mark.requirement("START-1", "P3")
def test_a_flood_of_notifications_is_left_in_the_pipe(unfinished: LineClient) -> None:
    flood = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n' * 20_000
    assert unfinished.write_while_taken(flood) < len(flood) / 2


@pytest.mark.requirement("START-2", "P1")
def test_a_faulty_line_with_an_id_that_was_greeted_is_refused_all_the_same(tmp_path: Path) -> None:
    with started("tasks_v1_mcp", tmp_path) as client:
        client.write(client.line("ping", None, 5) + b'{"jsonrpc":"2.0","id":5,"method":5}\n')
        client.write(client.line("ping", None, 6))
        answers = [client.receive() for _ in range(3)]
        client.close_input()
        assert client.rest() == []
    assert [answer["id"] for answer in answers if "error" in answer] == [5]
    assert sorted(answer["id"] for answer in answers if "result" in answer) == [5, 6]


@pytest.mark.requirement("START-3", "CLI-3")
@pytest.mark.parametrize(
    ("named", "settings"),
    [
        ("HEARTBEAT_FILE_PATH", {"HEARTBEAT_STATE_PATH": "{folder}/state.json"}),
        ("HEARTBEAT_FILE_PATH", {"HEARTBEAT_FILE_PATH": "HEARTBEAT.md"}),
        ("TASK_RETENTION_DAYS", {"HEARTBEAT_FILE_PATH": "{folder}/HEARTBEAT.md", "TASK_RETENTION_DAYS": "soon"}),
        ("LOG_LEVEL", {"HEARTBEAT_FILE_PATH": "{folder}/HEARTBEAT.md", "LOG_LEVEL": "loud"}),
        ("TASK_STORE", {"TASK_STORE": "sqlite:/no such folder/tasks.db"}),
        ("store", {"TASK_STORE": "sqlite:{folder}/HEARTBEAT.md", "HEARTBEAT_FILE_PATH": "{folder}/HEARTBEAT.md"}),
        ("TASK_EXTRA_TOOLS", {"TASK_STORE": "sqlite:{folder}/tasks.db", "TASK_EXTRA_TOOLS": "all"}),
    ],
)
def test_nobody_is_greeted_when_a_setting_is_missing_or_bad(
    named: str, settings: dict[str, str], tmp_path: Path
) -> None:
    given = {name: value.replace("{folder}", str(tmp_path)) for name, value in settings.items()}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}) + "\n"
    ended = subprocess.run(
        [sys.executable, "-m", "heartbeat_mcp"],
        env={**os.environ, **given},
        input=hello,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("heartbeat-mcp: ")
    assert named in ended.stderr


@pytest.mark.requirement("START-1", "START-3")
@pytest.mark.parametrize(("place", "is_used"), [("project/src", True), ("project", True), ("", False)])
def test_without_a_setting_of_the_store_a_server_greets_where_its_project_has_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, *, is_used: bool
) -> None:
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "LIST.md").touch()
    greeting = tmp_path / "greeting.json"
    rules: dict[str, Any] = {"settings": {}, "any_of": ["SOME_FILE_PATH"], "found": "LIST.md", "not_both": []}
    greeting.write_text(json.dumps({"mcp": version("mcp"), **rules, **FORGED}), "utf-8")
    monkeypatch.chdir(tmp_path / place)
    slow = {"TOY_GREETING": "slow"} if is_used else {}
    with LineClient(environment={"TOY_GREETING_FILE": str(greeting), **slow}) as client:
        answer = client.request("tools/list")["result"]
        assert answer == ("forged" if is_used else DESCRIPTION["legacy"]["answers"]["tools/list"])
        if is_used:
            client.process.kill()


@pytest.mark.requirement("CLI-3")
@pytest.mark.parametrize("has_file", [False, True])
def test_heartbeat_without_settings_serves_the_list_of_its_project_or_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_file: bool
) -> None:
    if has_file:
        (tmp_path / "HEARTBEAT.md").touch()
    monkeypatch.chdir(tmp_path)
    with LineClient(command=(sys.executable, "-m", "heartbeat_mcp")) as client:
        assert len(client.request("tools/list")["result"]["tools"]) == 4
        answer = client.call("task_list")
        assert answer["isError"] is not has_file
        assert has_file or "HEARTBEAT_FILE_PATH" in answer["content"][0]["text"]
    assert has_file or [*tmp_path.iterdir()] == []


GOOD: Final = {
    "(.+)": ["{folder}/a file"],
    "(?:json|sqlite):(/.+)": ["json:{folder}/a.json", "sqlite:{folder}/a.db"],
    "[1-9][0-9]{0,4}": ["1", "99999"],
    "0|[1-9][0-9]{0,4}": ["0", "99999"],
}
"""Values that patterns of the greetings take, unless they are a plain choice of words."""


@pytest.mark.requirement("START-3", "CLI-3", "EN-17")
@EACH_SERVER
def test_values_with_which_a_server_greets_are_all_good(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    greetings = [json.loads(path.read_text("utf-8")) for path in greeting_paths(package)]
    for description in greetings:
        check_values(package, description, tmp_path, monkeypatch)


def check_values(package: str, description: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = description["settings"]
    for name, pattern in patterns.items():
        for value in GOOD.get(pattern, pattern.split("|")):
            with monkeypatch.context() as patch:
                for needed in description["any_of"][1:] if name != "TASK_STORE" else ():
                    patch.setenv(needed, str(tmp_path / "needed"))
                text = value.replace("{folder}", str(tmp_path))
                assert re.fullmatch(pattern, text)
                if text:
                    patch.setenv(name, text)
                load_settings(program_of(package).settings_type)
    times = [pattern for name, pattern in patterns.items() if name.endswith("_TIMEOUT")]
    assert not any(re.fullmatch(it, value) for it in times for value in ("0", "-1", "1e3", "100000", "1\n"))


@pytest.mark.requirement("START-4")
@EACH_SERVER
def test_the_first_answer_waits_for_a_few_modules_of_the_standard_library_only(package: str) -> None:
    code = f"import sys; before = set(sys.modules); import {package}.__main__; print(*set(sys.modules) - before)"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    foreign = {name for name in names if name.partition(".")[0] not in {*sys.stdlib_module_names, "task_core", package}}
    assert not foreign
    assert len(names) <= MOST_MODULES, names

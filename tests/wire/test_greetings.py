"""What real servers say before the SDK is loaded, which nobody can tell from what the SDK says (START-1 to -4)."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pytest

from task_core.server.transports.greeting import Greeting, GreetingFile, choose_tools
from tests.core.notes import wait_until
from tests.core.test_server_greeting import DESCRIPTION
from tests.processes import ending
from tests.servers import PROGRAMS, program_of, record_of
from tests.wire.greetings import METHODS, PACKAGES, description_of, files_in
from tests.wire.line_client import INITIALIZE, PATIENCE, TOY, Era, LineClient

EACH_SERVER: Final = pytest.mark.parametrize("package", PACKAGES)
OTHER_MODULES: Final = frozenset({"mcp", "mcp.server", "mcp.client", "mcp.server.mcpserver", "httpx2", "cryptography"})
"""The clients of the SDK, and its other servers."""
MOST_MODULES: Final = 60
"""Modules between the start of the interpreter and the first answer; some Pythons have a few more than others."""


def known(package: str, folder: Path) -> dict[str, str]:
    """Return the settings of a server over ``folder`` with which it greets, as at its second start."""
    environment = {**files_in(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    (folder / record_of("taskmaster").document).write_text('{"master": {"tasks": []}}')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", environment["XDG_CACHE_HOME"])
        GreetingFile(program_of(package).program().greeting, {**os.environ, **environment}).accept()
    return environment


def started(package: str, folder: Path, era: Era = "legacy") -> LineClient:
    return LineClient(era, (sys.executable, "-m", package), known(package, folder))


@pytest.mark.requirement("START-1", "START-2", "START-4")
@pytest.mark.parametrize(("package", "era"), [*((package, "legacy") for package in PACKAGES), (PACKAGES[0], "modern")])
def test_every_first_request_has_one_answer_and_calls_go_on_without_what_stdio_does_not_need(
    package: str, era: Era, tmp_path: Path
) -> None:
    with LineClient(era, (sys.executable, "-X", "importtime", "-m", package), known(package, tmp_path)) as client:
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


@pytest.mark.sample
@pytest.mark.requirement("START-2", "P1")
def test_a_line_that_ends_after_the_sdk_was_loaded_is_read_whole_and_a_faulty_one_with_a_greeted_id_is_refused(
    tmp_path: Path,
) -> None:
    with started("tasks_v1_mcp", tmp_path) as client:
        client.write(client.line("ping", None, 5) + b'{"jsonrpc":"2.0","id":5,"method":5}\n')
        call = client.call_line(7, "list_tasks")
        client.write(client.line("tools/list", None, 6) + call[:40])
        answers = [client.receive() for _ in range(3)]
        client.write(call[40:])
        assert client.collect([7])[7]["result"]["isError"] is False
        client.close_input()
        assert client.rest() == []
    assert [answer["id"] for answer in answers if "error" in answer] == [5]
    assert sorted(answer["id"] for answer in answers if "result" in answer) == [5, 6]


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[LineClient]:
    """A server that greets, and will never be built."""
    with LineClient(environment={"TOY_GREETING": "slow", **greeting_of(tmp_path, DESCRIPTION)}) as client:
        yield client
        client.process.kill()


@pytest.fixture
def unfinished(starting: LineClient) -> LineClient:
    """The same once its imports are done, which a signal might disturb."""
    wait_until(lambda: "building" in starting.log)
    return starting


def greeting_of(folder: Path, description: dict[str, Any], **variables: str) -> dict[str, str]:
    """Return the variables of a toy with this greeting, which has been started with ``variables`` before."""
    path = folder / "greeting.json"
    path.write_text(json.dumps({"mcp": version("mcp"), "settings": [*variables], **description}), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        GreetingFile(str(path), variables).accept()
    return {"TOY_GREETING_FILE": str(path), "XDG_CACHE_HOME": str(folder), **variables}


FORGED: Final = {**DESCRIPTION, "tools": "forged"}
"""A greeting whose answer shows whether it was used."""


@pytest.mark.requirement("START-1", "START-3")
@pytest.mark.parametrize(
    ("before", "now", "greeted"),
    [
        pytest.param({}, {}, [], marks=pytest.mark.by_hand),
        pytest.param({"LOG_LEVEL": "INFO"}, {}, [], marks=pytest.mark.by_hand),
        ({"LOG_LEVEL": "INFO"}, {"LOG_LEVEL": "ERROR"}, None),
        ({}, {"TOY_TOOLS": "all"}, [{"name": "forged"}]),
        pytest.param({}, {"TOY_TOOLS": "some"}, None, marks=pytest.mark.by_hand),
    ],
    ids=["no settings", "the same settings", "other settings", "a known choice", "an unknown choice"],
)
def test_a_server_greets_only_with_settings_with_which_it_has_started(
    tmp_path: Path, before: dict[str, str], now: dict[str, str], greeted: list[dict[str, str]] | None
) -> None:
    choices: dict[str, list[int]] = {"": [], "all": [0]}
    forged = {**DESCRIPTION, "tools": [{"name": "forged"}], "choices": {"TOY_TOOLS": choices}}
    given = greeting_of(tmp_path, forged, **before) | now
    slow = {} if greeted is None else {"TOY_GREETING": "slow"}  # else a busy machine may ask too late for the greeting
    with LineClient(environment={**given, **slow}) as client:
        tools = client.request("tools/list")["result"]["tools"]
        assert tools == (DESCRIPTION["tools"] if greeted is None else greeted)
        if greeted is not None:
            client.process.kill()


@pytest.mark.sample
@pytest.mark.requirement("START-1", "START-3")
@pytest.mark.parametrize("kind", ["of another version", "torn", "foreign", "missing"])
def test_a_greeting_is_left_out_unless_it_is_whole_and_of_the_installed_version(tmp_path: Path, kind: str) -> None:
    path = Path(greeting_of(tmp_path, FORGED)["TOY_GREETING_FILE"])
    assert greeting_at(path) is not None
    text = path.read_text("utf-8")
    path.write_text({"torn": text[:-9], "foreign": "[]"}.get(kind, text.replace(version("mcp"), "0.9.9")), "utf-8")
    if kind == "missing":
        path.unlink()
    assert greeting_at(path) is None


def greeting_at(path: Path) -> Greeting | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(path.parent))
        return GreetingFile(str(path), {}).greeting()


@pytest.mark.requirement("START-3", "S4")
def test_what_is_remembered_of_settings_is_an_empty_file_that_only_its_owner_may_write(tmp_path: Path) -> None:
    path = Path(greeting_of(tmp_path, FORGED)["TOY_GREETING_FILE"])
    (mark,) = (tmp_path / "mcp-task-core" / "accepted").iterdir()
    modes = [stat.S_IMODE(it.stat().st_mode) for it in (mark, mark.parent)]
    assert (mark.read_bytes(), modes) == (b"", [0o600, 0o700])
    mark.unlink()
    mark.symlink_to(path)
    assert greeting_at(path) is None
    mark.unlink()
    mark.touch()
    os.chown(mark, os.getuid() + 1, -1)  # somebody else's
    assert greeting_at(path) is None


@pytest.mark.requirement("START-3", "CLI-3")
def test_settings_that_are_good_no_longer_are_greeted_once_and_not_again(tmp_path: Path) -> None:
    given = greeting_of(tmp_path, DESCRIPTION, TOY_GREETING="rude")
    for _ in range(2):
        ended = subprocess.run(
            TOY, env={**os.environ, **given}, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        assert (ended.returncode, b"TOY_GREETING is 'rude'" in ended.stderr) == (2, True)
        assert [*(tmp_path / "mcp-task-core" / "accepted").iterdir()] == []


@pytest.mark.requirement("START-1", "START-3")
def test_a_server_greets_at_its_second_start(tmp_path: Path) -> None:
    environment = {**files_in(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with LineClient(command=(sys.executable, "-m", "tasks_v1_mcp"), environment=environment):
        pass
    path = program_of("tasks_v1_mcp").program().greeting
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", environment["XDG_CACHE_HOME"])
        given = {**os.environ, **environment}
        assert GreetingFile(path, given).greeting() is not None
        assert GreetingFile(path, {**given, "TASK_FSYNC": "no"}).greeting() is None


@pytest.mark.requirement("PE-4")
def test_where_there_is_no_project_the_second_start_offers_to_make_one_as_the_first_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    listed: list[list[str]] = []
    for _ in range(2):
        with LineClient(command=(sys.executable, "-m", "taskmaster_mcp"), environment=environment) as client:
            listed.append([tool["name"] for tool in client.request("tools/list")["result"]["tools"]])
    assert "initialize_project" in listed[0]
    assert listed[1] == listed[0]
    assert [*folder.iterdir()] == []


@pytest.mark.requirement("START-1")
def test_first_requests_are_answered_while_the_server_is_still_being_built(unfinished: LineClient) -> None:
    assert unfinished.request("tools/list")["result"]["tools"] == DESCRIPTION["tools"]
    assert unfinished.request("ping")["result"] == {}


@pytest.mark.requirement("START-1", "P3")
def test_a_client_that_never_reads_is_greeted_only_as_far_as_the_pipe_takes(starting: LineClient) -> None:
    starting.write(b"".join(starting.line("tools/list", None, number) for number in range(300)))
    starting.process.send_signal(signal.SIGTERM)
    assert starting.exit_code() == 0


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


@pytest.mark.requirement("START-1", "CLI-5", "P3")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_during_the_greeting_a_flood_of_notifications_stays_in_the_pipe_and_a_signal_ends_the_server(
    unfinished: LineClient, end: signal.Signals
) -> None:
    if end == signal.SIGTERM:
        flood = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n' * 20_000
        assert unfinished.write_while_taken(flood) < len(flood) / 2
    unfinished.process.send_signal(end)
    assert unfinished.exit_code() == 0
    assert "Traceback" not in unfinished.log


@pytest.mark.requirement("START-2", "P3")
def test_a_client_that_resets_the_connection_while_it_is_greeted_ends_the_server(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode()
    ours.sendall(hello)
    command, end = [sys.executable, "-m", "tasks_v1_mcp"], theirs.fileno()
    with ending(subprocess.Popen(command, stdin=end, stdout=end, env={**os.environ, **files_in(tmp_path)})) as server:
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
        ("TASK_EXTRA_TOOLS", {"TASK_STORE": "sqlite:{folder}/tasks.db", "TASK_EXTRA_TOOLS": "news"}),
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


@pytest.mark.requirement("START-3")
def test_no_setting_but_those_that_choose_tools_changes_what_a_server_answers_at_first(tmp_path: Path) -> None:
    values = {
        "heartbeat": {"AUTO_SYNC_ENABLED": "false", "HEARTBEAT_SECTION": "Tasks", "HEARTBEAT_MAX_CHARS": "9"},
        "hierarchy": {"ROOT_ORDER": "strict"},
        "tasks-v1": {"TASK_STORE": "memory:"},
        "taskmaster": {"TASKMASTER_TAG": "x", "TASKMASTER_ROOTS": str(tmp_path)},
        "cortex": {"CORTEX_LIST_TIMEOUT": "9", "LOG_LEVEL": "DEBUG"},
    }
    for record in PROGRAMS:
        folder = tmp_path / record.name
        folder.mkdir()
        usual = {**record.usual_environment(folder), **record.lay_out(folder), **record.settings}
        if record.name == "tasks-v1":
            usual = dict[str, str]()
        described = description_of(record.build({**usual, **values[record.name]}).sdk)
        greeting = json.loads(Path(record.program().greeting).read_text("utf-8"))
        chosen = {name: record.settings.get(name, "") for name in greeting["choices"]}
        greeting["tools"] = choose_tools(greeting, chosen)
        assert {name: greeting[name] for name in described} == described


@pytest.mark.requirement("START-4")
@EACH_SERVER
def test_the_first_answer_waits_for_a_few_modules_of_the_standard_library_only(package: str) -> None:
    code = f"import sys; before = set(sys.modules); import {package}.__main__; print(*set(sys.modules) - before)"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    foreign = {name for name in names if name.partition(".")[0] not in {*sys.stdlib_module_names, "task_core", package}}
    assert not foreign
    assert len(names) <= MOST_MODULES, names

"""``ctx`` as a process of its own: what it loads, how it ends, and eight of them at once (CX-62, CX-97)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Event

import pytest

from cortex_cli.credentials import CredentialsFile
from tests.cortex_cli.stub_server import LOGIN, StubReply, StubRequest, StubServer, problem

PATIENCE = 60.0
"""Seconds that a process may take on a slow machine."""

FORBIDDEN = {
    *("pydantic", "pydantic_core", "typing_extensions", "typer", "click", "rich", "httpx", "keyring", "platformdirs"),
    *("importlib.metadata", "shutil", "subprocess", "dataclasses", "inspect", "task_core", "cortex_cli.git"),
    *("cortex_cli.flows", "cortex_cli.commands.auth", "difflib", "getpass"),
}
"""What a list of tasks has no use for; the first lines are the words of the requirement."""

LOADED = "import atexit, sys; atexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))\n"

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(server: StubServer, folder: Path) -> Start:
    """Return a function that starts ``ctx`` with the stub as its server."""

    def call(*arguments: str, before: str = "", **environment: str) -> subprocess.Popen[str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
        code = f"{before}from cortex_cli.__main__ import main; main()"
        return subprocess.Popen(
            [sys.executable, "-I", "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**kept, "CTX_CONFIG_DIR": str(folder), "CTX_URL": server.origin, **environment},
            encoding="utf-8",
        )

    return call


@pytest.mark.usefixtures("logged_in")
@pytest.mark.requirement("CX-97", "CX-5")
def test_a_list_of_tasks_loads_nothing_that_it_has_no_use_for(start: Start, server: StubServer) -> None:
    server.say("GET /tasks/", {"tasks": [], "total": 0})
    # What the site of this Python has loaded by itself counts only if it is loaded again.
    drop = f"import sys; [sys.modules.pop(name, None) for name in {sorted(FORBIDDEN)}]\n"
    out, err = start("tasks", "list", "--json", before=f"{drop}{LOADED}").communicate(timeout=PATIENCE)
    assert json.loads(out)["success"] is True
    assert set(err.split()) & FORBIDDEN == set()
    assert "cortex_cli.backend" in err.split()


@pytest.mark.requirement("CX-62", "CX-122")
def test_eight_processes_make_one_refresh_and_nobody_is_logged_out(
    start: Start, server: StubServer, logged_in: CredentialsFile
) -> None:
    together = Barrier(8)
    refreshes: list[str] = []

    def refresh(asked: StubRequest) -> StubReply:
        refreshes.append(asked.body.decode())
        return StubReply(200, LOGIN)

    def answer(asked: StubRequest) -> StubReply:
        if asked.token == "access-0":
            together.wait(PATIENCE)  # all have read the login before one of them can refresh it
            return problem(401, "NotAuthenticated")
        assert asked.token == "access-1"
        return StubReply(200, {"tasks": [], "total": 0})

    server.answers["POST /auth/token"] = refresh
    server.answers["GET /tasks/"] = answer
    processes = [start("tasks", "list", "--json") for _ in range(8)]
    ended = [process.communicate(timeout=PATIENCE) for process in processes]
    assert [json.loads(out)["success"] for out, _ in ended] == [True] * 8
    assert refreshes == ["grant_type=refresh_token&refresh_token=refresh-0"]
    login = logged_in.read(server.origin)
    assert login is not None
    assert (login.access_token, login.refresh_token) == ("access-1", "refresh-1")


@pytest.mark.usefixtures("logged_in")
@pytest.mark.requirement("CX-51", "CX-54")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_a_process_that_is_ended_says_so_in_one_line(
    number: signal.Signals, code: int, start: Start, server: StubServer
) -> None:
    asked, go_on = Event(), Event()

    def wait(_asked: StubRequest) -> StubReply:
        asked.set()
        go_on.wait(PATIENCE)
        return StubReply(0)

    server.answers["GET /tasks/"] = wait
    process = start("tasks", "list", "--json")
    assert asked.wait(PATIENCE)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    go_on.set()
    assert (process.returncode, json.loads(out)["code"], err) == (code, "Cancelled", "")


@pytest.mark.usefixtures("logged_in")
@pytest.mark.requirement("CX-92")
def test_following_events_ends_when_standard_input_does(start: Start, server: StubServer) -> None:
    first, go_on = Event(), Event()

    def answer(asked: StubRequest) -> StubReply:
        if dict(asked.query)["after"] == "0":
            return StubReply(200, {"events": [{"id": 1}], "last": 1})
        first.set()
        go_on.wait(PATIENCE)
        return StubReply(0)

    server.answers["GET /events"] = answer
    process = start("events", "--follow", "--after=0", "--json")
    assert first.wait(PATIENCE)
    out, err = process.communicate("", timeout=PATIENCE)
    go_on.set()
    assert (process.returncode, out, err) == (0, '{"id": 1}\n', "")


@pytest.mark.usefixtures("logged_in")
@pytest.mark.requirement("CX-54")
def test_following_events_fails_like_other_commands_while_standard_input_is_open(
    start: Start, server: StubServer
) -> None:
    server.answers["GET /events"] = lambda _asked: problem(500, "InternalError")
    process = start("events", "--follow", "--after=0", "--json")
    assert process.wait(PATIENCE) == 5
    out, err = process.communicate()
    assert (json.loads(out)["code"], err) == ("BackendError", "")


@pytest.mark.usefixtures("logged_in")
@pytest.mark.requirement("CX-51")
def test_a_title_beyond_the_encoding_of_the_output_is_escaped(start: Start, server: StubServer) -> None:
    server.say(
        "GET /tasks/42", {"id": 42, "project": {"id": 1, "name": "ü"}, "title": "研", "status": "TODO", "version": 1}
    )
    # In isolated mode the variable for it is not read, so the encoding is set as it would be.
    before = "import sys; sys.stdout.reconfigure(encoding='ascii')\n"
    out, err = start("tasks", "show", "42", before=before).communicate(timeout=PATIENCE)
    assert (out.splitlines()[:2], err) == (["#42 \\u7814", "Project: \\xfc"], "")

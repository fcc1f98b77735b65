"""The server as a process: each way to start it, both eras, both transports, its end, and what it touches."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

import cortex_mcp.server
from tests.core.notes import wait_until
from tests.cortex_mcp.ctx_fixture import CtxFixture
from tests.processes import ending
from tests.wire.kills import tracing_problem
from tests.wire.line_client import PATIENCE, Era, LineClient
from tests.wire.served import legacy, modern, serving

MODULE: Final = (sys.executable, "-m", "cortex_mcp")
PACKAGE: Final = Path(str(cortex_mcp.__file__)).parent
WAYS: Final = {
    "module": MODULE,
    "script": (sys.executable, str(PACKAGE / "server.py")),
    "function": (sys.executable, "-c", "from cortex_mcp.server import main; main()"),
}


def environment(ctx: CtxFixture, **more: str) -> Mapping[str, str]:
    patient = {"CORTEX_LIST_TIMEOUT": "600", "CORTEX_GIT_TIMEOUT": "600"}
    return {"CORTEX_CTX": str(ctx.path), "CORTEX_REPO": str(ctx.repository), **patient, **more}


@pytest.mark.requirement("CX-3", "TOOL-6", "CX-85")
@pytest.mark.parametrize(
    ("way", "era"),
    [
        ("script", "modern"),
        pytest.param("module", "legacy", marks=pytest.mark.long),
        pytest.param("function", "modern", marks=pytest.mark.long),
    ],
)
def test_every_way_to_start_it_is_the_same_server(ctx: CtxFixture, era: Era, way: str) -> None:
    settings = environment(ctx, PYTHONPATH=str(PACKAGE.parent))
    with LineClient(era, WAYS[way], settings) as client:
        assert len(client.request("tools/list")["result"]["tools"]) == 5
        result = client.call("start_task", task_id=42)
        assert result["structuredContent"]["branch"] == "feature/task-42-lies-den-entwurf"
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        client.close_input()
        assert (client.rest(), client.exit_code()) == ([], 0)


@pytest.mark.long
@pytest.mark.requirement("CX-3", "CLI-1")
def test_it_takes_the_options_of_every_server(ctx: CtxFixture) -> None:
    done = subprocess.run(
        [*WAYS["script"], "doctor"], env={**os.environ, **environment(ctx)}, capture_output=True, text=True, check=False
    )
    assert f"{ctx.path} is ctx 0.1.0" in done.stdout
    assert done.stdout.startswith("cortex-mcp ")


@pytest.mark.long
@pytest.mark.requirement("CLI-1", "CX-111")
def test_it_starts_on_a_terminal_and_names_no_place_for_tasks(ctx: CtxFixture) -> None:
    ours, theirs = os.openpty()
    settings = {**os.environ, **environment(ctx)}
    with ending(subprocess.Popen(MODULE, stdin=theirs, stderr=subprocess.PIPE, text=True, env=settings)) as process:
        assert process.stderr
        line = process.stderr.readline()
        process.terminate()
        assert process.wait(PATIENCE) == 0
    os.close(ours)
    os.close(theirs)
    assert line == "cortex-mcp is waiting for an MCP client to write to stdin. Press Ctrl+C to end it.\n"


@pytest.mark.long
@pytest.mark.requirement("CX-93", "CLI-2", "TOOL-6")
def test_http_serves_this_machine_in_both_eras(ctx: CtxFixture) -> None:
    refused = ctx.refuses("tasks_done", "NotMerged", "The branch is not merged.", state="open")
    with serving(MODULE, environment(ctx)) as served:
        assert served.call("list_tasks")["structuredContent"]["total"] == 1
        for spell in (legacy, modern):
            body, headers = spell("complete_task", "{}")
            result = served.post(body, **headers).json["result"]
            assert (result["isError"], result["structuredContent"]) == (True, refused)
        assert served.ask("GET", "/healthz", Host="example.org").status == 421


@pytest.mark.requirement("CX-93", "CLI-2")
def test_http_for_other_machines_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of("--transport", "http", "--host", "0.0.0.0") == 2  # noqa: S104 - it is refused
    assert "this machine only" in capsys.readouterr().err


def exit_code_of(*options: str) -> object:
    """Return how the command ends in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["cortex-mcp", *options])
        with pytest.raises(SystemExit) as ending:
            cortex_mcp.server.main()
    return ending.value.code


@pytest.mark.requirement("CX-89", "CLI-5", "P3")
@pytest.mark.parametrize(
    ("end", "behavior"),
    [
        pytest.param(None, {"hang": True}, marks=pytest.mark.long),
        (signal.SIGTERM, {"hang": True, "stubborn": True, "spawn": "stubborn"}),
        pytest.param(signal.SIGINT, {"hang": True}, marks=pytest.mark.by_hand),
        pytest.param(signal.SIGHUP, {"hang": True}, marks=pytest.mark.by_hand),
    ],
    ids=str,
)
def test_the_end_of_the_process_leaves_no_other(
    ctx: CtxFixture, end: signal.Signals | None, behavior: dict[str, object]
) -> None:
    ctx.set_behaviors(tasks_start=behavior)
    with LineClient("legacy", MODULE, environment(ctx)) as client:
        client.write(client.call_line(7, "start_task", task_id=42))
        wait_until(lambda: len(ctx.pids()) == 2 + ("spawn" in behavior))
        if end is None:
            client.close_input()
        else:
            client.process.send_signal(end)
        assert client.exit_code(within=PATIENCE) == 0  # what one slow machine takes says nothing of another
    wait_until(ctx.is_quiet)


@pytest.mark.long
@pytest.mark.requirement("CX-89")
def test_a_call_that_is_cancelled_on_the_wire_leaves_no_process(ctx: CtxFixture) -> None:
    ctx.set_behaviors(tasks_pr={"hang": True, "spawn": "meek"})
    with LineClient("legacy", MODULE, environment(ctx)) as client:
        client.write(client.call_line(7, "submit_pr"))
        wait_until(lambda: len(ctx.pids()) == 3)
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        wait_until(ctx.is_quiet)
        assert client.call("list_tasks")["isError"] is False


@pytest.mark.requirement("CLI-3")
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CORTEX_CTX", "bin/ctx"),
        ("CORTEX_REPO", "."),
        ("CORTEX_WORKSPACE", "~nobody-here/x"),
        ("CORTEX_GIT_TIMEOUT", "0"),
    ],
)
def test_a_bad_setting_is_named(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, value)
    assert exit_code_of() == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"cortex-mcp: {variable} is '{value}'")
    assert shown.count("\n") == 1


@pytest.mark.requirement("CX-92", "CX-94", "CLI-4")
def test_at_info_the_log_has_no_text_of_tasks_and_a_killed_server_leaves_no_process(
    ctx: CtxFixture,
) -> None:
    with LineClient("legacy", MODULE, environment(ctx, LOG_LEVEL="INFO")) as client:
        client.call("list_tasks", cursor="secret-cursor")
        client.call("submit_pr", commit_message="secret-message")
        client.call("get_task_status", directory="../secret-folder")
        client.request("resources/subscribe", {"uri": "tasks://list"})
        wait_until(lambda: len(ctx.calls) == 3)
        ctx.event(id=1, task_id=42, kind="commented")
        assert client.receive()["method"] == "notifications/resources/updated"
        log = client.log
        client.process.kill()
        wait_until(ctx.is_quiet)
        client.process.wait()
    assert [
        line for line in ("list_tasks: ok", "submit_pr: ok", "get_task_status: PathOutsideWorkspace") if line not in log
    ] == []
    assert not re.search("secret|Entwurf", log)


@pytest.mark.long
@pytest.mark.requirement("CX-5", "CX-4")
@pytest.mark.skipif(tracing_problem() is not None, reason=str(tracing_problem()))
def test_the_server_opens_no_credentials_and_no_connection(ctx: CtxFixture) -> None:
    home = ctx.folder / "home"
    kept = home / ".config" / "cortex"
    kept.mkdir(parents=True)
    (kept / "credentials.json").write_text('{"token": "secret"}', "utf-8")
    trace = ctx.folder / "trace"
    command = ("strace", "-f", "-o", str(trace), "-e", "trace=openat,connect,socket,execve", *MODULE)
    settings = environment(ctx, HOME=str(home), XDG_CONFIG_HOME=str(home / ".config"), CTX_TOKEN="secret")  # noqa: S106 - a test
    with LineClient("legacy", command, settings) as client:
        for tool in ("list_tasks", "submit_pr", "complete_task", "get_task_status"):
            assert client.call(tool)["isError"] is False
        client.request("resources/subscribe", {"uri": "tasks://list"})
        wait_until(lambda: len(ctx.calls) == 5)
    lines = re.findall(r"(?m)^(\d+) +(\w+)\((.*)$", trace.read_text("utf-8"))
    server = lines[0][0]
    programs = {pid for pid, call, _ in lines if call == "execve"} - {server}
    own = [(call, rest) for pid, call, rest in lines if pid not in programs]
    assert {rest.partition('"')[2].partition('"')[0] for _, call, rest in lines if call == "execve"} >= {str(ctx.path)}
    assert [rest for call, rest in own if call == "openat" and ("credentials" in rest or str(kept) in rest)] == []
    assert [rest for call, rest in own if call == "connect"] == []
    assert [rest for call, rest in own if call == "socket" and "AF_INET" in rest] == []

"""How a server on stdio works under load, keeps its wire clean, and ends (CLI-4, CLI-5, TOOL-6, TOOL-7, P3)."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mcp import StdioServerParameters
from mcp.client import Client

from tests.processes import ending
from tests.wire.line_client import INITIALIZE, PATIENCE, TOY, Era, LineClient, Message

BOTH_ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


@pytest.fixture
def client() -> Iterator[LineClient]:
    with LineClient() as connected:
        yield connected


@pytest.fixture(scope="module")
def lasting() -> Iterator[LineClient]:
    """A server for the tests that leave it as it was: each reads all that it is sent."""
    with LineClient(environment={"LOG_LEVEL": "INFO"}) as connected:
        yield connected


def text_of(answer: Message) -> object:
    result = answer["result"]
    assert isinstance(result, dict)
    return result["structuredContent"]["text"]


@pytest.mark.requirement("TOOL-6")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdks_own_client_works_in_both_eras(mode: str) -> None:
    async with Client(StdioServerParameters(command=TOY[0], args=[TOY[1]]), mode=mode) as connected:
        tools = (await connected.list_tools()).tools
        assert [tool.name for tool in tools][:2] == ["echo", "repeat"]
        assert (await connected.call_tool("echo", {"text": "é"})).structured_content == {"text": "é"}


@pytest.mark.requirement("TOOL-5")
def test_a_result_is_the_same_object_as_data_and_as_compact_text(lasting: LineClient) -> None:
    result = lasting.call("echo", text="naïve 🙂")
    assert result["structuredContent"] == {"text": "naïve 🙂"}
    assert result["content"] == [{"type": "text", "text": '{"text":"naïve 🙂"}'}]


@pytest.mark.requirement("TOOL-7", "TOOL-6")
def test_a_thousand_calls_at_once_are_all_answered(lasting: LineClient) -> None:
    lasting.write(b"".join(lasting.call_line(number, "echo", text=str(number)) for number in range(1_000)))
    answers = lasting.collect(range(1_000))
    assert [text_of(answers[number]) for number in range(1_000)] == [str(number) for number in range(1_000)]


@pytest.mark.requirement("TOOL-7")
def test_a_call_that_was_cancelled_is_not_waited_for(client: LineClient) -> None:
    client.write(client.call_line(1, "hang", seconds=0.2))
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert text_of(client.request("tools/call", {"name": "echo", "arguments": {"text": "a"}})) == "a"
    client.close_input()
    assert (client.rest(), client.exit_code()) == ([], 0)


@pytest.mark.requirement("TOOL-7")
def test_a_client_that_reads_late_loses_nothing_and_is_read_meanwhile(lasting: LineClient) -> None:
    ids = range(100)
    lasting.write(b"".join(lasting.call_line(number, "repeat", text="x", times=100_000) for number in ids))
    # Far more than a pipe holds: this returns only because the server reads on while nobody reads its answers.
    lasting.write(b'{"jsonrpc":"2.0","method":"notifications/none"}\n' * 20_000)
    answers = lasting.collect(ids)
    assert all(text_of(answers[number]) == "x" * 100_000 for number in ids)


@pytest.mark.requirement("P3")
def test_reading_pauses_when_a_client_never_reads_and_goes_on_when_it_does() -> None:
    with LineClient(environment={"TOY_UNANSWERED": "100"}) as client:
        pings = b"".join(client.line("ping", None, number) for number in range(5_000))
        accepted = client.write_while_taken(pings)
        assert accepted < len(pings)
        with ThreadPoolExecutor() as pool:
            rest = pool.submit(client.write, pings[accepted:])
            assert len(client.collect(range(5_000))) == 5_000
            rest.result()


@pytest.mark.requirement("CLI-4", "S4")
def test_what_a_tool_prints_goes_to_stderr_and_what_it_reads_is_empty(lasting: LineClient) -> None:
    assert lasting.call("chatter", text="stray words")["structuredContent"] == {"text": "b''"}
    assert lasting.request("ping")["result"] == {}  # the next message: nothing was printed among them
    assert lasting.log.count("stray words") == 2


@pytest.mark.requirement("CLI-4", "ERR-1")
def test_a_fault_in_a_tool_is_logged_with_its_place_and_without_any_text_of_the_call(lasting: LineClient) -> None:
    lasting.call("echo", text="secret plan")
    assert "secret plan" not in json.dumps(lasting.call("crash", text="secret plan"))
    assert "The tool crash failed with RuntimeError" in lasting.log
    assert "toy_server.py" in lasting.log
    assert "secret plan" not in lasting.log


@pytest.mark.requirement("P3", "CLI-4")
def test_a_client_that_does_not_read_the_log_is_still_answered() -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4_096)
    with LineClient(environment={"LOG_LEVEL": "INFO"}, stderr=writing) as connected:
        answers = [connected.call("echo", text="word")["isError"] for _ in range(200)]  # each is about 60 bytes of log
    assert answers == [False] * 200
    os.close(writing)
    with open(reading, "rb") as log:
        assert b"echo: ok" in log.read()


@pytest.mark.requirement("CLI-4")
def test_only_the_debug_log_quotes_the_message_of_a_fault() -> None:
    with LineClient(environment={"LOG_LEVEL": "debug"}) as connected:
        connected.call("crash", text="secret plan")
        assert "secret plan" in connected.log


@pytest.mark.requirement("S4")
def test_new_files_are_for_their_owner_only(lasting: LineClient) -> None:
    assert lasting.call("umask", text="")["structuredContent"] == {"text": "77"}


@pytest.mark.requirement("CLI-5", "P3", "TOOL-6")
@BOTH_ERAS
def test_calls_in_flight_and_a_last_line_without_a_line_break_are_answered_after_the_input_has_ended(era: Era) -> None:
    with LineClient(era) as connected:
        lines = b"".join(connected.call_line(number, "wait", seconds=0.3) for number in range(20))
        connected.write(lines.rstrip(b"\n"))
        connected.close_input()
        answers = {message["id"]: text_of(message) for message in connected.rest()}
        assert (answers, connected.exit_code()) == (dict.fromkeys(range(20), "free"), 0)


def signalled(number: signal.Signals) -> Callable[[LineClient], None]:
    return lambda client: client.process.send_signal(number)


ENDINGS = pytest.mark.parametrize(
    "end",
    [
        pytest.param(LineClient.close_input, id="end of input"),
        pytest.param(LineClient.close_output, id="closed output"),
        pytest.param(signalled(signal.SIGTERM), id="SIGTERM"),
        pytest.param(signalled(signal.SIGINT), id="SIGINT"),
        pytest.param(signalled(signal.SIGHUP), id="SIGHUP"),
    ],
)


@pytest.mark.requirement("CLI-5", "P3")
@pytest.mark.parametrize(
    "end",
    [pytest.param(LineClient.close_input, id="end of input"), pytest.param(signalled(signal.SIGTERM), id="SIGTERM")],
)
def test_an_idle_server_ends_at_once_with_exit_code_0(client: LineClient, end: Callable[[LineClient], None]) -> None:
    end(client)
    assert client.exit_code() == 0
    assert client.log == ""


@pytest.mark.requirement("CLI-5", "P3", "C2", "TOOL-7")
@ENDINGS
def test_calls_that_wait_and_hang_hold_up_neither_other_requests_nor_the_end_and_are_answered_then(
    client: LineClient, end: Callable[[LineClient], None]
) -> None:
    client.write(client.call_line(0, "hang", seconds=600))
    others = range(1, 61)  # more than there are threads for; a busy machine must give all of them a turn at the end
    client.write(b"".join(client.call_line(number, "wait", seconds=600) for number in others))
    assert client.request("ping")["result"] == {}
    assert "result" in client.request("tools/list")
    end(client)
    if end is not LineClient.close_output:
        answers = {message["id"]: message for message in client.rest()}
        assert answers.pop(0)["error"] == {"code": -32000, "message": "Connection closed"}
        assert {number: text_of(answer) for number, answer in answers.items()} == dict.fromkeys(others, "closed")
    assert client.exit_code() == 0


@pytest.mark.requirement("P3")
def test_a_client_that_never_reads_cannot_hold_up_the_end(client: LineClient) -> None:
    client.write(b"".join(client.call_line(number, "repeat", text="x", times=1_000_000) for number in range(10)))
    client.close_input()
    assert client.exit_code() == 0


@pytest.mark.requirement("P3")
def test_a_call_is_carried_out_when_nobody_waits_for_its_answer_any_more(client: LineClient, tmp_path: Path) -> None:
    note = tmp_path / "note"
    client.write(client.call_line(1, "note", path=str(note), seconds=0.2))
    client.request("ping")
    client.close_output()
    assert client.exit_code() == 0
    assert note.read_text("utf-8") == "done"


@pytest.mark.requirement("P3")
def test_a_server_ends_when_its_client_was_killed_though_somebody_else_holds_its_input() -> None:
    code = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    with LineClient(command=(sys.executable, "-c", code, *TOY)) as client:
        client.process.kill()
        assert client.rest() == []  # nobody has its output any more


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("has_own_session", [False, True])
def test_a_server_in_a_session_of_its_own_may_outlive_its_client(*, has_own_session: bool) -> None:
    command = [sys.executable, "-c", "from task_core.bootstrap import find_parent; print(find_parent())"]
    found = subprocess.run(command, capture_output=True, text=True, check=True, start_new_session=has_own_session)
    assert found.stdout == f"{None if has_own_session else os.getpid()}\n"


@pytest.mark.long
@pytest.mark.requirement("P3")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells the time used by another process")
def test_an_idle_server_uses_no_time(client: LineClient) -> None:
    def ticks() -> int:
        fields = Path(f"/proc/{client.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    client.call("echo", text="a")
    before = ticks()
    with pytest.raises(subprocess.TimeoutExpired):
        client.exit_code(within=1.0)
    assert ticks() - before <= os.sysconf("SC_CLK_TCK") / 100


def lines_of(count: int) -> bytes:
    """Return a file of requests: one that begins, and calls."""
    calls = [("tools/call", {"name": "echo", "arguments": {"text": str(number)}}) for number in range(1, count)]
    messages = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate([("initialize", INITIALIZE), *calls])
    ]
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


@pytest.mark.requirement("CLI-5", "P1")
def test_a_file_of_requests_is_answered_into_a_file(tmp_path: Path) -> None:
    requests, answers = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    requests.write_bytes(lines_of(200))
    with requests.open("rb") as source, answers.open("wb") as sink:
        assert subprocess.run(TOY, stdin=source, stdout=sink, timeout=PATIENCE, check=True).returncode == 0
    assert {json.loads(line)["id"] for line in answers.read_text("utf-8").splitlines()} == set(range(200))


@pytest.mark.requirement("CLI-5")
def test_an_empty_input_ends_the_server() -> None:
    assert subprocess.run(TOY, stdin=subprocess.DEVNULL, timeout=PATIENCE, check=True).returncode == 0


@pytest.mark.requirement("P3")
def test_a_server_without_the_standard_streams_ends_well() -> None:
    command = ["sh", "-c", 'exec "$0" "$1" <&- >&- 2>&-', *TOY]
    assert subprocess.run(command, input=lines_of(5), timeout=PATIENCE, check=True).returncode == 0


@pytest.mark.requirement("TOOL-6", "P3")
def test_one_socket_may_carry_both_directions_until_the_client_closes_it() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, ending(subprocess.Popen(TOY, stdin=theirs.fileno(), stdout=theirs.fileno())) as process:
        theirs.close()
        ours.settimeout(PATIENCE)
        ours.sendall(lines_of(3))
        with ours.makefile("rb", buffering=0) as stream:
            assert {json.loads(stream.readline())["id"] for _ in range(2)} <= {0, 1, 2}
        ours.close()
        assert process.wait(PATIENCE) == 0


@pytest.mark.requirement("TOOL-6")
def test_a_person_at_a_terminal_is_answered() -> None:
    ours, theirs = os.openpty()
    with ending(subprocess.Popen(TOY, stdin=theirs, stdout=subprocess.PIPE)) as process:
        os.close(theirs)
        os.write(ours, lines_of(2))
        assert process.stdout
        assert {json.loads(process.stdout.readline())["id"] for _ in range(2)} == {0, 1}
        os.close(ours)
        assert process.wait(PATIENCE) == 0


@pytest.mark.requirement("CLI-1")
def test_a_server_that_is_started_by_hand_says_what_it_waits_for() -> None:
    ours, theirs = os.openpty()
    command, environment = [sys.executable, "-m", "tasks_v1_mcp"], {**os.environ, "TASK_STORE": "memory:"}
    with ending(
        subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environment)
    ) as process:
        os.close(theirs)
        assert process.stderr
        line = process.stderr.readline().decode()
        os.close(ours)
        assert process.stderr.read() == b""
    assert line == "tasks-v1-mcp is waiting for an MCP client to write to stdin. Press Ctrl+C to end it.\n"

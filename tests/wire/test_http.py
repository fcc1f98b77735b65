"""The HTTP transport: strict bodies, this machine only, both eras, and an end in time (CLI-1, CLI-2, TOOL-6, P3)."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final

import pytest
from mcp.client import Client
from pydantic import JsonValue

from tests.wire.line_client import PATIENCE, TOY
from tests.wire.served import Served, Spell, legacy, modern, serving


@pytest.fixture(scope="module")
def toy() -> Iterator[Served]:
    with serving(TOY) as served:
        yield served


@pytest.mark.requirement("TOOL-6", "CLI-1")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdks_own_client_works_in_both_eras(toy: Served, mode: str) -> None:
    async with Client(toy.url, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools][:2] == ["echo", "repeat"]
        assert (await client.call_tool("echo", {"text": "é"})).structured_content == {"text": "é"}
        assert (await client.call_tool("ecko", {})).structured_content["error"]["code"] == "UnknownTool"


@pytest.mark.requirement("ERR-3", "TOOL-3", "TOOL-6", "P1")
@pytest.mark.parametrize("era", [legacy, modern])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param('{"text":"a","text":"b"}', "DuplicateKey", id="a key twice"),
        pytest.param('{"text":"\\ud800"}', "InvalidArguments", id="a lone surrogate"),
        pytest.param('{"txt":"a"}', "InvalidArguments", id="an unknown argument"),
    ],
)
def test_a_bad_call_is_a_tool_result(toy: Served, era: Spell, arguments: str, code: str) -> None:
    data, headers = era("echo", arguments)
    reply = toy.post(data, **headers)
    result = reply.json["result"]
    assert (reply.status, result["isError"], result["structuredContent"]["error"]["code"]) == (200, True, code)


@pytest.mark.requirement("ERR-3", "P1", "P2")
@pytest.mark.parametrize(
    ("body", "code", "answered"),
    [
        pytest.param(b"", -32700, None, id="nothing"),
        pytest.param(b'{"id":7,oops}', -32700, 7, id="no JSON"),
        pytest.param(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":NaN}}', -32700, 7, id="NaN"),
        pytest.param(b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32600, None, id="a batch"),
        pytest.param(b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None, id="a bad id"),
        pytest.param(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', -32602, 7, id="bad params"),
        pytest.param(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1,"a":1}}', -32602, 7, id="a key twice"),
    ],
)
def test_a_body_that_is_not_a_request_is_refused_and_the_server_serves_on(
    toy: Served, body: bytes, code: int, answered: JsonValue
) -> None:
    reply = toy.post(body)
    assert (reply.status, reply.json["error"]["code"], reply.json["id"]) == (400, code, answered)
    assert toy.call("echo", text="a")["structuredContent"] == {"text": "a"}


def test_a_notification_is_accepted_and_a_broken_one_is_not(toy: Served) -> None:
    assert toy.post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}').status == 202
    refused = toy.post(b'{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}')
    assert (refused.status, refused.body) == (400, b"")


@pytest.mark.requirement("CLI-2", "HTTP-2")
@pytest.mark.parametrize("path", ["/mcp", "/healthz"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost:evil", "localhost:", "127.1"])
def test_another_name_of_the_machine_is_refused(toy: Served, path: str, host: str) -> None:
    assert toy.post(b"oops", path, Host=host).status == 421


@pytest.mark.requirement("CLI-2", "HTTP-2")
@pytest.mark.parametrize("path", ["/mcp", "/healthz"])
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://localhost", "http://localhost:3000.evil.example", ""]
)
def test_a_page_from_elsewhere_is_refused(toy: Served, path: str, origin: str) -> None:
    assert toy.post(b"oops", path, Origin=origin).status == 403


@pytest.mark.requirement("HTTP-2")
@pytest.mark.parametrize(
    ("lines", "status"),
    [
        pytest.param(b"HTTP/1.0\r\n", b"421", id="no Host"),
        pytest.param(b"HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n", b"400", id="two Hosts"),
        pytest.param(
            b"HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example\r\n",
            b"403",
            id="two Origins",
        ),
        pytest.param(
            b"HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\n", b"421", id="a forwarded Host"
        ),
    ],
)
def test_headers_that_no_browser_sends_do_not_get_around_the_check(toy: Served, lines: bytes, status: bytes) -> None:
    with toy.connection(b"GET /healthz " + lines + b"\r\n") as connection:
        assert connection.recv(100).split()[1] == status


@pytest.mark.requirement("CLI-2")
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]", "LocalHost"])
def test_the_names_of_this_machine_are_served(toy: Served, name: str) -> None:
    data, headers = legacy("echo", '{"text":"a"}')
    port = toy.address.rpartition(":")[2]
    for host in (name, f"{name}:{port}"):
        assert toy.post(data, Host=host, Origin=f"http://{name}:3000", **headers).status == 200


def test_the_health_of_the_server_can_be_asked(toy: Served) -> None:
    health = toy.ask("GET", "/healthz")
    assert (health.status, health.body) == (200, b'{"ok":true}')


@pytest.mark.requirement("HTTP-2")
def test_a_path_that_only_looks_like_that_of_the_protocol_is_refused(toy: Served) -> None:
    assert [toy.post(b"oops", path).status for path in ("/mcp%0a", "/mcp/", "/healthz/")] == [404] * 3


@pytest.mark.requirement("HTTP-3")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_there_is_no_session_to_listen_to_or_to_end(toy: Served, method: str) -> None:
    reply = toy.ask(method, Accept="text/event-stream", Origin="http://localhost:3000")
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


@pytest.mark.requirement("HTTP-3", "TOOL-6")
@pytest.mark.parametrize("era", [legacy, modern])
def test_a_client_that_does_not_say_what_it_accepts_gets_json(toy: Served, era: Spell) -> None:
    body, headers = era("echo", '{"text":"a"}')
    names = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in names.items())
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}Content-Length: {len(body)}\r\n\r\n"
    with toy.connection(head.encode() + body) as connection, connection.makefile("rb") as answer:
        assert answer.read().startswith(b"HTTP/1.1 200")
    refused = toy.post(body, **headers, Accept="text/html")
    assert (refused.status, refused.json["id"]) == (406, 7)
    assert refused.json["error"]["message"] == "Accept application/json, and text/event-stream for notifications."


@pytest.mark.requirement("TOOL-7", "C2")
def test_calls_that_wait_do_not_hold_up_others(toy: Served) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(toy.call, "wait", seconds=1.0)
        assert toy.ask("GET", "/healthz").status == 200
        assert not waiting.done()
        assert waiting.result()["structuredContent"] == {"text": "free"}


@pytest.mark.requirement("CLI-5", "P3")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_ends_the_server_in_time_and_calls_that_wait_are_answered(number: signal.Signals) -> None:
    with serving(TOY) as served, ThreadPoolExecutor() as pool:
        waiting = pool.submit(served.call, "wait", seconds=600)
        while served.call("waiting", text="")["structuredContent"] == {"text": "0"}:
            assert not waiting.done()
        served.process.send_signal(number)
        assert served.process.wait(PATIENCE) == 0
        assert waiting.result()["structuredContent"] == {"text": "closed"}


HEAD: Final = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\n"


def whole(tool: str, arguments: str) -> bytes:
    body, _ = legacy(tool, arguments)
    return HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


ENDLESS: Final = {
    b"POST /mcp HT": b"",
    HEAD + b"Content-Length: 100\r\n\r\n{": b"HTTP/1.1 500",
    whole("hang", '{"seconds":600}'): b"HTTP/1.1 500",
}
"""Half a head, half a body and a call that hangs, each with the answer at the end of the server."""


@pytest.mark.requirement("P3", "HTTP-4")
def test_requests_that_never_end_are_given_up_without_a_trace_in_the_log() -> None:
    with serving(TOY) as served, ExitStack() as stack:
        connections = [stack.enter_context(served.connection(sent)) for sent in ENDLESS]
        served.call("echo", text="the connections were taken by now")
        served.process.terminate()
        assert served.process.wait(PATIENCE) == 0
        assert [connection.recv(100)[:12] for connection in connections] == [*ENDLESS.values()]
        assert served.log() == ""


@pytest.mark.requirement("P3", "HTTP-4")
def test_an_answer_that_nobody_reads_cannot_hold_up_the_end() -> None:
    with (
        serving(TOY) as served,
        served.connection(whole("repeat", '{"text":"abcdefgh","times":1000000}')) as connection,
    ):
        assert connection.recv(12) == b"HTTP/1.1 200"
        served.process.terminate()
        assert served.process.wait(PATIENCE) == 0
        assert "Traceback" not in served.log()


@pytest.mark.requirement("CLI-2", "CLI-3")
def test_a_port_that_is_taken_is_refused_with_exit_code_2() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [*TOY, "--transport", "http", "--port", port]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"mcp-task-core: 127.0.0.1:{port} cannot be used: Address already in use\n"


@pytest.mark.requirement("CLI-1")
def test_the_server_can_be_reached_by_ipv6() -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with serving((*TOY, "--host", "::1")) as served:
        assert served.url.startswith("http://[::1]:")
        assert served.call("echo", text="a")["structuredContent"] == {"text": "a"}

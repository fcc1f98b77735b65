"""The HTTP transport: strict bodies, this machine only, both eras, and an end in time (CLI-1, CLI-2, TOOL-6, P3)."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Final
from urllib.parse import urlsplit

import pytest
from mcp.client import Client
from pydantic import JsonValue

from tests.wire.line_client import ENVELOPE, PATIENCE, TOY, Message

HEADERS: Final = {"Content-Type": "application/json", "Accept": "application/json"}


class Served:
    """A server process that speaks HTTP."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url
        self.address = urlsplit(url).netloc

    def post(self, body: bytes, path: str = "/mcp", **headers: str) -> tuple[int, bytes]:
        return self._ask("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        return self._ask("GET", path, None, headers)

    def call(self, tool: str, **arguments: JsonValue) -> Message:
        message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        status, body = self.post(json.dumps(message).encode())
        assert status == 200
        result: Message = json.loads(body)["result"]
        return result

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = HTTPConnection(self.address, timeout=PATIENCE)
        try:
            connection.request(method, path, body, HEADERS | headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@contextmanager
def serving(*options: str) -> Iterator[Served]:
    command = [*TOY, "--transport", "http", "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        first = process.stderr.readline()
        try:
            yield Served(process, first.removeprefix("Serving at ").strip())
            process.terminate()
            process.wait(PATIENCE)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def toy() -> Iterator[Served]:
    with serving() as served:
        yield served


@pytest.mark.requirement("TOOL-6", "CLI-1")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdks_own_client_works_in_both_eras(toy: Served, mode: str) -> None:
    async with Client(toy.url, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools][:2] == ["echo", "repeat"]
        assert (await client.call_tool("echo", {"text": "é"})).structured_content == {"text": "é"}
        assert (await client.call_tool("ecko", {})).structured_content["error"]["code"] == "UnknownTool"


def modern(body: str) -> tuple[bytes, dict[str, str]]:
    """Return a call of echo in the modern era, with its headers; ``body`` is what stands in the arguments."""
    params = f'{{"name":"echo","arguments":{{{body}}},"_meta":{json.dumps(ENVELOPE)}}}'
    headers = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "echo"}
    return f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}'.encode(), headers


def legacy(body: str) -> tuple[bytes, dict[str, str]]:
    """Return the same call in the legacy era."""
    params = f'{{"name":"echo","arguments":{{{body}}}}}'
    return f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}'.encode(), {}


@pytest.mark.requirement("ERR-3", "TOOL-3", "TOOL-6", "P1")
@pytest.mark.parametrize("era", [legacy, modern])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param('"text":"a","text":"b"', "DuplicateKey", id="a key twice"),
        pytest.param('"text":"\\ud800"', "InvalidArguments", id="a lone surrogate"),
        pytest.param('"txt":"a"', "InvalidArguments", id="an unknown argument"),
    ],
)
def test_a_bad_call_is_a_tool_result(
    toy: Served, era: Callable[[str], tuple[bytes, dict[str, str]]], arguments: str, code: str
) -> None:
    data, headers = era(arguments)
    status, body = toy.post(data, **headers)
    result = json.loads(body)["result"]
    assert (status, result["isError"], result["structuredContent"]["error"]["code"]) == (200, True, code)


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
def test_a_body_that_is_no_request_is_refused_and_the_server_serves_on(
    toy: Served, body: bytes, code: int, answered: JsonValue
) -> None:
    status, answer = toy.post(body)
    message = json.loads(answer)
    assert (status, message["error"]["code"], message["id"]) == (400, code, answered)
    assert toy.call("echo", text="a")["structuredContent"] == {"text": "a"}


def test_a_notification_is_accepted_and_a_broken_one_is_not(toy: Served) -> None:
    assert toy.post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')[0] == 202
    assert toy.post(b'{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}') == (400, b"")


@pytest.mark.requirement("CLI-2")
@pytest.mark.parametrize("path", ["/mcp", "/healthz"])
def test_another_host_and_another_origin_are_refused(toy: Served, path: str) -> None:
    assert toy.post(b"oops", path, Host="evil.example")[0] == 421
    assert toy.post(b"oops", path, Origin="http://evil.example")[0] == 403
    assert toy.post(b"oops", path, Origin="null")[0] == 403


@pytest.mark.requirement("CLI-2")
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_the_names_of_this_machine_are_served(toy: Served, name: str) -> None:
    data, headers = legacy('"text":"a"')
    port = toy.address.rpartition(":")[2]
    assert toy.post(data, Host=f"{name}:{port}", Origin=f"http://{name}:3000", **headers)[0] == 200


def test_the_health_of_the_server_can_be_asked(toy: Served) -> None:
    assert toy.get("/healthz") == (200, b'{"ok":true}')


@pytest.mark.requirement("TOOL-3")
def test_a_body_of_more_than_4_mib_is_refused(toy: Served) -> None:
    assert toy.post(b" " * (4 * 1024 * 1024 + 1))[0] == 413


@pytest.mark.requirement("TOOL-7", "C2")
def test_calls_that_wait_do_not_hold_up_others(toy: Served) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(toy.call, "wait", seconds=1.0)
        assert toy.get("/healthz")[0] == 200
        assert not waiting.done()
        assert waiting.result()["structuredContent"] == {"text": "free"}


@pytest.mark.requirement("CLI-5", "P3")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_ends_the_server_in_time_and_calls_that_wait_are_answered(number: signal.Signals) -> None:
    with serving() as served, ThreadPoolExecutor() as pool:
        waiting = pool.submit(served.call, "wait", seconds=600)
        while served.call("waiting", text="")["structuredContent"] == {"text": "0"}:
            pass
        served.process.send_signal(number)
        assert served.process.wait(2.0) == 0
        assert waiting.result()["structuredContent"] == {"text": "closed"}


@pytest.mark.requirement("P3")
def test_a_call_that_hangs_cannot_hold_up_the_end() -> None:
    with serving() as served, ThreadPoolExecutor() as pool:
        pool.submit(served.call, "hang", seconds=600)
        served.call("echo", text="a")
        served.process.terminate()
        assert served.process.wait(2.0) == 0


@pytest.mark.requirement("CLI-2", "CLI-3")
def test_a_port_that_is_taken_is_refused_with_exit_code_2() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [*TOY, "--transport", "http", "--port", port]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"toy: --host 127.0.0.1 --port {port} cannot be used: Address already in use\n"


@pytest.mark.requirement("CLI-1")
def test_the_server_can_be_reached_by_ipv6() -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with serving("--host", "::1") as served:
        assert served.url.startswith("http://[::1]:")
        assert served.call("echo", text="a")["structuredContent"] == {"text": "a"}

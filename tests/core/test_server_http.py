"""An address that cannot be had is a bad setting, said in one sentence (CLI-2, CLI-3), and answers leave at once."""

from __future__ import annotations

import io
import os
import signal
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, redirect_stderr
from http.client import HTTPConnection, HTTPException
from queue import SimpleQueue
from typing import TypeVar

import pytest
from pydantic import BaseModel
from typing_extensions import override

from task_core.bootstrap import BadSettings
from task_core.fields import Arguments
from task_core.server.app import TaskServer
from task_core.server.transports import asgi, connections, wire
from task_core.server.transports.asgi import run_http
from task_core.server.transports.connections import listen
from task_core.warning_list import WarningList
from tests.core.command_line import command_line
from tests.core.notes import DEADLINE
from tests.core.shelf import Shelf
from tests.wire.served import Reply, legacy, name_headers

ResultT = TypeVar("ResultT")


@pytest.mark.requirement("CLI-2", "CLI-3")
@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_an_address_that_another_server_has_is_refused(host: str, family: socket.AddressFamily) -> None:
    with socket.create_server((host, 0), family=family) as other:
        port = other.getsockname()[1]
        with pytest.raises(BadSettings) as caught:
            run_http(Shelf().server, host, port)
    name = f"[{host}]" if ":" in host else host
    assert str(caught.value) == f"{name}:{port} cannot be used: Address already in use"


@pytest.mark.requirement("HO-11")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_no_answer_waits_until_the_client_has_acknowledged_its_beginning(host: str) -> None:
    with listen(host, 0) as listener, socket.create_connection(listener.getsockname()[:2]):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


class Announcement(io.StringIO):
    """An stderr on which a server says where it is."""

    def __init__(self) -> None:
        super().__init__()
        self.said = SimpleQueue[str]()

    @override
    def write(self, text: str, /) -> int:
        self.said.put(text)
        return len(text)


class Nothing(Arguments):
    """No arguments."""


class Freed(BaseModel):
    """That a call could end."""

    freed: bool


def ended_by_a_call(closed: threading.Event) -> TaskServer:
    """Return a server with a tool that tells it to end, and then waits until it is closed."""
    server = TaskServer("holder", title="", version="1", instructions="", warnings=WarningList(), close=closed.set)

    @server.tool(title="End")
    def end(_: Nothing) -> Freed:
        """End this."""
        os.kill(os.getpid(), signal.SIGTERM)
        return Freed(freed=closed.wait(DEADLINE))

    return server


def ask(address: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Reply:
    connection = HTTPConnection(address, timeout=DEADLINE)
    try:
        connection.request(method, path, body, name_headers(headers or {}))
        response = connection.getresponse()
        return Reply(response.status, response.read(), dict(response.headers))
    finally:
        connection.close()


def serve_while(server: TaskServer, converse: Callable[[str], ResultT], *, is_ended: bool = False) -> ResultT:
    """Serve until a client, which gets the address, has had its conversation, and return what it returns.

    With ``is_ended``, the conversation itself ends the server.
    """
    announced = Announcement()

    def talk() -> ResultT:
        address = announced.said.get(timeout=DEADLINE).split("/")[2]
        try:
            return converse(address)
        finally:
            if not is_ended:
                os.kill(os.getpid(), signal.SIGTERM)

    with ThreadPoolExecutor(1) as client, redirect_stderr(announced), command_line():
        conversation = client.submit(talk)
        run_http(server, "127.0.0.1", 0)
        return conversation.result()


def connect(address: str, data: bytes = b"") -> socket.socket:
    """Return a connection on which ``data`` was sent."""
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), DEADLINE)
    connection.sendall(data)
    return connection


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.requirement("HTTP-4")
def test_a_connection_without_a_whole_head_is_closed_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 0.2)

    def converse(address: str) -> list[bytes]:
        with connect(address) as silent, connect(address, HEALTH[:20]) as slow, connect(address, HEALTH) as kept:
            answer = b""
            while not answer.endswith(b"}"):
                answer += kept.recv(1_000)
            kept.sendall(HEALTH[:20])
            return [answer[:12], silent.recv(1), slow.recv(1), kept.recv(1)]

    assert serve_while(Shelf().server, converse) == [b"HTTP/1.1 200", b"", b"", b""]


@pytest.mark.requirement("HTTP-4", "S1")
def test_so_many_silent_connections_neither_stop_the_server_nor_fill_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connections, "_SHARE", connections.count_files() / 20)

    def converse(address: str) -> list[bytes]:
        with ExitStack() as stack:
            silent = [stack.enter_context(connect(address)) for _ in range(100)]
            statuses = [ask(address, "GET", "/healthz").status for _ in range(3)]
            return [b"%d" % status for status in statuses] + [first.recv(1) for first in silent[:80]]

    assert serve_while(Shelf().server, converse) == [b"200"] * 3 + [b""] * 80
    assert caplog.messages == ["There are too many connections, so those that send nothing are closed."]


HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
PING = b'{"method":"ping","jsonrpc":"2.0","id":7}'
PREFLIGHT = (
    b"Origin: http://localhost:3000\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x\r\n"
)


@pytest.mark.requirement("HTTP-2", "HTTP-3", "HTTP-5")
def test_a_request_is_refused_with_its_id_or_answered_also_without_accept_and_for_a_page_of_this_machine() -> None:
    long = PING[:-1] + b',"x":"' + b"x" * wire.MAX_MESSAGE + b'"}'
    sent = {
        "no Accept": HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(PING), PING),
        "another Accept": HEAD + b"Accept: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(PING), PING),
        "streams alone": HEAD + b"Accept: text/event-stream\r\nContent-Length: %d\r\n\r\n%s" % (len(PING), PING),
        "announced as long": HEAD + b"Content-Length: %d\r\n\r\n" % len(long),
        "long": HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s" % (len(long), long),
        "preflight": HEAD.replace(b"POST", b"OPTIONS", 1) + PREFLIGHT + b"\r\n",
    }

    def converse(address: str) -> dict[str, bytes]:
        answers = {}
        for name, request in sent.items():
            with connect(address, request) as connection, connection.makefile("rb") as answer:
                answers[name] = answer.read()
        return answers

    answers = serve_while(Shelf().server, converse)
    assert [answer[9:12] for answer in answers.values()] == [b"200", b"406", b"406", b"413", b"413", b"200"]
    assert [b'"id":7' in answer for answer in answers.values()] == [True, True, True, False, True, False]
    assert b"access-control-allow-origin: http://localhost:3000\r\n" in answers["preflight"].lower()


@pytest.mark.requirement("HTTP-4")
def test_a_body_that_does_not_arrive_in_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "_BODY_SECONDS", 0.2)
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"

    def converse(address: str) -> bytes:
        with connect(address, head + b"{") as connection, connection.makefile("rb") as answer:
            return answer.read()

    answer = serve_while(Shelf().server, converse)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"did not arrive in time" in answer


@pytest.mark.requirement("CLI-2", "CLI-5", "P1", "P3")
def test_requests_are_answered_or_refused_until_a_signal_ends_the_server_and_every_wait() -> None:
    closed = threading.Event()

    def converse(address: str) -> list[Reply]:
        replies = [
            ask(address, "GET", "/healthz"),
            ask(address, "POST", "/mcp", b"not JSON"),
            ask(address, "POST", "/mcp", b'{"jsonrpc":"2.0","method":"x","params":1}'),
            ask(address, "POST", "/mcp", *legacy("end", '{"a":1,"a":2}')),
        ]
        try:
            ask(address, "POST", "/mcp", *legacy("end", "{}"))
        except (OSError, HTTPException):
            assert closed.is_set()  # on a slow machine the server is gone before the answer
        return replies

    healthy, broken, silent, repeated = serve_while(ended_by_a_call(closed), converse, is_ended=True)
    assert closed.is_set()
    assert healthy.json == {"ok": True}
    assert (broken.status, broken.json["error"]["code"]) == (400, -32700)
    assert (silent.status, silent.body) == (400, b"")
    assert (repeated.status, repeated.json["result"]["isError"]) == (200, True)

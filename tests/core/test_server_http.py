"""An address that cannot be had is a bad setting, said in one sentence (CLI-2, CLI-3), and answers leave at once."""

from __future__ import annotations

import io
import os
import signal
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from http.client import HTTPConnection, HTTPException
from queue import SimpleQueue

import pytest
from pydantic import BaseModel
from typing_extensions import override

from task_core.bootstrap import BadSettings
from task_core.fields import Arguments
from task_core.server.app import TaskServer
from task_core.server.transports.asgi import listen
from task_core.server.transports.http import run_http
from task_core.warning_list import WarningList
from tests.core.command_line import command_line
from tests.core.notes import DEADLINE
from tests.core.shelf import Shelf
from tests.wire.served import Reply, legacy, name_headers


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


@pytest.mark.requirement("CLI-2", "CLI-5", "P1", "P3")
def test_requests_are_answered_or_refused_until_a_signal_ends_the_server_and_every_wait() -> None:
    closed, announced = threading.Event(), Announcement()

    def converse() -> list[Reply]:
        address = announced.said.get(timeout=DEADLINE).split("/")[2]
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

    with ThreadPoolExecutor(1) as client, redirect_stderr(announced), command_line():
        conversation = client.submit(converse)
        run_http(ended_by_a_call(closed), "127.0.0.1", 0)
        healthy, broken, silent, repeated = conversation.result()
    assert closed.is_set()
    assert healthy.json == {"ok": True}
    assert (broken.status, broken.json["error"]["code"]) == (400, -32700)
    assert (silent.status, silent.body) == (400, b"")
    assert (repeated.status, repeated.json["result"]["isError"]) == (200, True)

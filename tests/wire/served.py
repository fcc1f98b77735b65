"""Server processes that speak HTTP, and plain requests to them, so that a test can offend."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from pydantic import JsonValue

from tests.processes import ending
from tests.wire.line_client import ENVELOPE, PATIENCE, Message

__all__ = ["PUBLIC_URL", "Reply", "Served", "Spell", "legacy", "modern", "name_headers", "serving"]

_HEADERS: Final = {"Content-Type": "application/json", "Accept": "application/json"}

PUBLIC_URL: Final = "https://tasks.example.com/mcp"
"""What tokens name as their audience; clients reach hosted servers by their own addresses."""

Spell = Callable[[str, str], tuple[bytes, dict[str, str]]]
"""How an era writes the call of a tool, whose arguments are a text, JSON or not: its body and its headers."""


def legacy(tool: str, arguments: str) -> tuple[bytes, dict[str, str]]:
    params = f'{{"name":"{tool}","arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}'.encode(), {}


def modern(tool: str, arguments: str) -> tuple[bytes, dict[str, str]]:
    params = f'{{"name":"{tool}","arguments":{arguments},"_meta":{json.dumps(ENVELOPE)}}}'
    headers = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": tool}
    return f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}'.encode(), headers


def name_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return these headers, and those of every request; underscores in their names are hyphens."""
    return _HEADERS | {name.replace("_", "-"): value for name, value in headers.items()}


class Reply(NamedTuple):
    """What came back for one request."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Message:
        message: Message = json.loads(self.body)
        return message


class Served:
    """A server process that speaks HTTP."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url
        self.address = urlsplit(url).netloc

    def ask(self, method: str, path: str = "/mcp", body: bytes | None = None, **headers: str) -> Reply:
        """Send one request; underscores in the names of ``headers`` are hyphens."""
        connection = HTTPConnection(self.address, timeout=PATIENCE)
        try:
            connection.request(method, path, body, name_headers(headers))
            response = connection.getresponse()
            return Reply(response.status, response.read(), dict(response.headers))
        finally:
            connection.close()

    def post(self, body: bytes, path: str = "/mcp", **headers: str) -> Reply:
        return self.ask("POST", path, body, **headers)

    def call(self, tool: str, **arguments: JsonValue) -> Message:
        """Return the result of a tool, called as the legacy era does."""
        body, headers = legacy(tool, json.dumps(arguments))
        reply = self.post(body, **headers)
        assert reply.status == 200
        result: Message = reply.json["result"]
        return result

    def connection(self, data: bytes) -> socket.socket:
        """Return a connection on which ``data`` was sent and nothing was read."""
        host, _, port = self.address.rpartition(":")
        connection = socket.create_connection((host, int(port)), PATIENCE)
        connection.sendall(data)
        return connection

    def log(self) -> str:
        """Return what the server wrote to stderr, once it has ended."""
        assert self.process.stderr
        return self.process.stderr.read()


@contextmanager
def serving(command: Sequence[str], environment: Mapping[str, str] | None = None, port: int = 0) -> Iterator[Served]:
    """Start ``command`` on ``port``, a free one unless it is given, and stop it in the end."""
    with ending(
        subprocess.Popen(
            [*command, "--transport", "http", "--port", str(port)],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | (environment or {}),
        )
    ) as process:
        assert process.stderr
        first = process.stderr.readline()
        yield Served(process, first.removeprefix("Serving at ").strip())
        process.terminate()

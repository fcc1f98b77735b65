"""A client that writes raw lines to a server process and reads what comes back, so that it can offend."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

from pydantic import JsonValue

Era = Literal["legacy", "modern"]
Message = dict[str, Any]

TOY: Final = (sys.executable, str(Path(__file__).with_name("toy_server.py")))
"""The command that starts the toy server."""

PATIENCE: Final = 120.0
"""Seconds to wait for what must come: only a broken server takes so long."""

ENVELOPE: Final[Message] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""What every request of the modern era carries in ``_meta``."""

INITIALIZE: Final[Message] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
"""The parameters with which a client of the legacy era begins."""


class LineClient:
    """A server process with its pipes, greeted as the era asks; stderr goes to a file, or to a given descriptor."""

    def __init__(
        self,
        era: Era = "legacy",
        command: tuple[str, ...] = TOY,
        environment: Mapping[str, str] | None = None,
        stderr: int | None = None,
    ) -> None:
        self.era = era
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the client
        self.process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log if stderr is None else stderr,
            env={**os.environ, **(environment or {})},
        )
        self._received = b""
        self._ids = iter(range(1_000, 1_000_000))

    def __enter__(self) -> Self:
        if self.era == "legacy":
            self.request("initialize", INITIALIZE)
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        else:
            self.request("tools/list")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_input()
        try:
            self.exit_code()
        finally:
            self.process.kill()
            self.close_output()
            self._log.close()

    @property
    def log(self) -> str:
        """The server's stderr so far, read without moving the file offset that both processes share."""
        return os.pread(self._log.fileno(), os.fstat(self._log.fileno()).st_size, 0).decode()

    def line(self, method: str, params: Message | None = None, request_id: int | None = None) -> bytes:
        """Return a request of this era as a line; the id is the next one unless it is given."""
        members = dict(params or {})
        if self.era == "modern":
            members["_meta"] = ENVELOPE
        number = next(self._ids) if request_id is None else request_id
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": members}).encode() + b"\n"

    def call_line(self, request_id: int, tool: str, **arguments: JsonValue) -> bytes:
        """Return a call of a tool as a line."""
        return self.line("tools/call", {"name": tool, "arguments": arguments}, request_id)

    def send(self, message: Message) -> None:
        """Write one message as it is."""
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, data: bytes) -> None:
        """Write all of ``data``."""
        assert self.process.stdin
        rest = memoryview(data)
        while rest:
            rest = rest[self.process.stdin.write(rest) :]

    def write_while_taken(self, data: bytes) -> int:
        """Write until nothing is read for half a second, or all is written; return how many bytes were taken."""
        assert self.process.stdin
        poll = select.poll()
        poll.register(self.process.stdin, select.POLLOUT)
        taken = 0
        while taken < len(data) and poll.poll(500):
            taken += self.process.stdin.write(data[taken : taken + select.PIPE_BUF])
        return taken

    def receive(self) -> Message:
        """Return the next message from the server."""
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._received:
            chunk = self._chunk(deadline - time.monotonic())
            assert chunk, f"the server closed its output; its log: {self.log}"
            self._received += chunk
        head, _, self._received = self._received.partition(b"\n")
        message: Message = json.loads(head)
        return message

    def rest(self, *, is_killed: bool = False) -> list[Message]:
        """Return every message up to the end of the output, which must come; a killed server may tear the last one."""
        while chunk := self._chunk(PATIENCE):
            self._received += chunk
        *lines, torn = self._received.split(b"\n")
        assert is_killed or not torn
        self._received = b""
        return [json.loads(line) for line in lines]

    def collect(self, ids: Iterable[JsonValue]) -> dict[JsonValue, Message]:
        """Return the answers to these ids, in whatever order they come."""
        wanted = set(ids)
        found: dict[JsonValue, Message] = {}
        while wanted - found.keys():
            message = self.receive()
            found[message["id"]] = message
        return found

    def request(self, method: str, params: Message | None = None) -> Message:
        """Send a request and return its answer, which must be the next message."""
        data = self.line(method, params)
        self.write(data)
        answer = self.receive()
        assert answer["id"] == json.loads(data)["id"]
        return answer

    def call(self, tool: str, **arguments: JsonValue) -> Message:
        """Call a tool and return its result."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})["result"]
        assert isinstance(result, dict)
        return result

    def close_input(self) -> None:
        """End the server's stdin."""
        assert self.process.stdin
        self.process.stdin.close()

    def close_output(self) -> None:
        """Stop listening."""
        assert self.process.stdout
        self.process.stdout.close()

    def exit_code(self, within: float = PATIENCE) -> int:
        """Return the exit code of the server, which must end by itself (CLI-5)."""
        return self.process.wait(within)

    def _chunk(self, seconds: float) -> bytes:
        assert self.process.stdout
        poll = select.poll()
        poll.register(self.process.stdout, select.POLLIN)
        assert poll.poll(max(0.0, seconds) * 1000), f"no answer in time; the server's log: {self.log}"
        return os.read(self.process.stdout.fileno(), 1 << 20)

"""Server processes for storms: most are forked from a process that has loaded them already, some are really spawned.

To load the SDK takes half a second of a processor, which a thousand kills cannot wait for; a forked server runs the
same command from the same first line.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any, Final

from pydantic import JsonValue

from tests.postgres import what_postgres_lacks

__all__ = ["CONTEXT", "Answer", "Server", "exported", "forked", "spawned"]

PATIENCE: Final = 120.0
"""Seconds to wait for what must come: only a broken server takes so long."""

CONTEXT: Final = multiprocessing.get_context("forkserver")
"""What forks; it has the servers and the workers of the tests loaded."""

CONTEXT.set_forkserver_preload(
    [
        *("pytest", "tests.core.worker", "tests.wire.storm_process"),
        *("heartbeat_mcp.server", "hierarchy_mcp.server", "taskmaster_mcp.server", "tasks_v1_mcp.server"),
        "task_core.server.transports.stdio",
        *("heartbeat_mcp.transfer", "task_core.cli.commands", "task_core.store.sqlite"),
        *(["task_hosted.postgres"] if what_postgres_lacks() is None else []),
    ]
)

_STARTING: Final = Lock()
"""multiprocessing keeps a list of its processes that threads must not change together."""

_INITIALIZE: Final[JsonValue] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "storm", "version": "1"},
}


@dataclass(frozen=True)
class Answer:
    """What came back for one call."""

    content: dict[str, Any]
    is_error: bool

    @property
    def code(self) -> str:
        """The code of the error."""
        return str(self.content["error"]["code"])


class Server:
    """One running server, with the pipes to and from it."""

    def __init__(
        self, source: int, sink: int, send: Callable[[signal.Signals], None], join: Callable[[], None]
    ) -> None:
        self._source = source
        self._sink = sink
        self._send = send
        self._join = join
        self._received = b""
        self._is_closed = False

    def greet(self) -> None:
        """Begin as a client does."""
        self.request("initialize", _INITIALIZE)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, parameters: JsonValue) -> dict[str, Any]:
        """Make a request, which must succeed, while no other is under way, and return its result."""
        self._write({"jsonrpc": "2.0", "id": -1, "method": method, "params": parameters})
        result: dict[str, Any] = self.receive()["result"]
        return result

    @property
    def is_closed(self) -> bool:
        """Whether the process has ended."""
        return self._is_closed

    def ask(self, calls: Mapping[int, tuple[str, Mapping[str, JsonValue]]]) -> None:
        """Send calls, by their numbers, all at once."""
        lines: list[JsonValue] = []
        for number, (tool, given) in calls.items():
            parameters: dict[str, JsonValue] = {"name": tool, "arguments": {**given}}
            lines.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": parameters})
        self._write(*lines)

    def answers(self, count: int) -> dict[int, Answer]:
        """Return the next answers, by the numbers of their calls."""
        return dict(_answer(self.receive()) for _ in range(count))

    def call(self, tool: str, **arguments: JsonValue) -> dict[str, Any]:
        """Make one call, which must succeed, while no other is under way, and return its result."""
        self.ask({0: (tool, arguments)})
        answer = self.answers(1)[0]
        assert not answer.is_error, answer
        return answer.content

    def pause(self) -> None:
        """Stop the process at whatever it is doing."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a stopped process go on."""
        self._send(signal.SIGCONT)

    def kill(self) -> dict[int, Answer]:
        """Kill the process and return the answers that it had written by then; the last one may be torn."""
        if self._is_closed:
            return {}
        self._send(signal.SIGKILL)
        *lines, _ = self.output().split(b"\n")
        return dict(_answer(json.loads(line)) for line in lines if b'"id":-1' not in line)

    def output(self) -> bytes:
        """Return all that the process has written and not been asked for, up to its end, which must come."""
        while chunk := self._chunk():
            self._received += chunk
        self.close()
        return self._received

    def close(self) -> None:
        """End the input of the process, and wait until it has ended."""
        if self._is_closed:
            return
        self._is_closed = True
        os.close(self._sink)
        self._join()
        os.close(self._source)

    def _write(self, *messages: JsonValue) -> None:
        rest = memoryview(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        while rest:
            rest = rest[os.write(self._sink, rest) :]

    def receive(self) -> dict[str, Any]:
        """Return the next message."""
        while b"\n" not in self._received:
            chunk = self._chunk()
            assert chunk, "the server ended by itself"
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def _chunk(self) -> bytes:
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        assert poll.poll(PATIENCE * 1000), "the server says nothing"
        return os.read(self._source, 1 << 20)


def forked(module: str, environment: Mapping[str, str], log: Path, *arguments: str) -> Server:
    """Fork a process that runs the command of ``module``; what it says on stderr is appended to ``log``."""
    from_server, to_client = CONTEXT.Pipe(duplex=False)
    from_client, to_server = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(
        target=_run, args=((module, *arguments), dict(environment), (from_client, to_client), str(log)), daemon=True
    )
    with _STARTING:
        process.start()
    from_client.close()
    to_client.close()
    source, sink = os.dup(from_server.fileno()), os.dup(to_server.fileno())
    from_server.close()
    to_server.close()

    def send(number: signal.Signals) -> None:
        assert process.pid
        os.kill(process.pid, number)

    def join() -> None:
        with _STARTING:
            process.join(PATIENCE)

    return Server(source, sink, send, join)


def spawned(module: str, environment: Mapping[str, str], log: Path) -> Server:
    """Spawn a process that runs the command of ``module``; what it says on stderr is appended to ``log``."""
    with log.open("ab") as stderr:
        process = subprocess.Popen(
            (sys.executable, "-m", module),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, **environment},
        )
    assert process.stdin
    assert process.stdout
    source, sink = os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno())
    process.stdout.close()
    process.stdin.close()

    def join() -> None:
        process.wait(PATIENCE)

    return Server(source, sink, process.send_signal, join)


def exported(module: str, environment: Mapping[str, str]) -> bytes:
    """Return the document that the command of ``module`` exports."""
    return forked(module, environment, Path(os.devnull), "export").output()


def _run(command: Sequence[str], environment: Mapping[str, str], pipes: Iterable[Connection], log: str) -> None:
    """Run a command, whose first word is a module, in this process, on these pipes."""
    stderr = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(stderr, 2)
    os.close(stderr)
    for standard, pipe in enumerate(pipes):
        os.dup2(pipe.fileno(), standard)
        pipe.close()
    os.environ.update(environment)
    sys.argv = [*command]
    import_module(f"{command[0]}.__main__").main()


def _answer(message: Mapping[str, Any]) -> tuple[int, Answer]:
    assert "result" in message, message
    result = message["result"]
    return message["id"], Answer(result["structuredContent"], result.get("isError", False))

"""A client that measures: raw lines through pipes, times since the start of the process, processor time, memory.

Between its clock readings the client takes a few microseconds a call; answers are checked afterwards.
"""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from typing_extensions import override

from tests.wire.line_client import INITIALIZE, LineClient

PATIENCE: Final = 120.0
"""Seconds to wait for an answer: a list of 100,000 tasks takes some."""

_FAILURES: Final = (b'"isError":true', b'"error":{"code"')
"""The parts of a failed call's answer; in the text of a task the quotes would be escaped."""

_CPU_CLOCK: Final = 2
"""The clock of a process that counts its running threads, ended ones too (Linux, ``CPUCLOCK_SCHED``)."""

_INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


class Call(NamedTuple):
    """A tool and its arguments."""

    tool: str
    arguments: Mapping[str, Any] = {}


class CallFailed(Exception):
    """A server answered a measured call with an error, or not at all, so its time says nothing."""


class Client(LineClient):
    """A server process and its pipes; every method that takes a line raises ``CallFailed`` if the call fails.

    Entering it greets the server, lists its tools, and notes in ``greeting`` how many seconds after the start of the
    process each answer came, by method.
    """

    def __init__(self, command: tuple[str, ...], environment: Mapping[str, str] | None = None) -> None:
        self._spawned = time.perf_counter()
        self.greeting: dict[str, float] = {}
        # Compiling the sources is not what is measured, so what was compiled must be kept.
        super().__init__("legacy", command, {"PYTHONDONTWRITEBYTECODE": "", **(environment or {})})

    @property
    def cpu(self) -> float:
        """Processor time that the server has used, in seconds."""
        return time.clock_gettime((~self.process.pid << 3) | _CPU_CLOCK)

    @property
    def memory(self) -> int:
        """Bytes of memory that the server now has in use, shared libraries included."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text("ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    @override
    def __enter__(self) -> Self:
        self.greeting["initialize"] = self.since_spawn(self.line("initialize", INITIALIZE))
        self.greeting["tools/list"] = self.since_spawn(_INITIALIZED + self.line("tools/list"))
        return self

    def tool_line(self, call: Call) -> bytes:
        """Return a call as a line."""
        return self.line("tools/call", {"name": call.tool, "arguments": {**call.arguments}})

    def time(self, call: Call) -> float:
        """Return the seconds that the answer to a call takes."""
        line = self.tool_line(call)
        return self._seconds(line, time.perf_counter())

    def since_spawn(self, line: bytes) -> float:
        """Return the seconds from the start of the process to the answer to ``line``."""
        return self._seconds(line, self._spawned)

    def exchange(self, line: bytes) -> bytes:
        """Write ``line`` and return the answer, whatever it is."""
        self.write(line)
        chunks = [self._more()]
        while not chunks[-1].endswith(b"\n"):
            chunks.append(self._more())
        return b"".join(chunks)

    def stream(self, calls: Sequence[Call], in_flight: int) -> float:
        """Return the seconds that the answers to all ``calls`` take when so many are always under way."""
        lines = [self.tool_line(call) for call in calls]
        chunks: list[bytes] = []
        answered = 0
        started = time.perf_counter()
        self.write(b"".join(lines[:in_flight]))
        while answered < len(lines):
            chunk = self._more()
            chunks.append(chunk)
            ended = chunk.count(b"\n")
            following = lines[answered + in_flight : answered + in_flight + ended]
            answered += ended
            if following:
                self.write(b"".join(following))
        seconds = time.perf_counter() - started
        self._check(b"".join(chunks))
        return seconds

    def _seconds(self, line: bytes, started: float) -> float:
        answer = self.exchange(line)
        seconds = time.perf_counter() - started
        self._check(answer)
        return seconds

    def _more(self) -> bytes:
        chunk = self._chunk(PATIENCE)
        if not chunk:
            raise CallFailed(self.log)
        return chunk

    def _check(self, answer: bytes) -> None:
        if any(failure in answer for failure in _FAILURES):
            raise CallFailed(answer[:500].decode(errors="replace"), self.log)

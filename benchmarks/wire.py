"""A client that measures: raw lines through pipes, times since the start of the process, processor time, memory.

Between its clock readings the client takes a few microseconds a call; answers are checked afterwards.
"""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from pydantic import JsonValue
from typing_extensions import override

from tests.wire.line_client import INITIALIZE, Era, LineClient

__all__ = ["CallFailed", "Client"]

PATIENCE: Final = 120.0
"""Seconds to wait for an answer: a list of 100,000 tasks takes some."""

_FAILURES: Final = (b'"isError":true', b'"error":{"code"')
"""The parts of a failed call's answer; in the text of a task the quotes would be escaped."""

_CPU_CLOCK: Final = 2
"""The clock of a process that counts its running threads, ended ones too (Linux, ``CPUCLOCK_SCHED``)."""

_INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


class CallFailed(Exception):
    """A server answered a measured call with an error, or not at all, so its time says nothing."""


class Client(LineClient):
    """A server process and its pipes; every method that takes a line raises ``CallFailed`` if the call fails.

    Entering it greets the server as its era asks, lists its tools, and notes in ``greeting`` how many seconds after the
    start of the process each answer came, by method.
    """

    def __init__(
        self, command: tuple[str, ...], environment: Mapping[str, str] | None = None, era: Era = "legacy"
    ) -> None:
        self._spawned = time.perf_counter()
        self.greeting: dict[str, float] = {}
        # Compiling the sources is not what is measured, so what was compiled must be kept.
        super().__init__(era, command, {"PYTHONDONTWRITEBYTECODE": "", **(environment or {})})

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
        if self.era == "modern":
            self.greeting["server/discover"] = self.since_spawn(self.line("server/discover"))
        else:
            self.greeting["initialize"] = self.since_spawn(self.line("initialize", INITIALIZE))
        notice = b"" if self.era == "modern" else _INITIALIZED
        self.greeting["tools/list"] = self.since_spawn(notice + self.line("tools/list"))
        return self

    def since_spawn(self, line: bytes) -> float:
        """Return the seconds from the start of the process to the answer to ``line``."""
        answer = self.exchange(line)
        seconds = time.perf_counter() - self._spawned
        self._check(answer)
        return seconds

    def tool_line(self, tool: str, **arguments: JsonValue) -> bytes:
        """Return a call of a tool as a line."""
        return self.line("tools/call", {"name": tool, "arguments": arguments})

    def exchange(self, line: bytes) -> bytes:
        """Write ``line`` and return the answer, whatever it is."""
        self.write(line)
        chunks = [self._more()]
        while not chunks[-1].endswith(b"\n"):
            chunks.append(self._more())
        return b"".join(chunks)

    def seconds(self, line: bytes) -> float:
        """Return the seconds that the answer to ``line`` takes."""
        started = time.perf_counter()
        answer = self.exchange(line)
        seconds = time.perf_counter() - started
        self._check(answer)
        return seconds

    def stream(self, lines: Sequence[bytes], in_flight: int) -> float:
        """Return the seconds that the answers to all ``lines`` take when so many are always under way."""
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

    def _more(self) -> bytes:
        chunk = self._chunk(PATIENCE)
        if not chunk:
            raise CallFailed(self.log)
        return chunk

    def _check(self, answer: bytes) -> None:
        if any(failure in answer for failure in _FAILURES):
            raise CallFailed(answer[:500].decode(errors="replace"), self.log)

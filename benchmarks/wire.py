"""A client that measures: raw lines through pipes, times since the start of the process, processor time, memory.

What the client does between its clock readings is a few microseconds a call; answers are looked at afterwards.
"""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from pydantic import JsonValue
from typing_extensions import override

from tests.wire.line_client import INITIALIZE, Era, LineClient

__all__ = ["PATIENCE", "CallFailed", "Client", "cpu_of"]

PATIENCE: Final = 120.0
"""Seconds to wait for an answer: a list of 100,000 tasks takes some."""

_FAILURES: Final = (b'"isError":true', b'"error":{"code"')
"""What an answer holds when the call failed; in the text of a task the quotes would be escaped."""

_CPU_CLOCK: Final = 2
"""The clock of a process that counts what its threads, ended ones too, were running (Linux, ``CPUCLOCK_SCHED``)."""

_LEGACY_STEPS: Final = ("initialize", "tools/list")
_INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
_MODERN_STEPS: Final = ("server/discover", "tools/list")


class CallFailed(Exception):
    """A server answered a measured call with an error, or not at all, so its time says nothing."""


def cpu_of(pid: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    return time.clock_gettime((~pid << 3) | _CPU_CLOCK)


class Client(LineClient):
    """A server process and its pipes.

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
        return cpu_of(self.process.pid)

    @property
    def memory(self) -> int:
        """Bytes of memory that the server now has in use, shared libraries included."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text("ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    @override
    def __enter__(self) -> Self:
        self.greeting = self._greet()
        return self

    def since_spawn(self, line: bytes) -> float:
        """Return the seconds from the start of the process to the answer to ``line``.

        Raises:
            CallFailed: the answer is an error.
        """
        answer = self.exchange(line)
        seconds = time.perf_counter() - self._spawned
        self._check(answer)
        return seconds

    def tool_line(self, tool: str, **arguments: JsonValue) -> bytes:
        """Return a call of a tool as a line."""
        return self.line("tools/call", {"name": tool, "arguments": arguments})

    def exchange(self, line: bytes) -> bytes:
        """Write ``line`` and return the answer, whatever it is.

        Raises:
            CallFailed: the server has ended.
        """
        self.write(line)
        chunks = [self._more()]
        while not chunks[-1].endswith(b"\n"):
            chunks.append(self._more())
        return b"".join(chunks)

    def seconds(self, line: bytes) -> float:
        """Return how long the answer to ``line`` takes.

        Raises:
            CallFailed: the answer is an error.
        """
        started = time.perf_counter()
        answer = self.exchange(line)
        seconds = time.perf_counter() - started
        self._check(answer)
        return seconds

    def stream(self, lines: Sequence[bytes], in_flight: int) -> float:
        """Return how long the answers to all ``lines`` take when so many are always under way.

        Raises:
            CallFailed: one of the answers is an error.
        """
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

    def _greet(self) -> dict[str, float]:
        if self.era == "modern":
            return {step: self.since_spawn(self.line(step)) for step in _MODERN_STEPS}
        first, second = _LEGACY_STEPS
        found = {first: self.since_spawn(self.line(first, INITIALIZE))}
        found[second] = self.since_spawn(_INITIALIZED + self.line(second))
        return found

    def _check(self, answer: bytes) -> None:
        if any(failure in answer for failure in _FAILURES):
            raise CallFailed(answer[:500].decode(errors="replace"), self.log)

"""Runs programs, the only module that does: bounded in time and output, and no process outlives its call (CX-89).

Each program is the leader of a session of its own, so that what it starts ends with it: git that lost its leader would
go on, and leave ``index.lock`` behind.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, cast

from typing_extensions import override

__all__ = ["GRACE_SECONDS", "MAX_OUTPUT", "OutputTooLong", "ProgramResult", "ProgramRun", "Runner", "RunnerClosed"]

MAX_OUTPUT: Final = 8 * 1024 * 1024
"""Bytes that a program may write to stdout: 8 MiB (CX-88)."""

GRACE_SECONDS: Final = 3.0
"""Seconds from SIGTERM to SIGKILL (CX-89)."""

_DRAIN_SECONDS: Final = 2.0
"""Seconds after a program's end in which what it wrote is read, if another process holds its stdout open."""

_LOOK_SECONDS: Final = 0.05
"""Seconds between two checks whether a group has ended."""

_TAIL: Final = 4_096
"""Bytes at the end of stderr that are kept."""

_REAPER: Final = ("/bin/sh", "-c", 'sleep "$0"; kill -s KILL -- "-$1"', f"{GRACE_SECONDS:g}")
"""The command that ends a group of processes, whose number follows, if it does not end by itself."""


class OutputTooLong(Exception):
    """The program wrote more than ``MAX_OUTPUT`` bytes, and was ended."""


class RunnerClosed(Exception):
    """The server ends, and so do the programs."""


class ProgramRun(NamedTuple):
    """A program to run, by its absolute path and its arguments."""

    argv: Sequence[str]
    directory: Path
    environment: Mapping[str, str]
    seconds: float | None
    """Seconds after which the program is ended; None means never."""
    message: bytes | None = b""
    """Its input; None keeps stdin open until the program must end."""


class ProgramResult(NamedTuple):
    """End of a program: its exit code, negative for a signal, and what it wrote."""

    exit_code: int
    output: bytes
    stderr: str


class Runner:
    """Runs programs, any number at a time."""

    def __init__(self) -> None:
        self._running: set[_Process] = set()
        self._is_closed = False

    async def run(self, program: ProgramRun, take: Callable[[bytes], None] | None = None) -> ProgramResult:
        """Run a program to its end; ``take`` gets what it writes to stdout, which is then not kept.

        If this is cancelled, the program and what it started are ended before it returns.

        Raises:
            OSError: it cannot be started.
            TimeoutError: it did not end in time.
            OutputTooLong: it wrote too much.
            RunnerClosed: the server ends.
        """
        process = await self._start(program, take)
        try:
            await asyncio.wait_for(process.ended, program.seconds)
        except RunnerClosed:
            raise
        except BaseException:
            await process.terminate()
            raise
        finally:
            process.release()
            self._running.discard(process)
        return process.result()

    async def follow(self, program: ProgramRun) -> AsyncIterator[bytes]:
        """Yield each line that a program writes, as it comes; when nobody asks for more, the program is ended.

        Raises:
            OSError, RunnerClosed: as ``run`` does.
        """
        lines = asyncio.Queue[bytes | None]()
        rest = bytearray()

        def take(data: bytes) -> None:
            *whole, last = data.split(b"\n")
            for line in whole:
                lines.put_nowait(bytes(rest + line))
                rest.clear()
            rest.extend(last)
            del rest[MAX_OUTPUT:]  # a line without an end is not held

        # A separate task, so that nobody who leaves has to wait for its end.
        running = asyncio.create_task(self.run(program, take))
        running.add_done_callback(lambda _: lines.put_nowait(None))
        try:
            while (line := await lines.get()) is not None:
                yield line
            running.result()
        finally:
            running.cancel()

    def close(self) -> None:
        """End every program at once: its caller gets ``RunnerClosed``, and no more are started."""
        self._is_closed = True
        for process in self._running:
            process.abandon()

    async def _start(self, program: ProgramRun, take: Callable[[bytes], None] | None) -> "_Process":
        if self._is_closed:
            raise RunnerClosed
        process = _Process(take)
        loop = asyncio.get_running_loop()
        start = loop.subprocess_exec(
            lambda: process,
            *program.argv,
            stdin=asyncio.subprocess.DEVNULL if program.message == b"" else asyncio.subprocess.PIPE,
            cwd=program.directory,
            env=program.environment,
            start_new_session=True,
        )
        starting, is_cancelled = asyncio.ensure_future(start), False
        while not starting.done():
            try:
                await asyncio.wait([starting])
            except asyncio.CancelledError:
                is_cancelled = True  # but a start that is broken off may never return, or leave what was started
        starting.result()
        if is_cancelled or self._is_closed:
            process.abandon()
        if is_cancelled:
            process.release()
            raise asyncio.CancelledError
        self._running.add(process)
        if program.message:
            process.write(program.message)
        return process


class _Process(asyncio.SubprocessProtocol):
    """One program and the processes that it starts."""

    def __init__(self, take: Callable[[bytes], None] | None) -> None:
        self.ended = asyncio.get_running_loop().create_future()
        """Done once the program has ended and its output is read; it may have an error of ``Runner.run``."""
        self._handle = take
        self._output = bytearray()
        self._stderr = bytearray()
        self._is_abandoned = False
        self._transport: asyncio.SubprocessTransport

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    @override
    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._stderr = (self._stderr + data)[-_TAIL:]
        elif self._handle:
            self._handle(data)
        elif len(self._output) + len(data) <= MAX_OUTPUT:
            self._output += data
        else:
            self._fail(OutputTooLong())

    @override
    def process_exited(self) -> None:
        asyncio.get_running_loop().call_later(_DRAIN_SECONDS, self._finish)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._finish()

    def write(self, message: bytes) -> None:
        """Write all that the program gets on stdin."""
        stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        stdin.write(message)
        stdin.close()

    def result(self) -> ProgramResult:
        """Return how it ended."""
        code = self._transport.get_returncode() or 0
        return ProgramResult(code, bytes(self._output), self._stderr.decode("utf-8", "replace"))

    async def terminate(self) -> None:
        """End the program and what it started: by SIGTERM, and by SIGKILL what is left after the grace."""
        self._signal(signal.SIGTERM)
        try:
            await self._wait_while(lambda: self._is_running() or self._signal(0))
            if self._signal(signal.SIGKILL):
                await self._wait_while(self._is_running)
        except asyncio.CancelledError:  # the event loop ends
            self.abandon()
            raise

    async def _wait_while(self, is_needed: Callable[[], bool]) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + GRACE_SECONDS
        while is_needed() and loop.time() < end:  # noqa: ASYNC110 - no event says when a group has ended
            await asyncio.sleep(_LOOK_SECONDS)

    def abandon(self) -> None:
        """Do the same without waiting: another process sees to the end, for this one may be gone by then."""
        if self._is_abandoned:
            return
        self._is_abandoned = True
        self._fail(RunnerClosed())
        is_there = self._signal(signal.SIGTERM)
        # asyncio would kill the leader at once, if it did not take it for ended.
        self._transport.get_extra_info("subprocess").returncode = 0
        if is_there and sys.platform != "win32":
            nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
            os.posix_spawn(
                _REAPER[0], [*_REAPER, str(self._transport.get_pid())], os.environ, file_actions=nothing, setsid=True
            )

    def release(self) -> None:
        """Close the pipes."""
        self._transport.close()

    def _finish(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def _fail(self, error: Exception) -> None:
        if not self.ended.done():
            self.ended.set_exception(error)

    def _is_running(self) -> bool:
        return self._transport.get_returncode() is None

    def _signal(self, number: int) -> bool:
        """Send a signal to the program and what it started, and return whether there still is any."""
        if sys.platform == "win32":  # pragma: no cover - there are no groups, and only one way to end a process
            self._transport.kill()
            return False
        try:
            os.killpg(self._transport.get_pid(), number)
        except (ProcessLookupError, PermissionError):  # macOS refuses to signal what is only waited for
            return False
        return True

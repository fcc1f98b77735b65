"""Runs programs, the only module that does: bounded in time and output, and no process outlives its call (CX-89).

Each program is the leader of a session of its own, so that what it starts ends with it: git that lost its leader would
go on, and leave ``index.lock`` behind. A guard beside it ends the session when the call is broken off, and also when
this process is killed.
"""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple, TypeVar, cast

from cortex_mcp.errors import RunnerClosed

__all__ = ["MAX_OUTPUT", "OutputTooLong", "ProgramResult", "ProgramRun", "Runner"]

ResultT = TypeVar("ResultT")

MAX_OUTPUT: Final = 8 * 1024 * 1024
"""Bytes that a program may write to stdout: 8 MiB (CX-88)."""

_DRAIN_SECONDS: Final = 2.0
"""Seconds after a program's end in which what it wrote is read, if another process holds its stdout open."""

_CHUNK: Final = 64 * 1024

_TAIL: Final = 4_096
"""Bytes at the end of stderr that are kept."""

_GUARD: Final = """
read -r group || exit
read -r _ && exit
kill -s TERM -- "-$group"
count=0
while [ $count -lt 30 ] && kill -s 0 -- "-$group"; do sleep 0.1; count=$((count + 1)); done
kill -s KILL -- "-$group"
"""
"""The script of a guard: the first line that it reads names the session; the next one dismisses it.

If its input ends without that, the session gets SIGTERM, and after three seconds SIGKILL.
"""


class OutputTooLong(Exception):
    """The program wrote more than ``MAX_OUTPUT`` bytes, and was ended."""


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

    async def run(self, program: ProgramRun) -> ProgramResult:
        """Run a program to its end.

        If this is cancelled, the program and what it started are ended before it returns.

        Raises:
            OSError: it cannot be started.
            TimeoutError: it did not end in time.
            OutputTooLong: it wrote too much.
            RunnerClosed: the server ends.
        """
        process = self._start(program)
        ended = process.ended = _in_thread(process.communicate)
        try:
            async with asyncio.timeout(program.seconds):
                await asyncio.wait([ended])
        except BaseException:  # a cancellation too: end the process, then raise again
            process.end()
            await asyncio.wait([ended])
            raise
        finally:
            self._running.discard(process)
        result = ended.result()
        if len(result.output) > MAX_OUTPUT:
            raise OutputTooLong
        return result

    async def follow(self, program: ProgramRun) -> AsyncIterator[bytes]:
        """Yield each line that a program writes, read when it is asked for; whoever leaves ends the program.

        Raises:
            OSError, RunnerClosed: as ``run`` does.
        """
        process = self._start(program)
        try:
            while line := await _in_thread(process.read_line):
                yield line
        finally:
            process.end()
            _in_thread(process.communicate)  # whoever leaves does not wait for the end
            self._running.discard(process)

    def close(self) -> None:
        """End every program: its caller gets ``RunnerClosed`` at once, and no more are started."""
        self._is_closed = True
        for process in self._running:
            process.end()
            if process.ended is not None and not process.ended.done():
                process.ended.set_exception(RunnerClosed())

    def _start(self, program: ProgramRun) -> "_Process":
        if self._is_closed:
            raise RunnerClosed
        process = _Process(program)
        self._running.add(process)
        return process


class _Process:
    """One program with its guard; raises ``OSError`` if it cannot be started."""

    def __init__(self, program: ProgramRun) -> None:
        self.ended: asyncio.Future[ProgramResult] | None = None
        self._message = program.message or b""
        self._output = bytearray()
        self._stderr = bytearray()
        self._guard = None if sys.platform == "win32" else _start_guard()
        try:
            self._program = subprocess.Popen(  # noqa: S603 - a list of arguments, which no shell reads
                program.argv,
                bufsize=0,
                stdin=subprocess.DEVNULL if program.message == b"" else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=program.directory,
                env=program.environment,
                start_new_session=True,
            )
        except BaseException:  # KeyboardInterrupt too: end the guard, which has nothing to guard, then raise again
            self._dismiss_guard()
            raise
        self._tell_guard(b"%d\n" % self._program.pid)
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()

    def read_line(self) -> bytes:
        """Return the next line of the output, or nothing at its end."""
        return cast("IO[bytes]", self._program.stdout).readline(MAX_OUTPUT)

    def communicate(self) -> ProgramResult:
        """Feed the program and return how it ended, once its guard has ended too."""
        reader = threading.Thread(target=self._read_output, daemon=True)
        reader.start()
        if self._program.stdin is not None:
            with suppress(OSError), self._program.stdin as stdin:
                stdin.write(self._message)
        code = self._program.wait()
        reader.join(_DRAIN_SECONDS)
        self._reader.join(0 if reader.is_alive() else _DRAIN_SECONDS)
        self._dismiss_guard()
        return ProgramResult(code, bytes(self._output), self._stderr.decode("utf-8", "replace"))

    def end(self) -> None:
        """Let the guard end the program and what it started; this returns at once."""
        if self._guard is not None:
            cast("IO[bytes]", self._guard.stdin).close()
        else:  # pragma: no cover - Windows, where there are no sessions
            self._program.kill()

    def _tell_guard(self, line: bytes) -> None:
        if self._guard is None:  # pragma: no cover - Windows, which has no guard
            return
        with suppress(OSError, ValueError):  # it has been let loose
            cast("IO[bytes]", self._guard.stdin).write(line)

    def _dismiss_guard(self) -> None:
        if self._guard is None:  # pragma: no cover - Windows, which has no guard
            return
        self._tell_guard(b"\n")
        cast("IO[bytes]", self._guard.stdin).close()
        self._guard.wait()

    def _read_output(self) -> None:
        with cast("IO[bytes]", self._program.stdout) as pipe:
            while data := pipe.read(_CHUNK):
                self._output += data
                if len(self._output) > MAX_OUTPUT:
                    self.end()
                    break

    def _read_errors(self) -> None:
        with cast("IO[bytes]", self._program.stderr) as pipe:
            while data := pipe.read(_CHUNK):
                self._stderr = (self._stderr + data)[-_TAIL:]


def _start_guard() -> subprocess.Popen[bytes]:
    nothing = subprocess.DEVNULL
    return subprocess.Popen(  # noqa: S603 - no shell but this one
        ["/bin/sh", "-c", _GUARD],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=nothing,
        stderr=nothing,
        start_new_session=True,
    )


def _in_thread(work: Callable[[], ResultT]) -> "asyncio.Future[ResultT]":
    """Do what blocks in a thread that neither the end of the event loop nor that of this process waits for."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def settle(result: ResultT) -> None:
        if not future.done():
            future.set_result(result)

    def run() -> None:
        result = work()
        with suppress(RuntimeError):  # the event loop has ended
            loop.call_soon_threadsafe(settle, result)

    threading.Thread(target=run, daemon=True).start()
    return future

"""One process, from its start to the end of everything that it started: the only place that imports ``subprocess``."""

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import IO, Final, cast

from cortex_cli.errors import TimedOut

__all__ = ["GRACE_SECONDS", "ChildProcess"]

_OUTPUT_BYTES: Final = 8 * 1024 * 1024
"""Bytes of standard output that are read at most."""

_ERROR_BYTES: Final = 64 * 1024
"""Bytes of the end of standard error that are kept."""

_CHUNK: Final = 64 * 1024

GRACE_SECONDS: Final = 1.0
"""Seconds in which git may end what it does, since a checkout that is cut short leaves files that nobody changed, and
again between SIGTERM, after which git removes its lock files, and SIGKILL; twice this is less than 3."""

_POLL_SECONDS: Final = 0.5
"""Seconds between two checks whether a process has ended while one that it started keeps its output open."""

_ENDING: Final = (signal.SIGTERM, signal.SIGINT)


class ChildProcess:
    """A running process with pipes; without ``has_terminal`` it is in a session of its own.

    Such a session has no terminal to ask on, and can be ended as a whole, with ``grace`` seconds before each signal.
    Raise ``OSError`` if there is no such program or directory, ``ValueError`` if an argument has a NUL.
    """

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        *,
        has_terminal: bool = False,
        grace: float = GRACE_SECONDS,
    ) -> None:
        self._has_terminal = has_terminal
        self._grace = grace
        with _signals_kept() as self._signals:
            self._process = subprocess.Popen(  # noqa: S603 - no shell
                command,
                cwd=directory,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=not has_terminal,
            )

    def communicate(self, stdin: bytes, seconds: float) -> tuple[int, bytes, bytes]:
        """Feed the process; return its exit code (negative: the signal), its output, and the end of standard error.

        End it, and raise ``TimedOut`` if it takes longer than ``seconds``, ``ValueError`` if it writes more than 8 MiB.
        """
        try:
            for number in self._signals:
                signal.raise_signal(number)
            out, err = self._exchange(stdin, time.monotonic() + seconds)
            self._process.wait(seconds if seconds < inf else None)
        except subprocess.TimeoutExpired:
            self._stop()
            raise TimedOut(round(seconds, 1)) from None
        except BaseException:
            self._stop()
            raise
        finally:
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                cast("IO[bytes]", pipe).close()
        return self._process.returncode, out, err

    def _exchange(self, stdin: bytes, end: float) -> tuple[bytes, bytes]:
        out, err, waiting = bytearray(), bytearray(), memoryview(stdin)
        pipe = cast("IO[bytes]", self._process.stdin)
        os.set_blocking(pipe.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(cast("IO[bytes]", self._process.stdout), selectors.EVENT_READ, out)
            selector.register(cast("IO[bytes]", self._process.stderr), selectors.EVENT_READ, err)
            selector.register(pipe, selectors.EVENT_WRITE)
            while selector.get_map():
                if time.monotonic() >= end:
                    raise subprocess.TimeoutExpired("git", 0)
                ready = selector.select(min(end - time.monotonic(), _POLL_SECONDS))
                if not ready and self._process.poll() is not None:
                    break  # what is left in the background, such as a credential cache, keeps the output open
                for key, _ in ready:
                    if key.data is None:
                        waiting = waiting[_write(key.fd, waiting) :]
                        is_done = not waiting
                    else:
                        data = os.read(key.fd, _CHUNK)
                        key.data.extend(data)
                        is_done = not data
                    if is_done:
                        selector.unregister(key.fileobj)
                        cast("IO[bytes]", key.fileobj).close()
                del err[:-_ERROR_BYTES]
                if len(out) > _OUTPUT_BYTES:
                    raise ValueError("more than 8 MiB of output")
        return bytes(out), bytes(err)

    def _stop(self) -> None:
        """Let the process and whatever it started end, then end them by SIGTERM, then by SIGKILL."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            end = time.monotonic() + self._grace
            while time.monotonic() < end and not self._has_ended():
                time.sleep(0.01)
            self._send(number)
        self._process.wait()

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if self._has_terminal:
                self._process.send_signal(number)
            else:
                os.killpg(self._process.pid, number)

    def _has_ended(self) -> bool:
        if self._process.poll() is None:
            return False
        with suppress(ProcessLookupError, PermissionError):
            if not self._has_terminal:
                os.killpg(self._process.pid, 0)
                return False  # what it started goes on
        return True


@contextmanager
def _signals_kept() -> Iterator[list[int]]:
    """Yield a list of the ending signals that come during the block: what is being started could not be ended."""
    arrived: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield arrived
        return
    handlers = {
        number: signal.signal(number, lambda number, _frame: arrived.append(number))
        for number in _ENDING
        if callable(signal.getsignal(number))
    }
    try:
        yield arrived
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _write(descriptor: int, data: memoryview) -> int:
    """Return how many bytes were written; all of them when nobody reads any more."""
    try:
        return os.write(descriptor, data[:_CHUNK])
    except BrokenPipeError:
        return len(data)

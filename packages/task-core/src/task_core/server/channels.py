"""Bytes in and out of a file descriptor without ever blocking the event loop, and the signals that end a process."""

import os
import select
import signal
import stat
import sys
from typing import Final

import anyio
import anyio.to_thread

__all__ = ["WAITERS", "Channel", "claim_standard_streams", "stop_signal"]

WAITERS: Final = 0.2
"""Seconds that calls waiting for the store get at the end to answer that they gave up (CLI-5, P3)."""

_READ_SIZE: Final = 65_536
"""Bytes that are read at a time: the capacity of a pipe on Linux."""


class Channel:
    """One end of a pipe or socket, or a terminal; it is watched if the system can do that, else threads wait for it.

    A watched descriptor stays in blocking mode: non-blocking mode belongs to the open file, which a parent or a shell
    may share, and would outlive this process. Poll announces room for ``PIPE_BUF`` bytes, so as many are written.
    """

    def __init__(self, descriptor: int) -> None:
        mode = os.fstat(descriptor).st_mode
        is_watchable = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
        self._is_watched = is_watchable and os.name == "posix"
        self._descriptor = descriptor
        # Its own limiter: calls that wait for the store must not keep the next line from being read.
        self._thread = anyio.CapacityLimiter(1)

    async def read(self) -> bytes:
        """Return some bytes, or none at the end."""
        if not self._is_watched:
            return await anyio.to_thread.run_sync(
                os.read, self._descriptor, _READ_SIZE, limiter=self._thread, abandon_on_cancel=True
            )
        await anyio.wait_readable(self._descriptor)
        try:
            return os.read(self._descriptor, _READ_SIZE)
        except OSError:
            return b""

    async def write(self, data: bytes) -> None:
        """Write all of ``data``; an ``OSError`` means that nobody reads it any more."""
        rest = memoryview(data)
        while rest:
            if self._is_watched:
                if not self._has(select.POLLOUT):
                    await anyio.wait_writable(self._descriptor)
                written = os.write(self._descriptor, rest[: select.PIPE_BUF])
            else:
                written = await anyio.to_thread.run_sync(
                    os.write, self._descriptor, rest, limiter=self._thread, abandon_on_cancel=True
                )
            rest = rest[written:]

    async def closed(self) -> None:
        """Return once nobody reads what is written here any more; unless the descriptor is watched, never return."""
        if self._is_watched:
            await anyio.wait_readable(self._descriptor)
        if not (self._is_watched and self._has(0)):
            await anyio.sleep_forever()  # it was input, on a socket or terminal that goes both ways

    def _has(self, events: int) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, events)
        return bool(poll.poll(0))


def claim_standard_streams() -> tuple[int, int]:
    """Return stdin and stdout under new numbers, which only the caller knows (CLI-4).

    From then on descriptor 0 reads as empty, and whatever writes to 1, such as ``print``, writes to stderr.
    This is not undone: what libraries still hold in buffers when the process ends must not reach the client.
    """
    source, sink = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return source, sink


async def stop_signal() -> None:
    """Return once the process has received SIGTERM, SIGINT or SIGHUP; on Windows, never."""
    if sys.platform == "win32":  # pragma: no cover - SIGINT ends the event loop there, the others do not exist
        await anyio.sleep_forever()
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        await anext(aiter(signals))

"""Bytes in and out of a file descriptor without ever blocking the event loop."""

from __future__ import annotations

import os
import select
import stat
from typing import Final, Protocol

import anyio
import anyio.to_thread

__all__ = ["Channel", "channel", "claim_standard_streams"]

_READ_SIZE: Final = 65_536
"""Bytes that are read at a time: what a pipe holds on Linux."""


class Channel(Protocol):
    """One end of a pipe or socket, a terminal, or a file."""

    async def read(self) -> bytes:
        """Return some bytes; none when there are no more."""

    async def write(self, data: bytes) -> None:
        """Write all of ``data``.

        Raises:
            OSError: nobody reads it any more.
        """

    async def closed(self) -> None:
        """Return when nobody reads what is written here any more."""


def channel(descriptor: int) -> Channel:
    """Return the channel for what ``descriptor`` is: watched where the system can do so, else served by threads."""
    mode = os.fstat(descriptor).st_mode
    is_watchable = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
    return _WatchedChannel(descriptor) if is_watchable and os.name == "posix" else _ThreadChannel(descriptor)


class _WatchedChannel:
    """Reads and writes only when the system says that it will not block.

    The descriptor stays in blocking mode: the other mode belongs to the open file, which a parent or a shell may
    share, and would outlive this process. At most ``PIPE_BUF`` bytes are announced by poll, so as many are written.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_writable = _poll(descriptor, select.POLLOUT)
        self._is_broken = _poll(descriptor, 0)

    async def read(self) -> bytes:
        await anyio.wait_readable(self._descriptor)
        try:
            return os.read(self._descriptor, _READ_SIZE)
        except OSError:
            return b""

    async def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            if not self._is_writable.poll(0):
                await anyio.wait_writable(self._descriptor)
            rest = rest[os.write(self._descriptor, rest[: select.PIPE_BUF]) :]

    async def closed(self) -> None:
        await anyio.wait_readable(self._descriptor)
        if not self._is_broken.poll(0):
            await anyio.sleep_forever()  # it was input, on a socket or terminal that goes both ways


def _poll(descriptor: int, events: int) -> select.poll:
    poll = select.poll()
    poll.register(descriptor, events)
    return poll


class _ThreadChannel:
    """Lets a thread wait, which is given up when the wait is cancelled."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        # A limiter of its own: calls that wait for the store must not keep the next line from being read.
        self._thread = anyio.CapacityLimiter(1)

    async def read(self) -> bytes:
        return await anyio.to_thread.run_sync(
            os.read, self._descriptor, _READ_SIZE, limiter=self._thread, abandon_on_cancel=True
        )

    async def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            written = await anyio.to_thread.run_sync(
                os.write, self._descriptor, rest, limiter=self._thread, abandon_on_cancel=True
            )
            rest = rest[written:]

    async def closed(self) -> None:
        await anyio.sleep_forever()


def claim_standard_streams() -> tuple[int, int]:
    """Return stdin and stdout under new numbers, which only their caller knows (CLI-4).

    From then on whatever reads descriptor 0 finds it empty, and whatever writes to 1, such as ``print``, writes to
    stderr. This is not undone: what libraries still hold in buffers when the process ends must not reach the client.
    """
    source, sink = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return source, sink

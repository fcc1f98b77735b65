"""What is done with open files, by their descriptors."""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final

__all__ = [
    "NEW_FLAGS",
    "READ_FLAGS",
    "NotRegularFile",
    "close",
    "closing_last",
    "drop",
    "give",
    "open_new",
    "regular",
    "sync",
    "unlink",
    "write_all",
]

_PRIVATE: Final = 0o600
"""Mode of every file made here (S4)."""

NEW_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""For files made here: never inherited, never through a planted link."""

READ_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
"""For reading: a FIFO does not hang (L1)."""


_MOST_PIECES: Final = 64
"""Pieces that the system is given at a time: more brings hardly more, and some systems take no more than 1,024."""


class _Dropped(threading.local):
    """What a thread has dropped and not closed yet; None where it closes at once."""

    waiting: list[int] | None = None


_dropped: Final = _Dropped()


class NotRegularFile(OSError):
    """The path names a folder, a FIFO, a device or a socket."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


def open_new(path: str | Path) -> int:
    """Make a file that its owner alone may read and write, whatever the umask, and open it (S4).

    Raises:
        OSError: ``path`` is taken, or nothing was made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | NEW_FLAGS, _PRIVATE)
    try:
        if sys.platform != "win32":
            os.fchmod(descriptor, _PRIVATE)
    except BaseException:
        close(descriptor)
        unlink(path)
        raise
    return descriptor


def regular(status: os.stat_result) -> os.stat_result:
    """Return ``status``, which must be of a regular file.

    Raises:
        NotRegularFile: it is of something else.
    """
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFile
    return status


def give(descriptor: int, owner: int, group: int) -> None:
    """Give the file to ``owner`` and ``group``, as far as this process may."""
    # Only root may give a file away; anybody else can still keep a group that he is in.
    with suppress(PermissionError):
        try:
            os.fchown(descriptor, owner, group)
        except PermissionError:
            os.fchown(descriptor, -1, group)


def close(descriptor: int) -> None:
    """Close ``descriptor``, whatever the system says to it."""
    # The descriptor is gone even when this fails, and what must last was synced before.
    with suppress(OSError):
        os.close(descriptor)


def unlink(path: str | Path) -> bool:
    """Remove the file at ``path``, and return whether it could be."""
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def drop(descriptor: int) -> None:
    """Close ``descriptor``, at the end of the block of ``closing_last`` where this thread is in one."""
    if _dropped.waiting is None:
        close(descriptor)
    else:
        _dropped.waiting.append(descriptor)


@contextmanager
def closing_last() -> Iterator[None]:
    """Close the files that this thread drops in the block at its end: to close a replaced file deletes its content."""
    outer, waiting = _dropped.waiting, list[int]()
    _dropped.waiting = waiting
    try:
        yield
    finally:
        _dropped.waiting = outer
        for descriptor in waiting:
            close(descriptor)


def write_all(descriptor: int, pieces: Iterable[bytes]) -> None:
    """Write all of ``pieces``, in as many steps as the system needs.

    As many as may be go out together: the more the system is given at a time, the less it takes to write and to sync.
    """
    waiting = iter(pieces)
    while together := list(islice(waiting, _MOST_PIECES)):
        # Windows takes only one at a time.
        written = os.writev(descriptor, together) if sys.platform != "win32" else 0
        if written < sum(map(len, together)):
            rest = memoryview(b"".join(together))[written:]
            while rest:
                rest = rest[os.write(descriptor, rest) :]


def sync(descriptor: int) -> None:
    """Make what was written durable, in the drive too (D1)."""
    _full_sync()(descriptor)


def _full_sync() -> Callable[[int], object]:
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415 - not on Windows

        # fsync of macOS leaves the data in the drive's cache (D1).
        return lambda descriptor: fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    return os.fsync

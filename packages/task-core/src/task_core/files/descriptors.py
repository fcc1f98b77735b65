"""What is done with open files, by their descriptors."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

__all__ = ["NEW_FLAGS", "PRIVATE", "READ_FLAGS", "NotRegularFile", "close", "give", "regular", "sync", "write_all"]

PRIVATE: Final = 0o600
"""Mode of every file made here (S4)."""

NEW_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""For files made here: never inherited, never through a planted link."""

READ_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
"""For reading: a FIFO does not hang (L1)."""


class NotRegularFile(OSError):
    """The path names a folder, a FIFO, a device or a socket."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


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


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data``, in as many steps as the system needs."""
    rest = memoryview(data)
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

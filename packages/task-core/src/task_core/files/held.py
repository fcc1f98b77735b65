"""Files that are held open, and what tells one state of a file from another (D7)."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from task_core.files.descriptors import READ_FLAGS, close, drop, give, regular, sync, write_all

__all__ = ["FileIdentity", "HeldFile", "describe", "identify", "identity_of", "open_held", "read_file"]


class FileIdentity(NamedTuple):
    """What tells one state of a file from another (D7)."""

    device: int
    inode: int
    size: int
    """bytes"""
    mtime_ns: int
    """nanoseconds since 1970 in UTC"""


def identity_of(status: os.stat_result) -> FileIdentity:
    """Return the identity of the file that ``status`` is of."""
    return FileIdentity(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


class HeldFile:
    """An open file whose inode cannot be given to another file while it is held.

    Without that, a file that replaced it could come to have the same identity within one tick of the clock.
    Windows refuses to replace an open file, so there it is let go as soon as it is read or written.
    """

    identity: FileIdentity
    """The state that was last read or written here."""

    def __init__(self, descriptor: int) -> None:
        """Take over ``descriptor``."""
        self._descriptor = descriptor

    def read(self) -> bytes:
        """Return the whole content and note the identity that it was read under.

        Raises:
            NotRegularFile: it is open on something else.
        """
        self.identity = identity_of(regular(os.fstat(self._descriptor)))
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        chunks = []
        while chunk := os.read(self._descriptor, self.identity.size + 1):
            chunks.append(chunk)
        if sys.platform == "win32":
            self.let_go()
        return b"".join(chunks)

    def write(self, data: bytes | Iterable[bytes], *, fsync: bool) -> None:
        """Append ``data``, make it durable when ``fsync`` is set, and note the identity that it was written under."""
        write_all(self._descriptor, (data,) if isinstance(data, bytes) else data)
        if fsync:
            sync(self._descriptor)
        self.identity = identity_of(os.fstat(self._descriptor))

    def take_access_of(self, old: os.stat_result) -> None:
        """Give this file the mode and owner of an ``old`` one."""
        if sys.platform == "win32":
            return
        new = os.fstat(self._descriptor)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            give(self._descriptor, old.st_uid, old.st_gid)
        os.fchmod(self._descriptor, stat.S_IMODE(old.st_mode))

    def let_go(self) -> None:
        """Close the file; its identity stays known."""
        self._let_go(close)

    def __del__(self) -> None:
        self._let_go(drop)

    def _let_go(self, shut: Callable[[int], None]) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            shut(descriptor)


def describe(error: OSError) -> str:
    """Return the cause of ``error`` in a few words, without a path (ERR-1)."""
    name = errno.errorcode.get(error.errno or 0, "")
    text = error.strerror or type(error).__name__
    return f"{text} [{name}]" if name else text


def identify(path: Path) -> FileIdentity | None:
    """Return the identity of the file at ``path``, through links, or None when there is none.

    Raises:
        OSError: it cannot be asked for.
    """
    try:
        return identity_of(os.stat(path))
    except FileNotFoundError:
        return None


def open_held(path: Path) -> HeldFile:
    """Open the file at ``path`` for reading and hold it.

    Raises:
        OSError: it is not there or cannot be opened.
    """
    return HeldFile(os.open(path, READ_FLAGS))


def read_file(path: Path) -> tuple[bytes, FileIdentity]:
    """Return the content of the regular file at ``path`` and the identity that it was read under.

    Raises:
        NotRegularFile: it is something else.
        OSError: it is not there or cannot be read.
    """
    held = open_held(path)
    try:
        return held.read(), held.identity
    finally:
        held.let_go()

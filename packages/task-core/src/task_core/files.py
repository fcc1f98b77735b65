"""Open files, and the identity that tells one state of a file from another; stores and mirrors share both (D7)."""

import errno
import os
import stat
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

__all__ = [
    "NEW_FLAGS",
    "FileIdentity",
    "HeldFile",
    "NotRegularFile",
    "close",
    "describe",
    "identify",
    "identity_of",
    "open_held",
    "open_new",
    "read_file",
    "regular",
    "write_all",
]

NEW_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""Flags to create a file: child processes do not inherit it, and a planted link is not followed."""

_READ_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags to read a file: opening a FIFO does not hang (L1)."""


class NotRegularFile(OSError):
    """The path names a folder, a FIFO, a device or a socket."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


class FileIdentity(NamedTuple):
    """What tells one state of a file from another (D7)."""

    device: int
    inode: int
    size: int
    """bytes"""
    mtime_ns: int
    """nanoseconds since 1970 in UTC"""


class HeldFile:
    """An open file whose inode cannot be given to another file while it is held.

    Otherwise a file that replaces it could get the same identity within one tick of the clock.
    Windows refuses to replace an open file, so there it is closed as soon as it is read or written.
    """

    identity: FileIdentity
    """The state that was last read or written through this object."""

    def __init__(self, descriptor: int) -> None:
        """Take over ``descriptor``."""
        self._descriptor = descriptor
        self._close = weakref.finalize(self, close, descriptor)  # once, and also when a store is dropped without close

    def read(self) -> bytes:
        """Return the whole content of a regular file, and note the identity that it was read under."""
        self.identity = identity_of(regular(os.fstat(self._descriptor)))
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        chunks = []
        while chunk := os.read(self._descriptor, self.identity.size + 1):
            chunks.append(chunk)
        if sys.platform == "win32":
            self.close()
        return b"".join(chunks)

    def write(self, data: bytes, *, fsync: bool) -> None:
        """Append ``data``, make it durable when ``fsync`` is set, and note the identity that it was written under."""
        write_all(self._descriptor, data, fsync=fsync)
        self.identity = identity_of(os.fstat(self._descriptor))

    def read_only(self, path: str | Path) -> Self:
        """Return this file, which is at ``path``, opened for reading only, so that others may take a lease on it."""
        held = type(self)(os.open(path, _READ_FLAGS))
        held.identity = self.identity
        self.close()
        if sys.platform == "win32":
            held.close()
        return held

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def take_access_of(self, old: os.stat_result) -> None:
        """Give this file the mode of an ``old`` one, and its owner and group as far as this process is allowed to."""
        if sys.platform == "win32":
            return
        new = os.fstat(self._descriptor)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            # Only root may give a file away; any other user can still keep a group that they belong to.
            with suppress(PermissionError):
                os.fchown(self._descriptor, old.st_uid if os.geteuid() == 0 else -1, old.st_gid)
        os.fchmod(self._descriptor, stat.S_IMODE(old.st_mode))

    def close(self) -> None:
        """Close the file; its identity stays known."""
        self._close()


def describe(error: OSError) -> str:
    """Return the cause of ``error`` in a few words, without a path (ERR-1)."""
    name = errno.errorcode.get(error.errno or 0, "")
    text = error.strerror or type(error).__name__
    return f"{text} [{name}]" if name else text


def identity_of(status: os.stat_result) -> FileIdentity:
    """Return the identity of the file with this ``status``."""
    return FileIdentity(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def identify(path: Path) -> FileIdentity | None:
    """Return the identity of the file at ``path``, following links, or None if it does not exist."""
    try:
        return identity_of(os.stat(path))
    except FileNotFoundError:
        return None


def regular(status: os.stat_result) -> os.stat_result:
    """Return ``status`` if it is of a regular file, else raise ``NotRegularFile``."""
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFile
    return status


def open_held(path: Path) -> HeldFile:
    """Open the file at ``path`` for reading and hold it."""
    return HeldFile(os.open(path, _READ_FLAGS))


def open_new(path: str | Path) -> int:
    """Create and open a new file that only its owner may read and write (S4)."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | NEW_FLAGS, 0o600)


def close(descriptor: int) -> None:
    """Close ``descriptor`` and ignore errors."""
    # The descriptor is gone even if this fails, and whatever must last was synced before.
    with suppress(OSError):
        os.close(descriptor)


def read_file(path: Path) -> tuple[bytes, FileIdentity]:
    """Return the content of the regular file at ``path`` and the identity that it was read under."""
    held = open_held(path)
    try:
        return held.read(), held.identity
    finally:
        held.close()


def write_all(descriptor: int, data: bytes, *, fsync: bool) -> None:
    """Write all of ``data``, and make it durable, in the drive too, when ``fsync`` is set (D1)."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    if not fsync:
        return
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415 - it does not exist on Windows

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # fsync of macOS leaves the data in the drive's cache (D1)
    else:
        os.fsync(descriptor)

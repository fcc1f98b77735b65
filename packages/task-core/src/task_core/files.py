"""Open files, the identity of one state of a file (D7), and locks between processes (C1, C3)."""

import errno
import os
import random
import stat
import sys
import threading
import time
import weakref
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Self

from filelock import lock_descriptor, unlock_descriptor

from task_core.errors import StoreLocked, StoreWriteFailed

__all__ = [
    "LOCK_SECONDS",
    "NEW_FLAGS",
    "READ_FLAGS",
    "FileIdentity",
    "HeldFile",
    "NotRegularFile",
    "ProcessLock",
    "Wait",
    "close",
    "describe",
    "identify",
    "identity_of",
    "open_held",
    "open_new",
    "read_file",
    "require_regular",
    "write_all",
]

NEW_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""Flags to create a file: child processes do not inherit it, and a planted link is not followed."""

READ_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags to read a file: opening a FIFO does not hang (L1)."""

LOCK_SECONDS: Final = 10.0
"""Seconds that a transaction waits for others before it gives up (C2)."""

_POLL_SECONDS: Final = (0.001, 0.004)
"""Bounds of the random pause between two attempts, in seconds: short enough to be fair, long enough to be cheap."""


class NotRegularFile(OSError):
    """The path names a folder, a FIFO, a device or a socket."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


class FileIdentity(NamedTuple):
    """The values that distinguish one state of a file from another (D7)."""

    device: int
    inode: int
    size: int
    """bytes"""
    mtime_ns: int
    """nanoseconds since 1970 in UTC"""


class HeldFile:
    """An open file: while it is held, no other can get its inode and identity. On Windows it is closed at once."""

    identity: FileIdentity
    """The state that was last read or written through this object."""
    left_behind = False
    """True if the file that this one replaced still has a temporary name."""

    def __init__(self, descriptor: int) -> None:
        """Take over ``descriptor``."""
        self._descriptor = descriptor
        self._close = weakref.finalize(self, close, descriptor)  # once, and also when a store is dropped without close

    def read(self) -> bytes:
        """Return the whole content of a regular file, and note the identity that it was read under."""
        self.identity = identity_of(require_regular(os.fstat(self._descriptor)))
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        chunks = [*iter(partial(os.read, self._descriptor, self.identity.size + 1), b"")]
        if sys.platform == "win32":
            self.close()
        return b"".join(chunks)

    def write(self, data: bytes, *, fsync: bool) -> None:
        """Append ``data``, make it durable when ``fsync`` is set, and note the identity that it was written under."""
        write_all(self._descriptor, data, fsync=fsync)
        self.identity = identity_of(os.fstat(self._descriptor))

    def read_only(self, path: str | Path) -> Self:
        """Return this file, which is at ``path``, opened for reading only, so that others may take a lease on it."""
        held = type(self)(os.open(path, READ_FLAGS))
        held.identity = self.identity
        self.close()
        if sys.platform == "win32":
            held.close()
        return held

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def take_access_of(self, old: os.stat_result) -> None:
        """Give this file the mode of an ``old`` file or folder, and its owner and group as far as that is allowed."""
        if sys.platform == "win32":
            return
        new = os.fstat(self._descriptor)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            # Only root may give a file away; any other user can still keep a group that they belong to.
            with suppress(PermissionError):
                os.fchown(self._descriptor, old.st_uid if os.geteuid() == 0 else -1, old.st_gid)
        # A folder may be open for everyone to write, as /tmp is; what is in it need not be.
        os.fchmod(self._descriptor, stat.S_IMODE(old.st_mode) & (0o664 if stat.S_ISDIR(old.st_mode) else 0o7777))

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


def require_regular(status: os.stat_result) -> os.stat_result:
    """Return ``status`` if it is of a regular file, else raise ``NotRegularFile``."""
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFile
    return status


def open_held(path: Path) -> HeldFile:
    """Open the file at ``path`` for reading and hold it."""
    return HeldFile(os.open(path, READ_FLAGS))


def open_new(path: str | Path) -> int:
    """Create and open a new file that only its owner may read and write (S4)."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | NEW_FLAGS, 0o600)


def close(descriptor: int) -> None:
    """Close ``descriptor`` and ignore errors."""
    with suppress(OSError):  # the descriptor is gone in any case, and whatever must last was synced before
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


class Wait:
    """The time that one transaction waits for the store, in seconds from the creation of this object."""

    def __init__(self, seconds: float) -> None:
        self._started = time.monotonic()
        self._seconds = seconds

    @property
    def elapsed(self) -> float:
        """Seconds waited so far."""
        return time.monotonic() - self._started

    @property
    def remaining(self) -> float:
        """Seconds left, never less than 0."""
        return max(self._seconds - self.elapsed, 0.0)


class ProcessLock:
    """Excludes every other process from the store while held; the kernel frees it when the holder dies.

    A file in its place that is not a lock is left alone, as it may be planted (S4).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.descriptor = -1
        """the lock file, while the lock is held"""
        self._closing = threading.Event()

    @classmethod
    def beside(cls, path: Path) -> Self:
        """Return the lock of the file at ``path``, in which links are resolved already."""
        return cls(path.with_name(f"{path.name}.lock"))

    def acquire(self, wait: Wait) -> None:
        """Take the lock within ``wait``.

        It raises ``StoreLocked`` if that fails, ``StoreWriteFailed`` if the lock file cannot be created or locked.
        """
        try:
            while not self._is_taken():
                pause = min(random.uniform(*_POLL_SECONDS), wait.remaining)  # noqa: S311 - no secret depends on it
                if not pause or self._closing.wait(pause):
                    raise StoreLocked(wait.elapsed)
        except FileNotFoundError:
            raise StoreWriteFailed(self._path.name, "its folder does not exist") from None
        except OSError as error:
            raise StoreWriteFailed(self._path.name, describe(error)) from error

    def check(self) -> None:
        """Raise ``OSError`` if somebody removed the lock file, so that another process may hold a new one."""
        if (identify(self._path) or ())[:2] != identity_of(os.fstat(self.descriptor))[:2]:
            raise OSError(errno.EAGAIN, "its lock file was removed in the meantime")

    def release(self) -> None:
        """Let the next process in."""
        descriptor, self.descriptor = self.descriptor, -1
        with suppress(OSError):  # closing the file frees the lock too
            unlock_descriptor(descriptor)
        close(descriptor)

    def give_up(self) -> None:
        """End every wait for the lock, now and later."""
        self._closing.set()

    def check_status(self, descriptor: int) -> os.stat_result:
        """Return the status of what was opened as the lock, or raise ``OSError`` if it is not a file."""
        return require_regular(os.fstat(descriptor))

    def is_lock(self, descriptor: int) -> bool:
        """Return whether the file is a lock: it is empty."""
        return not os.fstat(descriptor).st_size

    def _is_taken(self) -> bool:
        """Try to take the lock and return whether that was possible."""
        try:
            descriptor = self._open()
        except FileExistsError:
            return False  # another process has just created it
        is_ours = False
        try:
            status = self.check_status(descriptor)
            is_locked = lock_descriptor(descriptor, blocking=False)
            if is_locked and not self.is_lock(descriptor):
                raise FileExistsError(errno.EEXIST, "a file that is not a lock is in its place")
            # A file that was replaced or removed in the meantime keeps nobody else out.
            is_ours = is_locked and (identify(self._path) or ())[:2] == identity_of(status)[:2]
        finally:
            if is_ours:
                self.descriptor = descriptor
            else:
                close(descriptor)
        return is_ours

    def _open(self) -> int:
        if sys.platform == "win32" and self._path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))  # as O_NOFOLLOW does elsewhere
        try:
            return os.open(self._path, os.O_RDWR | NEW_FLAGS)  # so a FIFO in its place does not hang
        except FileNotFoundError:
            return open_new(self._path)

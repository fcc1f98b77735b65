"""Durable file operations that the stores and mirrors share: read whole, replace atomically, append.

A replacement goes through a temporary file in the same folder: write, fsync, rename, fsync of the folder (D1).
Nothing here takes a lock; the caller holds the one of its store.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import EllipsisType
from typing import Final, NamedTuple

from typing_extensions import Self

__all__ = [
    "FileChanged",
    "FileIdentity",
    "FolderNotSynced",
    "HeldFile",
    "NotRegularFile",
    "append_file",
    "describe",
    "identify",
    "open_held",
    "read_file",
    "replace_file",
    "replace_held",
    "sweep_temporary",
    "write_new",
]

_PRIVATE: Final = 0o600
"""Mode of every file made here (S4)."""

_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""For files made here: never inherited, never through a planted link."""

_READ_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
"""For reading: a FIFO does not hang (L1)."""

_WINDOWS_BUSY: Final = frozenset({5, 32, 33})
"""Windows error codes for a file that somebody else has open: access denied, sharing and lock violation (W1)."""

_WINDOWS_TRIES: Final = 20
"""Attempts at a rename on Windows, 10 ms apart."""


class NotRegularFile(OSError):
    """The path names a folder, a FIFO, a device or a socket."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


class FileChanged(OSError):
    """The file is no longer the one that was read, so it was not replaced (ST-3)."""

    def __init__(self) -> None:
        super().__init__(errno.EAGAIN, "another program changed it meanwhile")


class FolderNotSynced(OSError):
    """The file has been replaced, but its folder could not be synced, so the change may not survive a power cut."""


class FileIdentity(NamedTuple):
    """What tells one state of a file from another (D7)."""

    device: int
    inode: int
    size: int
    """bytes"""
    mtime_ns: int
    """nanoseconds since 1970 in UTC"""


def _identity(status: os.stat_result) -> FileIdentity:
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
        self.identity = _identity(_regular(os.fstat(self._descriptor)))
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        chunks = []
        while chunk := os.read(self._descriptor, self.identity.size + 1):
            chunks.append(chunk)
        if sys.platform == "win32":
            self.let_go()
        return b"".join(chunks)

    def write(self, data: bytes, *, fsync: bool) -> None:
        """Append ``data``, make it durable when ``fsync`` is set, and note the identity that it was written under."""
        _write_all(self._descriptor, data)
        if fsync:
            _sync(self._descriptor)
        self.identity = _identity(os.fstat(self._descriptor))

    def make_private(self) -> None:
        """Let the owner alone read and write the file, whatever the umask (S4)."""
        if sys.platform != "win32":
            os.fchmod(self._descriptor, _PRIVATE)

    def take_access_of(self, old: os.stat_result) -> None:
        """Give this file the mode and owner of an ``old`` one."""
        if sys.platform == "win32":
            return
        new = os.fstat(self._descriptor)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            _give(self._descriptor, old.st_uid, old.st_gid)
        os.fchmod(self._descriptor, stat.S_IMODE(old.st_mode))

    def let_go(self) -> None:
        """Close the file; its identity stays known."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            _close(descriptor)

    def __del__(self) -> None:
        self.let_go()


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
        return _identity(os.stat(path))
    except FileNotFoundError:
        return None


def open_held(path: Path) -> HeldFile:
    """Open the file at ``path`` for reading and hold it.

    Raises:
        OSError: it is not there or cannot be opened.
    """
    return HeldFile(os.open(path, _READ_FLAGS))


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


def replace_file(
    path: Path, data: bytes, *, over: FileIdentity | EllipsisType | None = ..., fsync: bool = True
) -> FileIdentity:
    """Make ``data`` the whole content of the file at ``path``, atomically, and return its new identity.

    A link is followed, mode and owner are kept, and a new file is private to its owner. ``over`` is what the file must
    still be, None for no file; where it is not given, whatever stands there is replaced.

    Raises:
        FolderNotSynced: the content is in place but may not survive a power cut.
        FileChanged: the file is not ``over``; Windows tells its times too late to know.
        OSError: the file is as it was, and no temporary file is left.
    """
    held = replace_held(path, data, over=over, fsync=fsync)
    held.let_go()
    return held.identity


def replace_held(
    path: Path, data: bytes, *, over: FileIdentity | EllipsisType | None = ..., fsync: bool = True
) -> HeldFile:
    """Do what ``replace_file`` does, and hold the new file; it raises the same."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    with _Folder(target.parent, fsync=fsync) as folder:
        with _new_file(temporary) as held:
            held.write(data, fsync=fsync)
            if old := _replaceable(target, over):
                held.take_access_of(old)
            if sys.platform == "win32":
                held.let_go()
            _rename(temporary, target)
        folder.sync()
    return held


def write_new(path: Path, data: bytes, *, fsync: bool = True) -> None:
    """Write ``data`` to a new private file at ``path`` and sync it; an existing file is never touched.

    Raises:
        OSError: nothing was written, or ``path`` is taken.
    """
    with _Folder(path.parent, fsync=fsync) as folder, _new_file(path) as held:
        held.write(data, fsync=fsync)
        folder.sync()
    held.let_go()


def append_file(path: Path, data: bytes, *, fsync: bool = True) -> None:
    """Append ``data`` to the file at ``path``, making it if it is missing, and sync it.

    Raises:
        NotRegularFile: it is something else.
        OSError: the file ends where it ended before.
    """
    if identify(path) is None:
        write_new(path, data, fsync=fsync)
        return
    with _Folder(path.parent, fsync=fsync) as folder:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | _FLAGS)
        try:
            size = _regular(os.fstat(descriptor)).st_size
            try:
                _write_all(descriptor, data)
                if fsync:
                    _sync(descriptor)
                folder.sync()
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(descriptor, size)
                raise
        finally:
            _close(descriptor)


def sweep_temporary(path: Path) -> bool:
    """Remove temporary files that a killed process left beside the file at ``path``, and return whether none is left.

    The caller holds the lock, so none of them is still in use (D3).
    """
    target = Path(os.path.realpath(path))
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.tmp")
    with suppress(OSError), os.scandir(target.parent) as entries:
        stale = [entry.path for entry in entries if pattern.fullmatch(entry.name)]
        return False not in [_unlink(name) for name in stale]
    return False


class _Folder:
    """An open folder, so that a failure to open it comes before anything is written."""

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self._descriptor: int | None = None
        if fsync and sys.platform != "win32":
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            _close(self._descriptor)

    def sync(self) -> None:
        """Make the names in the folder durable."""
        if self._descriptor is None:
            return
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            # Some file systems cannot sync a folder at all, and say so with EINVAL; there is nothing more to do there.
            if error.errno != errno.EINVAL:
                raise FolderNotSynced(error.errno, error.strerror) from error


@contextmanager
def _new_file(path: Path) -> Iterator[HeldFile]:
    """Yield a new private file, which an error in the block takes away again."""
    held = HeldFile(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, _PRIVATE))
    try:
        held.make_private()
        yield held
    except BaseException:
        held.let_go()
        _unlink(path)
        raise


def _regular(status: os.stat_result) -> os.stat_result:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFile
    return status


def _replaceable(target: Path, over: FileIdentity | EllipsisType | None) -> os.stat_result | None:
    """Return what stands at ``target``, if anything, once it is sure that it may be replaced."""
    try:
        old = _regular(os.lstat(target))
    except FileNotFoundError:
        old = None
    if sys.platform != "win32" and over is not ... and over != (_identity(old) if old else None):
        raise FileChanged
    if old and not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return old


def _give(descriptor: int, owner: int, group: int) -> None:
    # Only root may give a file away; anybody else can still keep a group that he is in.
    with suppress(PermissionError):
        try:
            os.fchown(descriptor, owner, group)
        except PermissionError:
            os.fchown(descriptor, -1, group)


def _unlink(path: str | Path) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def _close(descriptor: int) -> None:
    # The descriptor is gone even when this fails, and what must last was synced before.
    with suppress(OSError):
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _full_sync() -> Callable[[int], object]:
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415 - not on Windows

        # fsync of macOS leaves the data in the drive's cache (D1).
        return lambda descriptor: fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    return os.fsync


def _sync(descriptor: int) -> None:
    _full_sync()(descriptor)


def _rename(source: Path, target: Path) -> None:
    tries = _WINDOWS_TRIES
    while True:
        try:
            os.replace(source, target)
        except OSError as error:
            tries -= 1
            if not tries or getattr(error, "winerror", None) not in _WINDOWS_BUSY:
                raise
            time.sleep(0.01)
        else:
            return

"""Reads and replaces whole files: a replacement is complete and on disk before it takes the old file's place."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["FileRewritten", "FileStamp", "close", "describe", "identify", "read_file", "replace_file", "write_new"]

_NEW_FLAGS: Final = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)
"""Flags to create a file: child processes do not inherit it, and a planted link is not followed."""

_READ_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags to read a file: opening a FIFO does not hang."""

_WINDOWS_BUSY: Final = frozenset({5, 32, 33})
"""Windows error codes for a file that another program has open: access denied, sharing and lock violation."""

_WINDOWS_TRIES: Final = 20
"""Attempts at a rename on Windows, a moment apart: nothing reports when another program closes the file."""


class FileRewritten(OSError):
    """Another program changed the file after it was read, so it was not replaced."""

    def __init__(self) -> None:
        super().__init__(errno.EAGAIN, "another program has changed it in the meantime")


class FileStamp(NamedTuple):
    """The facts that distinguish one state of a file from another."""

    device: int
    inode: int
    size: int
    mtime_ns: int


def describe(error: OSError) -> str:
    """Return the cause of ``error`` in a few words, without a path."""
    name = errno.errorcode.get(error.errno or 0, "")
    text = error.strerror or type(error).__name__
    return f"{text} [{name}]" if name else text


def identify(path: Path) -> FileStamp | None:
    """Return the identity of the file at ``path``, following links, or None if it does not exist."""
    try:
        return _identity_of(path.stat())
    except FileNotFoundError:
        return None


def read_file(path: Path) -> tuple[bytes, FileStamp]:
    """Return the content of the regular file at ``path`` and the identity that it was read under."""
    descriptor = os.open(path, _READ_FLAGS)
    try:
        identity = _identity_of(_require_regular(os.fstat(descriptor)))
        chunks = []
        while chunk := os.read(descriptor, identity.size + 1):
            chunks.append(chunk)
        return b"".join(chunks), identity
    finally:
        close(descriptor)


def replace_file(path: Path, data: bytes, *, over: FileStamp | None, is_private: bool) -> None:
    """Make ``data`` the whole content of the file at ``path``, in which no link is left, atomically.

    The file keeps its mode and owner. A new file is for its owner only if it ``is_private``, else for everyone who has
    access to the folder. ``over`` is the state that the file must still be in; None: there is no file.

    Raises:
        FileRewritten: the file is not in the state ``over``; not checked on Windows, which updates file times too late.
        OSError: the file is unchanged, and no temporary file is left.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    with _folder(path.parent) as sync_folder, _new_file(temporary, data) as descriptor:
        old = _check_replaceable(path, over)
        if old or not is_private:
            _copy_access(descriptor, old or path.parent.stat())
        close(descriptor)
        _rename(temporary, path)
        with suppress(OSError):  # the file is in place
            sync_folder()


def write_new(path: Path, data: bytes) -> None:
    """Write ``data`` to a new private file at ``path`` and sync it; an existing file is never touched."""
    with _folder(path.parent) as sync_folder, _new_file(path, data) as descriptor:
        sync_folder()
        close(descriptor)


def close(descriptor: int) -> None:
    """Close ``descriptor`` and ignore errors."""
    # The descriptor is gone even if this fails, and whatever must last was synced before.
    with suppress(OSError):
        os.close(descriptor)


@contextmanager
def _folder(path: Path) -> Iterator[Callable[[], None]]:
    """Yield the function that makes a folder's names durable; the folder is opened first, to fail before a write."""
    if sys.platform == "win32":  # pragma: no cover - it cannot open a folder
        yield lambda: None
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def sync() -> None:
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno != errno.EINVAL:  # some file systems cannot sync a folder at all
                raise

    try:
        yield sync
    finally:
        close(descriptor)


@contextmanager
def _new_file(path: Path, data: bytes) -> Iterator[int]:
    """Yield the descriptor of a new private file with ``data``, and remove the file if the block raises."""
    descriptor = os.open(path, _NEW_FLAGS, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        _sync(descriptor)
        yield descriptor
    except BaseException:  # KeyboardInterrupt too: leave no temporary file behind, then raise again
        close(descriptor)
        with suppress(OSError):
            path.unlink()
        raise


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":  # pragma: no cover - fsync of macOS leaves the data in the drive's cache
        import fcntl  # noqa: PLC0415 - it does not exist on Windows

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def _copy_access(descriptor: int, old: os.stat_result) -> None:
    """Give a file the mode of an ``old`` file or folder, and its owner and group as far as that is allowed."""
    if sys.platform == "win32":  # pragma: no cover - it has none of these
        return
    new = os.fstat(descriptor)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        # Only root may give a file away; any other user can still keep a group that they belong to.
        with suppress(PermissionError):
            os.fchown(descriptor, old.st_uid if os.geteuid() == 0 else -1, old.st_gid)
    # A folder may be open for everyone to write, as /tmp is; what is in it need not be.
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & (0o664 if stat.S_ISDIR(old.st_mode) else 0o7777))


def _check_replaceable(path: Path, over: FileStamp | None) -> os.stat_result | None:
    """Return the status of the file at ``path``, or None if there is none, once it is certain that it may go."""
    try:
        old = _require_regular(path.lstat())
    except FileNotFoundError:
        old = None
    if sys.platform != "win32" and over != (_identity_of(old) if old else None):
        raise FileRewritten
    if old and not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return old


def _rename(source: Path, target: Path) -> None:
    """Rename ``source`` to ``target``, over any file there; on Windows, wait a moment while it is busy."""
    tries = 0
    while True:
        try:
            source.replace(target)
        except OSError as error:
            tries += 1
            if tries == _WINDOWS_TRIES or getattr(error, "winerror", None) not in _WINDOWS_BUSY:
                raise
            time.sleep(0.01)  # Windows does not report when the other program closes the file
        else:
            return


def _identity_of(status: os.stat_result) -> FileStamp:
    return FileStamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _require_regular(status: os.stat_result) -> os.stat_result:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return status

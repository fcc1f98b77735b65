"""Durable writes: replace a file atomically, or create a new one.

A replacement goes through a temporary file in the same folder: write, fsync, rename, fsync of the folder (D1).
Nothing here takes a lock: the caller holds the lock of its store.
"""

import errno
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import EllipsisType
from typing import Final

from task_core.files import FileIdentity, HeldFile, close, identity_of, open_new, require_regular

__all__ = ["FileChanged", "FolderNotSynced", "replace", "replace_file", "sweep_temporary", "write_new"]

_WINDOWS_BUSY: Final = frozenset({5, 32, 33})
"""Windows error codes for a file that another program has open: access denied, sharing and lock violation (W1)."""

_WINDOWS_TRIES: Final = 20
"""Attempts at a rename on Windows, a moment apart: nothing reports when another program closes the file."""


class FileChanged(OSError):
    """Another program changed the file after it was read, so it was not replaced (ST-3)."""

    def __init__(self) -> None:
        super().__init__(errno.EAGAIN, "another program has changed it in the meantime")


class FolderNotSynced(OSError):
    """The file has been replaced, but its folder could not be synced, so the change may not survive a power cut."""


def replace_file(
    path: Path,
    data: bytes,
    *,
    over: FileIdentity | EllipsisType | None = ...,
    fsync: bool = True,
    fsync_folder: bool = True,
    rename: Callable[[str, str], object] | None = None,
    is_private: bool = True,
) -> HeldFile:
    """Make ``data`` the whole content of the file at ``path``, atomically, and hold the new file.

    It follows links and keeps mode and owner; a new file is for its owner only if it ``is_private``, else for everyone
    who has access to the folder. ``over`` is the state that the file must still be in, None for no file; without it,
    any file is replaced. Without ``fsync_folder`` a power cut may bring back the whole previous file. ``rename``
    renames the first path, of the new file, to the second one.

    Raises:
        FolderNotSynced: the content is in place but may not survive a power cut.
        FileChanged: the file is not in the state ``over``; not checked on Windows, which updates file times too late.
        OSError: the file is unchanged, and no temporary file is left.
    """
    target = os.path.realpath(path)
    parent, name = os.path.split(target)
    temporary = os.path.join(parent, f".{name}.{secrets.token_hex(8)}.tmp")
    with _folder(parent, fsync=fsync and fsync_folder) as sync_folder, _new_file(temporary) as new:
        new.write(data, fsync=fsync)
        old = _check_replaceable(target, over)
        if old or not is_private:
            new.take_access_of(old or os.stat(parent))
        held = new.read_only(temporary)
        (rename or replace)(temporary, target)
        sync_folder()
    return held


def write_new(path: Path, data: bytes, *, fsync: bool = True) -> None:
    """Write ``data`` to a new private file at ``path`` and sync it; an existing file is never touched."""
    with _folder(path.parent, fsync=fsync) as sync_folder, _new_file(path) as held:
        held.write(data, fsync=fsync)
        sync_folder()
    held.close()


def replace(source: str, target: str) -> None:
    """Rename ``source`` to ``target``, over any file there; on Windows, wait a moment while it is busy (W1)."""
    tries = 0
    while True:
        try:
            return os.replace(source, target)
        except OSError as error:
            tries += 1
            if tries == _WINDOWS_TRIES or getattr(error, "winerror", None) not in _WINDOWS_BUSY:
                raise
            time.sleep(0.01)  # Windows does not report when the other program closes the file


def sweep_temporary(path: Path) -> bool:
    """Remove temporary files that a killed process left beside the file at ``path``; return whether all are gone.

    The caller holds the lock, so none of them is still in use (D3).
    """
    folder, name = os.path.split(os.path.realpath(path))
    pattern = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{16}}\.tmp")
    left = 1
    with suppress(OSError), os.scandir(folder) as entries:
        stale = [entry.path for entry in entries if pattern.fullmatch(entry.name)]
        left = len(stale)
        for name in stale:
            with suppress(OSError):
                os.unlink(name)
                left -= 1
    return not left


@contextmanager
def _folder(path: str | Path, *, fsync: bool) -> Iterator[Callable[[], None]]:
    """Yield the function that makes a folder's names durable; the folder is opened first, to fail before a write."""
    if not fsync or sys.platform == "win32":
        yield lambda: None
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def sync() -> None:
        try:
            os.fsync(descriptor)
        except OSError as error:
            # Some file systems cannot sync a folder at all and report EINVAL; there is nothing more to do there.
            if error.errno != errno.EINVAL:
                raise FolderNotSynced(error.errno, error.strerror) from error

    try:
        yield sync
    finally:
        close(descriptor)


@contextmanager
def _new_file(path: str | Path) -> Iterator[HeldFile]:
    """Yield a new private file, and remove it if the block raises."""
    held = HeldFile(open_new(path))
    try:
        yield held
    except BaseException:  # KeyboardInterrupt too: leave no temporary file behind, then raise again
        held.close()
        with suppress(OSError):
            os.unlink(path)
        raise


def _check_replaceable(target: str, over: FileIdentity | EllipsisType | None) -> os.stat_result | None:
    """Return the status of ``target``, or None if it does not exist, once it is certain that it may be replaced."""
    try:
        old = require_regular(os.lstat(target))
    except FileNotFoundError:
        old = None
    if sys.platform != "win32" and over is not ... and over != (identity_of(old) if old else None):
        raise FileChanged
    if old and not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return old

"""Content put in place: a file replaced atomically, made anew, or added to.

A replacement goes through a temporary file in the same folder: write, fsync, rename, fsync of the folder (D1).
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import EllipsisType
from typing import Final

from task_core.files.descriptors import NEW_FLAGS, close, open_new, regular, sync, unlink, write_all
from task_core.files.folder import Folder
from task_core.files.held import FileIdentity, HeldFile, identify, identity_of

__all__ = ["FileChanged", "append_file", "replace_file", "replace_held", "sweep_temporary", "write_new"]

_WINDOWS_BUSY: Final = frozenset({5, 32, 33})
"""Windows error codes for a file that somebody else has open: access denied, sharing and lock violation (W1)."""

_WINDOWS_TRIES: Final = 20
"""Attempts at a rename on Windows."""

_WINDOWS_PAUSE: Final = 0.01
"""Seconds between two of them: the system does not tell when who has the file open closes it."""


class FileChanged(OSError):
    """The file is no longer the one that was read, so it was not replaced (ST-3)."""

    def __init__(self) -> None:
        super().__init__(errno.EAGAIN, "another program changed it meanwhile")


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
    path: Path,
    data: bytes | Iterable[bytes],
    *,
    over: FileIdentity | EllipsisType | None = ...,
    fsync: bool = True,
    fsync_folder: bool = True,
) -> HeldFile:
    """Do what ``replace_file`` does, and hold the new file; it raises the same.

    Without ``fsync_folder`` a power cut may bring back what stood there before, whole.
    """
    target = os.path.realpath(path)
    parent, name = os.path.split(target)
    with Folder(parent, fsync=fsync and fsync_folder) as folder:
        with _new_file(temporary := os.path.join(parent, f".{name}.{secrets.token_hex(8)}.tmp")) as held:
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
    with Folder(path.parent, fsync=fsync) as folder, _new_file(path) as held:
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
    with Folder(path.parent, fsync=fsync) as folder:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | NEW_FLAGS)
        try:
            size = regular(os.fstat(descriptor)).st_size
            try:
                write_all(descriptor, (data,))
                if fsync:
                    sync(descriptor)
                folder.sync()
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(descriptor, size)
                raise
        finally:
            close(descriptor)


def sweep_temporary(path: Path) -> bool:
    """Remove temporary files that a killed process left beside the file at ``path``, and return whether none is left.

    The caller holds the lock, so none of them is still in use (D3).
    """
    target = Path(os.path.realpath(path))
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.tmp")
    with suppress(OSError), os.scandir(target.parent) as entries:
        stale = [entry.path for entry in entries if pattern.fullmatch(entry.name)]
        return False not in [unlink(name) for name in stale]
    return False


@contextmanager
def _new_file(path: str) -> Iterator[HeldFile]:
    """Yield a new private file, which an error in the block takes away again."""
    held = HeldFile(open_new(path))
    try:
        yield held
    except BaseException:
        held.let_go()
        unlink(path)
        raise


def _replaceable(target: str, over: FileIdentity | EllipsisType | None) -> os.stat_result | None:
    """Return what stands at ``target``, if anything, once it is sure that it may be replaced."""
    try:
        old = regular(os.lstat(target))
    except FileNotFoundError:
        old = None
    if sys.platform != "win32" and over is not ... and over != (identity_of(old) if old else None):
        raise FileChanged
    if old and not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return old


def _rename(source: str, target: str) -> None:
    tries = _WINDOWS_TRIES
    while True:
        try:
            os.replace(source, target)
        except OSError as error:
            tries -= 1
            if not tries or getattr(error, "winerror", None) not in _WINDOWS_BUSY:
                raise
            time.sleep(_WINDOWS_PAUSE)
        else:
            return

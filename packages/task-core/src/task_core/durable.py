"""Durable writes: replace a file atomically, or create a new one.

A replacement goes through a temporary file in the same folder: write, fsync, rename, fsync of the folder (D1). The
replaced file keeps another name until then, so an edit at the last moment is put back. The caller holds a lock.
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

__all__ = [
    "EXCHANGE",
    "NO_REPLACE",
    "FileChanged",
    "NotPutBack",
    "rename_over",
    "rename_with",
    "replace",
    "replace_file",
    "sweep_temporary",
    "temporary_name",
    "write_new",
]

_WINDOWS_BUSY: Final = frozenset({5, 32, 33})
"""Windows error codes for a file that another program has open: access denied, sharing and lock violation (W1)."""

_WINDOWS_TRIES: Final = 20
"""Attempts at a rename on Windows, a moment apart: nothing reports when another program closes the file."""

NO_REPLACE: Final = 1
EXCHANGE: Final = 2
"""Flags of Linux (``renameat2(2)``): fail if the target exists; swap two files."""

_WORKING_FOLDER: Final = -100
"""The descriptor that stands for the working folder."""

_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
"""Error numbers of a system or a file system that knows no such flag."""


class FileChanged(OSError):
    """Another program changed the file after it was read, so it was not replaced (ST-3)."""

    def __init__(self) -> None:
        super().__init__(errno.EAGAIN, "another program has changed it in the meantime")


class NotPutBack(OSError):
    """The file has been replaced, and that could not be undone; the replaced one is kept under another name."""


def replace_file(
    path: Path,
    data: bytes,
    *,
    over: FileIdentity | EllipsisType | None = ...,
    fsync: bool = True,
    fsync_folder: bool = True,
    rename: Callable[[str, str], object] | None = None,
    check: Callable[[str], None] = lambda _: None,
    is_private: bool = True,
) -> HeldFile:
    """Make ``data`` the whole content of the file at ``path``, atomically, and hold the new file.

    It follows links and keeps mode and owner; a new file is for its owner only if it ``is_private``, else for everyone
    who has access to the folder. ``over`` is the state that the file must still be in, None for no file; without it,
    any file is replaced, by ``rename`` if that is given. ``check`` gets the real path right before. Without
    ``fsync_folder`` a power cut may bring back the whole previous file.

    Raises:
        FileChanged: the file is not in the state ``over``; not checked on Windows, which updates file times too late.
        NotPutBack: as ``rename_over``.
        OSError: nothing was replaced, unless only the sync of the folder failed and ``over`` was not given.
    """
    target = os.path.realpath(path)
    parent, temporary = os.path.dirname(target), temporary_name(target)
    with _folder(parent, fsync=fsync and fsync_folder) as sync_folder, _new_file(temporary) as new:
        new.write(data, fsync=fsync)
        old = _check_replaceable(target, over)
        if old or not is_private:
            new.take_access_of(old or os.stat(parent))
        held = new.read_only(temporary)
        check(target)
        if over is ...:
            (rename or replace)(temporary, target)
            sync_folder()
        else:
            held.left_behind = not rename_over(temporary, target, over, sync_folder)
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
    """Remove temporary files that a killed process left beside ``path`` (D3), and return whether all are gone."""
    folder, name = os.path.split(os.path.realpath(path))
    pattern = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{16}}\.tmp")
    with suppress(OSError), os.scandir(folder) as entries:
        stale = [entry.path for entry in entries if pattern.fullmatch(entry.name)]
        return all([*map(_is_removed, stale)])  # all of them, although one cannot be removed
    return False


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
            if error.errno != errno.EINVAL:  # of a file system that cannot sync a folder at all
                raise

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


def temporary_name(path: str | os.PathLike[str]) -> str:
    """Return a new name beside ``path`` that ``sweep_temporary`` recognizes."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp")


def rename_over(new: str, path: str, expected: FileIdentity | None, sync: Callable[[], None] = lambda: None) -> bool:
    """Rename ``new`` over the file at ``path`` if that is in the ``expected`` state, None for no file, and ``sync``.

    What another program writes meanwhile is put back. On Windows, which updates file times too late, any file is
    replaced. Return whether no other name of the replaced file is left.

    Raises:
        FileChanged: another program has changed or replaced the file, which is as that program left it.
        NotPutBack: the new file is in its place although something failed.
    """
    if sys.platform == "win32":
        replace(new, path)
        sync()
        return True
    ours = identity_of(os.lstat(new))
    is_exchanged = expected is not None
    if not _rename_if_supported(EXCHANGE if is_exchanged else NO_REPLACE, new, path):
        if expected:
            return _rename_guarded(new, path, expected, sync)
        _check_replaceable(path, None)
        replace(new, path)
    try:
        if expected and identity_of(os.lstat(new)) != expected:
            raise FileChanged
        sync()
    except OSError:
        _put_back(new, path, ours, is_exchanged=is_exchanged)
        raise
    return not is_exchanged or _is_removed(new)


def rename_with(flag: int, source: str, target: str) -> None:
    """Rename ``source`` to ``target`` with a flag of ``renameat2``, or raise ``OSError``."""
    code = errno.ENOSYS
    if sys.platform == "linux":
        with suppress(ImportError, AttributeError):  # a Python that was built without libffi, or an old C library
            import ctypes  # noqa: PLC0415 - only a write needs it

            call = ctypes.CDLL(None, use_errno=True).renameat2
            failed = call(_WORKING_FOLDER, os.fsencode(source), _WORKING_FOLDER, os.fsencode(target), flag)
            code = ctypes.get_errno() if failed else 0
    if code:
        raise OSError(code, os.strerror(code))


def _rename_if_supported(flag: int, source: str, target: str) -> bool:
    """Rename with ``flag`` and return True, or return False where that is not possible."""
    try:
        rename_with(flag, source, target)
    except (FileExistsError, FileNotFoundError):  # somebody has just made or removed the target
        raise FileChanged from None
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        return False
    return True


def _rename_guarded(new: str, path: str, expected: FileIdentity, sync: Callable[[], None]) -> bool:
    """Rename ``new`` over ``path`` right after a check; what somebody writes into the old file later is put back."""
    kept = temporary_name(path)
    try:
        os.link(path, kept)
    except OSError:  # some file systems have no hard links
        if identity_of(os.lstat(path)) != expected:
            raise FileChanged from None
        replace(new, path)
        sync()
        return True
    try:
        if identity_of(os.lstat(kept)) != expected:
            raise FileChanged
        replace(new, path)
        try:
            sync()
            if identity_of(os.lstat(kept)) != expected:
                raise FileChanged
        except OSError:
            replace(kept, path)
            raise
    finally:
        is_removed = _is_removed(kept)
    return is_removed


def _is_removed(path: str) -> bool:
    with suppress(OSError):
        os.unlink(path)
        return True
    return False


def _put_back(new: str, path: str, ours: FileIdentity, *, is_exchanged: bool) -> None:
    """Undo the renaming of our file, which gets its name ``new`` again; what others wrote meanwhile is kept."""
    copy = f"{path}.replaced-{secrets.token_hex(8)}"
    try:
        if not is_exchanged:
            os.replace(path, new)
        else:
            try:
                rename_with(EXCHANGE, new, path)
            except FileNotFoundError:  # somebody removed our file at once: theirs must not be lost with it
                rename_with(NO_REPLACE, new, path)
                return
        if identity_of(os.lstat(new)) != ours:
            os.replace(new, copy)
    except OSError as error:
        with suppress(OSError):
            os.replace(new, copy)
        raise NotPutBack(error.errno, error.strerror) from error

"""Stays out of the way of whoever else writes HEARTBEAT.md, and replaces nothing that was not read (HB-18).

On Linux a read lease excludes writers: the kernel grants it only while nobody has the file open for writing, and makes
whoever wants to open it for writing wait until the lease is given back, a few microseconds later.
"""

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from task_core.durable import FileChanged, replace
from task_core.files import HeldFile, close, identity_of, open_held, read_file, write_all

__all__ = ["FileInUse", "is_at_rest", "is_held", "make_rename", "read_at_rest", "write_in_place"]

_REST_SECONDS: Final = 2.0
"""Without leases, a file counts as finished once it has not changed for this many seconds."""

_AT_FDCWD: Final = -100
_NO_REPLACE: Final = 1
_EXCHANGE: Final = 2
"""Constants of Linux (``renameat2(2)``): relative to the working folder; fail if the target exists; swap two files."""

_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
"""Error numbers of a system that cannot do this."""


class FileInUse(OSError):
    """Another program is writing the file."""

    def __init__(self) -> None:
        super().__init__(errno.EAGAIN, "another program has it open for writing")


def read_at_rest(path: Path) -> tuple[HeldFile, bytes]:
    """Open the file at ``path`` and return it with its whole content.

    Raises:
        FileInUse: another program may be writing it.
        OSError: it cannot be read.
    """
    held = open_held(path)
    try:
        with _hold_lease(held) as is_wanted:
            data = held.read()
            _check_age(held, has_lease=is_wanted is not None)
    except BaseException:  # KeyboardInterrupt too: close the file, then raise again
        held.close()
        raise
    return held, data


def make_rename(old: HeldFile | None, data: bytes) -> Callable[[str, str], None]:
    """Return a function that renames a new file over ``old``, which had the content ``data``; over none if None.

    Raises:
        FileInUse: another program has the old file open for writing, or is about to.
        FileChanged: the file is not as it was read. In both cases it is as the other program left it.
    """

    def rename(new: str, path: str) -> None:
        if old is None:
            _rename(new, path, _NO_REPLACE)
            return
        with _hold_lease(old) as is_wanted:
            _check(path, data)
            if not _rename(new, path, _EXCHANGE):
                return
            # The new name now holds what was replaced: if it must not be, everything is put back.
            is_replaceable = not (is_wanted and is_wanted()) and os.path.samestat(os.lstat(new), os.fstat(old.fileno()))
        if not (is_replaceable and _is_untouched(old)):
            _put_back(new, path)
            raise FileChanged
        Path(new).unlink()

    return rename


def write_in_place(path: Path, old: HeldFile, before: bytes, data: bytes, *, fsync: bool) -> HeldFile:
    """Write ``data`` into the file that no rename can replace, such as one mounted into a container, and sync it.

    It had the content ``before``; what both begin with is not written again.

    Raises:
        FileInUse: another program has it open for writing.
        FileChanged: it is not as it was read.
    """
    with _hold_lease(old):
        _check(path, before)
    same = len(os.path.commonprefix([before, data]))
    descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        os.lseek(descriptor, same, os.SEEK_SET)
        write_all(descriptor, data[same:], fsync=False)
        os.ftruncate(descriptor, len(data))
        write_all(descriptor, b"", fsync=fsync)
    finally:
        close(descriptor)
    held = open_held(path)
    held.read()
    return held


@contextmanager
def _hold_lease(held: HeldFile) -> Iterator[Callable[[], bool] | None]:
    """Hold a lease; yield the function that says whether somebody waits to open the file for writing.

    Where leases are not available, yield None: on other systems, on a file of another user, on some file systems.
    """
    if sys.platform != "linux":
        yield None
        return
    import fcntl  # noqa: PLC0415 - it does not exist on Windows
    import signal  # noqa: PLC0415 - as above

    descriptor = held.fileno()
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # ignored by default; SIGIO would end the process
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        if error.errno == errno.EAGAIN:
            raise FileInUse from None
        yield None
        return
    try:
        yield lambda: fcntl.fcntl(descriptor, fcntl.F_GETLEASE) != fcntl.F_RDLCK
    finally:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def is_at_rest(held: HeldFile) -> bool:
    """Return whether the file has not changed for so long that whoever wrote it has finished."""
    return not 0 <= time.time() - held.identity.mtime_ns / 1e9 < _REST_SECONDS


def _check_age(held: HeldFile, *, has_lease: bool) -> None:
    if not has_lease and not is_at_rest(held):
        raise FileInUse


def is_held(path: Path) -> bool:
    """Return whether another program has the file open for writing, as far as the system reports it."""
    try:
        with closing(open_held(path)) as held, _hold_lease(held):
            return False
    except FileInUse:
        return True
    except OSError:
        return False


def _check(path: str | Path, data: bytes) -> None:
    if read_file(Path(path))[0] != data:  # catches an edit that keeps size and time
        raise FileChanged


def _is_untouched(old: HeldFile) -> bool:
    """Return whether nobody wrote to the file that was replaced, or is about to, having opened it before."""
    try:
        with _hold_lease(old):
            return identity_of(os.fstat(old.fileno())) == old.identity
    except FileInUse:
        return False


def _put_back(old: str, path: str) -> None:
    try:
        _rename(old, path, _EXCHANGE)
    except FileNotFoundError:  # somebody removed the new file at once: theirs must not be lost with it
        _rename(old, path, _NO_REPLACE)


def _rename(source: str, target: str, flag: int) -> bool:
    """Rename with a flag of ``renameat2`` and return True; where that is not possible, without it, and return False.

    Raises:
        FileChanged: the target must not exist, and does; without the flag, that is checked right before.
    """
    code = _rename_as(flag, source, target)
    is_plain = code in _UNSUPPORTED
    if code == errno.EEXIST or (is_plain and flag == _NO_REPLACE and os.path.lexists(target)):
        raise FileChanged
    if is_plain:
        replace(source, target)
    elif code:
        raise OSError(code, os.strerror(code))
    return not code


def _rename_as(flag: int, source: str, target: str) -> int:
    """Call ``renameat2`` and return its error number, 0 for success."""
    if sys.platform != "linux":
        return errno.ENOSYS
    try:
        import ctypes  # noqa: PLC0415 - only a write needs it

        library = ctypes.CDLL(None, use_errno=True)
        failed = library.renameat2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flag)
    except (ImportError, AttributeError):  # a Python that was built without libffi, or an old C library
        return errno.ENOSYS
    return ctypes.get_errno() if failed else 0

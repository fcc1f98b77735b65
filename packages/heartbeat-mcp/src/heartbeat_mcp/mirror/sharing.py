"""Stays out of the way of whoever else writes HEARTBEAT.md, and replaces nothing that was not read (HB-18).

On Linux a read lease excludes writers: the kernel grants it only while nobody has the file open for writing, and makes
whoever wants to open it for writing wait until the lease is given back, a few microseconds later.
"""

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

from task_core.durable import FileChanged, rename_over
from task_core.files import HeldFile, close, identity_of, open_held, read_file, write_all

__all__ = ["FileInUse", "is_at_rest", "is_held", "make_rename", "read_at_rest", "write_in_place"]

_REST_SECONDS: Final = 2.0
"""Without leases, a file counts as finished once it has not changed for this many seconds."""


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
        with _hold_lease(held) as has_lease:
            data = held.read()
            is_whole = has_lease or is_at_rest(held)
    except BaseException:  # KeyboardInterrupt too: close the file, then raise again
        held.close()
        raise
    if not is_whole:
        held.close()
        raise FileInUse
    return held, data


def make_rename(old: HeldFile | None, data: bytes) -> Callable[[str, str], None]:
    """Return a function that renames a new file over ``old``, which had the content ``data``; over none if None.

    Raises:
        FileInUse: another program has the old file open for writing, or is about to.
        FileChanged: the file is not as it was read. In both cases it is as the other program left it.
    """

    def rename(new: str, path: str) -> None:
        if old is None:
            rename_over(new, path, None)
            return
        with ExitStack() as lease:
            lease.enter_context(_hold_lease(old))
            _check(path, data)

            def check_untouched() -> None:
                lease.close()  # whoever waits for it writes into the old file, which is then put back
                if not _is_untouched(old):
                    raise FileChanged

            rename_over(new, path, old.identity, check_untouched)

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
def _hold_lease(held: HeldFile) -> Iterator[bool]:
    """Hold a lease; yield False where leases are not available: on other systems and on a file of another user."""
    if sys.platform != "linux":
        yield False
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
        yield False
        return
    try:
        yield True
    finally:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def is_at_rest(held: HeldFile) -> bool:
    """Return whether the file has not changed for so long that whoever wrote it has finished."""
    return not 0 <= time.time() - held.identity.mtime_ns / 1e9 < _REST_SECONDS


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

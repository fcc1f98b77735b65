"""Access to HEARTBEAT.md: its lock, which names the store that owns each section, and leases (HB-18, HB-19).

One section belongs to one store, and a list in a database, which servers with other files may share, to the first file
that showed it (EN-19). Linux grants a read lease only while nobody has the file open for writing, and makes whoever
wants to open it for writing wait until the lease is given back, a few microseconds later.
"""

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import override

from heartbeat_mcp.mirror.owner import Owner, describe_other_file, describe_other_store, parse_owners, render_owners
from heartbeat_mcp.models import SECTION, HeartbeatTask
from task_core.durable import FileChanged, rename_over
from task_core.errors import StoreWriteFailed
from task_core.files import HeldFile, ProcessLock, close, describe, identity_of, open_held, read_file, write_all
from task_core.store import Store, Transaction
from task_core.warning_list import WarningList

__all__ = [
    "FileInUse",
    "Ownership",
    "SectionLock",
    "is_at_rest",
    "is_held",
    "make_rename",
    "read_at_rest",
    "write_in_place",
]

_START: Final = b'{"store": '
"""The first bytes of the lock file."""

_MAX_BYTES: Final = 16_384


class SectionLock(ProcessLock):
    """Excludes other processes from HEARTBEAT.md, and names the store that owns each section."""

    def read(self) -> bytes:
        """Return what the lock file says; the lock is held."""
        return _start_of(self.descriptor, _MAX_BYTES)

    def write(self, data: bytes) -> None:
        """Let the lock file say ``data``; the lock is held."""
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        os.write(self.descriptor, data)
        os.ftruncate(self.descriptor, len(data))

    @override
    def is_lock(self, descriptor: int) -> bool:
        """Return whether the file is empty or begins to name an owner; anything else may be under a planted name."""
        return _START.startswith(_start_of(descriptor, len(_START)).rstrip(b"\0"))


def _start_of(descriptor: int, count: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, count)


_OTHER_STORE: Final = "mirror: owner"
_OTHER_FILE: Final = "mirror: file of the list"
"""Causes of the warnings that the section belongs to another store, and that another file shows the list."""


@dataclass(eq=False)
class Ownership:
    """Decides whether a section belongs to this store, and the list to this file, under the lock of the file."""

    lock: SectionLock
    owner: Owner
    """The store, without its id, and this file."""
    store: Store[HeartbeatTask]
    warnings: WarningList
    file: str
    """This file by its base name."""
    section: str

    def __post_init__(self) -> None:
        self._known = b""
        self._recorded = ""
        self._other: Owner | None = None
        self._holder = ""
        self.is_new_file = False
        """True if this file has just replaced another one that showed the list."""

    @property
    def is_foreign(self) -> bool:
        """True if the section or the list was another's when this was last checked, and still is."""
        if self._other is not None and self._other.is_there:
            return True
        return bool(self._holder) and not self.owner.may_replace(self._holder)

    def check_section(self) -> bool:
        """Return whether the section belongs to this store, or to none that exists; else warn."""
        try:
            line = self.lock.read()
        except OSError as error:
            raise StoreWriteFailed(f"{self.file}.lock", describe(error)) from error
        if line and line == self._known:
            return True
        owner, mine = parse_owners(line).get(self.section.casefold()), self.owner.with_id(self.store)
        self._known = b""
        self._recorded = owner.file if owner and owner.is_same_store_as(mine) else ""
        self._other = owner if owner and not owner.gives_way_to(mine) else None
        if self._other:
            self.warnings.add(_OTHER_STORE, describe_other_store(self.file, self._other, mine))
            return False
        self.warnings.settle(_OTHER_STORE)
        return True

    def claim_list(self, work: Transaction[HeartbeatTask]) -> bool:
        """Return whether this file shows the list of ``work``, from now on if it had no file; else warn.

        A file that replaces another one has no receipts: what the server wrote there is not what is in it.
        """
        mine, holder = self.owner, work.owner
        if not mine.file:
            return True
        is_same = mine.is_same_file_as(holder, self._recorded)
        if not (is_same or mine.may_replace(holder)):
            self._holder = holder
            self.warnings.add(_OTHER_FILE, describe_other_file(self.file, holder, is_far=mine.is_far))
            return False
        if holder and not is_same:
            work.set_fields({**work.fields, SECTION: {}})
            self.is_new_file = True
        work.set_owner(mine.file)
        self._holder = ""
        self.warnings.settle(_OTHER_FILE)
        return True

    def forget(self) -> None:
        """Forget what the lock file says: the store has got another id."""
        self._known = b""

    def record(self) -> None:
        """Let the lock file name this store, and this file if it shows a list that others could show."""
        if self._known:
            return
        with suppress(OSError):  # the disk is full: the next pass tries again
            owner = self.owner.with_id(self.store)
            others = {name: other for name, other in parse_owners(self.lock.read()).items() if other.is_there}
            line = render_owners({**others, self.section.casefold(): owner})
            self.lock.write(line)
            self._known, self._recorded, self.is_new_file = line, self.owner.file, False


_REST_SECONDS: Final = 2.0
"""Without leases, a file counts as finished once it has not changed for this many seconds."""


class FileInUse(OSError):
    """Another program is writing the file."""

    def __init__(self) -> None:
        super().__init__(errno.EAGAIN, "another program has it open for writing")


def read_at_rest(path: Path) -> tuple[HeldFile, bytes]:
    """Open the file at ``path`` and return it with its content; raise ``FileInUse`` if others may be writing it."""
    with ExitStack() as opened:
        held = opened.enter_context(closing(open_held(path)))
        with _hold_lease(held) as has_lease:
            data = held.read()
            if not (has_lease or is_at_rest(held)):
                raise FileInUse
        opened.pop_all()  # it stays open
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
                if sys.platform != "win32" and not _is_untouched(old):  # Windows closes the old file once it is read
                    raise FileChanged

            rename_over(new, path, old.identity, check_untouched)

    return rename


def write_in_place(path: Path, old: HeldFile, before: bytes, data: bytes, *, fsync: bool) -> HeldFile:
    """Write ``data`` into the file that no rename can replace, such as one mounted into a container, and sync it.

    It had the content ``before``; what both begin with is not written again. It raises as ``make_rename`` does.
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

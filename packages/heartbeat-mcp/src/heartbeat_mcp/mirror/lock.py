"""The lock of HEARTBEAT.md, which names the store that owns each section (HB-19).

One section belongs to one store, and a list in a database, which servers with other files may share, to the first file
that showed it (EN-19).
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from typing_extensions import override

from heartbeat_mcp.mirror.owner import Owner, Owners, describe_other_file, describe_other_store
from heartbeat_mcp.models import SECTION, HeartbeatTask
from task_core.errors import StoreWriteFailed
from task_core.files import ProcessLock, describe
from task_core.store import Store, Transaction
from task_core.warning_list import WarningList

__all__ = ["Ownership", "SectionLock", "read_owner"]

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
        """Return whether the file is empty or names an owner; anything else may be under a planted name."""
        # Also the beginning of an owner that a full disk or a power cut left.
        return _START.startswith(_start_of(descriptor, len(_START)).rstrip(b"\0"))


def _start_of(descriptor: int, count: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, count)


def read_owner(path: Path, section: str) -> Owner | None:
    """Return the owner of a section by the lock file of the HEARTBEAT.md at ``path``, without the lock, or None."""
    real = Path(os.path.realpath(path))
    with suppress(OSError):
        return Owners.parse(real.with_name(f"{real.name}.lock").read_bytes()).find(section)
    return None


_OTHER_STORE: Final = "mirror: owner"
"""Cause of the warning that the section belongs to another store."""

_OTHER_FILE: Final = "mirror: file of the list"
"""Cause of the warning that another file shows the list."""


class Ownership:
    """Decides whether a section belongs to this store, and the list to this file, under the lock of the file."""

    def __init__(
        self,
        lock: SectionLock,
        owner: Owner,
        store: Store[HeartbeatTask],
        warnings: WarningList,
        *,
        file: str,
        section: str,
    ) -> None:
        """Claim the ``section`` for ``owner``, which has no id yet; call the file ``file`` in warnings."""
        self._section = section
        self._lock = lock
        self._owner = owner
        self._store = store
        self._warnings = warnings
        self._file = file
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
        return bool(self._holder) and not self._owner.may_replace(self._holder)

    @property
    def is_shared(self) -> bool:
        """True if servers with other files may share the list, so that this file must claim it."""
        return bool(self._owner.file)

    def check_section(self) -> bool:
        """Return whether the section belongs to this store, or to none that exists; else warn.

        Raises:
            StoreWriteFailed: the lock file cannot be read.
        """
        try:
            line = self._lock.read()
        except OSError as error:
            raise StoreWriteFailed(f"{self._file}.lock", describe(error)) from error
        if line and line == self._known:
            return True
        owner, mine = Owners.parse(line).find(self._section), self._owner.with_id(self._store)
        self._known = b""
        self._recorded = owner.file if owner and owner.is_same_store_as(mine) else ""
        self._other = owner if owner and not owner.gives_way_to(mine) else None
        if self._other:
            self._warnings.add(_OTHER_STORE, describe_other_store(self._file, self._other, mine))
            return False
        self._warnings.settle(_OTHER_STORE)
        return True

    def claim_list(self, work: Transaction[HeartbeatTask]) -> bool:
        """Return whether this file shows the list of ``work``, from now on if it had no file; else warn.

        A file that replaces another one has no receipts: what the server wrote there is not what is in it.
        """
        mine, holder = self._owner, work.owner
        if not mine.file:
            return True
        is_same = mine.is_same_file_as(holder, self._recorded)
        if not (is_same or mine.may_replace(holder)):
            self._holder = holder
            warning = describe_other_file(self._file, holder, is_far=mine.is_far)
            self._warnings.add(_OTHER_FILE, warning)
            return False
        if holder and not is_same:
            work.set_fields({**work.fields, SECTION: {}})
            self.is_new_file = True
        work.set_owner(mine.file)
        self._holder = ""
        self._warnings.settle(_OTHER_FILE)
        return True

    def forget(self) -> None:
        """Forget what the lock file says: the store has got another id."""
        self._known = b""

    def record(self) -> None:
        """Let the lock file name this store, and this file if it shows a list that others could show."""
        if self._known:
            return
        with suppress(OSError):  # the disk is full: the next pass tries again
            owner = self._owner.with_id(self._store)
            line = Owners.parse(self._lock.read()).with_owner(self._section, owner).lines
            self._lock.write(line)
            self._known, self._recorded, self.is_new_file = line, self._owner.file, False

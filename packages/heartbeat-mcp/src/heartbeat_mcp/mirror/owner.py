"""The lock of HEARTBEAT.md, whose file names the store that owns the section: one section, one store (HB-19)."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

from typing_extensions import override

from heartbeat_mcp.codec import CODEC
from heartbeat_mcp.models import STORE_ID, Task
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.errors import StoreWriteFailed, TaskError
from task_core.files import describe
from task_core.store import Store, open_store
from task_core.store.lock import ProcessLock
from task_core.warning_list import WarningList

__all__ = ["Owner", "Ownership", "SectionLock", "foreign_message", "owner_in", "place_of", "stored_owner"]

_START: Final = b'{"store": '
"""How the content of the lock file begins."""

_MAX_BYTES: Final = 16_384

_FOREIGN: Final = "mirror: owner"
"""Cause of the warning that the section belongs to another store."""


class Owner(NamedTuple):
    """A store that may own a section."""

    store: str
    """its real path, or nothing for one in memory"""
    tenant: str
    id: str
    """made with the store, and kept in it; nothing before its first change"""

    @property
    def name(self) -> str:
        """The base name of the store."""
        return Path(self.store).name or "memory"

    @property
    def is_there(self) -> bool:
        """Whether the store still exists; one in memory counts as gone once another server asks."""
        return bool(self.store) and os.path.exists(self.store)  # noqa: PTH110 - pathlib raises for a path that is too long

    def with_id(self, store: Store[Task]) -> Self:
        """Return this owner with the id in ``store``, if that can be read: whatever is wrong with it, the call says."""
        with suppress(TaskError), store.read() as tasks:
            return self._replace(id=str(tasks.fields.get(STORE_ID, "")))
        return self

    def gives_way_to(self, other: Self) -> bool:
        """Return whether ``other`` may take over: this store is gone, or ``other`` is it, moved or recreated."""
        is_same = (self.id and self.id == other.id) or (self.store, self.tenant) == (other.store, other.tenant)
        return bool(is_same) or not self.is_there


def place_of(settings: HeartbeatSettings) -> Owner:
    """Return where the store of ``settings`` is, without its id."""
    path = settings.address.path
    return Owner(os.path.realpath(path) if path else "", settings.task_tenant, "")


def stored_owner(settings: HeartbeatSettings) -> Owner:
    """Return the store of ``settings`` with its id; no file is created or changed."""
    place = place_of(settings)
    if not place.is_there:
        return place
    store = open_store(settings, CODEC, WarningList())
    try:
        return place.with_id(store)
    finally:
        store.close()


class SectionLock(ProcessLock):
    """Excludes other processes from HEARTBEAT.md, and remembers the owner of its section."""

    def owner(self) -> Owner | None:
        """Return the owner, or None if there is none yet; the lock is held."""
        return owner_in(_start_of(self.descriptor, _MAX_BYTES))

    def name_owner(self, owner: Owner) -> None:
        """Make ``owner`` the owner; the lock is held."""
        data = json.dumps(owner._asdict()).encode() + b"\n"
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        os.write(self.descriptor, data)
        os.ftruncate(self.descriptor, len(data))

    @override
    def is_lock(self, descriptor: int) -> bool:
        """Return whether the file is empty or names an owner; anything else may be under a planted name."""
        # Also the beginning of an owner that a full disk or a power cut left.
        return _START.startswith(_start_of(descriptor, len(_START)).rstrip(b"\0"))


class Ownership:
    """Whether a section belongs to this store; checked under the lock of its file."""

    def __init__(self, lock: SectionLock, place: Owner, store: Store[Task], warnings: WarningList, file: str) -> None:
        self._lock = lock
        self._place = place
        self._store = store
        self._warnings = warnings
        self._file = file
        self._known: Owner | None = None
        self._other: Owner | None = None

    def check(self) -> bool:
        """Return whether the section is this store's, and make it so if it has no owner; else warn.

        Raises:
            StoreWriteFailed: the lock file cannot be read.
        """
        try:
            owner = self._lock.owner()
        except OSError as error:
            raise StoreWriteFailed(f"{self._file}.lock", describe(error)) from error
        if owner and owner == self._known:
            return True
        mine = self._place.with_id(self._store)
        self._other = owner if owner and not owner.gives_way_to(mine) else None
        if self._other:
            self._warnings.add(_FOREIGN, foreign_message(self._file, self._other, mine))
            return False
        self._warnings.settle(_FOREIGN)
        with suppress(OSError):  # the disk is full: the next round tries again
            self._lock.name_owner(mine)
            self._known = mine
        return True

    def forget(self) -> None:
        """Forget the id of the store: it has got another."""
        self._known = None

    def renew(self) -> None:
        """Check again if the id of the store was forgotten."""
        if self._known is None:
            self.check()

    @property
    def is_foreign(self) -> bool:
        """Whether the section was another store's at the last check, and that store still exists."""
        return self._other is not None and self._other.is_there


def foreign_message(file: str, other: Owner, mine: Owner) -> str:
    """Return what to tell a user whose list is not the one that ``file`` shows."""
    return (
        f"{file} shows the tasks of {other.name}, so those of {mine.name} are not shown in it, and nothing is taken "
        f"from it. Give this list its own file, or move {other.name} away if nobody uses it any more."
    )


def owner_in(data: bytes) -> Owner | None:
    """Return the owner that a lock file with the content ``data`` names, or None."""
    try:
        found = json.loads(data)
        return Owner(*(found[name] for name in Owner._fields if isinstance(found[name], str)))
    except (ValueError, LookupError, TypeError):
        return None


def _start_of(descriptor: int, count: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, count)

"""The lock of HEARTBEAT.md: it names the store that owns the section, and the calls of a process share it (HB-19, C5).

One section belongs to one store. Concurrent calls share one write of the file, as they share one commit of the store.
The lock is taken before that of the store, and held until the section is written.
"""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

from typing_extensions import override

from heartbeat_mcp.models import STORE_ID, HeartbeatTask
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.errors import StoreLocked, StoreWriteFailed, TaskError
from task_core.files import ProcessLock, Wait, describe
from task_core.store import Store
from task_core.warning_list import WarningList

__all__ = ["Owner", "Ownership", "Rounds", "SectionLock", "foreign_message", "locate_owner", "parse_owner"]

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

    def with_id(self, store: Store[HeartbeatTask]) -> Self:
        """Return this owner with the id in ``store``, if that can be read: whatever is wrong with it, the call says."""
        with suppress(TaskError), store.read() as tasks:
            return self._replace(id=str(tasks.fields.get(STORE_ID, "")))
        return self

    def gives_way_to(self, other: Self) -> bool:
        """Return whether ``other`` may take over: this store is gone, or ``other`` is it, moved or recreated."""
        is_same = (self.id and self.id == other.id) or (self.store, self.tenant) == (other.store, other.tenant)
        return bool(is_same) or not self.is_there


def locate_owner(settings: HeartbeatSettings) -> Owner:
    """Return where the store of ``settings`` is, without its id."""
    path = settings.address.path
    return Owner(os.path.realpath(path) if path else "", settings.task_tenant, "")


class SectionLock(ProcessLock):
    """Excludes other processes from HEARTBEAT.md, and remembers the owner of its section."""

    def owner(self) -> Owner | None:
        """Return the owner, or None if there is none yet; the lock is held."""
        return parse_owner(_start_of(self.descriptor, _MAX_BYTES))

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

    def __init__(
        self, lock: SectionLock, place: Owner, store: Store[HeartbeatTask], warnings: WarningList, file: str
    ) -> None:
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
    """Return the warning for a user whose list is not the one that ``file`` shows."""
    return (
        f"{file} shows the tasks of {other.name}, so those of {mine.name} are not shown in it, and nothing is taken "
        f"from it. Give this list its own file, or move {other.name} away if nobody uses it anymore."
    )


def parse_owner(data: bytes) -> Owner | None:
    """Return the owner that a lock file with the content ``data`` names, or None."""
    try:
        found = json.loads(data)
        return Owner(*(found[name] for name in Owner._fields if isinstance(found[name], str)))
    except (ValueError, LookupError, TypeError):
        return None


def _start_of(descriptor: int, count: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, count)


_MAX_CALLS: Final = 64
"""Maximum calls in one round, so that the first of them does not wait long."""

_MAX_SECONDS: Final = 0.1
"""How long calls may join a round, in seconds; meanwhile other processes wait."""

_PAUSE_SECONDS: Final = 0.25
"""Time to the next round of its own."""


class Rounds:
    """Groups calls into rounds: the first call of a round has the lock taken, and the last one releases it."""

    def __init__(self, lock: ProcessLock, lock_seconds: float) -> None:
        self._lock = lock
        self._lock_seconds = lock_seconds
        self._timer: threading.Timer | None = None
        self._is_over = False
        self._changed = threading.Condition()
        self._calls = 0
        self._joined = 0
        self._number = 0
        self._is_open = False
        self._time = Wait(0)

    def join(self) -> bool:
        """Enter a round; return True if the call is its first, which has the lock and must begin it.

        Raises:
            TaskError: the lock could not be taken, or the round not entered, in time.
        """
        wait = Wait(self._lock_seconds)
        with self._changed:
            while self._calls and not (self._is_open and self._joined < _MAX_CALLS and self._time.remaining):
                if not self._changed.wait(wait.remaining):
                    raise StoreLocked(wait.elapsed)
            self._calls += 1
            self._joined += 1
            if self._calls > 1:
                return False
            self._joined = 1
        try:
            self._lock.acquire(wait)
        except BaseException:  # KeyboardInterrupt too: let others begin, then raise again
            self._finish()
            raise
        return True

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Run the block that begins a round, and then let other calls join."""
        try:
            yield
        except BaseException:  # KeyboardInterrupt too: let others begin, then raise again
            self._close()
            raise
        with self._changed:
            self._is_open, self._time = True, Wait(_MAX_SECONDS)
            self._changed.notify_all()

    def leave(self) -> bool:
        """Return True if the call is the last of its round, which must end it; any other call waits for that end."""
        with self._changed:
            if self._calls == 1:
                self._is_open = False
                return True
            self._calls -= 1
            number = self._number
            while self._number == number:
                self._changed.wait()
            return False

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Run the block that ends a round, and then let other processes and the next round begin."""
        try:
            yield
        finally:
            self._close()

    def plan(self, run: Callable[[], None]) -> None:
        """Let ``run`` take part in a round soon, without a call, unless that is planned already; retry if it fails."""

        def run_until_done() -> None:
            with self._changed:
                self._timer = None
            try:
                run()
            except TaskError:
                self.plan(run)

        with self._changed:
            if not (self._timer or self._is_over):
                timer = threading.Timer(_PAUSE_SECONDS, run_until_done)
                timer.daemon = True
                with suppress(RuntimeError):  # no thread can be started: the next call plans again
                    timer.start()
                    self._timer = timer

    def give_up(self) -> None:
        """End every wait for the lock, now and later, and begin no more rounds without a call."""
        self._lock.give_up()
        with self._changed:
            self._is_over = True
            if self._timer:
                self._timer.cancel()

    def _close(self) -> None:
        self._lock.release()
        self._finish()

    def _finish(self) -> None:
        with self._changed:
            self._calls, self._is_open = 0, False
            self._number += 1
            self._changed.notify_all()

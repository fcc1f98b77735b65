"""The interface of a database to its store, SQLite connections that raise the store's errors, and rows in memory."""

import sqlite3
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from typing import Any, Final

from typing_extensions import override

from task_core.errors import StoreDamaged, StoreLocked, StoreUnreadable, StoreWriteFailed, TaskError
from task_core.files import Wait
from task_core.history.changes import MAX_BYTES, Change, needle_of
from task_core.models import DAY_SECONDS, Clock, microseconds
from task_core.store.collection import Collection, Session
from task_core.store.migrations import MIGRATIONS
from task_core.store.statements import SQL, Parameters
from task_core.store.transaction import Transaction

__all__ = ["Connection", "Database", "MemoryDatabase", "open_in_memory"]

_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


_PURGED_EVERY: Final = 256
_PURGED_BYTES: Final = 1_000_000
"""Changes and bytes between two looks for changes that need not be kept any longer."""


class Database(ABC):
    """A database that keeps the rows of a store; every method raises a ``TaskError`` for its faults."""

    name: str
    """its name in errors"""
    note: Callable[[str, float], None] = staticmethod(lambda _event, _value: None)
    """hears in any thread the seconds of each ``wait`` and ``commit``, the ``transactions`` that shared it, each
    ``retry`` on another connection, and each outcome that was ``unknown`` at first (HO-7)"""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """Open a snapshot, which is empty if the database does not exist yet."""

    @abstractmethod
    def begin(self, wait: Wait) -> Session:
        """Begin the one transaction that may write; other processes wait until it has ended."""

    history_days: float = 0
    """days for which the history is kept; 0: it is not"""
    _kept = 0
    """bytes of the history that were written since old changes were dropped"""

    def keep(self, work: Transaction[Any]) -> None:
        """Keep the changes of a transaction in the history, as a part of that transaction (AG-4, AG-5)."""
        for change in work.history:
            data = change.to_json()
            work.run(SQL.ADD_CHANGE, number=change.number, moment=change.at, size=len(data), content=data.decode())
            self._kept += len(data)
            if change.number % _PURGED_EVERY == 0 or self._kept > _PURGED_BYTES:
                work.run(SQL.PURGE_OLD_HISTORY, limit=self._oldest(work.clock))
                work.run(SQL.PURGE_LONG_HISTORY, limit=MAX_BYTES)
                self._kept = 0

    def find_changes(
        self, records: Collection[Any], task_id: str, before: int, limit: int, clock: Clock
    ) -> list[Change]:
        """Return the last changes below the number ``before``, of one task or of all, newest first."""
        found = records.run(
            SQL.HISTORY, needle=needle_of(task_id), before=before, limit=limit, oldest=self._oldest(clock)
        )
        return [Change.parse(*values) for values in found]

    def _oldest(self, clock: Clock) -> int:
        return microseconds(clock()) - int(self.history_days * DAY_SECONDS * 1_000_000)

    def now(self, records: Collection[Any], clock: Clock) -> int:  # noqa: ARG002 - a server has a clock of its own
        """Return the present moment, in microseconds since 1970, on the clock by which claims end (AG-14)."""
        return microseconds(clock())

    @abstractmethod
    def commit(self, records: Collection[Any], changed: set[str]) -> None:
        """Make durable what the transaction wrote, which ``records`` shows; if this raises, nothing was written.

        ``changed`` are the ids of changed, removed and touched records, and ``ROOTS`` if the roots have another order.
        """

    @abstractmethod
    def end(self) -> None:
        """Let others write, and discard what was not committed."""

    def can_answer_now(self) -> bool:
        """Return whether a snapshot can be opened without waiting or reading a whole document."""
        return True

    def is_tidying_due(self) -> bool:
        """Return whether ``tidy`` should be called; asked after each commit."""
        return False

    def tidy(self, wait: Wait) -> None:  # noqa: B027 - there may be nothing to do
        """Do the maintenance that is due, while this process writes nothing."""

    def give_up(self) -> None:  # noqa: B027 - there may be no other process
        """End every wait for another process, now and later."""

    def close(self) -> None:  # noqa: B027 - there may be no files
        """Close the files, while this process writes nothing; the database can be used again."""


class Connection:
    """One connection to SQLite; its statements can be kept in a ``log``, to be repeated on another."""

    def __init__(self, address: str, name: str, *, for_writing: bool = True) -> None:
        self.log: list[tuple[str, Parameters]] | None = None
        self._name = name
        self._for_writing = for_writing
        self._wait = Wait(0)
        try:
            # A reader may have to wait a moment while another connection recovers the log or is the last to close.
            self.sqlite = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=1)
        except sqlite3.DatabaseError as error:
            raise self._error(error) from error
        weakref.finalize(self, self.sqlite.close).atexit = False  # Python 3.13 warns if it has to close one

    def run(self, statement: str, parameters: Parameters | None = None) -> list[tuple[Any, ...]]:
        """Carry out one statement and return its rows."""
        try:
            found = self.sqlite.execute(statement, parameters or {}).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._error(error) from error
        if self.log is not None and not statement.lstrip().startswith(("SELECT", "WITH")):
            self.log.append((statement, parameters or {}))
        return found

    def migrate(self, version: int) -> None:
        """Bring the tables from ``version`` of the schema to the one of this server."""
        for migration in MIGRATIONS[version:]:
            for statement in migration:
                self.run(statement)

    def wait_for(self, wait: Wait) -> None:
        """Wait for other programs, which do not know our lock, as long as ``wait`` allows."""
        self._wait = wait
        self.run(f"PRAGMA busy_timeout = {int(wait.remaining * 1000)}")

    def forget(self) -> bool:
        """Roll back what is not committed, and return whether the connection can be used again."""
        with suppress(sqlite3.Error):
            if self.sqlite.in_transaction:
                self.sqlite.rollback()
            return True
        return False

    def close(self) -> None:
        """Close the connection and ignore errors."""
        with suppress(sqlite3.Error):
            self.sqlite.close()

    def _error(self, error: sqlite3.DatabaseError) -> TaskError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _BUSY:
            return StoreLocked(self._wait.elapsed)
        if code in _DAMAGED:
            return StoreDamaged(self._name, f"'{error}'", "a complete SQLite database of this server")
        return (StoreWriteFailed if self._for_writing else StoreUnreadable)(self._name, str(error))


def open_in_memory(name: str) -> Connection:
    """Return a connection to an empty database in memory, with its tables."""
    connection = Connection(":memory:", name)
    _make_tables().sqlite.backup(connection.sqlite)  # many times faster than to make them again
    return connection


@cache
def _make_tables() -> Connection:
    connection = Connection(":memory:", "memory")
    connection.migrate(0)
    return connection


class MemoryDatabase(Database):
    """Rows in memory, twice: saved changes to one copy are repeated on the other, so no reader waits for a commit."""

    name = "memory"

    def __init__(self) -> None:
        self._readers = threading.RLock()
        self._main = open_in_memory(self.name)
        self._shown = open_in_memory(self.name)

    @contextmanager
    @override
    def reading(self) -> Iterator[Connection]:
        with self._readers:
            yield self._shown

    @override
    def begin(self, wait: Wait) -> Connection:
        self._main.run("BEGIN")
        self._main.log = []
        return self._main

    @override
    def commit(self, records: Collection[Any], changed: set[str]) -> None:
        log, self._main.log = self._main.log, None
        self._main.run("COMMIT")
        with self._readers:
            if log is None:  # too much has changed to repeat it
                self._main.sqlite.backup(self._shown.sqlite)
                return
            self._shown.run("BEGIN")
            for statement, parameters in log:
                self._shown.run(statement, parameters)
            self._shown.run("COMMIT")

    @override
    def end(self) -> None:
        self._main.log = None
        self._main.forget()

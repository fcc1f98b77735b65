"""The PostgreSQL engine: many machines share a list, and whoever changes it locks its row (EN-12).

A write transaction buffers its writes until the next question or the commit, and sends them with it in one exchange.
If the connection is lost, even at COMMIT, it sends the same writes again on another connection, after it has locked the
row again and seen that nobody has changed the list and that its own writes were not saved (EN-14).
"""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

import psycopg
from typing_extensions import override

from task_core.errors import StoreWriteFailed, TaskError
from task_core.files import Wait
from task_core.models import Clock
from task_core.store.collection import Collection
from task_core.store.database import Database
from task_core.store.statements import SQL, Parameters
from task_hosted.postgres.access import LOCK, READ, WRITE, ListAccess, Rows, Statement, exchange
from task_hosted.postgres.connection import PostgresConnection
from task_hosted.postgres.dialect import describe, is_conflict, is_lost, make_fault, pack

__all__ = ["PostgresDatabase", "ReadSession", "WriteSession"]

_REMEMBERED: Final = 24 * 3600 * 1_000_000
"""Microseconds to remember a commit, far longer than any retry lasts."""

_PURGED_EVERY: Final = 100
"""Average number of commits between two purges of old ones."""

_BACK: Final[tuple[Statement, ...]] = (("ROLLBACK TO SAVEPOINT begun", {}), ("RELEASE SAVEPOINT begun", {}))


class ReadSession:
    """A read-only transaction; the row of its list arrived when it began."""

    def __init__(self, connection: PostgresConnection, row: Rows, name: str) -> None:
        self._connection = connection
        self._row: Rows | None = row
        self._name = name

    def run(self, statement: str, parameters: Parameters) -> Rows:
        """Carry out one statement and return its rows."""
        if statement == SQL.LIST and self._row is not None:
            row, self._row = self._row, None
            return row
        try:
            return exchange(self._connection, [(statement, pack(parameters))])
        except psycopg.Error as error:
            raise make_fault(error, self._name, 0, is_writing=False) from error


class WriteSession:
    """The only write transaction of a list; it outlives its connection."""

    def __init__(self, access: ListAccess, wait: Wait, note: Callable[[str, float], None]) -> None:
        self._access = access
        self._note = note
        self._wait = wait
        self._id = secrets.token_hex(8)
        self._log: list[Statement] = []
        """All writes so far, in order."""
        self._sent = 0
        """The number of writes that the server has executed on this connection."""
        self._saved: int | None = None
        """The length of the log at the savepoint."""
        self._is_undoing = False
        """True if the server must first roll back to the savepoint."""
        self._loss: TaskError | None = None
        """The reason why nothing of it will be saved."""
        self._is_unknown = False
        """True if a commit was sent but not answered."""
        self._retrying: Wait | None = None
        """The time left in which lost connections are replaced."""
        self._connection: PostgresConnection | None = None
        self._begun = self._row = self._begin(wait)

    def run(self, statement: str, parameters: Parameters) -> Rows:
        """Return the rows of a query; buffer any other statement."""
        if self._loss:
            raise self._loss.copy()
        if statement == SQL.LIST:
            row, self._row = self._row, []
            return row or self._ask((SQL.LIST + LOCK, pack(parameters)))
        if statement.lstrip().startswith(("SELECT", "WITH")):
            return self._ask((statement, pack(parameters)))
        self._write(statement, pack(parameters))
        return []

    def commit(self) -> None:
        """Save all writes exactly once, even if the connection is lost (EN-14)."""
        if self._loss:
            raise self._loss.copy()
        now = time.time_ns() // 1_000
        self._log.append((SQL.ADD_COMMIT, {**self._access.key, "id": self._id, "moment": now}))
        if int(self._id, 16) % _PURGED_EVERY == 0:
            self._log.append((SQL.PURGE_COMMITS, {**self._access.key, "limit": now - _REMEMBERED}))
        is_resumed = False
        while True:
            try:
                if self._is_unknown and self._exchange((SQL.HAS_COMMIT, {**self._access.key, "id": self._id})):
                    self._exchange(("COMMIT", {}))  # which waits until the standby has all that was before
                    return
                self._is_unknown = False
                if is_resumed:
                    self._replay()
                self._send(("COMMIT", {}))
            except psycopg.Error as error:
                is_news = is_lost(error) and not self._is_unknown
                self._is_unknown |= is_news
                self._resume(error, is_commit=is_news)
                is_resumed = True
            else:
                return

    def close(self, error: psycopg.Error | None = None) -> None:
        """Give the connection back and discard uncommitted writes; ``error`` is the reason to drop the connection."""
        connection, self._connection = self._connection, None
        if connection:
            self._access.pool.give(connection, error)

    def _begin(self, wait: Wait) -> Rows:
        self._connection, row = self._access.open(wait, WRITE)
        return row

    def _write(self, statement: str, parameters: Parameters) -> None:
        if statement == SQL.ADD_LIST:
            self._create((statement, parameters))
        elif statement.startswith("ROLLBACK TO"):
            self._undo()
        elif statement.startswith("SAVEPOINT"):
            self._saved = len(self._log)
            self._log.append((statement, parameters))
        elif not statement.startswith("RELEASE"):
            self._log.append((statement, parameters))
        elif self._saved is not None:
            self._saved = None
            self._log.append((statement, parameters))

    def _create(self, statement: Statement) -> None:
        """Add the row of the list and commit it at once: others need a row to lock, even if this transaction fails."""
        while not self._begun:
            try:
                self._exchange(statement, ("COMMIT", {}))
            except psycopg.Error as error:
                self._resume(error)
            else:
                self.close()
                self._row = self._begin(self._wait)
            self._begun = self._row

    def _undo(self) -> None:
        if self._saved is not None:
            del self._log[self._saved :]
            if self._sent > self._saved:
                self._sent, self._is_undoing = self._saved, True
            self._saved = None

    def _ask(self, statement: Statement) -> Rows:
        while True:
            try:
                return self._send(statement)
            except psycopg.Error as error:
                self._resume(error)
                self._replay()

    def _send(self, statement: Statement) -> Rows:
        back = _BACK if self._is_undoing else ()
        rows = self._exchange(*back, *self._log[self._sent :], statement)
        self._sent, self._is_undoing = len(self._log), False
        return rows

    def _exchange(self, *statements: Statement) -> Rows:
        assert self._connection  # noqa: S101 - for the type checker: without one there is a loss
        return exchange(self._connection, statements)

    def _resume(self, error: psycopg.Error, *, is_commit: bool = False) -> None:
        """Lock the list again on another connection, or raise if ``error`` is not about the connection."""
        if not (is_lost(error) or is_conflict(error)):
            self._refuse(error)
        if self._retrying is None:
            self._retrying = Wait(self._access.lock_seconds)
        elif not self._retrying.remaining:
            self._lose(self._interruption() if is_lost(error) or self._is_unknown else self._fault(error), error)
        self.close(error)
        self._note("retry", 1)
        if is_commit:
            self._note("unknown", 1)
        if is_conflict(error):
            self._access.pause(self._retrying)
        try:
            self._row = self._begin(self._retrying)
        except TaskError as failure:
            self._lose(self._interruption(), failure)

    def _interruption(self) -> TaskError:
        cause = "the connection was lost, and no server was reached in time"
        return StoreWriteFailed(self._access.name, cause, is_unknown=self._is_unknown)

    def _fault(self, error: psycopg.Error) -> TaskError:
        return make_fault(error, self._access.name, self._wait.elapsed, is_writing=True)

    def _refuse(self, error: psycopg.Error) -> NoReturn:
        """Raise the store's error; writes before the savepoint survive only if the server has them."""
        if self._is_unknown:
            self._lose(StoreWriteFailed(self._access.name, describe(error), is_unknown=True), error)
        fault = self._fault(error)
        if self._saved is None or self._sent < self._saved:
            self._lose(fault, error)
        self._sent, self._is_undoing = self._saved + 1, False
        raise fault from error

    def _lose(self, loss: TaskError, cause: BaseException | None = None) -> NoReturn:
        """Raise ``loss`` now, and again on every later call."""
        self._loss = loss
        raise loss.copy() from cause

    def _replay(self) -> None:
        """Mark all writes as unsent, or raise if the list has changed since this transaction read it."""
        row, self._row = self._row, []
        if row != self._begun:
            cause = "the connection was lost, and others have changed the list since"
            self._lose(StoreWriteFailed(self._access.name, cause))
        self._sent, self._is_undoing = 0, False


class PostgresDatabase(ListAccess, Database):
    """The list of one tenant and kind, in the database that ``pool`` leads to."""

    _session: WriteSession | None = None

    @contextmanager
    @override
    def reading(self) -> Iterator[ReadSession]:
        connection, row = self.open(Wait(self.lock_seconds), READ)
        try:
            yield ReadSession(connection, row, self.name)
        finally:
            self.pool.give(connection, has_written=False)

    @override
    def begin(self, wait: Wait) -> WriteSession:
        self._session = WriteSession(self, wait, self.note)
        return self._session

    @override
    def now(self, records: Collection[Any], clock: Clock) -> int:
        ((moment,),) = records.run("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)")
        return int(moment)

    @override
    def commit(self, records: Collection[Any], changed: set[str]) -> None:
        assert self._session  # noqa: S101 - for the type checker: ``begin`` has made it
        self._session.commit()

    @override
    def end(self) -> None:
        session, self._session = self._session, None
        if session:
            session.close()

    @override
    def can_answer_now(self) -> bool:
        return False

    @override
    def close(self) -> None:
        self.pool.leave(self)

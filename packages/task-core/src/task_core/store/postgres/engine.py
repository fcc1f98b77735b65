"""The engine for PostgreSQL: many machines share a list, whose row is locked while one of them changes it (EN-12).

What a transaction writes is kept here until it is asked for something, or commits: then it goes out with that, in one
exchange with the server. If the connection is lost, even at COMMIT, the same writes are sent again on another one,
once the row is locked again and shows that nobody has changed the list since and that they were not saved (EN-14).
"""

import random
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
from typing_extensions import override

from task_core.errors import StoreLocked, StoreUnreadable, StoreWriteFailed, TaskError
from task_core.files import LOCK_SECONDS, Wait
from task_core.store.collection import Collection
from task_core.store.database import Database
from task_core.store.postgres.dialect import is_conflict, is_lost, make_fault, pack, translate, unpack
from task_core.store.postgres.pool import STATEMENT_SECONDS, Connection, Pool
from task_core.store.statements import SQL, Parameters

__all__ = ["PostgresDatabase"]

_IDLE_SECONDS: Final = 5.0
"""Seconds after which the server ends a transaction that asks nothing, so that a frozen process holds no list."""

_REMEMBERED: Final = 24 * 3600 * 1_000_000
"""Microseconds for which a commit is remembered: far longer than anybody asks for it."""

_RETRY_SECONDS: Final = (0.01, 0.1)
"""Between two attempts; random, so that those who failed together do not meet again."""

_SETTINGS: Final = """
    SELECT set_config('app.tenant', :tenant, true), set_config('lock_timeout', :lock, true),
    set_config('statement_timeout', :statement, true), set_config('idle_in_transaction_session_timeout', :idle, true)
"""

_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

_HAS_COMMIT: Final = "SELECT 1 FROM commits WHERE tenant = :tenant AND kind = :kind AND id = :id"
_ADD_COMMIT: Final = "INSERT INTO commits (tenant, kind, id, moment) VALUES (:tenant, :kind, :id, :moment)"
_PURGE_COMMITS: Final = "DELETE FROM commits WHERE tenant = :tenant AND kind = :kind AND moment < :limit"
_PURGED_EVERY: Final = 100
"""Revisions between two times that old commits are forgotten."""

_Statement = tuple[str, Parameters]
class _Snapshot:
    """A connection within a transaction that reads; the row of its list has come with its beginning."""

    def __init__(self, connection: Connection, row: list[tuple[Any, ...]], name: str) -> None:
        self._connection = connection
        self._row: list[tuple[Any, ...]] | None = row
        self._name = name

    def run(self, statement: str, parameters: Parameters) -> list[tuple[Any, ...]]:
        """Carry out one statement and return its rows."""
        if statement == SQL.LIST and self._row is not None:
            row, self._row = self._row, None
            return row
        try:
            return _exchange(self._connection, [(statement, pack(parameters))])
        except psycopg.Error as error:
            raise make_fault(error, self._name, 0, is_writing=False) from error


class _Unit:
    """The one transaction of a list that may write; it outlives its connection."""

    def __init__(self, database: "PostgresDatabase", wait: Wait) -> None:
        self._database = database
        self._wait = wait
        self._id = secrets.token_hex(8)
        self._log: list[_Statement] = []
        """everything that it writes"""
        self._queue: list[_Statement] = []
        """what the server has not been sent yet"""
        self._saved: tuple[int, int] | None = None
        """how long both were at the savepoint; the queue is -1 long once the savepoint was sent"""
        self._begun = self._row = self._begin()

    def run(self, statement: str, parameters: Parameters) -> list[tuple[Any, ...]]:
        """Return the rows that the server answers with, or keep what is written until it is asked."""
        if statement == SQL.LIST and self._row:
            row, self._row = self._row, []
            return row
        if statement.lstrip().startswith(("SELECT", "WITH")):
            return self._ask((statement, pack(parameters)))
        if statement.startswith("ROLLBACK TO"):
            self._undo()
        elif statement.startswith("RELEASE"):
            if self._saved:
                self._write((statement, {}))
                self._saved = None
        else:
            if statement.startswith("SAVEPOINT"):
                self._saved = len(self._log), len(self._queue)
            self._write((statement, pack(parameters)))
        return []

    def commit(self) -> None:
        """Save everything that was written, once, whatever becomes of the connection (EN-14)."""
        now = time.time_ns() // 1_000
        self._write((_ADD_COMMIT, {**self._database.key, "id": self._id, "moment": now}))
        if int(self._id, 16) % _PURGED_EVERY == 0:
            self._write((_PURGE_COMMITS, {**self._database.key, "limit": now - _REMEMBERED}))
        is_unknown = False
        while True:
            try:
                if is_unknown:
                    if self._send((_HAS_COMMIT, {**self._database.key, "id": self._id})):
                        return
                    self._replay()
                self._send(("COMMIT", {}))
            except psycopg.Error as error:
                self._resume(error, is_commit=True)
                is_unknown = True
            else:
                return

    def close(self) -> None:
        """Give the connection back, and discard what was not committed."""
        self._database.pool.give(self._connection)

    def _begin(self) -> list[tuple[Any, ...]]:
        self._connection, row = self._database.begin_on_server(self._wait, _WRITE)
        return row

    def _write(self, statement: _Statement) -> None:
        self._log.append(statement)
        self._queue.append(statement)

    def _undo(self) -> None:
        if self._saved:
            log, queue = self._saved
            del self._log[log:]
            if queue < 0:
                self._queue = [("ROLLBACK TO SAVEPOINT begun", {}), ("RELEASE SAVEPOINT begun", {})]
            else:
                del self._queue[queue:]
            self._saved = None

    def _ask(self, statement: _Statement) -> list[tuple[Any, ...]]:
        while True:
            try:
                return self._send(statement)
            except psycopg.Error as error:
                self._resume(error)
                self._replay()

    def _send(self, statement: _Statement) -> list[tuple[Any, ...]]:
        rows = _exchange(self._connection, [*self._queue, statement])
        self._queue.clear()
        if self._saved:
            self._saved = self._saved[0], -1
        return rows

    def _resume(self, error: psycopg.Error, *, is_commit: bool = False) -> None:
        """Lock the list again on another connection, or raise if ``error`` is not about the connection."""
        if not (is_lost(error) or is_conflict(error)):
            raise self._database.fault(error, self._wait, is_writing=True) from error
        self.close()
        self._queue.clear()
        self._database.observer.retried(is_commit=is_commit)
        try:
            self._row = self._begin()
        except (StoreLocked, StoreUnreadable) as failure:
            cause = "the connection was lost"
            if is_commit:
                cause += " during the commit, so it is unknown whether this was saved: look before you repeat it"
            raise StoreWriteFailed(self._database.name, cause) from failure

    def _replay(self) -> None:
        """Let everything be sent again, or raise if the list has changed since this transaction read it."""
        row, self._row = self._row, []
        if row != self._begun:
            cause = "the connection was lost, and others have changed the list since"
            raise StoreWriteFailed(self._database.name, cause)
        self._queue = [*self._log]
        if self._saved:
            self._saved = self._saved[0], self._saved[0]


class PostgresDatabase(Database):
    """The list of one tenant and kind, in the database that ``pool`` leads to."""

    def __init__(self, pool: Pool, tenant: str, kind: str, *, lock_seconds: float = LOCK_SECONDS) -> None:
        """Wait at most ``lock_seconds`` for the server before something is read."""
        self.pool = pool
        self.name = pool.name
        self.key: Parameters = pack({"tenant": tenant, "kind": kind})
        self._lock_seconds = lock_seconds
        self._is_over = threading.Event()
        self._waiting: set[Connection] = set()
        self._unit: _Unit | None = None

    @contextmanager
    @override
    def reading(self) -> Iterator[_Snapshot]:
        connection, row = self.begin_on_server(Wait(self._lock_seconds), _READ)
        try:
            yield _Snapshot(connection, row, self.name)
        finally:
            self.pool.give(connection)

    @override
    def begin(self, wait: Wait) -> _Unit:
        self._unit = _Unit(self, wait)
        return self._unit

    @override
    def commit(self, records: Collection[Any], changed: set[str], *, moves_roots: bool) -> None:
        assert self._unit  # noqa: S101 - for the type checker: ``begin`` has made it
        self._unit.commit()

    @override
    def end(self) -> None:
        unit, self._unit = self._unit, None
        if unit:
            unit.close()

    @override
    def is_at_hand(self) -> bool:
        return False

    @override
    def probe(self) -> None:
        self.pool.probe()

    @override
    def give_up(self) -> None:
        self._is_over.set()
        for connection in tuple(self._waiting):
            with suppress(psycopg.Error):
                connection.cancel_safe(timeout=1)

    @override
    def close(self) -> None:
        self.pool.leave(self)

    def begin_on_server(self, wait: Wait, beginning: str) -> tuple[Connection, list[tuple[Any, ...]]]:
        """Begin a transaction, and return its connection and the row of the list, which a writer locks.

        A connection that turns out to be lost is replaced while ``wait`` lasts.
        """
        while True:
            connection = self.pool.take(self)
            if connection is None:
                if self._is_over.is_set() or not wait.remaining:
                    raise self.pool.explain() or StoreLocked(wait.elapsed)
                continue
            try:
                return connection, self._begin(connection, wait, beginning)
            except psycopg.Error as error:
                self.pool.give(connection)
                if not (is_lost(error) or is_conflict(error)) or not wait.remaining or self._is_over.is_set():
                    raise self.fault(error, wait, is_writing=beginning == _WRITE) from error
            except BaseException:  # KeyboardInterrupt too: give the connection back, then raise again
                self.pool.give(connection)
                raise
            self._is_over.wait(min(random.uniform(*_RETRY_SECONDS), wait.remaining))  # noqa: S311 - no secret depends on it

    def _begin(self, connection: Connection, wait: Wait, beginning: str) -> list[tuple[Any, ...]]:
        self.pool.check_schema(connection)
        self._waiting.add(connection)
        try:
            seconds = 0.0 if self._is_over.is_set() else wait.remaining
            connection.patience = wait.remaining + STATEMENT_SECONDS / 3
            row = SQL.LIST if beginning == _WRITE else SQL.LIST.replace("{lock}", "")
            statements = [(beginning, {}), (_SETTINGS, self._settings(seconds)), (row, self.key)]
            return _exchange(connection, statements)
        finally:
            self._waiting.discard(connection)
            connection.patience = STATEMENT_SECONDS

    def _settings(self, seconds: float) -> Parameters:
        limits = {"lock": max(seconds, 0.001), "statement": STATEMENT_SECONDS + seconds, "idle": _IDLE_SECONDS}
        return {"tenant": self.key["tenant"]} | {name: str(int(limit * 1000)) for name, limit in limits.items()}

    def fault(self, error: psycopg.Error, wait: Wait, *, is_writing: bool) -> TaskError:
        """Return the store's error for ``error``."""
        return make_fault(error, self.name, wait.elapsed, is_writing=is_writing)


def _exchange(connection: Connection, statements: Sequence[_Statement]) -> list[tuple[Any, ...]]:
    """Carry out ``statements`` in one exchange with the server, and return the rows of the last one."""
    if len(statements) == 1:
        ((statement, parameters),) = statements
        cursor = connection.execute(translate(statement), parameters)
    else:
        with connection.pipeline():
            for statement, parameters in statements:
                cursor = connection.execute(translate(statement), parameters)
    return unpack(cursor.fetchall()) if cursor.description else []

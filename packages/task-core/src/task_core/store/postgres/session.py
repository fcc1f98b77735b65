"""What a store does within a transaction in PostgreSQL: read a snapshot, or write, whatever the connection does.

What a transaction writes is kept here until it is asked for something, or commits: then it goes out with that, in one
exchange with the server. If the connection is lost, even at COMMIT, the same writes are sent again on another one,
once the row is locked again and shows that nobody has changed the list since and that they were not saved (EN-14).
"""

import secrets
import time
from typing import Final

import psycopg

from task_core.errors import StoreLocked, StoreUnreadable, StoreWriteFailed
from task_core.files import Wait
from task_core.store.postgres.access import WRITE, ListAccess, Rows, Statement, exchange
from task_core.store.postgres.dialect import is_conflict, is_lost, make_fault, pack
from task_core.store.postgres.pool import PostgresConnection
from task_core.store.statements import SQL, Parameters

__all__ = ["ReadSession", "WriteSession"]

_REMEMBERED: Final = 24 * 3600 * 1_000_000
"""Microseconds for which a commit is remembered: far longer than anybody asks for it."""

_PURGED_EVERY: Final = 100
"""Commits between two times that old ones are forgotten, on average."""


class ReadSession:
    """A connection within a transaction that reads; the row of its list has come with its beginning."""

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
    """The one transaction of a list that may write; it outlives its connection."""

    def __init__(self, access: ListAccess, wait: Wait) -> None:
        self._access = access
        self._wait = wait
        self._id = secrets.token_hex(8)
        self._log: list[Statement] = []
        """everything that it writes"""
        self._queue: list[Statement] = []
        """what the server has not been sent yet"""
        self._saved: tuple[int, int] | None = None
        """how long both were at the savepoint; the queue is -1 long once the savepoint was sent"""
        self._connection: PostgresConnection | None = None
        self._begun = self._row = self._begin()

    def run(self, statement: str, parameters: Parameters) -> Rows:
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
        self._write((SQL.ADD_COMMIT, {**self._access.key, "id": self._id, "moment": now}))
        if int(self._id, 16) % _PURGED_EVERY == 0:
            self._write((SQL.PURGE_COMMITS, {**self._access.key, "limit": now - _REMEMBERED}))
        is_unknown = False
        while True:
            try:
                if is_unknown:
                    if self._send((SQL.HAS_COMMIT, {**self._access.key, "id": self._id})):
                        return
                    self._replay()
                self._send(("COMMIT", {}))
            except psycopg.Error as error:
                self._resume(error, is_commit=True)
                is_unknown = True
            else:
                return

    def close(self, error: psycopg.Error | None = None) -> None:
        """Give the connection back, and discard what was not committed; ``error`` is why the connection is given up."""
        connection, self._connection = self._connection, None
        if connection:
            self._access.pool.give(connection, error)

    def _begin(self) -> Rows:
        self._connection, row = self._access.begin(self._wait, WRITE)
        return row

    def _write(self, statement: Statement) -> None:
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

    def _ask(self, statement: Statement) -> Rows:
        while True:
            try:
                return self._send(statement)
            except psycopg.Error as error:
                self._resume(error)
                self._replay()

    def _send(self, statement: Statement) -> Rows:
        if self._connection is None:  # a call goes on after one that has failed
            raise StoreWriteFailed(self._access.name, "the connection was lost")
        rows = exchange(self._connection, [*self._queue, statement])
        self._queue.clear()
        if self._saved:
            self._saved = self._saved[0], -1
        return rows

    def _resume(self, error: psycopg.Error, *, is_commit: bool = False) -> None:
        """Lock the list again on another connection, or raise if ``error`` is not about the connection."""
        if not (is_lost(error) or is_conflict(error)):
            raise self._access.fault(error, self._wait, is_writing=True) from error
        self.close(error)
        self._queue.clear()
        try:
            self._row = self._begin()
        except (StoreLocked, StoreUnreadable) as failure:
            cause = "the connection was lost, and no server was reached in time"
            raise StoreWriteFailed(self._access.name, cause, is_unknown=is_commit) from failure

    def _replay(self) -> None:
        """Let everything be sent again, or raise if the list has changed since this transaction read it."""
        row, self._row = self._row, []
        if row != self._begun:
            cause = "the connection was lost, and others have changed the list since"
            raise StoreWriteFailed(self._access.name, cause)
        self._queue = [*self._log]
        if self._saved:
            self._saved = self._saved[0], self._saved[0]

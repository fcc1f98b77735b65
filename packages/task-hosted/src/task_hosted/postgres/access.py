"""Begins transactions on one list in PostgreSQL, on a connection that works, and runs their statements (EN-12)."""

import random
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import psycopg

from task_core.errors import StoreLocked
from task_core.files import LOCK_SECONDS, Wait
from task_core.store.statements import SQL, Parameters
from task_hosted.postgres.connection import STATEMENT_SECONDS, PostgresConnection
from task_hosted.postgres.dialect import is_conflict, is_locked, is_lost, make_fault, pack, translate, unpack
from task_hosted.postgres.pool import Pool

__all__ = ["LOCK", "READ", "WRITE", "ListAccess", "Rows", "Statement", "exchange"]

Statement = tuple[str, Parameters]
Rows = list[tuple[Any, ...]]

READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
"""Begins a snapshot."""

WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
"""Begins a transaction that locks the row of its list first (EN-12)."""

LOCK: Final = " FOR UPDATE"
"""Ends the question for the row of a list in such a transaction."""

_IDLE_SECONDS: Final = 5.0
"""Seconds after which the server ends an idle transaction."""

_RETRY_SECONDS: Final = (0.01, 0.1)
"""The shortest and the longest pause before a retry; it is random, so that clients that failed together spread out."""

_SETTINGS: Final = """
    SELECT set_config('app.tenant', :tenant, true), set_config('lock_timeout', :lock, true),
    set_config('statement_timeout', :statement, true), set_config('idle_in_transaction_session_timeout', :idle, true),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN :unwanted THEN :wanted ELSE current_setting('synchronous_commit') END, true),
    set_config('jit', 'off', true)
"""
"""Settings of one transaction. A commit is on disk before it is answered, whatever the server's own setting, unless
``TASK_FSYNC`` says otherwise; the server decides whether standby servers must have it too. JIT is off because compiling
a statement takes longer than running it."""

_END_SILENT: Final = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE usename = current_user AND datname = current_database()
    AND application_name = current_setting('application_name') AND backend_xid IS NOT NULL
    AND wait_event = 'ClientRead' AND clock_timestamp() - state_change > make_interval(secs => :seconds)
"""
"""Ends transactions that hold a lock and whose clients were frozen or cut off. The server's own limit often misses
them: within an exchange nothing counts as idle, and the driver ends an exchange with a message that stops the clock."""


class ListAccess:
    """Access to the list of one tenant and kind, through a pool that other lists share."""

    def __init__(
        self,
        pool: Pool,
        tenant: str,
        kind: str,
        *,
        lock_seconds: float = LOCK_SECONDS,
        statement_seconds: float = STATEMENT_SECONDS,
        fsync: bool = True,
    ) -> None:
        """Wait at most ``lock_seconds`` for the server before something is read, and ``statement_seconds`` then."""
        self.pool = pool
        self.name = pool.name
        self.key: Parameters = pack({"tenant": tenant, "kind": kind})
        self.lock_seconds = lock_seconds
        self._statement_seconds = statement_seconds
        self._slice = statement_seconds / 3
        """Seconds after which a lock request is repeated; also the time for all other work at a beginning."""
        self._commits = {"unwanted": "off", "wanted": "on"} if fsync else {"unwanted": "on", "wanted": "off"}
        self._is_over = threading.Event()
        self._waiting: set[PostgresConnection] = set()

    def give_up(self) -> None:
        """End every wait for the server, now and later."""
        self._is_over.set()
        for connection in tuple(self._waiting):
            connection.patience = 0

    def open(self, wait: Wait, beginning: str) -> tuple[PostgresConnection, Rows]:
        """Begin a transaction, and return its connection and the row of the list, which a writer locks.

        A connection that turns out to be lost is replaced while ``wait`` lasts.
        """
        while True:
            connection = self._take(wait)
            try:
                return connection, self._begin(connection, wait, beginning)
            except psycopg.Error as error:
                if is_locked(error):
                    self._end_silent(connection)
                self.pool.give(connection, error)
                if self._is_over.is_set():
                    raise StoreLocked(wait.elapsed) from error
                if not (is_lost(error) or is_conflict(error) or is_locked(error)) or not wait.remaining:
                    raise make_fault(error, self.name, wait.elapsed, is_writing=beginning == WRITE) from error
            except BaseException:  # KeyboardInterrupt too: give the connection back, then raise again
                self.pool.give(connection)
                raise
            self.pause(wait)

    def _take(self, wait: Wait) -> PostgresConnection:
        while (connection := self.pool.take(self)) is None:
            if self._is_over.is_set():
                raise StoreLocked(wait.elapsed)
            if not wait.remaining:
                raise self.pool.explain() or StoreLocked(wait.elapsed)
        return connection

    def pause(self, wait: Wait) -> None:
        """Wait a moment before a retry."""
        self._is_over.wait(min(random.uniform(*_RETRY_SECONDS), wait.remaining))  # noqa: S311 - no secret depends on it

    def _begin(self, connection: PostgresConnection, wait: Wait, beginning: str) -> Rows:
        self.pool.check_schema(connection)
        seconds = min(wait.remaining, self._slice)
        connection.patience = seconds + self._slice
        self._waiting.add(connection)  # from here on, ``give_up`` ends its patience
        try:
            seconds = 0.0 if self._is_over.is_set() else seconds
            row = SQL.LIST + LOCK if beginning == WRITE else SQL.LIST
            statements = [(beginning, {}), (_SETTINGS, self._settings(seconds)), (row, self.key)]
            return exchange(connection, statements)
        finally:
            self._waiting.discard(connection)
            connection.patience = self._statement_seconds

    def _end_silent(self, connection: PostgresConnection) -> None:
        with suppress(psycopg.Error):  # not every database can; the wait goes on all the same
            connection.rollback()
            connection.execute(translate(_END_SILENT), {"seconds": self._slice})

    def _settings(self, seconds: float) -> Parameters:
        limits = {"lock": max(seconds, 0.001), "statement": self._statement_seconds + seconds, "idle": _IDLE_SECONDS}
        milliseconds = {name: str(int(limit * 1000)) for name, limit in limits.items()}
        return {"tenant": self.key["tenant"], **self._commits, **milliseconds}


def exchange(connection: PostgresConnection, statements: Sequence[Statement]) -> Rows:
    """Carry out ``statements`` in one exchange with the server, and return the rows of the last one."""
    if len(statements) == 1:
        ((statement, parameters),) = statements
        cursor = connection.execute(translate(statement), parameters)
    else:
        with connection.pipeline():
            for statement, parameters in statements:
                cursor = connection.execute(translate(statement), parameters)
    return unpack(cursor.fetchall()) if cursor.description else []

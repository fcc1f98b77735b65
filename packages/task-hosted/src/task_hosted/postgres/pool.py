"""Connections to PostgreSQL: a pool that the stores of one process share, each bounded in time (EN-11, HO-4)."""

import logging
import threading
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

import psycopg
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from task_core.errors import StoreNewer, StoreUnreadable, TaskError
from task_hosted.postgres.connection import PostgresConnection, connect_once, find_cluster, split_url
from task_hosted.postgres.dialect import is_locked, is_lost, make_fault
from task_hosted.postgres.schema import VERSION, read_role, read_version

__all__ = ["CONNECTIONS", "Pool"]

CONNECTIONS: Final = 10
"""Connections of one process (HO-4)."""

_SLICE: Final = 0.25
"""Seconds after which a wait for a connection asks again: the pool tries to connect only when it is asked."""

_CLOSE_SECONDS: Final = 1.0
"""Seconds that an attempt to connect can delay the end of a process (P3)."""


def _configure(connection: PostgresConnection) -> None:
    # Every number has 64 bits, so that a statement has one plan, not one for each size of its numbers.
    connection.adapters.register_dumper(int, Int8Dumper)


class Pool:
    """Connections to the database at ``url``; each user of the pool says when it no longer needs them.

    With ``pooler=transaction`` in the URL, statements are not prepared, since PgBouncer may carry out each
    transaction in another session.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = urlsplit(self.url).path.strip("/") or "postgresql"
        self._guard = threading.Lock()
        self._users: set[object] = set()
        self._pool: ConnectionPool[PostgresConnection] | None = None
        self._is_checked = False
        self._cluster = find_cluster(split_url(url)[0])

    def take(self, user: object) -> PostgresConnection | None:
        """Return an idle connection, or None if there is none after a moment, or if it led to an earlier primary."""
        with suppress(PoolTimeout, PoolClosed):
            pool = self.open(user)
            connection = pool.getconn(_SLICE)
            connection.home = pool
            if self._cluster is None or self._cluster.is_primary(connection, self._ask):
                return connection
            connection.close()
            pool.putconn(connection)
        return None

    def _ask(self) -> None:
        with suppress(psycopg.Error):  # without an answer, the last one counts
            connect_once(self.url).close()

    def give(
        self, connection: PostgresConnection, error: psycopg.Error | None = None, *, has_written: bool = True
    ) -> None:
        """Take a connection back and roll back its transaction. ``error`` is the last error on it."""
        try:
            if error and self._cluster and (is_lost(error) or is_locked(error)):
                self._cluster.doubt()  # a server without a standby commits nothing, and keeps what its commits lock
            if error and is_lost(error):
                connection.close()
            if has_written:
                connection.rollback()
            else:
                connection.commit()  # after a rollback the driver prepares every statement anew
        except psycopg.Error:
            connection.close()
        connection.home.putconn(connection)

    def leave(self, user: object) -> None:
        """Close the connections if ``user`` was the last one to need them."""
        with self._guard:
            self._users.discard(user)
            if self._users:
                return
        self.close()

    def close(self) -> None:
        """Close the connections; the next ``take`` opens them again."""
        with self._guard:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(_CLOSE_SECONDS)

    def open(self, user: object) -> ConnectionPool[PostgresConnection]:
        """Keep the connections open, or open them, until ``user`` leaves."""
        with self._guard:
            self._users.add(user)
            if self._pool is None:
                # It warns about errors that the caller gets anyway.
                logging.getLogger("psycopg").setLevel(logging.ERROR)
                address, options = split_url(self.url)
                self._pool = ConnectionPool(
                    address,
                    connection_class=PostgresConnection,
                    kwargs={**options, "autocommit": True},
                    configure=_configure,
                    min_size=0,
                    max_size=CONNECTIONS,
                    num_workers=1,
                    reconnect_timeout=0,  # whoever waits asks again, and learns at once when the server is back
                    open=True,
                )
            return self._pool

    def explain(self) -> TaskError | None:
        """Return the error with which this process fails to connect, or None if it connects."""
        try:
            connect_once(self.url).close()
        except psycopg.Error as error:
            return make_fault(error, self.name, 0, is_writing=False)
        return None

    def probe(self) -> None:
        """Raise unless the database answers on a connection of its own and can serve tenants.

        Its tables must be those of this version, else this process begins no transaction any more, and row-level
        security must bind the role.
        """
        try:
            with connect_once(self.url) as connection:
                self._is_checked = False
                self.check_schema(connection)
                role, is_unbound = read_role(connection)
        except psycopg.Error as error:
            raise make_fault(error, self.name, 0, is_writing=False) from error
        if is_unbound:
            cure = "connect as one that owns nothing ('migrate ROLE')"
            raise StoreUnreadable(self.name, f"the role {role} gets around row-level security: {cure}")

    def statistics(self) -> dict[str, int]:
        """Return the statistics of ``psycopg_pool``; they are empty before the first connection is needed."""
        with self._guard:
            return self._pool.get_stats() if self._pool else {}

    def check_schema(self, connection: PostgresConnection) -> None:
        """Raise unless the tables have this version; after one success only ``probe`` checks again."""
        if self._is_checked:
            return
        version = read_version(connection)
        if version > VERSION:
            raise StoreNewer(self.name, version, VERSION)
        if version < VERSION:
            raise StoreUnreadable(self.name, "its tables are missing or outdated: run the server's command 'migrate'")
        self._is_checked = True

"""Connections to PostgreSQL: a pool that the stores of one process share, each bounded in time (EN-11, HO-4)."""

import threading
from collections.abc import Generator
from contextlib import suppress
from time import monotonic
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool, PoolTimeout
from typing_extensions import override

from task_core.errors import StoreNewer, StoreUnreadable, TaskError
from task_core.store.postgres.dialect import make_fault
from task_core.store.postgres.schema import VERSION, read_version

__all__ = ["CONNECTIONS", "Connection", "Pool", "connect_once"]

ResultT = TypeVar("ResultT")

CONNECTIONS: Final = 10
"""Connections of one process (HO-4)."""

STATEMENT_SECONDS: Final = 15.0
"""Seconds that a statement may take, lock waits aside, before its connection counts as lost."""

_SLICE: Final = 0.25
"""Seconds after which a wait for a connection asks again: the pool tries to connect only when it is asked."""

_OPTIONS: Final = {
    "connect_timeout": 2,
    "tcp_user_timeout": 3_000,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "application_name": "task-core",
}
"""How soon a server that is gone is noticed; an address may say otherwise."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that counts as lost when a server does not answer: one that was frozen never hangs up."""

    patience = STATEMENT_SECONDS
    """seconds that the next exchange with the server may take"""

    @override
    def wait(self, gen: Generator[Any, Any, ResultT], *args: Any, **options: Any) -> ResultT:
        return super().wait(_limit(gen, self.patience), *args, **options)


def connect_once(url: str) -> Connection:
    """Return a connection outside every pool, or raise ``psycopg.Error``."""
    address, options = _split(url)
    return Connection.connect(address, **options, autocommit=True)


def _split(url: str) -> tuple[str, dict[str, Any]]:
    """Return the address for the driver, and the options that it leaves open."""
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    pooler = given.pop("pooler", "")
    options = {name: value for name, value in _OPTIONS.items() if name not in given}
    if pooler:
        options["prepare_threshold"] = None
    if "," in parts.netloc and "target_session_attrs" not in given:
        options["target_session_attrs"] = "read-write"
    return urlunsplit(parts._replace(query=urlencode(given))), options


def _configure(connection: Connection) -> None:
    # Every number has 64 bits, so that a statement has one plan, not one for each size of its numbers.
    connection.adapters.register_dumper(int, Int8Dumper)


def _limit(steps: Generator[Any, Any, ResultT], seconds: float) -> Generator[Any, Any, ResultT]:
    """Take ``steps``, of which each waits for the server, until so many seconds are over."""
    end = monotonic() + seconds
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and monotonic() > end:
                raise psycopg.OperationalError(f"the server has not answered for {seconds:.0f} seconds")
            wanted = steps.send(ready)
    except StopIteration as end_of_steps:
        result: ResultT = end_of_steps.value
        return result


class Pool:
    """Connections to the database at ``url``; each of its users says when it needs them no longer.

    With ``pooler=transaction`` in the URL, statements are not prepared, since PgBouncer may carry out each
    transaction in another session.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = urlsplit(self.url).path.strip("/") or "postgresql"
        self._guard = threading.Lock()
        self._users: set[object] = set()
        self._pool: ConnectionPool[Connection] | None = None
        self._is_checked = False

    def join(self, user: object) -> None:
        """Keep the connections open, or open them, until ``user`` leaves."""
        self._open(user)

    def take(self, user: object) -> Connection | None:
        """Return a connection on which nothing is under way, or None if there is none yet after a moment."""
        with suppress(PoolTimeout):
            return self._open(user).getconn(_SLICE)
        return None

    def give(self, connection: Connection) -> None:
        """Take a connection back; what is under way on it is rolled back, and one that is broken is closed."""
        try:
            connection.patience = STATEMENT_SECONDS
            connection.rollback()
        except psycopg.Error:
            connection.close()
        with self._guard:
            pool = self._pool
        if pool is None:
            connection.close()
        else:
            pool.putconn(connection)

    def leave(self, user: object) -> None:
        """Close the connections if ``user`` was the last one to need them."""
        with self._guard:
            self._users.discard(user)
            if self._users:
                return
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _open(self, user: object) -> ConnectionPool[Connection]:
        with self._guard:
            self._users.add(user)
            if self._pool is None:
                address, options = _split(self.url)
                self._pool = ConnectionPool(
                    address,
                    connection_class=Connection,
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
        """Return what keeps this process from connecting, if anything does."""
        try:
            connect_once(self.url).close()
        except psycopg.Error as error:
            return make_fault(error, self.name, 0, is_writing=False)
        return None

    def probe(self) -> None:
        """Raise unless the database answers on a connection of its own, and its tables are those of this version."""
        try:
            with connect_once(self.url) as connection:
                _check_version(read_version(connection), self.name)
        except psycopg.Error as error:
            raise make_fault(error, self.name, 0, is_writing=False) from error

    def statistics(self) -> dict[str, int]:
        """Return the numbers by which ``psycopg_pool`` describes the connections; none before the first is needed."""
        with self._guard:
            return self._pool.get_stats() if self._pool else {}

    def check_schema(self, connection: Connection) -> None:
        """Raise unless the tables are those of this version; once they are, they are not looked at again."""
        if self._is_checked:
            return
        _check_version(read_version(connection), self.name)
        self._is_checked = True


def _check_version(version: int, name: str) -> None:
    if version > VERSION:
        raise StoreNewer(name, version, VERSION)
    if version < VERSION:
        raise StoreUnreadable(name, "its tables are missing or outdated: run the server's command 'migrate'")

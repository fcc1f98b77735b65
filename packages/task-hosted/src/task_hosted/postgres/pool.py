"""Connections to PostgreSQL: a pool that the stores of one process share, each bounded in time (EN-11, HO-4)."""

import logging
import threading
from collections.abc import Generator
from contextlib import suppress
from time import monotonic
from typing import Any, Final, Self, TypeVar
from urllib.parse import parse_qsl, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout
from typing_extensions import override

from task_core.errors import StoreNewer, StoreUnreadable, TaskError
from task_hosted.postgres.dialect import is_lost, make_fault
from task_hosted.postgres.schema import VERSION, read_role, read_version

__all__ = ["CONNECTIONS", "STATEMENT_SECONDS", "Pool", "PostgresConnection", "connect_once"]

ResultT = TypeVar("ResultT")

CONNECTIONS: Final = 10
"""Connections of one process (HO-4)."""

STATEMENT_SECONDS: Final = 15.0
"""Seconds that a statement may take, without waits for locks, before its connection counts as lost."""

_SLICE: Final = 0.25
"""Seconds after which a wait for a connection asks again: the pool tries to connect only when it is asked."""

_CLOSE_SECONDS: Final = 1.0
"""Seconds that an attempt to connect can delay the end of a process (P3)."""

_OPTIONS: Final = {
    "connect_timeout": 2,
    "tcp_user_timeout": 3_000,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "application_name": "task-core",
}
"""Options that detect a dead server soon; an address may override them."""


_PORT: Final = "5432"
"""The port of a server whose address names none."""

_found: Final[dict[str, int]] = {}
"""The index of the server that was right last, by address."""


class PostgresConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that counts as lost when a server does not answer: one that was frozen never hangs up.

    Of several servers, the one that was right last is asked first, since each that is gone costs a timeout.
    """

    patience = STATEMENT_SECONDS
    """Seconds that an exchange with the server may take; a lower value ends the current one."""
    home: "ConnectionPool[PostgresConnection]"
    """The pool that lent the connection."""

    @classmethod
    @override
    def connect(cls, conninfo: str = "", **options: Any) -> Self:
        places = _read_places(conninfo)
        first = _found.get(conninfo, 0)
        if first:
            hosts, ports = zip(*places[first:], *places[:first], strict=True)
            options |= {"host": ",".join(hosts), "port": ",".join(ports)}
        connection = super().connect(conninfo, **options)
        if places:
            place = connection.info.host, str(connection.info.port)
            _found[conninfo] = places.index(place) if place in places else 0
        return connection

    @override
    def wait(self, gen: Generator[Any, Any, ResultT], *args: Any, **options: Any) -> ResultT:
        return super().wait(self._limit(gen), *args, **options)

    def _limit(self, steps: Generator[Any, Any, ResultT]) -> Generator[Any, Any, ResultT]:
        """Take ``steps``, each of which waits for the server, while the patience lasts."""
        start = monotonic()
        try:
            wanted = next(steps)
            while True:
                ready = yield wanted
                if not ready and monotonic() - start > self.patience:
                    self.close()  # otherwise the end of a pipeline waits as long again
                    raise psycopg.OperationalError("the server does not answer")
                wanted = steps.send(ready)
        except StopIteration as end_of_steps:
            result: ResultT = end_of_steps.value
            return result


def _read_places(address: str) -> list[tuple[str, str]]:
    """Return the host and the port of each server if ``address`` names several."""
    parts = conninfo_to_dict(address)
    hosts, ports = (str(parts.get(name, "")).split(",") for name in ("host", "port"))
    if len(hosts) == 1 or "hostaddr" in parts:
        return []
    ports = [port or _PORT for port in ports]
    return list(zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=False))


def connect_once(url: str) -> PostgresConnection:
    """Return a connection outside every pool, or raise ``psycopg.Error``."""
    address, options = _split(url)
    return PostgresConnection.connect(address, **options, autocommit=True)


def _split(url: str) -> tuple[str, dict[str, Any]]:
    """Return the address for the driver, and the options that it leaves open."""
    address, _, query = url.partition("?")
    given = dict(parse_qsl(query.replace("+", "%2B"), keep_blank_values=True))
    options: dict[str, Any] = {name: value for name, value in _OPTIONS.items() if name not in given}
    if "pooler" in given:
        options["prepare_threshold"] = None
    if "," in urlsplit(address).netloc + given.get("host", "") and "target_session_attrs" not in given:
        options["target_session_attrs"] = "read-write"
    # Everything else is passed on as it was written: the driver has rules of its own.
    kept = "&".join(pair for pair in query.split("&") if not pair.startswith("pooler="))
    return f"{address}?{kept}", options


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

    def join(self, user: object) -> None:
        """Keep the connections open, or open them, until ``user`` leaves."""
        self._open(user)

    def take(self, user: object) -> PostgresConnection | None:
        """Return an idle connection, or None if there is none after a moment."""
        with suppress(PoolTimeout, PoolClosed):
            pool = self._open(user)
            connection = pool.getconn(_SLICE)
            connection.home = pool
            return connection
        return None

    def give(
        self, connection: PostgresConnection, error: psycopg.Error | None = None, *, has_written: bool = True
    ) -> None:
        """Take a connection back and roll back its transaction. ``error`` is the last error on it."""
        try:
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

    def _open(self, user: object) -> ConnectionPool[PostgresConnection]:
        with self._guard:
            self._users.add(user)
            if self._pool is None:
                # It warns about errors that the caller gets anyway.
                logging.getLogger("psycopg").setLevel(logging.ERROR)
                address, options = _split(self.url)
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

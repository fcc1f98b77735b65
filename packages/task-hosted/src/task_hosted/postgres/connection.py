"""Connections to PostgreSQL, each bounded in time, and of several servers always to the primary (EN-11, EN-22)."""

from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from time import monotonic
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool
from typing_extensions import override

__all__ = [
    "STATEMENT_SECONDS",
    "Cluster",
    "PostgresConnection",
    "check_url",
    "connect_once",
    "find_cluster",
    "split_url",
]

ResultT = TypeVar("ResultT")
_Place = tuple[str, str]
"""The host and the port of a server."""

STATEMENT_SECONDS: Final = 15.0
"""Seconds that a statement may take, without waits for locks, before its connection counts as lost."""

_TIMELINE_SECONDS: Final = 2.0
"""Seconds in which a server must say what its timeline is."""

_OTHERS_SECONDS: Final = 0.5
"""Seconds to wait for another server once one takes writes: one that is cut off does not answer."""

_TRUST_SECONDS: Final = 10.0
"""Seconds after which all servers are asked again before a connection is used."""

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

_TIMELINE: Final = """
    SELECT CASE WHEN pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' THEN -1
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END
"""
"""Asks for the timeline of a server, which grows when a standby becomes the primary; -1 if it takes no writes."""


class PostgresConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that counts as lost when a server does not answer: one that was frozen never hangs up."""

    patience = STATEMENT_SECONDS
    """Seconds that an exchange with the server may take; a lower value ends the current one."""
    place: _Place | None = None
    """The place of its server, if the address names several."""
    home: "ConnectionPool[PostgresConnection]"
    """The pool that lent the connection."""

    @classmethod
    @override
    def connect(cls, conninfo: str = "", **options: Any) -> "PostgresConnection":
        cluster, connect = find_cluster(conninfo), super().connect
        if cluster is None:
            return connect(conninfo, **options)
        return cluster.connect(lambda place: connect(conninfo, **options, host=place[0], port=place[1]))

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


class Cluster:
    """Servers of which one is the primary: the one with the highest timeline among those that take writes.

    A server that its manager has lost goes on taking writes beside the primary.
    """

    def __init__(self, places: list[_Place]) -> None:
        self._places = places
        self._primary: _Place | None = None
        self._asked_at = -_TRUST_SECONDS

    def connect(self, connect: Callable[[_Place], PostgresConnection]) -> PostgresConnection:
        """Ask all servers at once and return the connection to the primary, or raise ``psycopg.Error``."""
        self._asked_at = monotonic()  # nobody else needs to ask meanwhile
        threads = ThreadPoolExecutor(len(self._places))
        asked = [threads.submit(_ask, connect, place) for place in self._places]
        threads.shutdown(wait=False)
        pending, known = {*asked}, list[Future[tuple[int, PostgresConnection]]]()
        while pending:
            done, pending = wait(pending, _OTHERS_SECONDS if known else None, FIRST_COMPLETED)
            known += [each for each in done if not each.exception()]
            if not done:
                break
        best = max(known, key=lambda each: each.result()[0], default=asked[0])
        for each in {*asked} - {best}:
            each.add_done_callback(_close)
        _, connection = best.result()  # or raise the error of the first server
        self._primary = connection.place
        return connection

    def is_primary(self, connection: PostgresConnection, ask: Callable[[], None]) -> bool:
        """Return whether a connection leads to the primary; call ``ask`` first if the answer is old or in doubt."""
        if monotonic() - self._asked_at >= _TRUST_SECONDS:
            ask()
        return connection.place == self._primary

    def doubt(self) -> None:
        """Ask all servers again before a connection is used."""
        self._asked_at = -_TRUST_SECONDS


def _ask(connect: Callable[[_Place], PostgresConnection], place: _Place) -> tuple[int, PostgresConnection]:
    connection = connect(place)
    connection.place = place
    try:
        connection.patience = _TIMELINE_SECONDS
        try:
            timeline = connection.execute(_TIMELINE).fetchall()[0][0]
        except (psycopg.ProgrammingError, psycopg.NotSupportedError):
            timeline = 0  # another engine, all of whose servers take writes
        if timeline < 0:
            raise psycopg.OperationalError("connection failed: session is read-only")
        connection.patience = STATEMENT_SECONDS
    except psycopg.Error:
        connection.close()
        raise
    return timeline, connection


def _close(asked: Future[tuple[int, PostgresConnection]]) -> None:
    if not asked.exception():
        asked.result()[1].close()


@lru_cache
def find_cluster(address: str) -> Cluster | None:
    """Return the servers at ``address`` if it names several and does not say itself which of them to use."""
    try:
        parts = conninfo_to_dict(address)
    except psycopg.ProgrammingError:  # as connecting will say
        return None
    hosts, ports = (str(parts.get(name, "")).split(",") for name in ("host", "port"))
    if len(hosts) == 1 or parts.keys() & {"hostaddr", "target_session_attrs"}:
        return None
    ports = [port or _PORT for port in ports]
    return Cluster(list(zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=False)))


def connect_once(url: str) -> PostgresConnection:
    """Return a connection outside every pool, or raise ``psycopg.Error``."""
    address, options = split_url(url)
    return PostgresConnection.connect(address, **options, autocommit=True)


def check_url(url: str) -> None:
    """Raise ``ValueError``, which says what was expected, if ``url`` is not the address of a store."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError("give postgresql://user@host/database") from None
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if ":" in parts.netloc.rpartition("@")[0] or "password" in query:
        raise ValueError("leave the password out, and put it in the file that PGPASSFILE names")
    if not url.startswith("postgresql://") or query.get("pooler", "transaction") != "transaction":
        raise ValueError("give postgresql://user@host/database, with ?pooler=transaction behind such a pooler")


def split_url(url: str) -> tuple[str, dict[str, Any]]:
    """Return the address for the driver, and the options that it leaves open."""
    address, _, query = url.partition("?")
    given = dict(parse_qsl(query.replace("+", "%2B"), keep_blank_values=True))
    options: dict[str, Any] = {name: value for name, value in _OPTIONS.items() if name not in given}
    if "pooler" in given:
        options["prepare_threshold"] = None
    if "," in given.get("hostaddr", "") and "target_session_attrs" not in given:
        options["target_session_attrs"] = "read-write"  # which the driver finds: there is no cluster for it
    # Everything else is passed on as it was written: the driver has rules of its own.
    kept = "&".join(pair for pair in query.split("&") if not pair.startswith("pooler="))
    return f"{address}?{kept}", options

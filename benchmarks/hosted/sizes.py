"""Sizes of tasks, tenants, connections and listeners: bytes on disk and in memory, log, and processor time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Final

import psutil

from benchmarks.bench import Bench
from benchmarks.hosted.client import PATIENCE, Job, check, run
from benchmarks.hosted.database import Site, fill, open_database
from benchmarks.hosted.replicas import PATH, calls_of, headers_of, post, serve_replicas
from benchmarks.hosted.usage import Meter
from benchmarks.stores import save
from benchmarks.subjects import TASKS_V1
from task_core.store import Engine
from task_hosted.postgres.schema import TABLES
from tests.hosted.service import Issuer, start_issuer
from tests.postgres import SERVER_ROLE
from tests.wire.line_client import ENVELOPE
from tests.wire.served import Served, name_headers

__all__ = ["KEPT", "LISTENERS", "STORED", "Size", "measure_sizes"]

STORED: Final = 10_000
"""Tasks whose bytes are counted."""

KEPT: Final = 500
"""Tenants whose memory is counted."""

LISTENERS: Final = 100
"""Streams of notifications, each of another tenant."""

IN_FLIGHT: Final = 16
"""Creates that are under way at a time, where several are."""

_ALL_BYTES: Final = "SELECT SUM(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) AS name"
_INDEX_BYTES: Final = "SELECT SUM(pg_indexes_size(name::regclass)) FROM unnest(%s::text[]) AS name"
_SESSIONS: Final = "SELECT array_agg(pid) FROM pg_stat_activity WHERE application_name = 'task-core' AND usename = %s"

_LISTEN: Final = "subscriptions/listen"

_BYTES: Final = "bytes"
_KIBIBYTES: Final = "KiB"
_MICROSECONDS: Final = "µs"


@dataclass(frozen=True)
class Size:
    """One figure, and in which unit it is."""

    what: str
    value: float
    unit: str


def measure_sizes(bench: Bench) -> list[Size]:
    """Return all figures."""
    with open_database() as site, start_issuer() as issuer:
        found = [*_sizes_on_disk(bench, site)]
        with serve_replicas(site.url, issuer, 1) as (replica,):
            found += _log_sizes(bench, site, issuer, replica)
            found += _connection_sizes(site)
        with serve_replicas(site.url, issuer, 1) as (replica,):
            found.append(_tenant_size(bench, issuer, replica))
        with serve_replicas(site.url, issuer, 1) as (replica,):
            found += _listener_costs(bench, site, issuer, replica)
    return found


def _sizes_on_disk(bench: Bench, site: Site) -> Iterator[Size]:
    count = bench.pick(STORED, 200)
    for engine, name in ((Engine.JSON, "a JSON document"), (Engine.SQLITE, "SQLite")):
        path = bench.folder / f"sizes-{engine}"
        save(path, engine, TASKS_V1.content, count)
        yield Size(f"a task in {name}", path.stat().st_size / count, _BYTES)
        path.unlink()
    empty = _measure_tables(site)
    fill(site.url, "sizes", count)
    total, indexes = ((now - before) / count for now, before in zip(_measure_tables(site), empty, strict=True))
    yield Size("a task in PostgreSQL", total, _BYTES)
    yield Size("of that, in indexes", indexes, _BYTES)


def _measure_tables(site: Site) -> tuple[int, int]:
    """Return the bytes of all tables with their indexes, and of the indexes alone."""
    return (int(site.ask(_ALL_BYTES, [*TABLES])), int(site.ask(_INDEX_BYTES, [*TABLES])))


def _log_sizes(bench: Bench, site: Site, issuer: Issuer, replica: Served) -> Iterator[Size]:
    for what, clients, tenants in (
        ("one at a time", 1, 1),
        (f"{IN_FLIGHT} at a time, one tenant", IN_FLIGHT, 1),
        (f"{IN_FLIGHT} at a time, many tenants", IN_FLIGHT, 100),
    ):
        ((body, headers),) = map(headers_of, calls_of("create", range(1)))
        requests = [(issuer.token(f"log {number}"), body) for number in range(tenants)]
        job = Job(bench.pick(5.0, 0.5), clients, [replica.address], PATH, headers, requests)
        run(job)  # after a checkpoint the first change of a page logs all of it
        start = site.ask("SELECT pg_current_wal_insert_lsn()::text")
        calls = run(job).calls
        size = site.ask("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s::pg_lsn)", start)
        yield Size(f"log (WAL) of a create, {what}", float(size) / calls, _BYTES)


def _connection_sizes(site: Site) -> Iterator[Size]:
    pids = site.ask(_SESSIONS, SERVER_ROLE)
    sizes = [psutil.Process(pid).memory_full_info().uss for pid in pids]
    yield Size("connections of a replica under load", len(sizes), "")
    yield Size("memory of a connection in PostgreSQL, not shared", sum(sizes) / len(sizes) / 2**20, "MiB")


def _tenant_size(bench: Bench, issuer: Issuer, replica: Served) -> Size:
    tokens = [issuer.token(f"tenant {number}") for number in range(bench.pick(KEPT, 20) + 1)]
    first, *rest = tokens
    _use(replica, first)
    memory = psutil.Process(replica.process.pid).memory_info
    before = memory().rss
    for token in rest:
        _use(replica, token)
    return Size("memory of a tenant in a replica", (memory().rss - before) / len(rest) / 2**10, _KIBIBYTES)


def _use(replica: Served, token: str) -> None:
    for operation in ("create", "list page"):
        post(replica, calls_of(operation, range(1))[0], token)


def _listener_costs(bench: Bench, site: Site, issuer: Issuer, replica: Served) -> Iterator[Size]:
    count = bench.pick(LISTENERS, 5)
    groups = {"replica": [replica.process.pid], "database": [site.server.pid]}
    tokens = [issuer.token(f"listener {number}") for number in range(count)]
    for token in tokens:
        _use(replica, token)
    with ExitStack() as stack:
        for token in tokens:
            _listen(stack.enter_context(closing(HTTPConnection(replica.address, timeout=PATIENCE))), token)
        meter, started = Meter(groups), time.monotonic()
        time.sleep(bench.pick(20, 2))
        used, seconds = meter.read(), time.monotonic() - started
    for group, name in (("replica", "a replica"), ("database", "PostgreSQL")):
        each = used[group] / seconds / count
        yield Size(f"processor time of {name} for each second and tenant that listens", each * 1e6, _MICROSECONDS)


def _listen(connection: HTTPConnection, token: str) -> None:
    """Open a stream of notifications, which lasts as long as the connection, and read its acknowledgement."""
    params = {"notifications": {"resourceSubscriptions": ["tasks://list"]}, "_meta": ENVELOPE}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": _LISTEN, "params": params})
    own = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": _LISTEN,
        "Authorization": f"Bearer {token}",
    }
    connection.request("POST", PATH, body, name_headers(own))
    response = connection.getresponse()
    check(response.status, response.readline())

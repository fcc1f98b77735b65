"""The database of the measurement: PostgreSQL 18 with its durable settings, and lists of equal tasks in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pydantic import JsonValue

from benchmarks.stores import Entry, tasks_v1_list
from task_core.store import Store
from task_hosted.postgres import Pool, PostgresDatabase
from task_hosted.postgres.pool import PostgresConnection, connect_once
from task_hosted.postgres.schema import TABLES
from tasks_v1_mcp.codec import CODEC
from tests.postgres import SERVER_ROLE, PostgresServer, make_tables, postgres_server

__all__ = ["OPTIONS", "OWNER", "Site", "copy_list", "fill", "numbered_tasks", "open_database"]

OPTIONS: Final = {
    "listen_addresses": "",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "max_wal_size": "4GB",
    "shared_buffers": "1GB",
}
"""The settings of the server that are not left as they are: nothing is lost, and all tasks of a run are in memory."""

OWNER: Final = "postgres"
"""The superuser, who owns the tables; row-level security does not bind it."""

_COPY: Final = """
    INSERT INTO {table} SELECT (jsonb_populate_record(row, jsonb_build_object('tenant', name))).*
    FROM {table} AS row, unnest(%s::text[]) AS name WHERE tenant = %s
"""


@dataclass(frozen=True)
class Site:
    """One database in a server."""

    server: PostgresServer
    database: str

    @property
    def url(self) -> str:
        """The address for a server of ours, whose role is bound by row-level security."""
        return self.server.store_url(SERVER_ROLE, self.database)

    def connect(self) -> PostgresConnection:
        """Return a connection of the owner."""
        return connect_once(self.server.store_url(OWNER, self.database))

    def ask(self, statement: str, *values: object) -> Any:  # noqa: ANN401 - whatever the database answers
        """Return the first value that the database answers to the owner."""
        with closing(self.connect()) as connection:
            rows = connection.execute(statement.encode(), values).fetchall()
        return rows[0][0]

    def new_database(self) -> Site:
        """Return another database in the same server, with empty tables."""
        site = Site(self.server, self.server.new_database())
        make_tables(self.server.store_url(OWNER, site.database))
        return site


@contextmanager
def open_database() -> Iterator[Site]:
    """Yield a database with empty tables in a server of its own."""
    with postgres_server(OPTIONS) as server:
        yield Site(server, "postgres").new_database()


def numbered_tasks(count: int) -> Iterator[Entry]:
    """Yield tasks of tasks-v1-mcp whose ids are the numbers from 1 on, so that pgbench can make them up."""
    for number, (item, parent) in enumerate(tasks_v1_list(count), 1):
        renamed: dict[str, JsonValue] = {**item, "id": str(number)}
        yield renamed, parent


def fill(url: str, tenant: str, count: int) -> None:
    """Put this many tasks into the empty list of a tenant."""
    pool = Pool(url)
    store = Store(PostgresDatabase(pool, tenant, CODEC.kind.name), CODEC.kind, tenant=tenant, lock_seconds=600)
    with store.transaction() as work:
        work.load((CODEC.kind.record_type.model_validate(item), parent) for item, parent in numbered_tasks(count))
    store.close()


def copy_list(site: Site, tenant: str, names: Sequence[str]) -> None:
    """Give each of the tenants ``names`` the tasks of ``tenant``."""
    with closing(site.connect()) as connection:
        for table in TABLES:
            connection.execute(_COPY.format(table=table).encode(), [[*names], tenant])
        connection.execute("VACUUM ANALYZE")

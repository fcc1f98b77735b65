"""The database of the measurement: PostgreSQL with its durable settings, and lists of equal tasks in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final, NamedTuple

from benchmarks.stores import tasks_v1_list
from task_core.store import Store
from task_hosted.postgres import Pool, PostgresDatabase
from task_hosted.postgres.connection import connect_once
from task_hosted.postgres.schema import TABLES
from tasks_v1_mcp.codec import CODEC
from tests.postgres import SERVER_ROLE, PostgresServer, make_tables, postgres_server

__all__ = ["OWNER", "Site", "copy_list", "fill", "open_database"]

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


class Site(NamedTuple):
    """One database in a server."""

    server: PostgresServer
    database: str

    @property
    def url(self) -> str:
        """The address for a server of ours, whose role is bound by row-level security."""
        return self.server.store_url(SERVER_ROLE, self.database)


@contextmanager
def open_database() -> Iterator[Site]:
    """Yield a database with empty tables in a server of its own."""
    with postgres_server(OPTIONS) as server:
        site = Site(server, server.new_database())
        make_tables(server.store_url(OWNER, site.database))
        yield site


def fill(url: str, tenant: str, count: int) -> None:
    """Put this many tasks, with the numbers from 1 on as ids, into the empty list of a tenant."""
    store = Store(PostgresDatabase(Pool(url), tenant, CODEC.kind.name), CODEC.kind, tenant=tenant, lock_seconds=600)
    with store.transaction() as work:
        work.load(
            (CODEC.kind.record_type.model_validate({**item, "id": str(number)}), parent)
            for number, (item, parent) in enumerate(tasks_v1_list(count), 1)
        )
    store.close()


def copy_list(site: Site, tenant: str, names: Sequence[str]) -> None:
    """Give each of the tenants ``names`` the tasks of ``tenant``."""
    with closing(connect_once(site.server.store_url(OWNER, site.database))) as connection:
        for table in TABLES:
            connection.execute(_COPY.format(table=table).encode(), [[*names], tenant])
        connection.execute("VACUUM ANALYZE")

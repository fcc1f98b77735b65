"""Backends to test: on SQLite and PostgreSQL, each test with a fresh copy of one database that was prepared once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cortex_backend.database import CortexDatabase
from cortex_backend.security.passwords import Passwords
from cortex_backend.service.accounts import Accounts
from tests.cortex_backend.application import CHEAP, close_clients, open_client
from tests.cortex_backend.backend_fixture import (
    PASSWORD,
    ROLES,
    BackendFixture,
    MovableClock,
    PreparedData,
    settings_for,
)
from tests.postgres import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The server of PostgreSQL of this test process; tests that need it are skipped where there is none."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def _close_clients() -> Iterator[None]:
    yield
    close_clients()


def prepared(url: str) -> PreparedData:
    """Fill an empty database with people, who log in and make their projects, and return what they got."""
    clock = MovableClock()
    with closing(CortexDatabase(url)) as database:
        database.migrate()
        accounts = Accounts(database, Passwords(CHEAP), clock)
        for role in ROLES:
            accounts.add(f"{role}@example.com", role.title(), PASSWORD)
    with open_client(settings_for(url), clock) as client:
        return PreparedData.build(client)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PreparedData]:
    """A prepared database of SQLite."""
    path = tmp_path_factory.mktemp("prepared_data") / "cortex.db"
    return path, prepared(f"sqlite:///{path}")


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> tuple[str, PreparedData]:
    """A prepared database of PostgreSQL."""
    name = postgres.new_database()
    return name, prepared(postgres.url(name))


@pytest.fixture
def sqlite_copy(sqlite_template: tuple[Path, PreparedData], tmp_path: Path) -> tuple[str, PreparedData]:
    """The address of a copy of the prepared database."""
    path, prepared_data = sqlite_template
    copied = shutil.copyfile(path, tmp_path / "cortex.db")
    return f"sqlite:///{copied}", prepared_data


@pytest.fixture
def postgres_copy(
    postgres: PostgresServer, postgres_template: tuple[str, PreparedData]
) -> Iterator[tuple[str, PreparedData]]:
    """The address of a copy of the prepared database."""
    name, prepared_data = postgres_template
    copied = postgres.new_database(name)
    yield postgres.url(copied), prepared_data
    postgres.drop(copied)


@pytest.fixture(params=["sqlite", "postgresql"])
def prepared_copy(request: pytest.FixtureRequest) -> tuple[str, PreparedData]:
    """The address of a fresh database of each engine with the people of a fixture."""
    name = "sqlite_copy" if request.param == "sqlite" else "postgres_copy"
    return request.getfixturevalue(name)


@pytest.fixture
def backend(sqlite_copy: tuple[str, PreparedData]) -> Iterator[BackendFixture]:
    """A backend on SQLite, and people who use it."""
    yield from _backend_over(*sqlite_copy)


@pytest.fixture
def each_backend(prepared_copy: tuple[str, PreparedData]) -> Iterator[BackendFixture]:
    """A backend on each engine, for what the database has a part in."""
    yield from _backend_over(*prepared_copy)


def _backend_over(url: str, prepared_data: PreparedData) -> Iterator[BackendFixture]:
    clock = MovableClock()
    with open_client(settings_for(url), clock) as client:
        yield BackendFixture(client, clock, prepared_data, url)

"""Offices to work in: on SQLite and PostgreSQL, or on SQLite alone for what no database has a part in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cortex_chain.office import Office, Workplace, open_office
from tests.postgres import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The server of PostgreSQL of this test process; tests that need it are skipped where there is none."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def shared_office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """An office whose backend keeps its data in SQLite, for all tests of this process."""
    folder = tmp_path_factory.mktemp("office")
    with open_office(folder, f"sqlite:///{folder / 'cortex.db'}") as opened:
        yield opened


@pytest.fixture
def office(shared_office: Office) -> Office:
    """The shared office, where nobody has a task: each test brings its own clones and tasks."""
    shared_office.clear()
    return shared_office


@pytest.fixture
def new_office(tmp_path: Path) -> Iterator[Office]:
    """An office without a task."""
    with open_office(tmp_path, f"sqlite:///{tmp_path / 'cortex.db'}") as opened:
        yield opened


@pytest.fixture
def postgres_office(postgres: PostgresServer, tmp_path: Path) -> Iterator[Office]:
    """An office whose backend keeps its data in PostgreSQL."""
    name = postgres.new_database()
    with open_office(tmp_path, postgres.url(name)) as opened:
        yield opened
    postgres.drop(name)


@pytest.fixture(
    params=["office", pytest.param("postgres_office", marks=pytest.mark.long)], ids=["sqlite", "postgresql"]
)
def each_office(request: pytest.FixtureRequest) -> Office:
    """An office on each database."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def ada(office: Office) -> Workplace:
    """Somebody at work on SQLite."""
    return office.employ("ada")

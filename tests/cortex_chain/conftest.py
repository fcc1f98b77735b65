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


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """An office whose backend keeps its data in SQLite."""
    with open_office(tmp_path, f"sqlite:///{tmp_path / 'cortex.db'}") as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def each_office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    """An office on each database."""
    if request.param == "sqlite":
        yield request.getfixturevalue("office")
        return
    postgres: PostgresServer = request.getfixturevalue("postgres")
    name = postgres.new_database()
    with open_office(tmp_path, postgres.url(name)) as opened:
        yield opened
    postgres.drop(name)


@pytest.fixture
def ada(office: Office) -> Workplace:
    """Somebody at work on SQLite."""
    return office.employ("ada")

"""Deployments to work in: on SQLite and PostgreSQL, or on SQLite alone for what no database has a part in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cortex_chain.deployment import Deployment, Developer, open_deployment
from tests.postgres import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The server of PostgreSQL of this test process; tests that need it are skipped where there is none."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def shared_deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment whose backend keeps its data in SQLite, for all tests of this process."""
    folder = tmp_path_factory.mktemp("deployment")
    with open_deployment(folder, f"sqlite:///{folder / 'cortex.db'}") as opened:
        for _ in range(42):  # the scenarios of the design document are about the task with this number
            opened.new_task("xxx")
        yield opened


@pytest.fixture
def deployment(shared_deployment: Deployment) -> Deployment:
    """The shared deployment, where nobody has a task: each test brings its own clones and tasks."""
    shared_deployment.clear()
    return shared_deployment


@pytest.fixture
def postgres_deployment(postgres: PostgresServer, tmp_path: Path) -> Iterator[Deployment]:
    """A deployment whose backend keeps its data in PostgreSQL."""
    name = postgres.new_database()
    with open_deployment(tmp_path, postgres.url(name)) as opened:
        yield opened
    postgres.drop(name)


@pytest.fixture(
    params=["deployment", pytest.param("postgres_deployment", marks=pytest.mark.by_hand)], ids=["sqlite", "postgresql"]
)
def each_deployment(request: pytest.FixtureRequest) -> Deployment:
    """A deployment on each database."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def ada(deployment: Deployment) -> Developer:
    """Somebody at work on SQLite."""
    return deployment.add_developer("ada")

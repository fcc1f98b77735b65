"""The servers that can be hosted, and the databases that can keep their tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.postgres import needs_postgres, store_url
from tests.servers import SERVERS, ServerRecord, record_of

HOSTED: Final = [record for record in SERVERS if "sqlite" in record.engines]


@pytest.fixture(params=HOSTED, ids=[record.name for record in HOSTED])
def record(request: pytest.FixtureRequest) -> ServerRecord:
    """Return each server that can be hosted."""
    found: ServerRecord = request.param
    return found


@pytest.fixture
def tasks_v1() -> ServerRecord:
    """Return one server, for what does not depend on the server."""
    return record_of("tasks-v1")


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """Return the address of a new database of this machine."""
    return f"sqlite:{tmp_path / 'tasks.db'}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=needs_postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a database of each engine."""
    return f"sqlite:{tmp_path / 'tasks.db'}" if request.param == "sqlite" else store_url()


_PAIRS: Final = [
    *(pytest.param((record, "sqlite"), id=f"{record.name}-sqlite") for record in HOSTED),
    pytest.param((record_of("tasks-v1"), "postgresql"), id="tasks-v1-postgresql", marks=needs_postgres),
]


@pytest.fixture(params=_PAIRS)
def served(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[ServerRecord, str]:
    """Return each server with a database of this machine, and one server with the other engine too."""
    record, engine = request.param
    return record, f"sqlite:{tmp_path / 'tasks.db'}" if engine == "sqlite" else store_url()

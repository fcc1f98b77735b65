"""The servers that can be hosted, the databases that can keep their tasks, and a proxy to PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.hosted.postgres_proxy import Proxy, open_proxy
from tests.postgres import needs_postgres, new_pool, shared_server, store_url
from tests.servers import SERVERS, ServerRecord, record_of

if TYPE_CHECKING:
    from task_hosted.postgres import Pool

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


@pytest.fixture(scope="session")
def shared_proxy() -> Iterator[Proxy]:
    """A proxy that lasts as long as the server."""
    store_url()
    with open_proxy(shared_server().sockets) as opened:
        yield opened


@pytest.fixture
def proxy(shared_proxy: Proxy) -> Iterator[Proxy]:
    """The proxy, which passes everything on before and after the test."""
    yield shared_proxy
    shared_proxy.forget()


@pytest.fixture(scope="session")
def pool(shared_proxy: Proxy) -> Iterator[Pool]:
    """Connections through the proxy."""
    opened = new_pool(shared_proxy.url(store_url()))
    yield opened
    opened.close()

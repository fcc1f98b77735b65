"""What tests of PostgreSQL share: a proxy to its server, and connections through it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tests.core.postgres_proxy import Proxy, open_proxy
from tests.postgres import new_pool, shared_server, store_url

if TYPE_CHECKING:
    from task_core.store.postgres import Pool

# Where only what is quick is tested, with the lowest versions, no browser is driven.
collect_ignore: list[str] = [] if find_spec("playwright") else ["test_app_view_browser.py"]


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

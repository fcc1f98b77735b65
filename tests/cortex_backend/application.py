"""The application that the tests of a process share: building its routes costs more than most of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from tempfile import TemporaryDirectory

from fastapi.testclient import TestClient
from pwdlib.hashers.argon2 import Argon2Hasher

from cortex_backend.api.app import CortexApp, build_app
from cortex_backend.clock import Clock
from cortex_backend.database import open_database
from cortex_backend.security.access import AccessTokens
from cortex_backend.security.keys import load_keys
from cortex_backend.security.passwords import Passwords
from cortex_backend.service.logins import Logins
from cortex_backend.service.work import WorkServices
from cortex_backend.settings import BackendSettings

__all__ = ["CHEAP", "close_clients", "open_client"]

CHEAP = Argon2Hasher(time_cost=1, memory_cost=8, parallelism=1)
"""Passwords that cost next to nothing: most tests are about something else."""

_lent: list[CortexApp] = []
_clients: dict[tuple[str, bool], TestClient] = {}
_opened = ExitStack()


@contextmanager
def open_client(
    settings: BackendSettings, clock: Clock, address: str = "testclient", *, raises: bool = True
) -> Iterator[TestClient]:
    """Yield a client at ``address`` of an application over a database; ``raises`` raises what the application does.

    It is the shared application, or one of its own while the shared one is in use. A client of the shared one stays
    open for the tests to come: its event loop and its threads take longer to start than most tests to run.
    """
    if _lent:
        with closing(build_app(settings, clock, CHEAP)) as app, _client(app, address, raises=raises) as client:
            yield client
        return
    app, database = _shared(), open_database(settings.database_url)
    app.state.settings = settings
    app.state.database = database
    app.state.logins = Logins(database, AccessTokens(load_keys(settings)), Passwords(CHEAP), clock)
    app.state.work = WorkServices(database, clock)
    if (address, raises) not in _clients:
        _clients[address, raises] = _opened.enter_context(_client(app, address, raises=raises))
    _lent.append(app)
    try:
        yield _clients[address, raises]
    finally:
        _lent.remove(app)
        database.close()


def close_clients() -> None:
    """Close the clients of the shared application."""
    _clients.clear()
    _opened.close()


def _client(app: CortexApp, address: str, *, raises: bool) -> TestClient:
    return TestClient(app, "http://cortex.test", raise_server_exceptions=raises, client=(address, 5000))


@cache
def _shared() -> CortexApp:
    with TemporaryDirectory() as folder:
        app = build_app(BackendSettings(database_url=f"sqlite:///{folder}/cortex.db"), hasher=CHEAP)
        app.close()
    return app

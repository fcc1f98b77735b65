"""The application that the tests of a process share: building its routes costs more than most of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from tempfile import TemporaryDirectory

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

__all__ = ["CHEAP", "application"]

CHEAP = Argon2Hasher(time_cost=1, memory_cost=8, parallelism=1)
"""Passwords that cost next to nothing: most tests are about something else."""

_lent: list[CortexApp] = []


@contextmanager
def application(settings: BackendSettings, clock: Clock) -> Iterator[CortexApp]:
    """Yield an application over a database: the shared one, or one of its own while the shared one is in use."""
    if _lent:
        yield build_app(settings, clock, CHEAP)
        return
    database = open_database(settings.database_url)
    app = _shared()
    app.state.settings = settings
    app.state.database = database
    app.state.logins = Logins(database, AccessTokens(load_keys(settings)), Passwords(CHEAP), clock)
    app.state.work = WorkServices(database, clock)
    _lent.append(app)
    try:
        yield app
    finally:
        _lent.remove(app)


@cache
def _shared() -> CortexApp:
    with TemporaryDirectory() as folder:
        app = build_app(BackendSettings(database_url=f"sqlite:///{folder}/cortex.db"), hasher=CHEAP)
        app.close()
    return app

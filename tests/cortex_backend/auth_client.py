"""The door of the backend: one user, an empty database of SQLite, and a clock that a test moves."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, cast

from fastapi.testclient import TestClient
from sqlalchemy import Engine, event

from cortex_backend.api.app import CortexApp
from cortex_backend.database import CortexDatabase
from cortex_backend.security.passwords import Passwords
from cortex_backend.service.accounts import Accounts
from cortex_backend.settings import BackendSettings
from tests.cortex_backend.application import CHEAP, open_client
from tests.cortex_backend.backend_fixture import PASSWORD, MovableClock, settings_for

__all__ = ["ADA", "FORM", "AuthClient", "open_auth_client", "statements"]

ADA: Final = "ada@example.com"
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}


class AuthClient:
    """A backend and its one user, as a client without a token meets them."""

    def __init__(self, client: TestClient, clock: MovableClock) -> None:
        self.client = client
        self.app = cast("CortexApp", client.app)
        self.clock = clock
        self.database: CortexDatabase = self.app.state.database
        self.accounts = Accounts(self.database, Passwords(CHEAP), clock)

    def log_in(self, password: str = PASSWORD, email: str = ADA, **headers: str) -> Any:  # noqa: ANN401
        """Return the answer to a login."""
        body = {"email": email, "password": password, "device": "laptop"}
        return self.client.post("/auth/login", json=body, headers=headers)

    def tokens(self) -> dict[str, Any]:
        """Return the tokens of a new session."""
        answer = self.log_in()
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refresh(self, tokens: dict[str, Any]) -> Any:  # noqa: ANN401
        """Return the answer to a refresh with the refresh token among ``tokens``."""
        form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        return self.client.post("/auth/token", data=form)

    def send(self, tokens: dict[str, Any], method: str, path: str, **content: Any) -> Any:  # noqa: ANN401
        """Return the answer to a request with the access token among ``tokens``."""
        headers = {"Authorization": f"Bearer {tokens['access_token']}"}
        return self.client.request(method, path, headers=headers, **content)

    def is_in(self, tokens: dict[str, Any]) -> bool:
        """Return whether the access token among ``tokens`` is good."""
        status = self.send(tokens, "GET", "/auth/me").status_code
        assert status in {200, 401}
        return status == 200


@contextmanager
def open_auth_client(
    path: Path,
    clock: MovableClock | None = None,
    settings: BackendSettings | None = None,
    address: str = "192.0.2.99",
) -> Iterator[AuthClient]:
    """Yield a backend over the database at ``path``, in which there is one user, to a client at ``address``."""
    moving = clock or MovableClock()
    if clock is None and not path.exists():
        shutil.copyfile(_prepared(), path)
    chosen = settings or settings_for(f"sqlite:///{path}")
    with open_client(chosen, moving, address, raises=False) as client:
        yield AuthClient(client, moving)


@cache
def _prepared() -> Path:
    """Return a database with one user, which is made once for each process of the tests."""
    path = Path(mkdtemp(prefix="cortex-auth-")) / "cortex.db"
    atexit.register(shutil.rmtree, path.parent)
    with closing(CortexDatabase(f"sqlite:///{path}")) as database:
        database.migrate()
        Accounts(database, Passwords(CHEAP), MovableClock()).add(ADA, "Ada", PASSWORD)
    return path


@contextmanager
def statements() -> Iterator[list[str]]:
    """Yield the statements that any database gets during the block."""
    found: list[str] = []

    def keep(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        found.append(statement)

    event.listen(Engine, "before_cursor_execute", keep)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", keep)

"""Target 8: what requests to the Cortex backend cost (CX-98); ``python -m benchmarks.backend [--rounds N]`` alone.

Processor time of the whole process, in turn with an empty synchronous endpoint of FastAPI: each application is called
directly, so that only its own work counts. No test asserts a time.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from pydantic import SecretStr
from starlette.types import ASGIApp

from benchmarks.asgi import send
from benchmarks.bench import Bench
from benchmarks.rows import Row, Unit
from benchmarks.series import in_turn
from cortex_backend.api.app import build_app
from cortex_backend.database import CortexDatabase
from cortex_backend.security.passwords import Passwords
from cortex_backend.service.accounts import Accounts
from cortex_backend.settings import BackendSettings
from task_core.models import utc_now

__all__ = ["EMAIL", "PASSWORD", "main", "measure", "prepare"]

LIMIT: Final = 10.0
"""How many times an empty endpoint the request for one task may cost."""

REQUESTS: Final = 20
"""Requests in one round, under the limit of a minute for all rounds."""

EMAIL: Final = "ada@example.com"
PASSWORD: Final = "correct horse battery"  # noqa: S105 - of a database that lasts for one measurement

EMPTY: Final = "empty endpoint"
TASK: Final = "GET /tasks/{task_id}"
SAME: Final = "GET /tasks/{task_id}, unchanged"


def _empty_app() -> FastAPI:
    app = FastAPI(openapi_url=None)

    @app.get("/")
    def _empty() -> None:
        """Do nothing."""

    return app


def prepare(folder: Path) -> BackendSettings:
    """Return the settings of a backend in ``folder`` with one user."""
    settings = BackendSettings(database_url=f"sqlite:///{folder / 'cortex.db'}", secret_keys=SecretStr("k" * 64))
    with closing(CortexDatabase(settings.database_url)) as database:
        database.migrate()
        Accounts(database, Passwords(), utc_now).add(EMAIL, "Ada", PASSWORD)
    return settings


def measure(bench: Bench) -> list[Row]:
    """Return the rows: the request for one task, and for one that has not changed."""
    return _measure(Path(tempfile.mkdtemp(dir=bench.folder)), bench.pick(12, 2))


def _measure(folder: Path, rounds: int) -> list[Row]:
    settings = prepare(folder)
    app, empty = build_app(settings), _empty_app()
    with asyncio.Runner() as runner, closing(app.state.database):

        def ask(method: str, path: str, headers: dict[str, str], body: str = "") -> bytes:
            status, answer = runner.run(send(app, method, path, headers, body.encode()))
            if status >= 300:
                raise RuntimeError(answer.decode())
            return answer

        kind = {"content-type": "application/json"}
        login = json.dumps({"email": EMAIL, "password": PASSWORD, "device": "bench"})
        tokens = json.loads(ask("POST", "/auth/login", kind, login))
        bearer = {"authorization": f"Bearer {tokens['access_token']}"}
        ask("POST", "/projects/", {**kind, **bearer}, '{"name": "Alpha"}')
        ask("POST", "/tasks/", {**kind, **bearer}, '{"project_id": 1, "title": "Measure"}')

        def work(target: ASGIApp, path: str, headers: dict[str, str]) -> Callable[[], float]:
            async def many() -> float:
                start = time.process_time()
                for _ in range(REQUESTS):
                    await send(target, "GET", path, headers)
                return (time.process_time() - start) / REQUESTS

            return lambda: runner.run(many())

        works = {
            EMPTY: work(empty, "/", {}),
            TASK: work(app, "/tasks/1", bearer),
            SAME: work(app, "/tasks/1", {**bearer, "if-none-match": '"1"'}),
        }
        found = in_turn(works, rounds)
    return [
        Row(8, name, "cortex-backend", Unit.MILLISECONDS, found[name], found[EMPTY], LIMIT, EMPTY)
        for name in (TASK, SAME)
    ]


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backend", description=__doc__)
    parser.add_argument("--rounds", type=int, default=12, help="rounds of each (default: %(default)s)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        for row in _measure(Path(folder), rounds):
            measured, ratio = row.unit.shown(row.measured.median), row.ratio
            print(f"{row.what}: {measured}, {ratio:.1f} × {row.floor_is}; {row.target_shown}")


if __name__ == "__main__":
    main()

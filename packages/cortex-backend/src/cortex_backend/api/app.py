"""The application: its services, its endpoints, and one form for all errors (CX-20, CX-23)."""

import re
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pwdlib.hashers.argon2 import Argon2Hasher
from starlette.exceptions import HTTPException
from starlette.responses import Response
from typing_extensions import override

from cortex_backend.api import auth, projects, system, tasks
from cortex_backend.api.openapi import complete_description
from cortex_backend.api.request_guard import RequestGuard
from cortex_backend.api.responses import problem_response, validation_problem
from cortex_backend.clock import Clock, utc_now
from cortex_backend.database import open_database
from cortex_backend.problems import Problem, invalid_arguments, method_not_allowed
from cortex_backend.security.access import AccessTokens
from cortex_backend.security.keys import load_keys
from cortex_backend.security.passwords import Passwords
from cortex_backend.service.logins import Logins
from cortex_backend.service.work import WorkServices
from cortex_backend.settings import BackendSettings

__all__ = ["CortexApp", "build_app"]

_ROUTERS = (tasks.router, projects.router, auth.router, system.router)
"""The most frequent requests come first, because routes are tried in this order."""


class CortexApp(FastAPI):
    """The application, whose description has every status that can come."""

    @override
    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            self.openapi_schema = complete_description(super().openapi())
        return self.openapi_schema

    def close(self) -> None:
        """Close the database; more than once does no harm."""
        self.state.database.close()

    def methods_of(self, path: str) -> list[str]:
        """Return all methods with which ``path`` is served, sorted."""
        found = {
            method.upper()
            for template, operations in self.openapi()["paths"].items()
            if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path)
            for method in operations
        }
        return sorted(found)


def build_app(settings: BackendSettings, clock: Clock = utc_now, hasher: Argon2Hasher | None = None) -> CortexApp:
    """Return the application over the database that ``settings`` name; whoever gets it closes it.

    ``clock`` returns the present moment in UTC, and ``hasher`` sets the cost of passwords. It raises
    ``DatabaseRefused``, or ``SettingsError`` if no keys can be used.
    """
    database = open_database(settings.database_url)
    try:
        keys = load_keys(settings)
    except BaseException:
        database.close()
        raise

    app = CortexApp(
        title="Cortex",
        version=version("cortex-tasks-backend"),
        description="Projects and tasks of a team.",
        openapi_url=None,  # an endpoint of ours
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name.removeprefix("_"),
    )
    app.state.settings = settings
    app.state.database = database
    app.state.logins = Logins(database, AccessTokens(keys), Passwords(hasher), clock)
    app.state.work = WorkServices(database, clock)
    for router in _ROUTERS:
        app.include_router(router)
    app.add_middleware(RequestGuard)
    for error in (Problem, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(error, _answer_problem)
    return app


async def _answer_problem(request: Request, error: Exception) -> Response:
    """Answer every error behind the request guard, the refusals of Starlette and FastAPI included (CX-23)."""
    path: str = request.scope["path"]
    match error:
        case Problem():
            problem = error
        case RequestValidationError():
            problem = validation_problem(error)
        case HTTPException(status_code=404):
            problem = Problem("NotFound", kind="path")
        case HTTPException(status_code=405):
            problem = method_not_allowed(request.app.methods_of(path))
        case HTTPException():
            problem = invalid_arguments([("body", "This is not JSON")])
        case _:
            problem = Problem("InternalError")
    return problem_response(problem, path)

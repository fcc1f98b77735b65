"""The user of a request: the dependency of every endpoint that needs a login (CX-31, CX-39)."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from cortex_backend.problems import not_authenticated
from cortex_backend.service.caller import Caller
from cortex_backend.service.logins import Logins

__all__ = ["CurrentCaller", "CurrentLogins", "current_caller", "current_logins"]

_bearer = HTTPBearer(auto_error=False, scheme_name="token", description="The access token of a session.")


async def current_logins(request: Request) -> Logins:
    """Return the logins of the application."""
    logins: Logins = request.app.state.logins
    return logins


CurrentLogins = Annotated[Logins, Depends(current_logins)]


def current_caller(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Caller:
    """Return the user and session of a request; raise the problem ``NotAuthenticated`` or ``TooManyRequests``."""
    if credentials is None:
        raise not_authenticated(was_given="authorization" in request.headers)
    logins: Logins = request.app.state.logins
    return logins.authenticate(credentials.credentials)


CurrentCaller = Annotated[Caller, Depends(current_caller)]
"""The user and session of a request, as an argument of an endpoint."""

"""Dependencies of the endpoints: the caller, the services, and the headers of versions and repeats."""

from collections.abc import Callable
from hashlib import sha256
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from starlette.responses import Response

from cortex_backend.api.responses import creation_reply
from cortex_backend.caller import Caller
from cortex_backend.problems import not_authenticated
from cortex_backend.service.logins import Logins
from cortex_backend.service.repeats import Creation
from cortex_backend.service.work import WorkServices

__all__ = ["CreateOnce", "CurrentCaller", "CurrentLogins", "CurrentWork", "IfMatch", "IfNoneMatch"]

_bearer = HTTPBearer(auto_error=False, scheme_name="token", description="The access token of a session.")


async def _current_logins(request: Request) -> Logins:
    logins: Logins = request.app.state.logins
    return logins


CurrentLogins = Annotated[Logins, Depends(_current_logins)]


def _current_caller(
    request: Request,
    logins: CurrentLogins,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller:
    """Return the user and session of a request; raise the problem ``NotAuthenticated`` or ``TooManyRequests``."""
    if credentials is None:
        raise not_authenticated(was_given="authorization" in request.headers)
    return logins.authenticate(credentials.credentials)


CurrentCaller = Annotated[Caller, Depends(_current_caller)]
"""The user and session of a request (CX-31, CX-39), as an argument of an endpoint."""


async def _current_work(request: Request) -> WorkServices:
    work: WorkServices = request.app.state.work
    return work


CurrentWork = Annotated[WorkServices, Depends(_current_work)]
IfMatch = Annotated[str | None, Header(description="The `ETag` that the object must still have.")]
IfNoneMatch = Annotated[str | None, Header(description="The `ETag` that is known; if it is the same: 304.")]
_IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        pattern="^[!-~]+$",
        description="Makes repeats of the same request harmless for 24 hours.",
    ),
]

_Create = Callable[..., Creation]
"""A method of a service, which gets the session and the caller before the arguments of the request."""


async def _create_once(
    request: Request, caller: CurrentCaller, work: CurrentWork, idempotency_key: _IdempotencyKey = None
) -> Callable[..., Response]:
    start = f"{request.method} {request.url.path.rstrip('/')}\n"

    def answer(create: _Create, *arguments: Any) -> Response:  # noqa: ANN401 - those that ``create`` takes
        bodies = (value.model_dump_json(exclude_unset=True) for value in arguments if isinstance(value, BaseModel))
        digest = sha256("".join([start, *bodies]).encode()).hexdigest()
        creation = work.repeats.run(caller, idempotency_key, digest, lambda found: create(found, caller, *arguments))
        return creation_reply(creation)

    return answer


CreateOnce = Annotated[Callable[..., Response], Depends(_create_once)]
"""A function that answers with what a service creates, or created for the first request with the same key (CX-25)."""

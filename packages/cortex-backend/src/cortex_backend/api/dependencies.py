"""Dependencies that the endpoints of projects, tasks and events share: services, headers, and checks of the query."""

from collections import Counter
from typing import Annotated, Final

from fastapi import Depends, Header, Request
from pydantic import BaseModel

from cortex_backend.problems import invalid_arguments
from cortex_backend.service.repeats import KeyedRequest
from cortex_backend.service.rules.versions import Precondition
from cortex_backend.service.work import WorkServices

__all__ = [
    "ONCE_QUERY",
    "CurrentWork",
    "IdempotencyKey",
    "IfMatch",
    "IfNoneMatch",
    "current_work",
    "key_of",
    "refuse_repeated_parameters",
]

_LISTS: Final = frozenset({"status", "type", "priority"})
"""The parameters of a query that may be given more than once."""


async def current_work(request: Request) -> WorkServices:
    """Return the services of the application."""
    work: WorkServices = request.app.state.work
    return work


CurrentWork = Annotated[WorkServices, Depends(current_work)]
"""The services, as an argument of an endpoint."""


async def _read_precondition(
    if_match: Annotated[str | None, Header(description="The `ETag` that the object must still have.")] = None,
) -> Precondition:
    return Precondition(if_match)


IfMatch = Annotated[Precondition, Depends(_read_precondition)]
"""The version that a change expects."""

IfNoneMatch = Annotated[str | None, Header(description="The `ETag` that is known; if it is the same: 304.")]
"""The version that the client knows."""

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        pattern="^[!-~]+$",
        description="Makes repeats of the same request harmless for 24 hours.",
    ),
]
"""The key of a request that can be repeated."""


async def refuse_repeated_parameters(request: Request) -> None:
    """Return if each parameter of the query that is not a list is given once.

    Raises:
        Problem: ``InvalidArguments`` if one is given more often.
    """
    counts = Counter(name for name, _ in request.query_params.multi_items())
    repeated = sorted(name for name, count in counts.items() if count > 1 and name not in _LISTS)
    if repeated:
        raise invalid_arguments([(f"query.{name}", "Give it once") for name in repeated])


ONCE_QUERY: Final = [Depends(refuse_repeated_parameters)]
"""The dependencies of the routes with a query."""


def key_of(request: Request, key: str | None, body: BaseModel) -> KeyedRequest:
    """Return what makes this request the same as another."""
    path = request.url.path.rstrip("/")
    return KeyedRequest(key=key, method=request.method, path=path, body=body.model_dump_json(exclude_unset=True))

"""What the endpoints of projects, tasks and events share: arguments, pages with a link, versions as tags."""

from collections import Counter
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import Depends, Header, Request
from pydantic import BaseModel
from starlette.responses import Response

from cortex_backend.problems import invalid_arguments
from cortex_backend.service.repeats import Creation, KeyedRequest
from cortex_backend.service.rules.pages import Page
from cortex_backend.service.rules.versions import Precondition, is_same_version, make_etag
from cortex_backend.service.work import WorkServices

__all__ = [
    "ONCE_QUERY",
    "CurrentWork",
    "IdempotencyKey",
    "IfMatch",
    "IfNoneMatch",
    "creation_reply",
    "current_work",
    "describe",
    "json_reply",
    "key_of",
    "page_reply",
    "refuse_repeated_parameters",
    "version_reply",
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
"""What the routes with a query depend on."""


def describe(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the statuses of an operation for its description, beside the one of success."""
    return {status: {} for status in statuses}


def json_reply(body: BaseModel) -> Response:
    """Return the answer with a body."""
    return Response(body.model_dump_json(by_alias=True), media_type="application/json")


def version_reply(body: BaseModel, version: int, known: str | None = None) -> Response:
    """Return the answer with an object of a version, or 304 if the client knows this version already."""
    headers = {"ETag": make_etag(version)}
    if is_same_version(known, version):
        return Response(status_code=304, headers=headers)
    return Response(body.model_dump_json(by_alias=True), media_type="application/json", headers=headers)


def creation_reply(creation: Creation) -> Response:
    """Return the answer to a request that created something, or did so before."""
    headers: dict[str, str] = {}
    if creation.location is not None:
        headers["Location"] = creation.location
    if creation.version is not None:
        headers["ETag"] = make_etag(creation.version)
    if creation.is_replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(creation.body, status_code=201, media_type="application/json", headers=headers)


def page_reply(request: Request, name: str, page: Page) -> Response:
    """Return the answer with a page, whose entries are in the member ``name``."""
    cursor = "null" if page.next_cursor is None else f'"{page.next_cursor}"'
    body = f'{{"{name}":[{",".join(page.entries)}],"total":{page.total},"next_cursor":{cursor}}}'
    headers: dict[str, str] = {}
    if page.next_cursor is not None:
        kept = [(key, value) for key, value in request.query_params.multi_items() if key != "cursor"]
        query = urlencode([*kept, ("cursor", page.next_cursor)])
        headers["Link"] = f'<{request.url.path}?{query}>; rel="next"'
    return Response(body, media_type="application/json", headers=headers)


def key_of(request: Request, key: str | None, body: BaseModel) -> KeyedRequest:
    """Return what makes this request the same as another."""
    path = request.url.path.rstrip("/")
    return KeyedRequest(key=key, method=request.method, path=path, body=body.model_dump_json(exclude_unset=True))

"""Responses that the endpoints share: objects with their version, pages, and problems of RFC 9457 (CX-23, CX-102)."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from cortex_backend.problems import Problem, echo_input, invalid_arguments
from cortex_backend.schemas.projects import ProjectView
from cortex_backend.schemas.tasks import TaskView
from cortex_backend.service.repeats import Creation
from cortex_backend.service.rules.pages import Page
from cortex_backend.service.rules.versions import is_same_version, make_etag

__all__ = [
    "MEDIA_TYPE",
    "SECURITY_HEADERS",
    "FieldProblem",
    "ProblemBody",
    "creation_reply",
    "describe",
    "json_reply",
    "page_reply",
    "problem_response",
    "validation_problem",
    "version_reply",
]

SECURITY_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of every answer."""

MEDIA_TYPE: Final = "application/problem+json"


class FieldProblem(BaseModel):
    """The fault in one part of a request."""

    path: str = Field(examples=["body.title"])
    message: str = Field(examples=["Field required"])


class ProblemBody(BaseModel):
    """The reason why a request failed (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="A name of the problem, as a URN.", examples=["urn:cortex:problem:NotFound"])
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(description="One sentence that says what to do next.")
    instance: str = Field(description="The path of the request.", examples=["/tasks/42"])
    code: str = Field(description="The stable name of the problem.", examples=["NotFound"])
    errors: list[FieldProblem] | None = Field(default=None, description="The wrong parts of the request.")


def problem_response(problem: Problem, path: str) -> Response:
    """Return the answer to a request for ``path`` that failed with ``problem``."""
    body = {
        "type": f"urn:cortex:problem:{problem.code}",
        "title": problem.title,
        "status": int(problem.status),
        "detail": problem.detail,
        "instance": echo_input(quote(path)),
        "code": problem.code,
        **problem.members,
    }
    return JSONResponse(body, problem.status, {**SECURITY_HEADERS, **problem.headers}, MEDIA_TYPE)


def validation_problem(error: RequestValidationError) -> Problem:
    """Return the problem with each wrong part of a request; what was sent there is not repeated."""
    found = [(".".join(map(str, item["loc"])), _reason_of(item)) for item in error.errors()]
    return invalid_arguments(found)


def _reason_of(item: Mapping[str, object]) -> str:
    # A pattern is up to 400 characters that nobody can read.
    is_pattern = item["type"] == "string_pattern_mismatch"
    return "The text does not have the form that GET /openapi.json shows" if is_pattern else str(item["msg"])


def describe(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the statuses of an operation, other than success, for its description."""
    return {status: {} for status in statuses}


def json_reply(body: BaseModel, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer with a body."""
    return Response(body.model_dump_json(by_alias=True), media_type="application/json", headers=headers)


def version_reply(body: ProjectView | TaskView, known: str | None = None) -> Response:
    """Return the answer with an object of a version, or 304 if the client knows this version already."""
    headers = {"ETag": make_etag(body.version)}
    is_known = is_same_version(known, body.version)
    return Response(status_code=304, headers=headers) if is_known else json_reply(body, headers)


def creation_reply(creation: Creation) -> Response:
    """Return the answer to a request that created something, or did so before."""
    headers = {"Idempotency-Replayed": "true"} if creation.is_replayed else {}
    if creation.location is not None:
        headers |= {"Location": creation.location, "ETag": make_etag(creation.version)}
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

"""The answers that are the same everywhere: problems of RFC 9457, and the headers of every answer (CX-23, CX-102)."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from cortex_backend.problems import Problem, echo_input, invalid_arguments

__all__ = ["MEDIA_TYPE", "SECURITY_HEADERS", "FieldProblem", "ProblemBody", "problem_answer", "validation_problem"]

SECURITY_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of every answer."""

MEDIA_TYPE: Final = "application/problem+json"


class FieldProblem(BaseModel):
    """What is wrong with one part of a request."""

    path: str = Field(examples=["body.title"])
    message: str = Field(examples=["Field required"])


class ProblemBody(BaseModel):
    """Why a request failed (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="A name of the problem, as a URN.", examples=["urn:cortex:problem:NotFound"])
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(description="One sentence that says what to do next.")
    instance: str = Field(description="The path of the request.", examples=["/tasks/42"])
    code: str = Field(description="The stable name of the problem.", examples=["NotFound"])
    errors: list[FieldProblem] | None = Field(default=None, description="The wrong parts of the request.")


def problem_answer(problem: Problem, path: str) -> Response:
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

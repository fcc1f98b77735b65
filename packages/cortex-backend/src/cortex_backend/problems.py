"""The errors that a request can get (section 12), one class each; the sentence is built here, once (CX-95).

The code that clients see is the name of the class without ``Problem``. What turns a problem into an answer of RFC 9457
is in ``api`` (CX-23). A problem repeats at most 200 characters of the request.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import ClassVar, Final

__all__ = [
    "ECHO_LIMIT",
    "AssignedToOtherProblem",
    "ForbiddenProblem",
    "IdempotencyKeyReusedProblem",
    "InternalErrorProblem",
    "InvalidArgumentsProblem",
    "InvalidCredentialsProblem",
    "InvalidCursorProblem",
    "InvalidTransitionProblem",
    "LastOwnerProblem",
    "Member",
    "MethodNotAllowedProblem",
    "NotAuthenticatedProblem",
    "NotFoundProblem",
    "PreconditionFailedProblem",
    "Problem",
    "RequestInProgressProblem",
    "TooLargeProblem",
    "TooManyRequestsProblem",
    "UnavailableProblem",
    "UnsupportedMediaTypeProblem",
    "WrongPasswordProblem",
    "echo_input",
]

ECHO_LIMIT: Final = 200
"""Characters of the request that a problem repeats at most (CX-23)."""

_MAX_ERRORS: Final = 20
"""Wrong fields that a problem lists at most."""

Member = str | int | Sequence[str] | Sequence[Mapping[str, str]]
"""A value of an extra member of a problem."""


def echo_input(text: str, limit: int = ECHO_LIMIT) -> str:
    """Return the part of ``text`` that a problem repeats: at most ``limit`` characters, all printable."""
    shown = "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in text[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


class Problem(Exception):
    """An error that the client can understand and act on; the base of all of them.

    ``detail`` is one sentence that says what to do next, ``headers`` go with the answer, and ``members`` are what the
    code adds to the body.
    """

    status: ClassVar[HTTPStatus]
    title: ClassVar[str]

    def __init__(
        self, detail: str, *, headers: Mapping[str, str] | None = None, members: Mapping[str, Member] | None = None
    ) -> None:
        super().__init__(detail)
        self.detail: str = detail
        self.headers: dict[str, str] = dict(headers or {})
        self.members: dict[str, Member] = dict(members or {})

    @property
    def code(self) -> str:
        """The stable name that clients match on."""
        return type(self).__name__.removesuffix("Problem")


class InvalidCredentialsProblem(Problem):
    """E-mail or password is wrong; which of them is not said."""

    status = HTTPStatus.UNAUTHORIZED
    title = "Invalid credentials"

    def __init__(self) -> None:
        super().__init__("E-mail or password is wrong. Check both and log in again.")


class NotAuthenticatedProblem(Problem):
    """The request has no valid access token; ``was_given`` is whether it has one at all (CX-39)."""

    status = HTTPStatus.UNAUTHORIZED
    title = "Not authenticated"

    def __init__(self, *, was_given: bool = False) -> None:
        found = "The access token is not valid, or its session has ended" if was_given else "There is no access token"
        challenge = 'Bearer error="invalid_token"' if was_given else "Bearer"
        super().__init__(f"{found}. Refresh it, or log in again.", headers={"WWW-Authenticate": challenge})


class ForbiddenProblem(Problem):
    """The caller may see the object, but not do this to it: only ``who`` may, or ``limit`` is reached (CX-96)."""

    status = HTTPStatus.FORBIDDEN
    title = "Forbidden"

    def __init__(self, who: str = "", *, limit: str = "") -> None:
        rule = f"Only {who} can do this. Ask an owner of the project."
        super().__init__(
            f"The limit of {limit} is reached. Ask an owner of the project, or use another project." if limit else rule
        )


class WrongPasswordProblem(Problem):
    """The old password, which a change of the password needs, is wrong."""

    status = HTTPStatus.FORBIDDEN
    title = "Wrong password"

    def __init__(self) -> None:
        super().__init__("The old password is wrong, so it was not changed. Try again.")


class NotFoundProblem(Problem):
    """There is no such object, or the caller may not see it: the answer is the same (CX-26)."""

    status = HTTPStatus.NOT_FOUND
    title = "Not found"

    def __init__(self, kind: str) -> None:
        super().__init__(f"There is no such {kind}, or you may not see it. List what you can see, and check the id.")


class MethodNotAllowedProblem(Problem):
    """The path exists, but not with this method; ``allowed`` are all that it has."""

    status = HTTPStatus.METHOD_NOT_ALLOWED
    title = "Method not allowed"

    def __init__(self, allowed: Sequence[str]) -> None:
        methods = ", ".join(sorted(allowed))
        super().__init__(f"This path does not take that method. Use one of: {methods}.", headers={"Allow": methods})


class InvalidTransitionProblem(Problem):
    """A task cannot go from its status to the one asked for (CX-12); ``missing`` is what it would need for that."""

    status = HTTPStatus.CONFLICT
    title = "Invalid transition"

    def __init__(self, old: str, new: str, allowed: Sequence[str], *, missing: str = "") -> None:
        advice = f"Set {missing} in the same request." if missing else f"It can become {' or '.join(allowed)}."
        super().__init__(
            f"A task that is {old} cannot become {new}{' like this' if missing else ''}. {advice}",
            members={"from": old, "to": new, "allowed": [*allowed]},
        )


class AssignedToOtherProblem(Problem):
    """Somebody else works on the task (CX-13)."""

    status = HTTPStatus.CONFLICT
    title = "Assigned to somebody else"

    def __init__(self) -> None:
        super().__init__("The task is assigned to somebody else. Choose another task, or ask an owner to reassign it.")


class LastOwnerProblem(Problem):
    """A project without owner would be out of everybody's reach (CX-10)."""

    status = HTTPStatus.CONFLICT
    title = "Last owner"

    def __init__(self) -> None:
        super().__init__("A project needs an owner, and this is the last one. Make another member an owner first.")


class PreconditionFailedProblem(Problem):
    """The object has changed since the version in ``If-Match`` (CX-24)."""

    status = HTTPStatus.PRECONDITION_FAILED
    title = "Precondition failed"

    def __init__(self, version: int) -> None:
        super().__init__(
            f"It has changed since you read it; its version is {version}. Read it again, then repeat the change.",
            headers={"ETag": f'"{version}"'},
            members={"current_version": version},
        )


class TooLargeProblem(Problem):
    """The body, or the request line with its headers, is too large; ``limit`` is in bytes."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    title = "Too large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The request is too large. Send at most {limit:,} bytes.")


class UnsupportedMediaTypeProblem(Problem):
    """The body is of another type than the one that the path takes."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    title = "Unsupported media type"

    def __init__(self, expected: str = "application/json") -> None:
        super().__init__(f"Send the body with Content-Type: {expected}.")


class InvalidArgumentsProblem(Problem):
    """A part of the request is missing, unknown, of a wrong type or out of bounds.

    ``errors`` are pairs of a path (``body.title``, ``query.limit``) and what is wrong there.
    """

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    title = "Invalid arguments"

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        share = ECHO_LIMIT // 2
        shown: list[Mapping[str, str]] = []
        for path, why in errors[:_MAX_ERRORS]:
            name = echo_input(path, max(min(share, 60), 1))
            share = max(share - len(name), 0)
            shown.append({"path": name, "message": why})
        first = echo_input(errors[0][0], 60)
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        why = errors[0][1].rstrip(".")
        super().__init__(f"Correct the request and send it again: {first}: {why}{more}.", members={"errors": shown})


class InvalidCursorProblem(Problem):
    """The cursor is damaged, or is one of another list (CX-22)."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    title = "Invalid cursor"

    def __init__(self) -> None:
        super().__init__("Give next_cursor of the previous page, unchanged, with the same filters; or leave it out.")


class IdempotencyKeyReusedProblem(Problem):
    """Another request had the same ``Idempotency-Key`` (CX-25)."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    title = "Idempotency key reused"

    def __init__(self) -> None:
        super().__init__("Another request had this Idempotency-Key. Send this one with a new key.")


class RequestInProgressProblem(Problem):
    """The first request with the same ``Idempotency-Key`` is not yet answered (CX-25)."""

    status = HTTPStatus.CONFLICT
    title = "Request in progress"

    def __init__(self) -> None:
        super().__init__(
            "The first request with this Idempotency-Key is still running. Repeat it in a moment.",
            headers={"Retry-After": "1"},
        )


class TooManyRequestsProblem(Problem):
    """A limit of the rate is reached; ``seconds`` is when to try again."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    title = "Too many requests"

    def __init__(self, seconds: int) -> None:
        super().__init__(
            f"There were too many requests. Try again in {seconds} seconds.", headers={"Retry-After": str(seconds)}
        )


class UnavailableProblem(Problem):
    """The server is busy, or cannot reach its database."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    title = "Unavailable"

    def __init__(self) -> None:
        super().__init__(
            "The server is busy or cannot reach its database. Try again in a moment.", headers={"Retry-After": "1"}
        )


class InternalErrorProblem(Problem):
    """The server failed in an unforeseen way; its log has the trace."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    title = "Internal error"

    def __init__(self) -> None:
        super().__init__("The server failed unexpectedly. Check whether the request changed anything, then repeat it.")

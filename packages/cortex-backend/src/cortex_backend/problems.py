"""Table of the problems that a request can get: status and sentence by code (CX-23, CX-95).

``api.responses`` turns a problem into an answer of RFC 9457. A problem repeats at most 200 characters of the request.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

__all__ = [
    "ECHO_LIMIT",
    "PROBLEMS",
    "Member",
    "Problem",
    "echo_input",
    "forbidden",
    "invalid_arguments",
    "invalid_transition",
    "limit_reached",
    "method_not_allowed",
    "not_authenticated",
    "precondition_failed",
    "require",
    "too_many_requests",
]

_FoundT = TypeVar("_FoundT")

ECHO_LIMIT: Final = 200
"""Characters of the request that a problem repeats at most (CX-23)."""

_MAX_ERRORS: Final = 20

PROBLEMS: Final[Mapping[str, tuple[int, str]]] = {
    "InvalidCredentials": (401, "E-mail or password is wrong. Check both and log in again."),
    "NotAuthenticated": (401, "{fault}. Refresh it, or log in again."),
    "Forbidden": (403, "{rule} {advice}."),
    "WrongPassword": (403, "The old password is wrong, so it was not changed. Try again."),
    # The same for an object that does not exist and one that the caller may not see (CX-26).
    "NotFound": (404, "There is no such {kind}, or you may not see it. List what you can see, and check the id."),
    "MethodNotAllowed": (405, "This path does not take that method. Use one of: {methods}."),
    "RequestTimeout": (408, "The body of the request did not arrive in time. Send it again."),
    "InvalidTransition": (409, "A task that is {old} cannot become {new}{how}. {advice}"),
    "AssignedToOther": (
        409,
        "The task is assigned to somebody else. Choose another task, or ask an owner to reassign it.",
    ),
    "LastOwner": (409, "A project needs an owner, and this is the last one. Make another member an owner first."),
    "PreconditionFailed": (
        412,
        "It has changed since you read it; its version is {version}. Read it again, then repeat the change.",
    ),
    "TooLarge": (413, "The request is too large. Send at most {limit:,} bytes."),
    "UnsupportedMediaType": (415, "Send the body with Content-Type: {expected}."),
    "InvalidArguments": (422, "Correct the request and send it again: {first}{more}."),
    "InvalidCursor": (422, "Give next_cursor of the previous page, unchanged, with the same filters; or leave it out."),
    "IdempotencyKeyReused": (422, "Another request had this Idempotency-Key. Send this one with a new key."),
    "RequestInProgress": (409, "The first request with this Idempotency-Key is still running. Repeat it in a moment."),
    "TooManyRequests": (429, "There were too many requests. Try again in {seconds} seconds."),
    "Unavailable": (503, "The server is busy or cannot reach its database. Try again in a moment."),
    "InternalError": (
        500,
        "The server failed unexpectedly. Check whether the request changed anything, then repeat it.",
    ),
}
"""Status and sentence of each code, the stable name that clients match on; the sentence says what to do next."""

_TITLES: Final = {"AssignedToOther": "Assigned to somebody else"}
"""Titles that are not the words of the code."""

_BRIEF: Final = {"RequestInProgress", "Unavailable"}
"""Codes of problems that are over in a second."""

Member = str | int | Sequence[str] | Sequence[Mapping[str, str]]


class Problem(Exception):
    """An error that the client can understand and act on.

    ``values`` fill the sentence of ``code``, ``headers`` go with the answer, and ``members`` extend its body.
    """

    def __init__(
        self,
        code: str,
        *,
        headers: Mapping[str, str] | None = None,
        members: Mapping[str, Member] | None = None,
        **values: object,
    ) -> None:
        self.code: str = code
        self.status, sentence = PROBLEMS[code]
        self.title: str = _TITLES.get(code) or re.sub("(?<!^)(?=[A-Z])", " ", code).capitalize()
        self.detail: str = sentence.format_map(values)
        self.headers: dict[str, str] = {**({"Retry-After": "1"} if code in _BRIEF else {}), **(headers or {})}
        self.members: dict[str, Member] = dict(members or {})
        super().__init__(self.detail)


def echo_input(text: str, limit: int = ECHO_LIMIT) -> str:
    """Return the part of ``text`` that a problem repeats: at most ``limit`` characters, all printable."""
    shown = "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in text[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def require(found: _FoundT | None, kind: str) -> _FoundT:
    """Return what a query found; raise the problem ``NotFound`` of this kind of object if it found nothing."""
    if found is None:
        raise Problem("NotFound", kind=kind)
    return found


def not_authenticated(*, was_given: bool) -> Problem:
    """Return the problem of a request without a valid access token; ``was_given`` says if it has one (CX-39)."""
    fault = "The access token is not valid, or its session has ended" if was_given else "There is no access token"
    challenge = 'Bearer error="invalid_token"' if was_given else "Bearer"
    return Problem("NotAuthenticated", fault=fault, headers={"WWW-Authenticate": challenge})


def forbidden(who: str) -> Problem:
    """Return the problem of a caller who sees an object but may not do this to it: only ``who`` may."""
    return Problem("Forbidden", rule=f"Only {who} can do this.", advice="Ask an owner of the project")


def limit_reached(limit: str, advice: str) -> Problem:
    """Return the problem of a project or a user with as much as it may have (CX-96); ``advice`` says what helps."""
    return Problem("Forbidden", rule=f"The limit of {limit} is reached.", advice=advice)


def method_not_allowed(allowed: Sequence[str]) -> Problem:
    """Return the problem of a path that takes only the ``allowed`` methods."""
    methods = ", ".join(sorted(allowed))
    return Problem("MethodNotAllowed", methods=methods, headers={"Allow": methods})


def invalid_transition(old: str, new: str, allowed: Sequence[str], *, missing: str = "") -> Problem:
    """Return the problem of a task that cannot change its status so (CX-12), for lack of ``missing`` if it is given."""
    advice = f"Set {missing} in the same request." if missing else f"It can become {' or '.join(allowed)}."
    members: dict[str, Member] = {"from": old, "to": new, "allowed": [*allowed]}
    how = " like this" if missing else ""
    return Problem("InvalidTransition", old=old, new=new, how=how, advice=advice, members=members)


def precondition_failed(version: int) -> Problem:
    """Return the problem of an object that has changed since the version in ``If-Match`` (CX-24)."""
    headers = {"ETag": f'"{version}"'}
    return Problem("PreconditionFailed", version=version, headers=headers, members={"current_version": version})


def too_many_requests(seconds: int) -> Problem:
    """Return the problem of a rate that is reached until ``seconds`` from now."""
    return Problem("TooManyRequests", seconds=seconds, headers={"Retry-After": str(seconds)})


def invalid_arguments(errors: Sequence[tuple[str, str]]) -> Problem:
    """Return the problem of wrong fields: pairs of a path (``body.title``, ``query.limit``) and the fault there."""
    share = ECHO_LIMIT // 2
    shown: list[Mapping[str, str]] = []
    for path, why in errors[:_MAX_ERRORS]:
        name = echo_input(path, max(min(share, 60), 1))
        share = max(share - len(name), 0)
        shown.append({"path": name, "message": why})
    path, why = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    first = f"{echo_input(path, 60)}: {why.rstrip('.')}"
    return Problem("InvalidArguments", first=first, more=more, members={"errors": shown})

"""The errors that every server shares; the class name is the code that clients see (``spec: Errors``).

A message is one sentence that says what to do next (ERR-1); it repeats at most 200 characters of the input (TOOL-3).
"""

from __future__ import annotations

from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final, Self

from task_core.text import end_sentence, escape_invisible, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic import JsonValue  # importing it would cost ten times as much as this module

__all__ = [
    "ECHO_LIMIT",
    "FOUND_LIMIT",
    "MAX_NAMED",
    "DuplicateId",
    "DuplicateKey",
    "InternalError",
    "InvalidArguments",
    "InvalidTransition",
    "ResourceNotFound",
    "StoreDamaged",
    "StoreLocked",
    "StoreNewer",
    "StoreUnreadable",
    "StoreWriteFailed",
    "TaskError",
    "TaskNotFound",
    "UnknownPrompt",
    "UnknownTool",
    "echo",
    "make_details",
    "quote_names",
    "shorten_names",
]

ECHO_LIMIT: Final = 200
"""Characters of the caller's input that one error repeats at most (TOOL-3)."""

FOUND_LIMIT: Final = 100
"""Characters of a damaged store that an error repeats at most (ST-3)."""

MAX_NAMED: Final = 20
"""Things that the details of an error list at most; the others are counted (TOOL-9)."""

_ECHO_ONE: Final = ECHO_LIMIT // 3
"""Characters of one name or id, which is in the message, in the text made from it, and in the details."""

_ECHO_DETAILS: Final = ECHO_LIMIT - _ECHO_ONE
"""Characters of all names in the details together; the message gets the rest of ``ECHO_LIMIT``."""


def echo(text: str, limit: int = _ECHO_ONE) -> str:
    """Return the part of ``text`` that an error repeats: at most ``limit`` characters, all visible."""
    # Cut before escaping: the text may have megabytes.
    return shorten(escape_invisible(text[: limit + 1]), limit)


def quote_names(names: Iterable[str]) -> str:
    """Return ``names`` for a message, shortened together."""
    return echo(", ".join(f"'{name}'" for name in names))


def shorten_names(names: Iterable[str], limit: int = _ECHO_DETAILS) -> list[str]:
    """Return the first of ``names``, at most 20, each shortened, that have at most ``limit`` characters together."""
    kept = [echo(name) for name in islice(names, MAX_NAMED)]
    return [name for name, total in zip(kept, accumulate(map(len, kept)), strict=True) if total <= limit]


def make_details(name: str, names: Sequence[str]) -> dict[str, JsonValue]:
    """Return the details of an error about ``names``: the first of them under ``name``, and how many ``more``."""
    first = shorten_names(names)
    return {name: [*first], **({"more": len(names) - len(first)} if len(names) > len(first) else {})}


def _hint(near: Sequence[str], otherwise: str) -> str:
    return "Did you mean " + " or ".join(f"'{echo(name)}'" for name in near) + "?" if near else otherwise


class TaskError(Exception):
    """A failure that the caller can understand and act on; the base of all of them."""

    def __init__(self, message: str, details: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(message)
        self.message: str = message
        self.details: dict[str, JsonValue] = dict(details or {})

    def copy(self) -> Self:
        """Return the same error for another caller, without a traceback."""
        copy = type(self).__new__(type(self), *self.args)
        copy.__dict__.update(self.__dict__)
        return copy

    @property
    def code(self) -> str:
        """The stable name that clients match on: the name of the class."""
        return type(self).__name__


class TaskNotFound(TaskError, LookupError):
    """No task has the id that was given."""

    def __init__(self, task_id: str, near: Sequence[str] = ()) -> None:
        advice = _hint(near, "List the tasks to see the ids that exist.")
        super().__init__(f"No task has the id '{echo(task_id)}'. {advice}", {"id": echo(task_id), "near": [*near]})


class InvalidArguments(TaskError):
    """An argument is missing, unknown, of a wrong type or out of bounds.

    ``fields`` are pairs of a path (``updates.status``) and what is wrong there, in the order of the arguments; those
    past the limit of what is repeated are only counted, as ``more``.
    """

    def __init__(self, fields: Sequence[tuple[str, str]], near: Sequence[str] = ()) -> None:
        paths = shorten_names(path for path, _ in fields)
        reasons = [shorten(why, ECHO_LIMIT) for _, why in fields]
        said = [
            f"{path}: {why.rstrip('.')}"
            for path, why in zip(shorten_names(paths[:3], _ECHO_ONE), reasons, strict=False)
        ]
        more = f" (and {len(fields) - len(said)} more)" if len(fields) > len(said) else ""
        listed: list[JsonValue] = [{"path": path, "message": why} for path, why in zip(paths, reasons, strict=False)]
        details: dict[str, JsonValue] = {"fields": listed}
        if len(fields) > len(paths):
            details["more"] = len(fields) - len(paths)
        if near:
            details["near"] = [*near]
        super().__init__(end_sentence(f"Correct the arguments and call again: {'; '.join(said)}{more}"), details)


class DuplicateKey(TaskError):
    """A JSON object in the request names a key more than once."""

    def __init__(self, keys: Sequence[str]) -> None:
        unique = list(dict.fromkeys(keys))
        super().__init__(
            f"Give each key once and call again; given more than once: {quote_names(unique)}.",
            make_details("keys", unique),
        )


class InvalidTransition(TaskError):
    """A task cannot go from its status to the one asked for."""

    def __init__(self, old: str, new: str, allowed: Sequence[str], advice: str = "") -> None:
        ways = f"From '{old}' it can go to {quote_names(allowed)}." if allowed else f"'{old}' is final."
        super().__init__(
            f"A task that is '{old}' cannot become '{echo(new)}'. {advice or ways}",
            {"from": old, "to": echo(new), "allowed": [*allowed]},
        )


class DuplicateId(TaskError):
    """The id is taken, or is given twice in one call."""

    def __init__(self, task_id: str) -> None:
        super().__init__(
            f"The id '{echo(task_id)}' is taken. Choose another one, or leave it out.", {"id": echo(task_id)}
        )


class StoreLocked(TaskError):
    """Others, in this process or another, held the lock of the store for the whole wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The store was locked for {seconds:g} seconds, so nothing was changed. Call again in a moment.",
            {"waited": round(seconds, 3)},
        )


class StoreWriteFailed(TaskError):
    """The store could not be written; nothing has changed, unless it ``is_unknown`` whether the change was saved."""

    is_edited = False
    """true if somebody edited the document meanwhile, so that the same change can be made to what they wrote"""

    def __init__(self, name: str, cause: str, *, is_unknown: bool = False) -> None:
        name = echo(name, ECHO_LIMIT)
        message = f"Nothing was saved: '{name}' could not be written ({cause}). Fix the cause, then call again."
        details: dict[str, JsonValue] = {"file": name, "cause": cause}
        if is_unknown:
            message = (
                f"It is unknown whether this was saved in '{name}' ({cause}). List the tasks to see whether it was, "
                "before you repeat the call."
            )
            details["unknown"] = True
        super().__init__(message, details)


class StoreUnreadable(TaskError):
    """The store exists but cannot be read; it is left as it is (ST-4)."""

    def __init__(self, name: str, cause: str) -> None:
        name = echo(name, ECHO_LIMIT)
        super().__init__(
            f"The store '{name}' exists but cannot be read ({cause}), so it was left untouched. "
            "Ask the user to fix it, then call again.",
            {"file": name, "cause": cause},
        )


class StoreDamaged(TaskError):
    """The store exists but is not a complete, valid store of this server; it is left as it is (ST-3).

    ``found`` is what is wrong there and ``expected`` what would be right, both without a period; ``line`` and
    ``column`` count from 1 in a document, and are left out for a database. ``advice`` takes the place of the usual one.
    """

    is_torn = False
    """true if the document ends in the middle, as a crash can leave it"""

    def __init__(self, name: str, found: str, expected: str, line: int = 0, column: int = 0, advice: str = "") -> None:
        name, found = echo(name, ECHO_LIMIT), echo(found, FOUND_LIMIT)
        place, cure = "", "put back a copy of the database, import an export into a new one"
        details: dict[str, JsonValue] = {"file": name, "found": found, "expected": expected}
        if line:
            place = f" at line {line}, column {column}"
            cure = "repair it, put an older copy back with the server's command 'restore'"
            details |= {"line": line, "column": column}
        what = f"The store '{name}' is damaged{place} (found {found}, expected {expected})"
        usual = f"{what}, so it was left untouched. Ask the user to {cure}, or choose another file; then call again."
        super().__init__(f"{what}. {advice}" if advice else usual, details)


class StoreNewer(TaskError):
    """A newer version of the server wrote the store; it is left as it is (ST-4)."""

    def __init__(self, name: str, found: int, supported: int) -> None:
        name = echo(name, ECHO_LIMIT)
        super().__init__(
            f"The store '{name}' has format version {found}, newer than this server supports ({supported}), "
            "so it was left untouched. Ask the user to update the server.",
            {"file": name, "found": found, "supported": supported},
        )


class UnknownTool(TaskError):
    """No tool has the name that was called."""

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        advice = _hint(near, "List the tools to see their names.")
        super().__init__(f"Unknown tool '{echo(name)}'. {advice}", {"name": echo(name), "near": [*near]})


class UnknownPrompt(TaskError):
    """No prompt has the name that was asked for."""

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        advice = _hint(near, "List the prompts to see their names.")
        super().__init__(f"Unknown prompt '{echo(name)}'. {advice}", {"name": echo(name), "near": [*near]})


class ResourceNotFound(TaskError, LookupError):
    """No resource has the URI that was given; ``uris`` are the forms that one can have."""

    def __init__(self, uri: str, uris: Sequence[str]) -> None:
        super().__init__(f"Unknown resource. Read one of these: {', '.join(uris)}.", {"uri": echo(uri, ECHO_LIMIT)})


class InternalError(TaskError):
    """The server failed in an unforeseen way, which the log shows; if it ``was_begun``, something may have changed."""

    def __init__(self, *, was_begun: bool = True) -> None:
        advice = "check whether the call changed anything before you repeat it" if was_begun else "nothing was changed"
        super().__init__(f"The server failed unexpectedly; {advice}. See its log on stderr.")

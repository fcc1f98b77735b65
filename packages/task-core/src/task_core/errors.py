"""Every error that a tool can answer with, each with a stable code and its message in one place.

The class name is the code that clients see (``spec: Errors``). A message is one sentence that tells the model
what to do next (ERR-1); it repeats at most ``ECHO_LIMIT`` characters of the input (TOOL-3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, islice
from typing import Final

from pydantic import JsonValue

from task_core.text import escape_invisible, shorten

__all__ = [
    "ECHO_LIMIT",
    "DuplicateId",
    "DuplicateKey",
    "ExecutionOrder",
    "IncompleteSubtasks",
    "InternalError",
    "InvalidArguments",
    "InvalidTransition",
    "PathOutsideWorkspace",
    "ReadOnlyField",
    "ReservedField",
    "ResourceNotFound",
    "StoreLocked",
    "StoreNewer",
    "StoreUnreadable",
    "StoreWriteFailed",
    "TaskError",
    "TaskNotFound",
    "UnknownPrompt",
    "UnknownTool",
]

ECHO_LIMIT: Final = 200
"""Characters of the caller's input that one error repeats at most (TOOL-3)."""

_ECHO_ONE: Final = ECHO_LIMIT // 3
"""Characters of one name or id: it stands in the message, in the text made of it, and in the details."""

_ECHO_DETAILS: Final = ECHO_LIMIT - _ECHO_ONE
"""Characters of all names in the details together; the message has the rest."""


def _echo(text: str, limit: int = _ECHO_ONE) -> str:
    # What is cut off first need not be escaped: the text may have megabytes.
    return shorten(escape_invisible(text[: limit + 1]), limit)


def _listed(names: Iterable[str]) -> str:
    return _echo(", ".join(f"'{name}'" for name in names))


def _within(names: Iterable[str], limit: int = _ECHO_DETAILS) -> list[str]:
    """Return the first of ``names``, each shortened, that have at most ``limit`` characters together."""
    kept = [_echo(name) for name in islice(names, limit)]
    return [name for name, total in zip(kept, accumulate(map(len, kept)), strict=True) if total <= limit]


def _hint(near: Sequence[str]) -> str:
    return " Did you mean " + " or ".join(f"'{_echo(name)}'" for name in near) + "?" if near else ""


def _tasks(tasks: Iterable[Mapping[str, str]]) -> str:
    return _echo(", ".join(f"'{_echo(task['name'])}' ({task['id']})" for task in tasks), ECHO_LIMIT)


class TaskError(Exception):
    """A failure that the caller can understand and act on; the base of all of them."""

    def __init__(self, message: str, details: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(message)
        self.message: str = message
        self.details: dict[str, JsonValue] = dict(details or {})

    @property
    def code(self) -> str:
        """The stable name that clients match on: the name of the class."""
        return type(self).__name__


class TaskNotFound(TaskError, LookupError):
    """No task has the id that was given."""

    def __init__(self, task_id: str, near: Sequence[str] = ()) -> None:
        advice = _hint(near) or " List the tasks to see the ids that exist."
        super().__init__(f"No task has the id '{_echo(task_id)}'.{advice}", {"id": _echo(task_id), "near": list(near)})


class InvalidArguments(TaskError):
    """An argument is missing, unknown, of a wrong type or out of bounds.

    ``fields`` are pairs of a path (``updates.status``) and what is wrong there, in the order of the arguments; those
    past the limit of what is repeated are only counted, as ``more``.
    """

    def __init__(self, fields: Sequence[tuple[str, str]], near: Sequence[str] = ()) -> None:
        paths = _within(path for path, _ in fields)
        reasons = [shorten(why, ECHO_LIMIT) for _, why in fields]
        said = [f"{path}: {why.rstrip('.')}" for path, why in zip(_within(paths[:3], _ECHO_ONE), reasons, strict=False)]
        more = f" (and {len(fields) - len(said)} more)" if len(fields) > len(said) else ""
        listed: list[JsonValue] = [{"path": path, "message": why} for path, why in zip(paths, reasons, strict=False)]
        details: dict[str, JsonValue] = {"fields": listed}
        if len(fields) > len(paths):
            details["more"] = len(fields) - len(paths)
        if near:
            details["near"] = list(near)
        super().__init__(f"Correct the arguments and call again: {'; '.join(said)}{more}.", details)


class DuplicateKey(TaskError):
    """A JSON object in the request names a key more than once."""

    def __init__(self, keys: Sequence[str]) -> None:
        unique = list(dict.fromkeys(keys))
        super().__init__(
            f"Give each key once and call again: {_listed(unique)} stands more than once.",
            {"keys": list(_within(unique))},
        )


class ReadOnlyField(TaskError):
    """An update names a field that only the server sets."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"Leave out {_listed(names)} and call again: the server sets such fields itself.",
            {"fields": list(_within(names))},
        )


class ReservedField(TaskError):
    """An extra field has the name of a predefined one."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"Leave out {_listed(names)} or choose another name: it is a predefined field, no extra one.",
            {"fields": list(_within(names))},
        )


class InvalidTransition(TaskError):
    """A task cannot go from its status to the one asked for."""

    def __init__(self, old: str, new: str, allowed: Sequence[str], advice: str = "") -> None:
        ways = f"From '{old}' it can go to {_listed(allowed)}." if allowed else f"'{old}' is final."
        super().__init__(
            f"A task that is '{old}' cannot become '{_echo(new)}'. {advice or ways}",
            {"from": old, "to": _echo(new), "allowed": list(allowed)},
        )


class ExecutionOrder(TaskError):
    """Other tasks must be done first; ``blocking`` holds id, name and status of each, in order."""

    def __init__(self, blocking: Sequence[Mapping[str, str]]) -> None:
        names = _tasks(blocking)
        super().__init__(f"Complete these tasks first: {names}.", {"blocking": [dict(task) for task in blocking]})


class IncompleteSubtasks(TaskError):
    """A task has open subtasks; ``incomplete`` holds id, name and status of each, in order."""

    def __init__(self, incomplete: Sequence[Mapping[str, str]]) -> None:
        names = _tasks(incomplete)
        super().__init__(f"Complete its subtasks first: {names}.", {"incomplete": [dict(task) for task in incomplete]})


class DuplicateId(TaskError):
    """The id is taken, or is given twice in one call."""

    def __init__(self, task_id: str) -> None:
        super().__init__(
            f"Choose another id than '{_echo(task_id)}', or leave it out: it is taken.", {"id": _echo(task_id)}
        )


class PathOutsideWorkspace(TaskError):
    """A path leads out of the folder that it must stay in, or has a form that is not accepted."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"Give '{field}' as a path inside the workspace or an http(s) URL: {why}.", {"field": field})


class StoreLocked(TaskError):
    """Another process held the lock of the store for the whole wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The store is locked by another process; nothing was changed after waiting {seconds:g} seconds. "
            "Call again in a moment.",
            {"waited": round(seconds, 3)},
        )


class StoreWriteFailed(TaskError):
    """The store could not be written; nothing has changed in memory or on disk."""

    def __init__(self, name: str, cause: str) -> None:
        name = escape_invisible(name)
        super().__init__(
            f"Nothing was saved: '{name}' could not be written ({cause}). Mend the cause, then call again.",
            {"file": name, "cause": cause},
        )


class StoreUnreadable(TaskError):
    """The store is there but cannot be read; it is left as it is (ST-4)."""

    def __init__(self, name: str, cause: str) -> None:
        name = escape_invisible(name)
        super().__init__(
            f"The store '{name}' is there but cannot be read ({cause}), so it was left untouched. "
            "Ask the user to mend it, then call again.",
            {"file": name, "cause": cause},
        )


class StoreNewer(TaskError):
    """A newer version of the server wrote the store; it is left as it is (ST-4)."""

    def __init__(self, name: str, found: int, supported: int) -> None:
        name = escape_invisible(name)
        super().__init__(
            f"The store '{name}' has format version {found}, newer than this server, which knows {supported}; "
            "it was left untouched. Ask the user to update the server.",
            {"file": name, "found": found, "supported": supported},
        )


class UnknownTool(TaskError):
    """No tool has the name that was called."""

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        advice = _hint(near) or " List the tools to see their names."
        super().__init__(f"There is no tool '{_echo(name)}'.{advice}", {"name": _echo(name), "near": list(near)})


class UnknownPrompt(TaskError):
    """No prompt has the name that was asked for."""

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        advice = _hint(near) or " List the prompts to see their names."
        super().__init__(f"There is no prompt '{_echo(name)}'.{advice}", {"name": _echo(name), "near": list(near)})


class ResourceNotFound(TaskError, LookupError):
    """No resource has the URI that was given; ``uris`` are the forms that one can have."""

    def __init__(self, uri: str, uris: Sequence[str]) -> None:
        super().__init__(f"Read one of these: {', '.join(uris)}.", {"uri": _echo(uri, ECHO_LIMIT)})


class InternalError(TaskError):
    """The server failed in a way that was not foreseen; the log on stderr has the trace."""

    def __init__(self) -> None:
        super().__init__("The server failed unexpectedly; nothing was changed. Its log on stderr says more.")

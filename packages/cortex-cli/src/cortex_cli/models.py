"""Objects of the backend as immutable tuples, and their reading from an untrusted answer (CX-10, CX-11, CX-97)."""

import time
from collections.abc import Callable
from math import inf
from types import UnionType
from typing import Final, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from cortex_cli.errors import TimedOut

__all__ = [
    "CLOSED_STATUSES",
    "FORGES",
    "MAX_ID",
    "PRIORITIES",
    "STATUSES",
    "TASK_TYPES",
    "Assignee",
    "CortexProject",
    "CortexTask",
    "CortexUser",
    "Deadline",
    "EventEnd",
    "Invitation",
    "LoginSession",
    "LoginTokens",
    "Malformed",
    "Membership",
    "PullRequestRecord",
    "Settings",
    "TaskEvent",
    "TaskListing",
    "TaskProject",
    "as_json",
    "read_as",
]

Model = TypeVar("Model", bound=tuple[object, ...])

STATUSES: Final = ("TODO", "IN_PROGRESS", "REVIEW", "DONE", "CANCELED")
CLOSED_STATUSES: Final = ("DONE", "CANCELED")
TASK_TYPES: Final = ("feature", "bug", "docs", "fix", "chore", "refactor")
PRIORITIES: Final = ("LOW", "MEDIUM", "HIGH")
FORGES: Final = ("github", "gitlab", "gitea", "none")

MAX_ID: Final = 2**31 - 1
"""The greatest id of anything that the backend keeps (CX-11)."""


class Assignee(NamedTuple):
    """The user who works on a task."""

    id: int
    name: str


class TaskProject(NamedTuple):
    """The project of a task, as far as git needs it."""

    id: int
    name: str
    repository_url: str | None = None
    default_branch: str | None = None


class PullRequestRecord(NamedTuple):
    """A pull request (CX-14) as the forge shows it, or as the backend keeps it; without a forge that *is* it."""

    url: str | None = None
    number: int | None = None
    forge: str = "none"
    state: str = "open"
    head_sha: str | None = None
    base: str | None = None
    submitted_at: str | None = None


class CortexTask(NamedTuple):
    """One task (CX-11); times are as the backend writes them, ISO 8601 in UTC."""

    id: int
    project: TaskProject
    title: str
    status: str
    version: int
    type: str = "feature"
    priority: str = "MEDIUM"
    description: str = ""
    assignee: Assignee | None = None
    branch_name: str | None = None
    pull_request: PullRequestRecord | None = None
    deadline: str | None = None
    created_by: Assignee | int | None = None
    created_at: str = ""
    updated_at: str = ""


class TaskListing(NamedTuple):
    """One page of tasks, and how many there are on all pages (CX-22)."""

    tasks: tuple[CortexTask, ...]
    total: int
    next_cursor: str | None = None


class CortexUser(NamedTuple):
    """A person with a login (CX-10)."""

    id: int
    name: str
    email: str


class CortexProject(NamedTuple):
    """A project with its repository (CX-10)."""

    id: int
    name: str
    repository_url: str | None = None
    default_branch: str | None = None
    role: str | None = None
    version: int | None = None


class Membership(NamedTuple):
    """A member of a project, and what they may do there."""

    role: str
    user: CortexUser | Assignee


class Invitation(NamedTuple):
    """An invitation to a project, by e-mail; whoever accepts it becomes a member."""

    id: int
    project: TaskProject
    email: str
    role: str


class TaskEvent(NamedTuple):
    """An event, as far as it is read: the rest is passed on as it is (CX-44)."""

    id: int


class EventEnd(NamedTuple):
    """The id of the newest event that the user may see."""

    last: int = 0


class LoginSession(NamedTuple):
    """One login on one device (CX-31)."""

    id: int | str
    expires_at: str | None = None
    device: str | None = None
    created_at: str | None = None
    last_used_at: str | None = None
    is_current: bool = False


class LoginTokens(NamedTuple):
    """The answer to a login or a refresh (CX-30); ``expires_in`` in seconds."""

    access_token: str
    expires_in: int
    refresh_token: str
    session: LoginSession | None = None
    user: CortexUser | None = None


class Settings(NamedTuple):
    """The settings of ``ctx`` (CX-55), each with its default."""

    url: str | None = None
    default_project: int | None = None
    delete_local_on_done: bool = True
    delete_remote_on_done: bool = False


class Deadline:
    """The time that one command has (``CTX_TIMEOUT``, CX-89), in seconds from the creation of this object."""

    def __init__(self, seconds: float = inf, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seconds = seconds
        self._end = clock() + seconds

    def limit(self, seconds: float) -> float:
        """Return the seconds that one step may take, at most what is left; raise ``TimedOut`` if nothing is."""
        left = self._end - self._clock()
        if left <= 0:
            raise TimedOut(self._seconds)
        return min(left, seconds)

    def extended(self, seconds: float) -> "Deadline":
        """Return a deadline that leaves at least ``seconds``, to take back what a command began."""
        return Deadline(max(self._end - self._clock(), seconds), self._clock)


class Malformed(ValueError):
    """An answer does not have the form that it must have; the message names the place."""


def read_as(model: type[Model], value: object, place: str = "answer") -> Model:
    """Return the JSON object ``value`` as a ``model``; fields that the model does not know are ignored.

    Raise ``Malformed`` if a field is missing or has another type.
    """
    if not isinstance(value, dict):
        raise Malformed(f"{place} is not an object")
    defaults: dict[str, object] = getattr(model, "_field_defaults", {})
    fields: dict[str, object] = {}
    for name, kind in get_type_hints(model).items():
        if name in value:
            fields[name] = _read(kind, value[name], f"{place}.{name}")
        elif name not in defaults:
            raise Malformed(f"{place}.{name} is missing")
    return model(**fields)


def _read(kind: object, value: object, place: str) -> object:
    if isinstance(kind, UnionType):
        reason = Malformed(place)
        for option in reversed(get_args(kind)):  # the first one says what is wrong
            try:
                return _read(option, value, place)
            except Malformed as error:
                reason = error
        raise reason
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise Malformed(f"{place} is not a list")
        return tuple(_read(get_args(kind)[0], item, f"{place}[{number}]") for number, item in enumerate(value))
    if isinstance(kind, type) and hasattr(kind, "_fields"):
        return read_as(kind, value, place)
    if type(value) is not kind:
        raise Malformed(f"{place} has the wrong type")
    return value


def as_json(value: object) -> object:
    """Return a model, and the models in it, as the objects and lists of JSON."""
    if isinstance(value, tuple):
        fields: tuple[str, ...] | None = getattr(value, "_fields", None)
        items = [as_json(item) for item in value]
        return items if fields is None else dict(zip(fields, items, strict=True))
    return value

"""Words of a document as they are stored: ids, statuses, and dependencies with two readings (TM-22 to TM-25, TM-34)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, Self

from pydantic import JsonValue

from taskmaster_mcp.errors import LimitExceeded

__all__ = [
    "REFERENCE",
    "STATUSES",
    "Readable",
    "check_number",
    "find_task_readings",
    "read_number",
    "read_status",
    "read_text",
]

STATUSES: Final = ("pending", "in-progress", "done", "review", "blocked", "deferred", "cancelled")
"""The words for a status (TM-25)."""

_SPELLINGS: Final = {
    **{word.replace("-", ""): word for word in STATUSES},
    **dict.fromkeys(("todo", "open", "new", "notstarted"), "pending"),
    **dict.fromkeys(("doing", "started", "wip"), "in-progress"),
    **dict.fromkeys(("completed", "complete", "finished", "closed"), "done"),
    "inreview": "review",
    "canceled": "cancelled",
    "postponed": "deferred",
}
"""The words, and others for them, in small letters without spaces, ``-`` and ``_``."""

REFERENCE: Final = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,15}))?")
"""A dependency as it is stored: a number, or the id of a subtask."""

_NUMBER: Final = re.compile(r"(?:[0-9]+\.)*([0-9]{1,15})")
"""The stored id of a subtask; the last number counts, since some versions stored ``"5.2"``."""

_MAX_NUMBER: Final = 10**15 - 1
"""The highest number of an item that is read, and so the highest that is made."""


def check_number(number: int) -> int:
    """Return the number of a new item, or raise ``LimitExceeded`` if nothing could read it."""
    if number > _MAX_NUMBER:
        raise LimitExceeded("The number of a task or subtask", _MAX_NUMBER, number)
    return number


def read_text(stored: JsonValue) -> str:
    """Return a stored id as text; number or text make no difference. What cannot be an id is empty."""
    if isinstance(stored, bool) or not isinstance(stored, int | float | str):
        return ""
    is_whole = isinstance(stored, float) and stored.is_integer()
    return str(int(stored) if is_whole else stored).strip()


def read_number(stored: JsonValue, *, is_subtask: bool) -> int | None:
    """Return the number that a stored id has, or None."""
    if isinstance(stored, float):  # such as 5.2, the second subtask of 5
        stored = read_text(stored)
    if isinstance(stored, bool) or not isinstance(stored, int | str):
        return None
    if isinstance(stored, int):
        return stored if 0 <= stored <= _MAX_NUMBER else None
    found = _NUMBER.fullmatch(stored.strip())
    return int(found[1]) if found and (is_subtask or "." not in stored) else None


def read_status(stored: str) -> str:
    """Return the status that is stored, ``pending`` if there is none; unknown words stay."""
    word = stored.strip()
    return _SPELLINGS.get(re.sub(r"[-_\s]", "", word).casefold(), word) if word else "pending"


class Readable(Protocol):
    """An item with dependencies as they are stored."""

    fields: dict[str, JsonValue]

    @property
    def id(self) -> str:
        """The whole id."""

    @property
    def dependencies(self) -> list[JsonValue]:
        """The dependencies as they are stored."""

    @property
    def subtasks(self) -> Sequence[Self]:
        """The subtasks."""

    def resolve_first(self, stored: JsonValue) -> str:
        """Return the first reading of a stored dependency."""

    def other_reading(self, stored: JsonValue) -> str:
        """Return the task that a dependency on a sibling may also mean, or nothing."""


def find_task_readings(items: Iterable[Readable]) -> frozenset[tuple[int, str]]:
    """Return the stored numbers that mean a task, each with the identity of its item's fields.

    The sibling of that number waits for the item, and the task does not, so only one reading is free of cycles.
    """
    known = [*items]
    graph = {it.id: [*map(it.resolve_first, it.dependencies), *(sub.id for sub in it.subtasks)] for it in known}
    found: set[tuple[int, str]] = set()
    for item in known:
        for stored in item.dependencies:
            task, sibling = item.other_reading(stored), item.resolve_first(stored)
            if task in graph and _waits(graph, sibling, item.id) and not _waits(graph, task, item.id):
                found.add((id(item.fields), read_text(stored)))
                graph[item.id] = [task if target == sibling else target for target in graph[item.id]]
    return frozenset(found)


def _waits(graph: Mapping[str, Sequence[str]], start: str, end: str) -> bool:
    """Return whether one item waits for another."""
    reached = {start: None}
    waiting = [start]
    for name in waiting:
        new = [target for target in graph.get(name, ()) if target not in reached]
        reached.update(dict.fromkeys(new))
        waiting.extend(new)
    return end in reached

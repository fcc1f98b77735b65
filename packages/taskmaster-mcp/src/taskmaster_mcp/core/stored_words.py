"""Words of a document as they are stored: ids, statuses, times; and paths along dependencies (TM-22 to TM-25)."""

import re
from datetime import datetime
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from task_core.models import as_utc
from taskmaster_mcp.errors import LimitExceeded

__all__ = [
    "REFERENCE",
    "STATUSES",
    "Graph",
    "check_number",
    "find_path",
    "format_stamp",
    "is_same",
    "make_metadata",
    "read_number",
    "read_reference",
    "read_status",
    "read_text",
]

Graph = dict[str, list[str]]
"""The ids that each item waits for; a task waits for its subtasks too."""

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
    if type(stored) is int:  # nearly all are
        return str(stored)
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


def read_reference(text: str) -> str:
    """Return the id that a stored dependency is by itself, whatever siblings there are: ``05`` is ``5``."""
    return ".".join(str(int(part)) for part in text.split(".")) if REFERENCE.fullmatch(text) else text


def is_same(old: JsonValue, new: JsonValue) -> bool:
    """Return whether two values are written alike: ``1``, ``1.0`` and ``true`` are not the same."""
    return to_json(old) == to_json(new)


def format_stamp(moment: datetime) -> str:
    """Return a moment as the document has it, in UTC with milliseconds (TM-24)."""
    return as_utc(moment).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def make_metadata(now: str, description: str) -> dict[str, JsonValue]:
    """Return the metadata of a new tag."""
    return {"created": now, "updated": now, "description": description}


def find_path(graph: Graph, start: str, end: str) -> list[str]:
    """Return the shortest path from one item to another along what each waits for, ends included; empty if none."""
    came_from: dict[str, str] = {start: ""}
    waiting = [start]
    for name in waiting:
        if name == end:
            found = [name]
            while found[-1] != start:
                found.append(came_from[found[-1]])
            return found[::-1]
        for target in graph.get(name, []):
            if target not in came_from:
                came_from[target] = name
                waiting.append(target)
    return []

"""Tags: their names, their copies, and what a list says about them (TM-62, TM-63)."""

import copy
import re
from collections import Counter
from collections.abc import Container
from typing import Final

from taskmaster_mcp.core.items import JsonObject, TagTasks, make_metadata
from taskmaster_mcp.errors import BadValue, ReservedTag, TagExists

__all__ = ["check_new_name", "describe_tag", "is_name", "make_tag", "name_tag_after", "note_new_name"]

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,50}")

_RESERVED: Final = frozenset(
    {
        *("master", "main", "default", "tasks", "metadata", "tag"),
        *("__proto__", "hasownproperty", "_rawtaggeddata"),
    }
)
"""Names that no new tag may have: they mean something else, here or to Task Master, which would lose the tag."""


def is_name(name: str) -> bool:
    """Return whether ``name`` is formed like the names of new tags, and so can be a part of a file's name."""
    return _NAME.fullmatch(name) is not None


def check_new_name(field: str, name: str, members: Container[str]) -> None:
    """Check that ``name`` can be the name of a new tag beside the ``members`` of the document.

    Raises:
        TaskError: it is malformed, reserved or taken.
    """
    if not is_name(name):
        raise BadValue(field, "use 1 to 50 letters, digits, '_' or '-'")
    if name.casefold() in _RESERVED:
        raise ReservedTag(name, "This name is reserved.")
    if name in members:
        raise TagExists(name)


def make_tag(source: JsonObject | None, now: str, description: str, copied_from: str = "") -> JsonObject:
    """Return a new tag, empty or with a deep copy of the tasks of ``source``."""
    metadata = make_metadata(now, description)
    if copied_from:
        metadata["copiedFrom"] = {"tag": copied_from, "date": now}
    return {"tasks": copy.deepcopy(source["tasks"]) if source else [], "metadata": metadata}


def note_new_name(value: JsonObject, old: str, now: str) -> JsonObject:
    """Return the value of a tag with a note of its old name."""
    metadata = value.get("metadata") or make_metadata(now, f"Renamed from {old}")
    if not isinstance(metadata, dict):
        return value
    return {**value, "metadata": {**metadata, "updated": now, "renamed": {"from": old, "date": now}}}


def describe_tag(tasks: TagTasks, *, is_current: bool) -> JsonObject:
    """Return what a list says about a tag."""
    found = tasks.tasks
    subtasks = [subtask for task in found for subtask in task.subtasks]
    stored = tasks.value.get("metadata")
    metadata = stored if isinstance(stored, dict) else {}
    return {
        "name": tasks.tag,
        "isCurrent": is_current,
        "taskCount": len(found),
        "completedTasks": sum(task.status == "done" for task in found),
        "statusBreakdown": {**Counter(task.status for task in found)},
        "subtaskCounts": {
            "totalSubtasks": len(subtasks),
            "subtasksByStatus": {**Counter(subtask.status for subtask in subtasks)},
        },
        "created": metadata.get("created"),
        "description": metadata.get("description"),
    }


def name_tag_after(branch: str) -> str:
    """Return the tag for a branch of git: its letters, digits, ``_`` and ``-``, other characters as ``-``."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", branch).strip("-")[:50]

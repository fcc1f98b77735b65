"""Tags: their names, their copies, their entries in a list, and moves between them (TM-56, TM-62, TM-63)."""

import copy
import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import Final

from pydantic import JsonValue

from taskmaster_mcp.core.creating import check_room
from taskmaster_mcp.core.graph import drop_dependencies
from taskmaster_mcp.core.items import JsonObject, ProjectItem, TagTasks
from taskmaster_mcp.core.moving import Dropped, insert_task, take_out
from taskmaster_mcp.core.stored_words import make_metadata
from taskmaster_mcp.errors import BadValue, CrossTagConflicts, Refused

__all__ = ["check_new_name", "describe_tag", "is_name", "make_tag", "move_to_tag", "name_tag_after", "note_new_name"]

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,50}")

_RESERVED: Final = frozenset(
    {*("master", "main", "default", "tasks", "metadata", "tag"), *("__proto__", "hasownproperty", "_rawtaggeddata")}
)
"""Names that no new tag may have: they mean something else, here or to Task Master, which would lose the tag."""


def is_name(name: str) -> bool:
    """Return whether ``name`` is formed like the names of new tags, and so can be a part of a file's name."""
    return _NAME.fullmatch(name) is not None


def check_new_name(field: str, name: str, members: Container[str]) -> None:
    """Check that ``name`` can be the name of a new tag beside the ``members`` of the document."""
    if not is_name(name):
        raise BadValue(field, "use 1 to 50 letters, digits, '_' or '-'")
    if name.casefold() in _RESERVED:
        raise Refused("NAME_RESERVED", tag=name)
    if name in members:
        raise Refused("TAG_EXISTS", tag=name)


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


def move_to_tag(
    source: TagTasks,
    target: TagTasks,
    items: Sequence[ProjectItem],
    now: str,
    *,
    with_dependencies: bool = False,
    ignore_dependencies: bool = False,
) -> tuple[list[ProjectItem], Dropped]:
    """Move tasks with their ids to ``target``, and return them with the dependencies that were dropped (TM-56)."""
    for item in items:
        if item.is_subtask:
            raise Refused("CANNOT_MOVE_SUBTASK", id=item.id)
    moved = _closure(source, items) if with_dependencies else [*dict.fromkeys(items)]
    there = target.index()
    for item in moved:
        if item.id in there:
            free = max(source.next_number(), target.next_number())
            raise Refused("TASK_EXISTS_IN_BOTH", id=item.id, tag=target.tag, freeId=str(free))
    known = source.index()
    ids = {it.id for item in moved for it in (item, *item.subtasks)}

    def is_between(item: ProjectItem, found: str) -> bool:
        return (item.id in ids) != (found in ids) and found in known

    conflicts = [(item.id, found) for item in source.items for found in item.targets if is_between(item, found)]
    if conflicts and not ignore_dependencies:
        raise CrossTagConflicts(conflicts)
    dropped = drop_dependencies(source, is_between)
    # A dependency on a missing task must not lead to a task of the other tag by chance.
    dropped += drop_dependencies(source, lambda item, found: item.id in ids and found in there)
    for item in sorted(moved, key=lambda item: item.number or 0):
        check_room(target)
        take_out(source, item)
        source.touched.pop(item, None)
        _note_move(item, source.tag, target.tag, now)
        insert_task(target, item)
    return moved, dropped


def _closure(source: TagTasks, items: Iterable[ProjectItem]) -> list[ProjectItem]:
    index = source.index()
    found = dict.fromkeys(items)
    waiting = [*found]
    for item in waiting:
        names = [name for it in (item, *item.subtasks) for name in it.targets]
        for target in [index[name] for name in names if name in index]:
            task = target.parent or target
            if task not in found:
                found[task] = None
                waiting.append(task)
    return [*found]


def _note_move(item: ProjectItem, from_tag: str, to_tag: str, now: str) -> None:
    metadata = item.stored("metadata", dict)
    history = metadata.get("moveHistory", [])
    if not isinstance(history, list):
        raise Refused("ODD_VALUE", id=item.id, field="metadata.moveHistory", expected="a list")
    entry: dict[str, JsonValue] = {"fromTag": from_tag, "toTag": to_tag, "timestamp": now}
    item.fields["metadata"] = {**metadata, "moveHistory": [*history, entry]}

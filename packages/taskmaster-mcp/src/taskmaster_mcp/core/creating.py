"""New tasks and subtasks, changed fields, notes (TM-43 to TM-47)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from task_core.errors import echo
from taskmaster_mcp.core.graph import add_dependency, build_graph
from taskmaster_mcp.core.items import JsonObject, ProjectItem, TagTasks
from taskmaster_mcp.core.stored_words import check_number, is_same
from taskmaster_mcp.errors import LimitExceeded

__all__ = [
    "MAX_SUBTASKS",
    "MAX_TASKS",
    "add_note",
    "add_subtask",
    "add_task",
    "append_subtask",
    "check_room",
    "find_free_number",
    "merge_metadata",
    "set_fields",
]

MAX_TASKS: Final = 5_000
"""Tasks in a tag, for new ones (TM-87)."""

MAX_SUBTASKS: Final = 200
"""Subtasks of a task, for new ones (TM-87)."""


def add_task(tasks: TagTasks, fields: Mapping[str, JsonValue], dependencies: Sequence[str] = ()) -> ProjectItem:
    """Add a pending task at the end; ``fields`` are its texts and its priority."""
    check_room(tasks)
    wanted = tasks.get_all(dependencies) if dependencies else []
    item = ProjectItem(
        {
            "id": tasks.stored_id(tasks.next_number()),
            **{name: fields.get(name, "") for name in ("title", "description", "details", "testStrategy")},
            "status": "pending",
            "dependencies": [],
            "priority": fields.get("priority", "medium"),
            "subtasks": [],
        }
    )
    item.fill_description()
    tasks.stored.append(item.fields)
    return _connect(tasks, item, dict.fromkeys(found.id for found in wanted))


def add_subtask(
    tasks: TagTasks, task: ProjectItem, fields: Mapping[str, JsonValue], dependencies: Sequence[str] = ()
) -> ProjectItem:
    """Add a subtask as the last of ``task``; an undotted dependency is a sibling, or a task where there is none."""
    wanted = dict.fromkeys(tasks.get(ProjectItem({}, task).resolve(target)).id for target in dependencies)
    stored: JsonObject = {
        "id": find_free_number(tasks, task, avoid=wanted),
        **{name: fields.get(name, "") for name in ("title", "description", "details")},
        "status": fields.get("status") or "pending",
        "dependencies": [],
        "parentTaskId": task.fields.get("id"),
    }
    if fields.get("testStrategy"):
        stored["testStrategy"] = fields["testStrategy"]
    item = ProjectItem(stored, task)
    append_subtask(tasks, task, item)
    return _connect(tasks, item, wanted)


def check_room(tasks: TagTasks) -> None:
    """Raise ``LimitExceeded`` if the tag can have no further task."""
    if len(tasks.stored) >= MAX_TASKS:
        raise LimitExceeded(f"Tasks in tag '{echo(tasks.tag)}'", MAX_TASKS, len(tasks.stored) + 1)


def append_subtask(tasks: TagTasks, task: ProjectItem, item: ProjectItem) -> None:
    """Add ``item`` after the other subtasks of ``task``."""
    subtasks = task.stored("subtasks", list)
    if len(subtasks) >= MAX_SUBTASKS:
        raise LimitExceeded(f"Subtasks of task '{task.id}'", MAX_SUBTASKS, len(subtasks) + 1)
    task.fields["subtasks"] = subtasks
    subtasks.append(item.fields)
    tasks.touch(task)
    tasks.touch(item)


def find_free_number(tasks: TagTasks, task: ProjectItem, *, avoid: Iterable[str] = ()) -> int:
    """Return the number of a new subtask: the highest plus one, skipping tasks that a sibling depends on (TM-35).

    ``avoid`` are the ids that the new subtask itself will depend on.
    """
    said = {target for subtask in task.subtasks for target in subtask.targets}.union(avoid)
    taken = {it.id for it in tasks.tasks}  # a task of its own may have the id 5.1
    number = max((subtask.number or 0 for subtask in task.subtasks), default=0) + 1
    while str(number) in said or f"{task.id}.{number}" in taken:
        number += 1
    return check_number(number)


def set_fields(tasks: TagTasks, item: ProjectItem, fields: Mapping[str, JsonValue]) -> None:
    """Set these fields of an item; equal values change nothing, and a task keeps a description."""
    new = {name: value for name, value in fields.items() if not is_same(item.fields.get(name), value)}
    for name, value in new.items():
        if isinstance(value, str):
            item.stored(name, str)
    if new:
        item.fields.update(new)
        if "description" in new:
            item.fill_description()
        tasks.touch(item)


def merge_metadata(tasks: TagTasks, item: ProjectItem, metadata: Mapping[str, JsonValue]) -> None:
    """Merge ``metadata`` into that of the item, one level deep; null removes (TM-45)."""
    old = item.stored("metadata", dict)
    merged = {name: value for name, value in {**old, **metadata}.items() if metadata.get(name, ...) is not None}
    if merged or old:
        set_fields(tasks, item, {"metadata": merged})


def add_note(tasks: TagTasks, item: ProjectItem, note: str, now: str) -> None:
    """Append a note with its time to the details of an item (TM-46)."""
    block = f"<info added on {now}>\n{note}\n</info added on {now}>"
    stored = item.fields.get("details")
    if isinstance(stored, list):  # some projects have a list of steps
        item.fields["details"] = [*stored, block]
        tasks.touch(item)
        return
    details = item.stored("details", str)
    set_fields(tasks, item, {"details": f"{details}\n{block}" if details else block})


def _connect(tasks: TagTasks, item: ProjectItem, targets: Mapping[str, None]) -> ProjectItem:
    """Let ``item`` depend on ``targets`` and return it; it is new and so has no time of change."""
    graph = build_graph(tasks, inherits=True) if targets else {}
    for target in targets:
        add_dependency(tasks, item, target, graph)
    tasks.touched.pop(item, None)
    tasks.is_changed = True
    return item

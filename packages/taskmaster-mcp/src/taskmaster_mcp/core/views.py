"""Tasks as answers show them, in short, whole and counted, and as the text files that people read (TM-37, TM-83)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from taskmaster_mcp.core.items import JsonObject, ProjectItem, TagTasks
from taskmaster_mcp.core.tags import is_name, name_tag_after

__all__ = [
    "Scores",
    "count_statuses",
    "is_file_name",
    "name_file",
    "read_id",
    "render_markdown",
    "render_short",
    "render_text",
    "render_whole",
]

Scores = Mapping[str, JsonValue]
"""The complexity of tasks by their ids, from the report."""

_COUNTED: Final = {
    "completed": "done",
    "inProgress": "in-progress",
    "pending": "pending",
    "blocked": "blocked",
    "deferred": "deferred",
    "cancelled": "cancelled",
    "review": "review",
}
"""The names of the counts, each with its status."""


def render_short(item: ProjectItem, scores: Scores, *, with_subtasks: bool = False) -> JsonObject:
    """Return a task for a list: no details, no test strategy."""
    found: JsonObject = {
        "id": item.id,
        "title": item.title,
        "description": item.text("description"),
        "status": item.status,
        "priority": item.priority,
        "dependencies": [*item.targets],
    }
    if item.id in scores:
        found["complexityScore"] = scores[item.id]
    subtasks = item.subtasks
    found["subtaskCount"] = len(subtasks)
    if with_subtasks:
        found["subtasks"] = [
            {"id": it.id, "title": it.title, "status": it.status, "dependencies": [*it.targets]} for it in subtasks
        ]
    return found


def render_whole(item: ProjectItem, scores: Scores, status: str | None = None) -> JsonObject:
    """Return an item as it is stored, with whole ids; only its subtasks with ``status`` if one is given (TM-39)."""
    found: JsonObject = {**item.fields, "id": item.id, "dependencies": [*item.targets]}
    if item.parent:
        parent = item.parent
        found["parent"] = {"id": parent.id, "title": parent.title, "status": parent.status}
    elif "subtasks" in item.fields:
        shown = [subtask for subtask in item.subtasks if status in (None, subtask.status)]
        found["subtasks"] = [{**it.fields, "id": it.id, "dependencies": [*it.targets]} for it in shown]
    if item.id in scores:
        found["complexityScore"] = scores[item.id]
    return found


def count_statuses(tasks: TagTasks) -> JsonObject:
    """Return how many tasks and subtasks of the tag have which status, and how much is complete, in per cent."""
    found = tasks.tasks
    return _counts(found) | {"subtasks": _counts(subtask for task in found for subtask in task.subtasks)}


def _counts(items: Iterable[ProjectItem]) -> JsonObject:
    by_status = Counter(item.status for item in items)
    total, complete = by_status.total(), by_status["done"] + by_status["cancelled"]
    counts: JsonObject = {"total": total}
    counts |= {name: by_status[status] for name, status in _COUNTED.items()}
    return counts | {"completionPercentage": round(100 * complete / total, 1) if total else 0.0}


_OTHER: Final = re.compile(r"[^A-Za-z0-9.-]")
"""Characters of an id that are replaced in the name of a file; ``_`` comes before the tag."""

_MAX_NAME: Final = 100
"""Characters of an id in the name of a file."""

_MARKS: Final = {"done": "✓", "in-progress": "⧖", "blocked": "⛔", "cancelled": "✗", "deferred": "⏸"}
"""Marks behind a dependency, by its status."""


def name_file(task_id: str, tag: str, ending: str) -> str:
    """Return the name of the file of a task: ``task_001.txt``, in other tags than master ``task_001_TAG.txt``."""
    own = f"{int(task_id):03}" if task_id.isdecimal() else _OTHER.sub("-", task_id)[:_MAX_NAME]
    return f"task_{own}{_suffix(tag)}.{ending}"


def is_file_name(name: str, tag: str) -> bool:
    """Return whether the file of a task in ``tag`` may have this name."""
    stem, _, ending = name.rpartition(".")
    own = stem.removeprefix("task_").removesuffix(_suffix(tag))
    return ending in ("txt", "md") and stem == f"task_{own}{_suffix(tag)}" and bool(own) and not _OTHER.search(own)


def read_id(data: bytes) -> str:
    """Return the id of the task that a file was generated for, empty if it was not."""
    head, _, task_id = data.split(b"\n", 1)[0].decode("utf-8", "replace").strip().partition(": ")
    return task_id if head == "# Task ID" else ""


def render_text(task: ProjectItem, index: Mapping[str, ProjectItem]) -> str:
    """Return the file of a task in the older form, ``.txt``."""
    lines = [
        f"# Task ID: {task.id}",
        f"# Title: {task.title}",
        f"# Status: {task.status}",
        f"# Dependencies: {_dependencies(task, index)}",
        f"# Priority: {task.priority}",
        f"# Description: {task.text('description')}",
        *("# Details:", task.text("details"), ""),
        *("# Test Strategy:", task.text("testStrategy")),
    ]
    if task.subtasks:
        lines += ["", "# Subtasks:"]
    for subtask in task.subtasks:
        lines += [
            f"## {subtask.own_id}. {subtask.title} [{subtask.status}]",
            f"### Dependencies: {_dependencies(subtask, index)}",
            f"### Description: {subtask.text('description')}",
            *("### Details:", subtask.text("details"), ""),
        ]
    return "\n".join(lines).rstrip() + "\n"


def render_markdown(task: ProjectItem, index: Mapping[str, ProjectItem]) -> str:
    """Return the file of a task in the newer form, ``.md``."""
    blocks = [
        f"# Task ID: {task.id}",
        f"**Title:** {task.title}",
        f"**Status:** {task.status}",
        f"**Dependencies:** {_dependencies(task, index)}",
        f"**Priority:** {task.priority}",
        f"**Description:** {task.text('description')}",
        *_texts(task),
    ]
    if task.subtasks:
        blocks.append("## Subtasks")
    for subtask in task.subtasks:
        blocks += [
            f"### {subtask.id}. {subtask.title}",
            f"**Status:** {subtask.status}  \n**Dependencies:** {_dependencies(subtask, index)}  ",
            *filter(None, [subtask.text("description")]),
            *_texts(subtask),
        ]
    return "\n\n".join(blocks) + "\n"


def _suffix(tag: str) -> str:
    return "" if tag == "master" else f"_{tag if is_name(tag) else name_tag_after(tag)}"


def _texts(item: ProjectItem) -> Iterator[str]:
    yield from ("**Details:**", item.text("details")) if item.text("details") else ()
    yield from ("**Test Strategy:**", item.text("testStrategy")) if item.text("testStrategy") else ()


def _dependencies(item: ProjectItem, index: Mapping[str, ProjectItem]) -> str:
    found: list[str] = []
    for target in item.targets:
        mark = _MARKS.get(index[target].status, "") if target in index else ""
        found.append(f"{target} {mark}".rstrip())
    return ", ".join(found) or "None"

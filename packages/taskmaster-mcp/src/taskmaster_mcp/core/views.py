"""Tasks as answers show them: in short, whole and counted (TM-37, TM-39)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import JsonValue

from taskmaster_mcp.core.items import JsonObject, ProjectItem, TagTasks

__all__ = ["count_statuses", "render_short", "render_whole"]

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


def render_short(item: ProjectItem, scores: Mapping[str, JsonValue], *, with_subtasks: bool = False) -> JsonObject:
    """Return a task for a list: no details, no test strategy; ``scores`` are the complexities of tasks by their ids."""
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


def render_whole(item: ProjectItem, scores: Mapping[str, JsonValue], status: str | None = None) -> JsonObject:
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

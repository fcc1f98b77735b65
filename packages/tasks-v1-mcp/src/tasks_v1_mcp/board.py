"""The tasks at a glance: the summary that is read as a resource (RES-3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from task_core.server.overview import Entry, summary
from tasks_v1_mcp.models import Priority, Status, StoredTask

__all__ = ["all_tasks"]


def all_tasks(tasks: Iterable[StoredTask]) -> str:
    """Return the summary of ``tasks``: what is in progress and what is pending, by priority, then by age."""
    ordered = sorted(tasks, key=lambda task: (-task.priority.rank, task.created_at, task.id))
    found = Counter(task.status for task in ordered)
    sections = {
        "Active": _entries(ordered, Status.IN_PROGRESS),
        "Next": _entries(ordered, Status.PENDING),
    }
    return summary({status.value: found[status] for status in Status}, sections, "list_tasks")


def _entries(tasks: Iterable[StoredTask], status: Status) -> list[Entry]:
    return [Entry(task.id, task.title, _note(task.priority)) for task in tasks if task.status is status]


def _note(priority: Priority) -> str:
    return "" if priority is Priority.MEDIUM else priority.value

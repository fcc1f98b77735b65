"""The tasks at a glance: the short list and the summary that are read as resources (RES-2, RES-3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from heartbeat_mcp.models import Status, Task
from task_core.models import format_timestamp
from task_core.server.overview import MAX_LISTED, MAX_TEXT, Entry, JsonObject, listing, summary
from task_core.text import shorten

__all__ = ["active_tasks", "all_tasks"]


def active_tasks(tasks: Sequence[Task]) -> JsonObject:
    """Return the Pending and Running ``tasks`` in short, in the order given."""
    return listing([_short(task) for task in tasks[:MAX_LISTED]], len(tasks))


def all_tasks(tasks: Sequence[Task]) -> str:
    """Return the summary of ``tasks``, in the order given: what is Running, and what is Pending."""
    found = Counter(task.status for task in tasks)
    sections = {
        "Active": _entries(tasks, Status.RUNNING),
        "Next": _entries(tasks, Status.PENDING),
    }
    return summary({status.value: found[status] for status in Status}, sections, "task_list")


def _short(task: Task) -> JsonObject:
    return {
        "id": task.id,
        "status": task.status.value,
        "raw_user_request": shorten(task.raw_user_request, MAX_TEXT),
        "created_at": format_timestamp(task.created_at),
        "updated_at": format_timestamp(task.updated_at),
    }


def _entries(tasks: Iterable[Task], status: Status) -> list[Entry]:
    return [Entry(task.id, task.raw_user_request) for task in tasks if task.status is status]

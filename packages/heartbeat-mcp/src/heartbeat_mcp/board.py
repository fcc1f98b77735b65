"""The tasks at a glance: the short list and the summary that are read as resources (RES-2, RES-3)."""

from heartbeat_mcp.arguments import TaskList
from heartbeat_mcp.models import HeartbeatStatus, HeartbeatTask
from heartbeat_mcp.service import HeartbeatService
from task_core.models import format_timestamp
from task_core.server.overview import (
    MAX_LISTED,
    MAX_SUMMED,
    MAX_TEXT,
    JsonObject,
    SummaryLine,
    SummarySection,
    render_list,
    render_summary,
)
from task_core.text import shorten

__all__ = ["active_tasks", "summarize"]


def active_tasks(service: HeartbeatService) -> JsonObject:
    """Return the Pending and Running tasks in short form, the oldest first."""
    page = service.list_tasks(TaskList(limit=MAX_LISTED))
    return render_list([_short(task) for task in page.tasks], len(page.tasks) + page.left_out)


def summarize(service: HeartbeatService) -> str:
    """Return the summary: what is Running, and what is Pending, the oldest first."""
    counts = service.count_tasks()
    sections = {
        "Active": _section(service, HeartbeatStatus.RUNNING, counts),
        "Next": _section(service, HeartbeatStatus.PENDING, counts),
    }
    return render_summary(counts, sections, "task_list")


def _section(service: HeartbeatService, status: HeartbeatStatus, counts: dict[str, int]) -> SummarySection:
    oldest = service.oldest_tasks(status.value, MAX_SUMMED)
    return SummarySection([SummaryLine(task.id, task.raw_user_request) for task in oldest], counts[status.value])


def _short(task: HeartbeatTask) -> JsonObject:
    return {
        "id": task.id,
        "status": task.status.value,
        "raw_user_request": shorten(task.raw_user_request, MAX_TEXT),
        "created_at": format_timestamp(task.created_at),
        "updated_at": format_timestamp(task.updated_at),
    }

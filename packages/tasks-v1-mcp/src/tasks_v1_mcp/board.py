"""The tasks at a glance: the summary that is read as a resource (RES-3)."""

from task_core.server.overview import MAX_SUMMED, SummaryLine, SummarySection, render_summary
from task_core.store import Collection, Order, Selection
from tasks_v1_mcp.models import StoredTask, V1Status

__all__ = ["summarize"]


def summarize(tasks: Collection[StoredTask]) -> str:
    """Return the summary of ``tasks``: what is in progress and what is pending, by priority, the newest first."""
    counts = {status.value: tasks.count(Selection(states=(status.value,))) for status in V1Status}
    sections = {
        "Active": _section(tasks, V1Status.IN_PROGRESS, counts),
        "Next": _section(tasks, V1Status.PENDING, counts),
    }
    return render_summary(counts, sections, "list_tasks")


def _section(tasks: Collection[StoredTask], status: V1Status, counts: dict[str, int]) -> SummarySection:
    selection = Selection(states=(status.value,), order=Order.RANK, descending=True, limit=MAX_SUMMED)
    entries = [SummaryLine(task.id, task.title, task.priority.note) for task in tasks.select(selection)]
    return SummarySection(entries, counts[status.value])

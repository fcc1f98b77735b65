"""The tasks of the usual project at a glance, as resources (TM-85)."""

from collections import Counter
from collections.abc import Sequence

from task_core.errors import TaskError
from task_core.server.overview import MAX_LISTED, JsonObject, SummaryLine, SummarySection, render_list, render_summary
from task_core.server.resources import Board
from taskmaster_mcp.core.items import ProjectItem, TagTasks
from taskmaster_mcp.core.selection import choose_next
from taskmaster_mcp.core.stored_words import STATUSES
from taskmaster_mcp.core.views import render_whole
from taskmaster_mcp.direct.registry import ProjectRegistry, Scope
from taskmaster_mcp.project.tag_store import TagStore
from taskmaster_mcp.view import find_item

__all__ = ["describe_resources"]


def describe_resources(registry: ProjectRegistry) -> Board:
    """Return the resources of the usual project: the one for calls that name none."""

    def tasks() -> JsonObject:
        found = _read_tasks(registry)
        shown: list[JsonObject] = [
            {"id": task.id, "title": task.title, "status": task.status} for task in found.tasks[:MAX_LISTED]
        ]
        return render_list(shown, len(found.tasks))

    def task(task_id: str) -> JsonObject:
        return render_whole(find_item(_read_tasks(registry), task_id), {})

    def ids(typed: str, limit: int) -> Sequence[str]:
        return sorted(name for name in _read_tasks(registry).index() if name.startswith(typed))[:limit]

    return Board(
        _find_store(registry), tasks, task, lambda: _summarize(_read_tasks(registry)), ids, list_tool="get_tasks"
    )


def _read_tasks(registry: ProjectRegistry) -> TagTasks:
    project, tag = registry.open(Scope())
    return project.tasks(tag)


def _find_store(registry: ProjectRegistry) -> TagStore | None:
    try:
        return registry.project(Scope()).store
    except TaskError:  # each call says what is wrong with the setting
        return None


def _summarize(tasks: TagTasks) -> str:
    counts = Counter(task.status for task in tasks.tasks)
    active = [_entry(item) for item in tasks.items if item.status == "in-progress"]
    item = choose_next(tasks)
    following = [_entry(item)] if item else []
    known = {status: counts.pop(status, 0) for status in STATUSES}
    sections = {"In progress": SummarySection(active, len(active)), "Next": SummarySection(following, len(following))}
    return render_summary({**known, **counts}, sections, "get_tasks")


def _entry(item: ProjectItem) -> SummaryLine:
    return SummaryLine(item.id, item.title, item.status)

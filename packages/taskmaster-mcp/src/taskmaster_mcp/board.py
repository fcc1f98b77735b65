"""The tasks of the usual project at a glance: as resources (TM-85), and as commands that show them."""

from collections import Counter
from collections.abc import Sequence

from task_core.errors import TaskError, TaskNotFound
from task_core.models import utc_now
from task_core.server.overview import MAX_LISTED, JsonObject, SummaryLine, SummarySection, render_list, render_summary
from task_core.server.resources import Board
from task_core.store import MemoryDatabase, Store
from task_core.text import escape_invisible
from task_core.warning_list import WarningList
from taskmaster_mcp.codec import KIND, Member
from taskmaster_mcp.core.items import STATUSES, ProjectItem, TagTasks
from taskmaster_mcp.core.selection import choose_next, describe_next_step
from taskmaster_mcp.core.views import render_whole
from taskmaster_mcp.direct.desk import Desk, Where
from taskmaster_mcp.errors import BadValue, SubtaskNotFound
from taskmaster_mcp.settings import TaskmasterSettings

__all__ = ["build_board", "show"]


def build_board(desk: Desk) -> Board:
    """Return how the usual project is shown: the one for calls that name none."""

    def tasks() -> JsonObject:
        found = _read_tasks(desk)
        shown: list[JsonObject] = [
            {"id": task.id, "title": task.title, "status": task.status} for task in found.tasks[:MAX_LISTED]
        ]
        return render_list(shown, len(found.tasks))

    def task(task_id: str) -> JsonObject:
        try:
            return render_whole(_read_tasks(desk).get(task_id), {})
        except SubtaskNotFound as error:
            near = error.details["near"]
            raise TaskNotFound(task_id, [*map(str, near)] if isinstance(near, list) else []) from None

    def ids(typed: str, limit: int) -> Sequence[str]:
        return sorted(name for name in _read_tasks(desk).index() if name.startswith(typed))[:limit]

    return Board(_find_store(desk), tasks, task, lambda: _summarize(_read_tasks(desk)), ids)


def show(settings: TaskmasterSettings, view: str, argument: str | None) -> str:
    """Return what the command ``list``, ``next`` or ``show`` prints; ``argument`` is a status or an id.

    Raises:
        TaskError: there is no project, or no such item.
    """
    found = _read_tasks(Desk(settings, WarningList(), utc_now))
    if view == "list":
        argument = "done" if argument == "completed" else argument
        if argument and argument not in {*STATUSES, *(task.status for task in found.tasks)}:
            raise BadValue("STATUS", f"give one of {', '.join(STATUSES)}")
        tasks = [task for task in found.tasks if argument in (None, task.status)]
        return "".join(line for task in tasks for line in (_line(task), *map(_line, task.subtasks)))
    item = choose_next(found) if view == "next" else found.get((argument or "").lstrip("# "))
    if item is None:
        return describe_next_step(None) + "\n"
    texts = [item.text(name) for name in ("description", "details", "testStrategy")]
    blocks = [_line(item).lstrip(), *(f"{_safe(text)}\n" for text in texts if text), *map(_line, item.subtasks)]
    return "".join(blocks)


def _read_tasks(desk: Desk) -> TagTasks:
    project, tag = desk.open(Where())
    return project.tasks(tag)


def _find_store(desk: Desk) -> Store[Member]:
    try:
        return desk.project(Where()).store
    except TaskError:  # each call says what is wrong with the setting
        return Store(MemoryDatabase(), KIND)


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


def _line(item: ProjectItem) -> str:
    indent = "  " if item.is_subtask else ""
    return f"{indent}{item.id:<6} {item.status:<12} {_safe(item.title)}\n"


def _safe(text: str) -> str:
    """Return text that is safe on a terminal: its lines stay, invisible characters are escaped."""
    return "\n".join(map(escape_invisible, text.splitlines()))

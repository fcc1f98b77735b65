"""The tasks of the usual project as people see them: in the order of the file, each with its subtasks."""

from collections.abc import Collection, Iterator, Sequence

from pydantic import JsonValue

from task_core.errors import TaskNotFound
from task_core.models import utc_now
from task_core.view import Line, View, match_statuses
from task_core.warning_list import WarningList
from taskmaster_mcp.core.items import ProjectItem, TagTasks
from taskmaster_mcp.core.selection import choose_next
from taskmaster_mcp.core.stored_words import STATUSES
from taskmaster_mcp.core.views import render_whole
from taskmaster_mcp.direct.registry import ProjectRegistry, Scope
from taskmaster_mcp.errors import SubtaskNotFound
from taskmaster_mcp.settings import TaskmasterSettings

__all__ = ["TaskmasterView", "find_item", "open_view"]


class TaskmasterView:
    """The tasks of the project and the tag for calls that name none."""

    finished: Collection[str] = frozenset({"done", "cancelled"})
    """the statuses of tasks on which work has ended"""

    def __init__(self, registry: ProjectRegistry) -> None:
        self._registry = registry

    @property
    def statuses(self) -> Sequence[str]:
        """Return every status of Task Master, and then those that only this project has."""
        return _statuses(self._read())

    def lines(self, statuses: Collection[str] = ()) -> Iterator[Line]:
        """Return the tasks and subtasks with one of ``statuses``, or all, in the order of the file.

        Raises:
            InvalidArguments: there is no such status.
        """
        tasks = self._read()
        # Task Master reads "completed" as "done".
        words = ["done" if word.casefold() == "completed" else word for word in statuses]
        wanted = match_statuses(words, _statuses(tasks))
        return (_line(item) for item in tasks.items if not wanted or item.status in wanted)

    def task(self, task_id: str) -> dict[str, JsonValue]:
        """Return one whole task or subtask as ``get_task`` shows it, or raise ``TaskNotFound``."""
        project, tag = self._registry.open(Scope())
        return render_whole(find_item(project.tasks(tag), task_id.lstrip("# ")), project.scores(tag))

    def next(self) -> str | None:
        """Return the id of the task or subtask that ``next_task`` chooses, or None."""
        item = choose_next(self._read())
        return item.id if item else None

    def revision(self) -> object:
        """Return a value that differs after every change of the tasks, and of which tag is shown."""
        project, tag = self._registry.open(Scope())
        return tag, project.revision(tag)

    def close(self) -> None:
        """Release the project."""
        self._registry.close()

    def _read(self) -> TagTasks:
        project, tag = self._registry.open(Scope())
        return project.tasks(tag)


def open_view(settings: TaskmasterSettings) -> View:
    """Return the tasks of the project that ``settings`` name, or of the one around the current folder."""
    return TaskmasterView(ProjectRegistry(settings, WarningList(), utc_now))


def find_item(tasks: TagTasks, task_id: str) -> ProjectItem:
    """Return the task or subtask with this id.

    Raises:
        TaskNotFound: there is none, of a subtask too.
    """
    try:
        return tasks.get(task_id)
    except SubtaskNotFound as error:
        near = error.details["near"]
        raise TaskNotFound(task_id, [*map(str, near)] if isinstance(near, list) else []) from None


def _statuses(tasks: TagTasks) -> tuple[str, ...]:
    return (*dict.fromkeys((*STATUSES, *(item.status for item in tasks.items))),)


def _line(item: ProjectItem) -> Line:
    own = item.text("priority").strip()
    return Line(item.id, item.status, item.title, "" if own == "medium" else own, int(item.is_subtask))

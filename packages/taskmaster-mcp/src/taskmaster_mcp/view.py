"""The tasks of the usual project as people see them, in the order of the file; and what people can do to them (TM-85).

The usual project is the one for calls that name none.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from task_core.claims.claim import Agent, Claim
from task_core.errors import TaskError
from task_core.history.changes import Change
from task_core.models import utc_now
from task_core.server.overview import MAX_LISTED, JsonObject, render_list, render_summary
from task_core.view import Action, BoardActions, Line, Section, View, WorkState, match_statuses
from task_core.warning_list import WarningList
from taskmaster_mcp.core.items import PRIORITIES, ProjectItem, TagTasks
from taskmaster_mcp.core.status import choose_next, find_waiting, list_ready
from taskmaster_mcp.core.stored_words import STATUSES
from taskmaster_mcp.core.views import render_whole
from taskmaster_mcp.direct.extras import ProjectHistory
from taskmaster_mcp.direct.registry import ProjectRegistry, Target
from taskmaster_mcp.project.tag_store import TagStore
from taskmaster_mcp.settings import TaskmasterSettings

__all__ = ["ACTIONS", "TaskmasterView", "open_view"]

_FIELDS: Final = ("title", "description", "details", "testStrategy")

_STEPS: Final = {
    "start": "in-progress",
    "complete": "done",
    "review": "review",
    "block": "blocked",
    "defer": "deferred",
    "cancel": "cancelled",
    "reopen": "pending",
}
"""The names of the actions that change the status, each with the status that a task then has."""


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
        """Return the tasks and subtasks with one of ``statuses``, or all, in the order of the file."""
        tasks = self._read()
        # Task Master reads "completed" as "done".
        words = ["done" if word.casefold() == "completed" else word for word in statuses]
        wanted = match_statuses(words, _statuses(tasks))
        return (_line(item) for item in tasks.items if not wanted or item.status in wanted)

    def task(self, task_id: str) -> dict[str, JsonValue]:
        """Return one whole task or subtask as ``get_task`` shows it, or raise ``TaskNotFound``."""
        target = Target(self._registry)
        return render_whole(target.tasks().get(task_id.lstrip("# ")), target.project.scores(target.tag))

    def next(self) -> str | None:
        """Return the id of the task or subtask that ``next_task`` chooses, or None."""
        item = choose_next(self._read())
        return item.id if item else None

    @property
    def advice(self) -> str:
        """The advice at the end of a brief: the tools to call next."""
        return Target(self._registry).advise("Call next_task, and set_task_status to start or finish it.")

    def work(self, limit: int) -> WorkState:
        """Return the state of the work, with at most ``limit`` items of each sort."""
        tasks = self._read()
        active = [_line(item) for item in tasks.items if item.status == "in-progress"]
        ready = [_line(item) for item in list_ready(tasks) if item.status == "pending"]
        waiting = [(_line(item), ", ".join(names)) for item, names in find_waiting(tasks)]
        counts = Counter(item.status for item in tasks.tasks)
        started = active[:limit], len(active), ready[:limit], len(ready)
        return WorkState(*started, counts, self.finished, waiting[:limit], len(waiting))

    def texts(self, ids: Collection[str]) -> dict[str, str]:
        """Return the titles of the tasks with these ids that exist in the tag."""
        index = self._read().index()
        return {name: index[name].title for name in ids if name in index}

    def changes(self, task_id: str = "", *, limit: int) -> list[Change]:
        """Return the last changes of one task or of all, newest first."""
        return ProjectHistory(Target(self._registry)).changes(task_id, limit=limit)

    def claims(self) -> list[Claim]:
        """Return the claims on open tasks of the tag, the oldest first."""
        target = Target(self._registry)
        start, index = f"{target.tag}:", target.tasks().index()
        found = [(it, it.task.removeprefix(start)) for it in target.project.store.find_claims()]
        return [replace(it, task=name) for it, name in found if it.task.startswith(start) and name in index]

    def caller(self) -> Agent:
        """Return the agent that calls."""
        return Target(self._registry).project.store.claims.agent

    def revision(self) -> object:
        """Return a value that differs after every change of the tasks, and of which tag is shown."""
        target = Target(self._registry)
        return target.tag, target.project.revision(target.tag)

    def close(self) -> None:
        """Release the project."""
        self._registry.close()

    def list_short(self) -> JsonObject:
        """Return the tasks in short form, without subtasks."""
        found = self._read()
        shown: list[JsonObject] = [
            {"id": task.id, "title": task.title, "status": task.status} for task in found.tasks[:MAX_LISTED]
        ]
        return render_list(shown, len(found.tasks))

    def task_without_scores(self, task_id: str) -> JsonObject:
        """Return one whole task or subtask, without the report on complexity."""
        return render_whole(self._read().get(task_id), {})

    def summarize(self) -> str:
        """Return the summary: what is in progress, and what ``next_task`` chooses."""
        tasks = self._read()
        counts = Counter(task.status for task in tasks.tasks)
        known = {status: counts.pop(status, 0) for status in STATUSES}
        chosen = choose_next(tasks)
        sections = {
            "In progress": _section([item for item in tasks.items if item.status == "in-progress"]),
            "Next": _section([chosen] if chosen else []),
        }
        return render_summary({**known, **counts}, sections, Target(self._registry).advise("get_tasks"))

    def ids(self, typed: str, limit: int) -> Sequence[str]:
        """Return the first ids that begin with what was typed."""
        return sorted(name for name in self._read().index() if name.startswith(typed))[:limit]

    @property
    def store(self) -> TagStore | None:
        """The store of the project, or None if there is no project: each call reports why."""
        try:
            return Target(self._registry).project.store
        except TaskError:
            return None

    def _read(self) -> TagTasks:
        return Target(self._registry).tasks()


def open_view(settings: TaskmasterSettings) -> View:
    """Return the tasks of the project that ``settings`` name, or of the one around the current folder."""
    return TaskmasterView(ProjectRegistry(settings, WarningList(), utc_now))


def _statuses(tasks: TagTasks) -> tuple[str, ...]:
    return (*dict.fromkeys((*STATUSES, *(item.status for item in tasks.items))),)


def _section(items: Sequence[ProjectItem]) -> Section:
    return Section([_line(item)._replace(note=item.status) for item in items], len(items))


def _line(item: ProjectItem) -> Line:
    own = item.text("priority").strip()
    return Line(
        item.id,
        item.status,
        item.title,
        "" if own == "medium" else own,
        int(item.is_subtask),
        priority=item.priority,
        needs=item.targets,
        more=f"{item.text('description')}\n{item.text('details')}",
    )


ACTIONS: Final = BoardActions(
    path="task_master_project_root",
    create=Action("create", "add_task", fields=(*_FIELDS, "priority", "dependencies")),
    edit=Action("edit", "update_task", task="id", fields=(*_FIELDS, "priority")),
    steps=(
        *(
            Action(name, "set_task_status", task="id", values={"status": it}, sources={*STATUSES} - {it}, status=it)
            for name, it in _STEPS.items()
        ),
        Action("remove", "remove_task", task="id", removes=True),
    ),
    poll=Action("poll", "get_tasks", values={"limit": 1}),
    settings={"task_master_tools": "all"},
    one_line=("title", "dependencies"),
    priorities=PRIORITIES,
    create_below=Action("create_below", "add_subtask", parent="id", fields=_FIELDS),
    place_below=Action("place_below", "add_subtask", task="taskId", parent="id"),
    place_on_top=Action("place_on_top", "remove_subtask", task="id", values={"convert": True}),
    levels=2,
    note=Action("note", "update_task", task="id", values={"append": True}, fields=("details",)),
)
"""The tools behind each thing that people can do."""

"""The tasks of the usual project and tag, as ``import --from`` and ``export --to`` need them."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Final, get_args

from task_core.errors import TaskError
from task_core.fields import MAX_LINE, MAX_TEXT
from task_core.moving import ORIGIN, Arrival, Home, Imported
from task_formats.record import ForeignTask, Priority, State
from taskmaster_mcp.core.creating import add_subtask, add_task
from taskmaster_mcp.core.graph import add_dependency, build_graph
from taskmaster_mcp.core.items import JsonObject, ProjectItem, TagTasks
from taskmaster_mcp.direct.registry import ProjectRegistry, Target

__all__ = ["TaskmasterMover"]

_STATES: Final[Mapping[str, State]] = {
    "pending": "open",
    "in-progress": "active",
    "blocked": "blocked",
    "deferred": "deferred",
    "review": "review",
    "done": "done",
    "cancelled": "cancelled",
}


class TaskmasterMover:
    """The tasks of one tag, with one level of subtasks."""

    home = Home(
        statuses={state: status for status, state in _STATES.items()},
        held=("parent", "dependencies", "criteria", "notes", "result"),
        priorities={priority: priority for priority in get_args(Priority)},
        max_title=MAX_LINE,
        max_text=MAX_TEXT,
    )

    def __init__(self, registry: ProjectRegistry) -> None:
        self._target = Target(registry)

    @property
    def path(self) -> Path:
        """The file of the tasks."""
        return self._target.project.path

    def transaction(self) -> AbstractContextManager[TagTasks]:
        """Open a transaction on the tag."""
        return self._target.change()

    def imported(self, work: TagTasks) -> dict[str, Imported]:
        """Return the tasks with an origin in their metadata, by that."""
        return {it: Imported(item.id, item.title) for item in work.items if (it := _metadata(item).get(ORIGIN, ""))}

    def settle(self, _: TagTasks, tasks: Sequence[ForeignTask]) -> tuple[list[ForeignTask], list[str]]:
        """Return the tasks with what is deeper than a subtask as a further subtask of the same task."""
        tops: dict[str, str] = {}
        settled: list[ForeignTask] = []
        notes: list[str] = []
        for task in tasks:
            top = tops.get(task.parent or "", task.parent)
            if top:
                tops[task.id] = top
            if top != task.parent:
                notes.append(f"{task.id} becomes a subtask of {top}: there is one level of subtasks")
            rest = {**task.rest, "parent": task.parent or ""} if top != task.parent else task.rest
            settled.append(replace(task, parent=top, rest=rest))
        return settled, notes

    def add(self, work: TagTasks, arrivals: Iterable[Arrival], ids: Mapping[str, str]) -> list[str]:
        """Add the tasks under new numbers, and then what they wait for."""
        found, items = dict(ids), work.index()
        notes: list[str] = []
        added: list[tuple[Arrival, ProjectItem]] = []
        for arrival in arrivals:
            task = arrival.task
            if task.parent:
                top, *deeper = found[task.parent].split(".")
                if deeper:  # a subtask that was imported before
                    notes.append(f"{task.id} becomes a subtask of {top}: there is one level of subtasks")
                    task = replace(task, notes=(*task.notes, f"Parent: {task.parent}"))
                item = add_subtask(work, work.get(top, items), _fields(task))
            else:
                item = add_task(work, _fields(task))
            item.fields["status"] = self.home.status(task.state)
            if task.priority:
                item.fields["priority"] = task.priority
            item.fields["metadata"] = {ORIGIN: arrival.origin}
            found[task.id] = item.id
            items[item.id] = item
            added.append((arrival, item))
        graph, items = build_graph(work, inherits=True), work.index()
        for arrival, item in added:
            for name in arrival.task.dependencies:
                try:
                    add_dependency(work, items[item.id], found[name], graph, items)
                except TaskError as error:
                    notes.append(f"{arrival.task.id} does not wait for {name}: {error.message}")
                    item.fields["details"] = "\n\n".join(filter(None, (item.text("details"), f"Waits for: {name}")))
        return notes

    def tasks(self) -> list[ForeignTask]:
        """Return all tasks and subtasks in the order of the file."""
        return [_export(item) for item in self._target.tasks().items]


def _fields(task: ForeignTask) -> JsonObject:
    details = [*task.notes, f"Result: {task.result}" if task.result else ""]
    return {
        "title": task.title,
        "description": task.text,
        "details": "\n\n".join(filter(None, details)),
        "testStrategy": "\n".join(f"- {text}" for text in task.criteria),
        "priority": task.priority or "medium",
    }


def _metadata(item: ProjectItem) -> dict[str, str]:
    stored = item.fields.get("metadata")
    return {name: it for name, it in stored.items() if isinstance(it, str)} if isinstance(stored, dict) else {}


def _export(item: ProjectItem) -> ForeignTask:
    state: State = _STATES.get(item.status, "open")
    priority: Priority | None = next((it for it in get_args(Priority) if it == item.priority), None)
    rest = {"testStrategy": item.text("testStrategy"), **_metadata(item)}
    return ForeignTask(
        id=item.id,
        title=item.title.strip() or item.id,
        text=item.text("description"),
        state=state,
        status=item.status,
        priority=priority,
        parent=item.parent.id if item.parent else None,
        dependencies=tuple(item.targets),
        notes=(item.text("details"),) if item.text("details").strip() else (),
        rest={name: value for name, value in rest.items() if value.strip()},
    )

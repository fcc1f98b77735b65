"""What the task list does: plain methods on plain values, without the protocol and without files of its own."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from random import Random
from typing import NamedTuple

from task_core.bounds import first_fitting, shortened
from task_core.models import Clock
from task_core.store import Store
from tasks_v1_mcp.arguments import TaskCreate, TaskList, TaskMove, TaskUpdate
from tasks_v1_mcp.changes import created, moved, updated
from tasks_v1_mcp.ids import IdMaker
from tasks_v1_mcp.models import StoredTask
from tasks_v1_mcp.query import cursor_after, selection_of

__all__ = ["Page", "TaskService"]


class Page(NamedTuple):
    """Some of the tasks that match, in order."""

    tasks: Sequence[StoredTask]
    total: int
    """How many tasks match now, on all pages together."""
    next_cursor: str | None
    """The cursor for the next page; None if this is the last."""


class TaskService:
    """The five operations on a person's tasks."""

    def __init__(self, store: Store[StoredTask], clock: Clock, rng: Random) -> None:
        self._store = store
        self._clock = clock
        self._ids = IdMaker(rng)

    def create_task(self, arguments: TaskCreate) -> StoredTask:
        """Add a task under a new id and return it (V1-1)."""
        with self._store.transaction() as tasks:
            now = self._clock()
            task = created(self._ids.new_id(now, tasks), arguments, now)
            tasks.add(task)
        return task

    def list_tasks(self, arguments: TaskList) -> Page:
        """Return a page of the tasks that the arguments ask for (V1-2).

        Raises:
            InvalidArguments: the cursor belongs to another order, or there are too many words.
        """
        selection = selection_of(arguments)
        with self._store.read() as stored:
            tasks = stored.select(replace(selection, limit=arguments.limit + 1))
            total = stored.count(replace(selection, after=None))
        if not arguments.include_description:
            tasks = [task.changed(description=None) for task in tasks]
        shown = first_fitting([shortened(task) for task in tasks[: arguments.limit]])
        cursor = cursor_after(shown[-1], arguments.order_by) if len(tasks) > len(shown) else None
        return Page(shown, total, cursor)

    def update_task_status(self, arguments: TaskMove) -> StoredTask:
        """Move a task to another status and return it; the same status again changes nothing (V1-3).

        Raises:
            TaskNotFound: no task has the id.
            InvalidTransition: the task cannot go there.
        """
        return self._change(arguments.id, lambda task, now: moved(task, arguments.status, now))

    def get_task(self, task_id: str) -> StoredTask:
        """Return the task with this id (V1-4).

        Raises:
            TaskNotFound: no task has the id; the error names near ids.
        """
        with self._store.read() as stored:
            return stored.get(task_id)

    def update_task(self, arguments: TaskUpdate) -> StoredTask:
        """Change fields of a task, all or nothing, and return it (V1-5).

        Raises:
            TaskNotFound: no task has the id.
            InvalidArguments: nothing to change is given.
        """
        return self._change(arguments.id, lambda task, now: updated(task, arguments, now))

    def _change(self, task_id: str, change: Callable[[StoredTask, datetime], StoredTask]) -> StoredTask:
        with self._store.transaction() as tasks:
            old = tasks.get(task_id)
            task = change(old, self._clock())
            if task is not old:
                tasks.replace(task)
        return task

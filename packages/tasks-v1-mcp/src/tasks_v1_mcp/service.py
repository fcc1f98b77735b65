"""What the task list does: plain methods on plain values, without the protocol and without files of its own."""

from __future__ import annotations

from collections.abc import Callable, Container
from datetime import datetime, timezone
from random import Random
from typing import Final

from task_core.clock import Clock
from task_core.ids import prefixed_id
from task_core.store import Store
from tasks_v1_mcp.arguments import TaskCreate, TaskList, TaskMove, TaskUpdate
from tasks_v1_mcp.changes import created, moved, updated
from tasks_v1_mcp.lister import Lister
from tasks_v1_mcp.models import StoredTask
from tasks_v1_mcp.query import Page, Query

__all__ = ["IdMaker", "TaskService"]

_PREFIX: Final = "task_"
"""What every id begins with."""


class IdMaker:
    """Makes ids that rise, also when the clock steps back or stands still (C4)."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._moment = datetime.min.replace(tzinfo=timezone.utc)
        self._last = ""

    def new_id(self, now: datetime, taken: Container[str]) -> str:
        """Return an id above every one that this maker made before and not ``taken``; the caller holds the lock."""
        self._moment = max(self._moment, now)

        def is_taken(name: str) -> bool:
            return name <= self._last or name in taken

        self._last = prefixed_id(_PREFIX, self._moment, self._rng, is_taken)
        return self._last


class TaskService:
    """The five operations on a person's tasks."""

    def __init__(self, store: Store[StoredTask], clock: Clock, rng: Random) -> None:
        self._store = store
        self._clock = clock
        self._ids = IdMaker(rng)
        self._lister = Lister()

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
            InvalidArguments: the cursor is not of this list.
        """
        query = Query(
            statuses=arguments.status or (),
            category=arguments.category,
            topic_id=arguments.topic_id,
            tags_any=arguments.tags_any or (),
            priority=arguments.priority,
            text=arguments.query or "",
            order=arguments.order_by,
            limit=arguments.limit,
            cursor=arguments.cursor,
        )
        return self._lister.page(query, self._store.read())

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
            TaskNotFound: there is none; the error names near ids.
        """
        return self._store.read().get(task_id)

    def peek_task(self, task_id: str) -> StoredTask | None:
        """Return what ``get_task`` would if it is in memory, with the file as it was left; it costs one stat."""
        stored = self._store.peek()
        return stored.records.get(task_id) if stored else None

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

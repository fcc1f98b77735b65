"""What the to-do list does: plain methods on plain values, without the protocol and without files of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from random import Random
from typing import Final

from heartbeat_mcp.archive import Archive
from heartbeat_mcp.arguments import TaskCreate, TaskList, TaskUpdate
from heartbeat_mcp.changes import merge_extra_fields, updated
from heartbeat_mcp.mirror import FoundTask, Mirror
from heartbeat_mcp.models import PREDEFINED_FIELDS, Task
from task_core.clock import Clock
from task_core.errors import InvalidArguments, ReservedField, StoreLocked, StoreWriteFailed, TaskError, TaskNotFound
from task_core.files import describe
from task_core.ids import readable_id
from task_core.store import Collection, Store, Transaction
from task_core.text import nearest
from task_core.warning_list import WarningList

__all__ = ["HeartbeatService", "TaskMaker"]

_LONGEST_RETENTION_DAYS: Final = 365_000
"""Days; a longer retention would leave the calendar, and means for ever."""


class TaskMaker:
    """Makes tasks under ids that are free in the store, in the archive and in HEARTBEAT.md (HB-1, C4)."""

    def __init__(self, mirror: Mirror, archive: Archive, clock: Clock, rng: Random) -> None:
        self._mirror = mirror
        self._archive = archive
        self._clock = clock
        self._rng = rng

    def new_id(self, is_taken: Callable[[str], bool]) -> str:
        """Return an id that is not taken; the caller holds the lock of the store."""
        archived = self._archive.tasks()
        return readable_id(lambda name: is_taken(name) or self._mirror.holds(name) or name in archived, self._rng)

    def found(self, found: FoundTask, is_taken: Callable[[str], bool]) -> Task:
        """Return the task that stands in HEARTBEAT.md, made now; a finished one is finished now."""
        now = self._clock()
        return Task(
            id=found.id or self.new_id(is_taken),
            status=found.status,
            raw_user_request=found.raw_user_request,
            raw_reference=found.raw_reference,
            ideas=found.ideas,
            result=found.result,
            result_file=found.result_file,
            created_at=now,
            updated_at=now,
            completed_at=now if found.status.is_finished else None,
        )

    def recovered(self) -> Sequence[Task]:
        """Return the tasks of the section, for a store that is missing or damaged (HB-15)."""
        tasks: dict[str, Task] = {}
        for found in self._mirror.recover():
            if found.id not in tasks and found.id not in self._archive.tasks():
                task = self.found(found, tasks.__contains__)
                tasks[task.id] = task
        return list(tasks.values())


class HeartbeatService:
    """The four operations on the list, the taking in of what a person wrote, and the cleaning."""

    def __init__(
        self,
        store: Store[Task],
        mirror: Mirror,
        archive: Archive,
        maker: TaskMaker,
        warnings: WarningList,
        *,
        check_reference: Callable[[str, str], None],
        retention_days: float,
        clock: Clock,
    ) -> None:
        self._store = store
        self._mirror = mirror
        self._archive = archive
        self._maker = maker
        self._warnings = warnings
        self._check_reference = check_reference
        self._retention = timedelta(days=min(retention_days, _LONGEST_RETENTION_DAYS))
        self._clock = clock
        self._is_cleaning_due = True

    def clean(self) -> None:
        """Move tasks that were finished longer ago than the retention into the archive (HB-7).

        At start this also loads or recovers the store and brings HEARTBEAT.md in step (HB-15); a call that comes first
        does all of it. What goes wrong becomes a warning: the calls that follow meet it themselves, if it lasts.
        """
        self._is_cleaning_due = True
        try:
            with self._changing():
                pass
        except TaskError as error:
            self._warnings.add(f"clean: {error.code}", error.message)

    def create_task(self, arguments: TaskCreate) -> Task:
        """Add a Pending task under a new id and return it.

        Raises:
            InvalidArguments: a name is a slip of a predefined one.
            ReservedField: an extra field has a predefined name.
            DuplicateKey: an extra field is given both ways.
            PathOutsideWorkspace: the reference leads outside.
        """
        if reserved := [name for name in arguments.other if name in PREDEFINED_FIELDS]:
            raise ReservedField(reserved)
        extra = merge_extra_fields({}, arguments.extra_fields or {}, arguments.other)
        if arguments.raw_reference is not None:
            self._check_reference("raw_reference", arguments.raw_reference)
        with self._changing() as tasks:
            now = self._clock()
            task = Task(
                id=self._maker.new_id(tasks.__contains__),
                raw_user_request=arguments.raw_user_request,
                raw_reference=arguments.raw_reference,
                ideas=arguments.ideas or (),
                created_at=now,
                updated_at=now,
                extra_fields=extra,
            )
            tasks.add(task)
        return task

    def update_task(self, arguments: TaskUpdate) -> Task:
        """Apply all of the updates, or none, and return the task.

        Raises:
            TaskNotFound: no task has the id.
            InvalidArguments: the task is archived.
            TaskError: as ``changes.updated`` and ``create_task`` say.
        """
        for field in ("raw_reference", "result_file"):
            if (value := getattr(arguments.updates, field)) is not None:
                self._check_reference(field, value)
        with self._changing() as tasks:
            old = self._changeable(tasks, arguments.task_id)
            task = updated(old, arguments.updates, append_ideas=arguments.append_ideas, now=self._clock())
            tasks.replace(task)
        return task

    def _changeable(self, tasks: Collection[Task], task_id: str) -> Task:
        archived = self._archive.tasks()
        if task_id not in tasks and task_id in archived:
            raise InvalidArguments([("task_id", "this task is finished and archived; create a new one to go on")])
        return _found(task_id, tasks, archived)

    def list_tasks(self, arguments: TaskList) -> list[Task]:
        """Return the tasks that the arguments ask for, oldest first (HB-4)."""
        stored = self._current()
        tasks = list(stored)
        if arguments.include_archived:
            tasks += [_marked(task) for task in self._archive.tasks().values() if task.id not in stored]
        elif not arguments.include_completed:
            tasks = [task for task in tasks if task.is_active]
        if arguments.days_to_keep_completed is not None:
            limit = _limit(self._clock(), arguments.days_to_keep_completed)
            tasks = [task for task in tasks if task.is_active or _finished_at(task) >= limit]
        return sorted(tasks, key=lambda task: task.created_at)

    def get_task(self, task_id: str) -> Task:
        """Return the task with this id, from the store or, marked, from the archive (HB-5).

        Raises:
            TaskNotFound: neither holds it; the error names near ids.
        """
        stored = self._current()
        return stored.get(task_id) if task_id in stored else _found(task_id, stored, self._archive.tasks())

    def peek_task(self, task_id: str) -> Task | None:
        """Return what ``get_task`` would if it is in memory, with both files as they were left; it costs two stats."""
        if self._is_cleaning_due or not self._mirror.is_current():
            return None
        stored = self._store.peek()
        return stored.records.get(task_id) if stored else None

    @contextmanager
    def _changing(self) -> Iterator[Transaction[Task]]:
        """Open a unit of work that begins with what a person wrote into HEARTBEAT.md (HB-12) and any cleaning due."""
        # Before anything is taken in: a finished line must stand in HEARTBEAT.md as done with before its task may go.
        limit = self._clock() - self._retention
        names = ""
        try:
            with self._store.transaction() as tasks:
                taken_in = self._take_in(tasks)
                if self._is_cleaning_due:
                    self._clean(tasks, limit)
                yield tasks
                # Before the save, and so before any other call can see these tasks and answer without a word on them.
                if taken_in:
                    names = ", ".join(taken_in)
                    told = f"Lines that were added to HEARTBEAT.md by hand are now tasks: {names}."
                    self._warnings.add(f"taken in: {names}", told)
        except BaseException:
            self._warnings.withdraw(f"taken in: {names}")
            raise
        self._is_cleaning_due = False

    def _take_in(self, tasks: Transaction[Task]) -> list[str]:
        if self._mirror.is_current():
            return []
        added = []
        for found in self._mirror.additions(tasks):
            if found.id is None or (found.id not in tasks and found.id not in self._archive.tasks()):
                task = self._maker.found(found, tasks.__contains__)
                tasks.add(task)
                added.append(task.id)
        return added

    def _current(self) -> Collection[Task]:
        if self._mirror.is_current() and not self._is_cleaning_due:
            return self._store.read()
        try:
            with self._changing() as tasks:
                pass
        except (StoreLocked, StoreWriteFailed) as error:
            self._warnings.add(f"read: {error.code}", f"What stands in HEARTBEAT.md was not taken in: {error.message}")
            return self._store.read()
        return Collection(tasks.records)

    def _clean(self, tasks: Transaction[Task], limit: datetime) -> None:
        # What shares a save with the call that took a task in finds its bullet in HEARTBEAT.md still.
        adopted = self._mirror.adopted
        old = [task for task in tasks if not task.is_active and _finished_at(task) <= limit and task.id not in adopted]
        try:
            self._archive.append(old)
        except OSError as error:
            cause = f"the archive cannot be written ({describe(error)})"
            self._warnings.add("clean", f"Finished tasks stay in the store: {cause}.")
            return
        for task in old:
            tasks.remove(task.id)


def _found(task_id: str, stored: Collection[Task], archived: Mapping[str, Task]) -> Task:
    if task_id in stored:
        return stored.get(task_id)
    if task_id in archived:
        return _marked(archived[task_id])
    raise TaskNotFound(task_id, nearest(task_id, [task.id for task in (*stored, *archived.values())]))


def _finished_at(task: Task) -> datetime:
    return task.completed_at or task.updated_at


def _limit(now: datetime, days: float) -> datetime:
    return now - timedelta(days=min(days, _LONGEST_RETENTION_DAYS))


def _marked(task: Task) -> Task:
    return task.changed(archived=True)

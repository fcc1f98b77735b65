"""The operations on the to-do list: plain methods on plain values, without the protocol and files of its own."""

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Final

from pydantic import BaseModel, Field

from heartbeat_mcp.archive import mark_archived
from heartbeat_mcp.arguments import TaskCreate, TaskList, TaskUpdate
from heartbeat_mcp.errors import ReservedField
from heartbeat_mcp.models import ACTIVE, FINISHED, PREDEFINED_FIELDS, HeartbeatTask
from heartbeat_mcp.passes import TaskFile
from heartbeat_mcp.task_rules import TaskMaker, merge_extra_fields, plan_due, update_stored
from task_core.bounds import LISTED_TEXT, shorten_texts, take_fitting
from task_core.errors import InvalidArguments, StoreLocked, StoreWriteFailed, TaskError, quote_names
from task_core.files import describe
from task_core.models import microseconds
from task_core.store import Collection, Order, Selection, Transaction
from task_core.warning_list import WarningList

__all__ = ["HeartbeatService", "TaskListPage"]

_LONGEST_RETENTION_DAYS: Final = 365_000
"""Days; a longer retention would overflow the calendar, and means forever."""

_CLEANED_AT_A_TIME: Final = 1_000
"""Tasks that one transaction archives."""

_PATIENCE_SECONDS: Final = 2.0
"""Seconds that a reader waits for changes to be taken in: far longer than a slow disk needs."""

_NOT_BEGUN: Final = "clean: store"
_NOT_ARCHIVED: Final = "clean: archive"
_NOT_READ: Final = "read"
"""Causes of warnings: a clean-up or the archive failed, or changes in HEARTBEAT.md were not taken in."""


class TaskListPage(BaseModel):
    """The tasks that were asked for, long texts cut, and how many come after them."""

    tasks: list[HeartbeatTask]
    left_out: Annotated[int, Field(exclude_if=lambda count: not count)] = 0


class HeartbeatService:
    """The four operations on the list, and the clean-up."""

    def __init__(
        self,
        file: TaskFile,
        maker: TaskMaker,
        warnings: WarningList,
        *,
        retention_days: float,
    ) -> None:
        self._store = file.store
        self._file = file
        self._archive = maker.archive
        self._maker = maker
        self._warnings = warnings
        self._check_reference = maker.check_reference
        self._retention = timedelta(days=min(retention_days, _LONGEST_RETENTION_DAYS))
        self._clock = maker.clock
        self._is_cleaning_due = True
        self._taking_in = threading.Lock()
        self._outer = threading.local()
        self._slow: Future[None] | None = None

    def clean(self) -> None:
        """Move tasks that were finished longer ago than the retention into the archive (HB-7).

        At start this also loads or recovers the store and updates HEARTBEAT.md (HB-15); a call that comes first does
        all of it. A failure becomes a warning: if it lasts, later calls fail with it themselves.
        """
        self._is_cleaning_due = True
        try:
            while self._is_cleaning_due:
                self._take_in()
        except TaskError as error:
            self._warnings.add(_NOT_BEGUN, error.message)
        else:
            self._warnings.settle(_NOT_BEGUN)

    def can_answer_now(self) -> bool:
        """Return whether a task can be looked up without waiting, reading or writing a file; it is cheap."""
        return self._store.can_answer_now() and not self._is_behind()

    def create_task(self, arguments: TaskCreate) -> HeartbeatTask:
        """Add a Pending task under a new id and return it.

        Raises:
            InvalidArguments: a name is a misspelt predefined one, or the schedule is not well-formed.
            ReservedField: an extra field has a predefined name.
            DuplicateKey: an extra field is given both ways.
            PathOutsideWorkspace: the reference leads outside.
        """
        if reserved := [name for name in arguments.other if name in PREDEFINED_FIELDS]:
            advice = ": a task starts Pending. Once it is created, change it with task_update, in `updates`."
            raise ReservedField(reserved, advice)
        extra = merge_extra_fields({}, arguments.extra_fields or {}, arguments.other)
        if arguments.raw_reference is not None:
            self._check_reference("raw_reference", arguments.raw_reference)
        with self.transaction() as tasks:
            now = tasks.next_moment()
            task = HeartbeatTask(
                id=self.new_id(tasks),
                raw_user_request=arguments.raw_user_request,
                raw_reference=arguments.raw_reference,
                ideas=arguments.ideas or (),
                created_at=now,
                updated_at=now,
                extra_fields=plan_due(extra, extra.keys(), now),
            )
            tasks.add(task)
        return task

    def new_id(self, tasks: Transaction[HeartbeatTask]) -> str:
        """Return an id that no task and no entry of HEARTBEAT.md has (HB-1)."""
        return self._maker.new_id(tasks, self._file.holds)

    def update_task(self, arguments: TaskUpdate) -> HeartbeatTask:
        """Apply all of the updates, or none, and return the task.

        Raises:
            TaskNotFound: no task has the id.
            InvalidArguments: the task is archived.
            TaskError: as ``task_rules.apply_update`` and ``create_task`` say.
        """
        for field in ("raw_reference", "result_file"):
            if (value := getattr(arguments.updates, field)) is not None:
                self._check_reference(field, value)
        with self.transaction() as tasks:
            old = self._archive.find_any(arguments.task_id, tasks)
            if old.id not in tasks or (self._archive.facets and old.columns.facet):
                advice = "this task is finished and archived; create a new one to continue"
                raise InvalidArguments([("task_id", advice)])
            return update_stored(tasks, old, arguments.updates, append_ideas=arguments.append_ideas)

    def list_tasks(self, arguments: TaskList) -> TaskListPage:
        """Return the tasks that are asked for, the oldest first; raise ``TaskNotFound`` for a bad ``after`` (HB-4).

        A Pending task with a due time is in its place by that: tasks that are not due come last, the next one first.
        """
        is_all = arguments.include_archived
        selection = Selection(
            states=() if is_all or arguments.include_completed else ACTIVE,
            facets=() if is_all else self._archive.facets,
            since=self._limit(arguments.days_to_keep_completed),
        )
        with self.open_snapshot() as tasks:
            if arguments.after is not None:
                selection = replace(selection, after=Order.CREATED.key(self._archive.find_any(arguments.after, tasks)))
            page = tasks.select(replace(selection, limit=arguments.limit))
            count = tasks.count(selection)
            archived = self._select_archived(selection, tasks) if is_all else []
        page = sorted([*page, *archived], key=Order.CREATED.key)[: arguments.limit]
        shown = take_fitting([shorten_texts(task, longest=LISTED_TEXT) for task in page])
        return TaskListPage(tasks=shown, left_out=count + len(archived) - len(shown))

    def get_task(self, task_id: str) -> HeartbeatTask:
        """Return the task with this id from the store or, marked, the archive, or raise ``TaskNotFound`` (HB-5)."""
        with self.open_snapshot() as tasks:
            return self._archive.find_any(task_id, tasks)

    def select_all(self, tasks: Collection[HeartbeatTask]) -> list[HeartbeatTask]:
        """Return the tasks of the list and of the archive, the oldest first."""
        found = [*tasks.select(Selection()), *self._select_archived(Selection(), tasks)]
        return sorted(found, key=Order.CREATED.key)

    @contextmanager
    def open_snapshot(self) -> Iterator[Collection[HeartbeatTask]]:
        """Open a snapshot of the list that includes changes in HEARTBEAT.md, unless a lock is held for long."""
        self.catch_up()
        with self._store.read() as tasks:
            yield tasks

    def catch_up(self) -> None:
        """Take in changes in HEARTBEAT.md; if a lock is held for long, they are left for later, with a warning."""
        try:
            self._catch_up()
            self._warnings.settle(_NOT_READ)
        except (StoreLocked, StoreWriteFailed) as error:
            self._warnings.add(_NOT_READ, f"Changes in HEARTBEAT.md were not taken in: {error.message}")

    @contextmanager
    def transaction(self) -> Iterator[Transaction[HeartbeatTask]]:
        """Open a transaction that first takes in what a person wrote into HEARTBEAT.md, and cleans up if due.

        One that this thread opens within another is a part of that one.
        """
        outer: Transaction[HeartbeatTask] | None = getattr(self._outer, "tasks", None)
        if outer is not None:
            yield outer
            return
        with self._file.transaction() as tasks:
            is_cleaned = self._is_cleaning_due and self._clean(tasks)
            tasks.end_change("heartbeat-mcp", "clean-up")
            self._outer.tasks = tasks
            try:
                yield tasks
            finally:
                self._outer.tasks = None
        if is_cleaned:  # a call that cleaned nothing must not clear a clean-up that has become due
            self._is_cleaning_due = False

    def check_undone(self, tasks: Transaction[HeartbeatTask], ids: Iterable[str]) -> str:
        """Return the rule that the tasks with these ids break after an undo, or nothing (HB-7)."""
        found = [tasks.get(name) for name in ids]
        if running := [task.id for task in found if task.is_active and task.columns.facet]:
            return f"{quote_names(running)} is archived, and so stays finished"
        old = [task.id for task in found if not (task.is_active or task.columns.facet) and self._is_old(task)]
        return f"{quote_names(old)} was finished so long ago that the next call would archive it again" if old else ""

    def _catch_up(self) -> None:
        """Take in changes, in a thread that goes on if somebody holds a lock for long: readers do not (C2)."""
        if not self._is_behind():
            return
        if self._slow and not self._slow.done():
            raise StoreLocked(_PATIENCE_SECONDS)
        # A thread for this run alone: a server has as many services as tenants, and few of them are ever behind.
        thread = ThreadPoolExecutor(1)
        run = thread.submit(self._take_in_if_behind)
        thread.shutdown(wait=False)
        try:
            run.result(_PATIENCE_SECONDS)
        except TimeoutError:
            self._slow = run
            raise StoreLocked(_PATIENCE_SECONDS) from None

    def _take_in_if_behind(self) -> None:
        with self._taking_in:
            if self._is_behind():  # else another reader was first
                self._take_in()

    def _is_behind(self) -> bool:
        return self._is_cleaning_due or not self._file.is_current()

    def _take_in(self) -> None:
        with self.transaction():
            pass

    def _clean(self, tasks: Transaction[HeartbeatTask]) -> bool:
        """Archive the first tasks that were finished long ago, and return whether they are all of them."""
        oldest = Selection(states=FINISHED, facets=self._archive.facets, order=Order.UPDATED, limit=_CLEANED_AT_A_TIME)
        old = [*filter(self._is_old, tasks.select(oldest))]
        try:
            self._archive.move(old, tasks)
        except OSError as error:
            cause = f"the archive cannot be written ({describe(error)})"
            self._warnings.add(_NOT_ARCHIVED, f"Finished tasks stay in the store: {cause}.")
            return True
        if old:
            self._warnings.settle(_NOT_ARCHIVED)
        return len(old) < _CLEANED_AT_A_TIME

    def _is_old(self, task: HeartbeatTask) -> bool:
        """Return whether a finished task has been kept for the retention."""
        return (task.columns.updated or 0) <= microseconds(self._clock() - self._retention)

    def _select_archived(self, selection: Selection, tasks: Collection[HeartbeatTask]) -> list[HeartbeatTask]:
        """Return the archived tasks outside the store that match ``selection``, marked, the oldest first."""
        key, since, after = Order.CREATED.key, selection.since or 0, selection.after
        found = (task for task in self._archive.tasks() if task.id not in tasks)
        found = (task for task in found if (task.columns.updated or 0) >= since and (not after or key(task) > after))
        return sorted(map(mark_archived, found), key=key)

    def _limit(self, days: float | None) -> int | None:
        if days is None:
            return None
        return microseconds(self._clock() - timedelta(days=min(days, _LONGEST_RETENTION_DAYS)))

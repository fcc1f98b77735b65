"""What the server does with its tasks: plain methods on plain values, without the protocol and without files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import takewhile
from random import Random
from typing import Final

from hierarchy_mcp.answers import (
    CreatedTask,
    DeletedTask,
    StartedTask,
    TaskAnswer,
    TaskEntry,
    TaskPage,
    TaskState,
    TaskStep,
    criteria_of,
    progress_of,
    shown,
)
from hierarchy_mcp.arguments import CreateTask, ListTasks, UpdateTask
from hierarchy_mcp.creation import check_levels, new_tree
from hierarchy_mcp.messages import completed_message, created_message, started_message
from hierarchy_mcp.models import Status, Task
from hierarchy_mcp.summary import table
from hierarchy_mcp.tree import Forest, TaskPath, first_open_leaf, reopened, status_changes
from task_core.errors import ExecutionOrder, IncompleteSubtasks, InvalidArguments, InvalidTransition
from task_core.store import Collection, Store, Transaction

__all__ = ["HierarchyService"]

_FEW: Final = 100
"""Tasks of one tree that are shown in about the time that changing threads takes."""


class HierarchyService:
    """The seven operations on the tasks; each is one unit of work, all or nothing."""

    def __init__(self, store: Store[Task], *, strict_roots: bool, rng: Random) -> None:
        self._store = store
        self._strict_roots = strict_roots
        self._rng = rng
        self._last: tuple[Mapping[str, Task] | None, Forest] = None, Forest(())

    def create_task(self, arguments: CreateTask) -> CreatedTask:
        """Create a task with all its subtasks, or nothing at all (HI-1).

        Raises:
            TaskNotFound: there is no such parent.
            InvalidArguments: the index is out of range, or the tree would be too deep.
            DuplicateId: an id is taken or given twice.
        """
        with self._store.transaction() as work:
            forest = self._forest(work)
            path = forest.path(arguments.parent_id) if arguments.parent_id is not None else ()
            siblings = forest.subtasks(path)
            index = _index(arguments.insert_index, len(siblings))
            task = new_tree(arguments, forest.owners, self._rng)
            check_levels(task, len(path))
            _save(work, forest.with_subtasks(path, (*siblings[:index], task, *siblings[index:])))
        return CreatedTask(task=shown(task), message="" if path else created_message(task))

    def get_task(self, task_id: str) -> TaskAnswer:
        """Return a task with all its subtasks (HI-2).

        Raises:
            TaskNotFound: no task has the id.
        """
        return TaskAnswer(task=shown(self._read().path(task_id)[-1]))

    def peek_task(self, task_id: str) -> TaskAnswer | None:
        """Return what ``get_task`` would if it is in memory, in a small tree, the file as it was left; one stat."""
        stored = self._store.peek()
        if stored is None:
            return None
        forest = self._forest(stored)
        root = forest.owners.get(task_id)
        is_small = root is not None and len(root.parents) < _FEW
        return TaskAnswer(task=shown(forest.path(task_id)[-1])) if is_small else None

    def list_tasks(self, arguments: ListTasks) -> TaskPage:
        """Return the roots, or the subtasks of one task, in order (HI-2).

        Raises:
            TaskNotFound: there is no such parent.
        """
        forest = self._read()
        path = forest.path(arguments.parent_id) if arguments.parent_id is not None else ()
        return TaskPage(tasks=[shown(task, arguments.depth) for task in forest.subtasks(path)])

    def update_task(self, arguments: UpdateTask) -> TaskAnswer:
        """Change fields of a task, or set it and all below it back to todo, and return it with its subtasks (HI-3).

        Raises:
            InvalidArguments: nothing to change is given.
            InvalidTransition: another status than todo is asked for.
            TaskNotFound: no task has the id.
        """
        given = arguments.given
        if not given and arguments.status is None:
            raise InvalidArguments([("arguments", "name at least one field to change")])
        with self._store.transaction() as work:
            forest = self._forest(work)
            path = forest.path(arguments.id)
            task = _reopened(path[-1], arguments.status)
            if any(getattr(task, name) != value for name, value in given.items()):
                task = task.changed(**given)
            _save(work, forest.replaced(path, task))
        return TaskAnswer(task=shown(task))

    def delete_task(self, task_id: str) -> DeletedTask:
        """Delete a task with all below it (HI-4).

        Raises:
            TaskNotFound: no task has the id.
        """
        with self._store.transaction() as work:
            forest = self._forest(work)
            *above, task = forest.path(task_id)
            path = tuple(above)
            left = tuple(other for other in forest.subtasks(path) if other is not task)
            _save(work, forest.with_subtasks(path, left))
        return DeletedTask(id=task_id, deleted=1 + len(task.parents))

    def start_task(self, task_id: str) -> StartedTask:
        """Start the first open leaf of a task; an active leaf elsewhere goes back to todo (HI-5).

        Raises:
            TaskNotFound: no task has the id.
            InvalidTransition: the task is done.
            ExecutionOrder: tasks before it are not done.
        """
        with self._store.transaction() as work:
            before = self._forest(work)
            path = before.path(task_id)
            _refuse_done(path[-1], Status.IN_PROGRESS)
            leaf = first_open_leaf(path)
            active = before.active()
            after = before
            if active is None or active[-1] is not leaf[-1]:
                self._check_order(before, leaf)
                after = _activated(before, leaf, active)
                _save(work, after)
        left = active[-1] if active and after is not before else None
        return _started(before, after, (path, leaf), left)

    def complete_task(self, task_id: str, resolution: str) -> TaskStep:
        """Complete a leaf, and with it each parent that has no open subtask left, and name what comes next (HI-6).

        Raises:
            TaskNotFound: no task has the id.
            InvalidTransition: the task is done already.
            IncompleteSubtasks: it has open subtasks.
            ExecutionOrder: it is not the active leaf, and tasks before it are not done.
        """
        with self._store.transaction() as work:
            before = self._forest(work)
            path = before.path(task_id)
            task = path[-1]
            _refuse_done(task, Status.DONE)
            if task.tasks:
                raise IncompleteSubtasks(_states(child for child in task.tasks if not child.is_done))
            if task.status is not Status.IN_PROGRESS:
                self._check_order(before, path)
            after = before.replaced(path, task.changed(own_status=Status.DONE, resolution=resolution))
            _save(work, after)
        return self._completed(before, after, after.again(path))

    def _read(self) -> Forest:
        return self._forest(self._store.read())

    def _forest(self, stored: Collection[Task]) -> Forest:
        records = stored.records
        last, forest = self._last
        # The records of a unit of work change in place.
        is_work = isinstance(stored, Transaction)
        if is_work or records is not last:
            forest = forest.with_roots(records.values())
            self._last = None if is_work else records, forest
        return forest

    def _check_order(self, forest: Forest, path: TaskPath) -> None:
        blocking = forest.blocking(path, strict_roots=self._strict_roots)
        if blocking:
            raise ExecutionOrder(_states(blocking))

    def _completed(self, before: Forest, after: Forest, path: TaskPath) -> TaskStep:
        changed = status_changes(before, after)
        following = after.next_leaf(path[0].id, strict_roots=self._strict_roots)
        return TaskStep(
            task=shown(path[-1], 0),
            next_task_id=following[-1].id if following else "",
            message=completed_message(path[-1], following[-1] if following else None),
            auto_completed_parents=[TaskEntry.of(task) for task in reversed(path[:-1]) if task.is_done],
            progress_summary=progress_of(after, changed),
        )


def _index(wanted: int | None, count: int) -> int:
    if wanted is None:
        return count
    if wanted > count:
        raise InvalidArguments([("insertIndex", f"give 0 to {count}, or leave it out to append")])
    return wanted


def _reopened(task: Task, status: Status | None) -> Task:
    if status is None:
        return task
    if status is not Status.TODO:
        advice = "Call startTask to start a task and completeTask to complete it; updateTask takes only 'todo'."
        raise InvalidTransition(task.status.value, status.value, [Status.TODO.value], advice)
    return reopened(task)


def _refuse_done(task: Task, wanted: Status) -> None:
    if task.is_done:
        advice = "To open it again, call updateTask with status 'todo' first."
        raise InvalidTransition(task.status.value, wanted.value, [Status.TODO.value], advice)


def _activated(forest: Forest, leaf: TaskPath, active: TaskPath | None) -> Forest:
    if active:
        forest = forest.replaced(active, active[-1].changed(own_status=Status.TODO))
        leaf = forest.again(leaf)
    return forest.replaced(leaf, leaf[-1].changed(own_status=Status.IN_PROGRESS))


def _started(before: Forest, after: Forest, paths: tuple[TaskPath, TaskPath], left: Task | None) -> StartedTask:
    changed = status_changes(before, after)
    asked, leaf = (after.again(path) for path in paths)
    return StartedTask(
        task=shown(asked[-1], 0),
        active_task=TaskEntry.of(leaf[-1]),
        started_tasks=[TaskState.of(task) for task in leaf if task.id in changed],
        message=started_message(leaf[-1], left, is_new=after is not before),
        aggregated_criteria=criteria_of(leaf),
        hierarchy_summary=table(after.roots, changed),
    )


def _states(tasks: Iterable[Task]) -> list[dict[str, str]]:
    return [TaskState.of(task).model_dump() for task in tasks]


def _save(work: Transaction[Task], forest: Forest) -> None:
    """Make the records of ``work`` the roots of ``forest``; roots that did not change are left alone."""
    kept = {root.id for root in forest.roots}
    for root in [root for root in work if root.id not in kept]:
        work.remove(root.id)
    pairs = list(zip(work, forest.roots, strict=False))
    same = len(list(takewhile(lambda pair: pair[0].id == pair[1].id, pairs)))
    for old, new in pairs[:same]:
        if old is not new:
            work.replace(new)
    for old, _ in pairs[same:]:
        work.remove(old.id)
    for root in forest.roots[same:]:
        work.add(root)

"""The rules of a tree of tasks: which leaf comes next, what must be done before it, and what follows from a change."""

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from hierarchy_mcp.models import Status, Task, derived_status
from task_core.errors import MAX_NAMED
from task_core.store import ROOTS, Collection, Selection, Transaction

__all__ = ["Blocking", "active_leaf", "blocking", "first_open_leaf", "next_leaf", "path_to", "settle"]


class Blocking(NamedTuple):
    """Tasks that must be done first: the first ones, in order, and how many there are."""

    tasks: Sequence[Task]
    count: int


def path_to(tasks: Collection[Task], task_id: str) -> list[Task]:
    """Return the root above the task, the subtask below that, and so on to the task itself; none for ``ROOTS``.

    Raises:
        TaskNotFound: no task has the id.
    """
    return [*tasks.ancestors(task_id), tasks.get(task_id)] if task_id else []


def first_open_leaf(tasks: Collection[Task], task: Task) -> Task:
    """Return the first leaf, depth first, that is not done below the open ``task``; for a leaf, itself (R3.5)."""
    while child := tasks.first_open_child(task.id):
        task = child
    return task


def active_leaf(tasks: Collection[Task]) -> Task | None:
    """Return the leaf in progress, if there is one (R3.17); apart from it, only its ancestors are in progress."""
    active = tasks.select(Selection(states=(Status.IN_PROGRESS.value,)))
    return next((task for task in active if not tasks.child_states(task.id)), None)


def blocking(tasks: Collection[Task], path: Sequence[Task], *, strict_roots: bool) -> Blocking:
    """Return what must be done before the open task that ``path`` leads to, outermost first, in order (R3.3, R3.10).

    These are the open siblings before it and before each of its ancestors; earlier roots count only with
    ``strict_roots``.
    """
    found: list[Task] = []
    count = 0
    parents = [ROOTS, *(task.id for task in path[:-1])]
    for parent, task in [*zip(parents, path, strict=True)][0 if strict_roots else 1 :]:
        first = tasks.first_open_child(parent)
        if first is None or first.id == task.id:
            continue
        if len(found) < MAX_NAMED:
            earlier = tasks.children(parent, is_open=True, limit=MAX_NAMED)
            found += takewhile(lambda other, end=task.id: other.id != end, earlier)
        count += tasks.count_children(parent, is_open=True, before=task.id)
    return Blocking(found[:MAX_NAMED], count)


def next_leaf(tasks: Collection[Task], root: Task, *, strict_roots: bool) -> Task | None:
    """Return the leaf to do next, or None when all tasks are done (HI-6, R3.8).

    That is the active leaf, else the first that can be started: below ``root``, below the roots after it, below those
    before it.
    """
    if active := active_leaf(tasks):
        return active
    here = root if not (strict_roots or root.is_done) else None
    after = None if strict_roots else next(iter(tasks.children(ROOTS, is_open=True, after=root.id, limit=1)), None)
    start = here or after or tasks.first_open_child(ROOTS)
    return first_open_leaf(tasks, start) if start else None


def settle(work: Transaction[Task], above: Sequence[Task]) -> list[Task]:
    """Give each task of ``above``, a path, the status that follows from its subtasks; return those that changed.

    The innermost comes first. A parent that lost its last subtask is a leaf again: done if it was, else todo (HI-4).
    """
    changed: list[Task] = []
    for task in reversed(above):
        states = work.child_states(task.id)
        status = derived_status(states.keys()) if states else Status.DONE if task.is_done else Status.TODO
        if status is task.status:
            break
        changed.append(task.changed(status=status))
        work.replace(changed[-1])
    return changed

"""Trees of tasks as persistent values: finding a place, putting something there, and what must come first.

Nothing here calls itself: the deepest trees need no more of the stack than flat ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Final, TypeVar

from hierarchy_mcp.models import Status, Task
from task_core.errors import TaskNotFound
from task_core.text import nearest

__all__ = [
    "MAX_LEVELS",
    "Forest",
    "TaskPath",
    "first_open_leaf",
    "fold",
    "height",
    "reopened",
    "status_changes",
    "walk",
]

NodeT = TypeVar("NodeT")
MadeT = TypeVar("MadeT")

TaskPath = tuple[Task, ...]
"""A root, the subtask below it, and so on to the task that is meant; empty: what stands above the roots."""

MAX_LEVELS: Final = 90
"""Levels of a tree, its root the first: JSON readers stop near 200 nestings, and each level takes two."""


@dataclass(frozen=True)
class Forest:
    """All tasks at one moment: the roots in order, each with what stands below it."""

    roots: tuple[Task, ...]

    @cached_property
    def owners(self) -> dict[str, Task]:
        """The root above every task, by the id of the task; a root stands above itself."""
        return _with_owners({}, self.roots)

    def with_roots(self, roots: Iterable[Task]) -> Forest:
        """Return the forest of ``roots``; what stands below those that are here too is not gathered again."""
        forest = Forest(tuple(roots))
        standing, owners = set(map(id, forest.roots)), dict(self.owners)
        for root in self.roots:
            if id(root) not in standing:
                for task_id in (root.id, *root.parents):
                    del owners[task_id]
        new = [root for root in forest.roots if root.id not in owners]
        # Where the property keeps what it would gather.
        vars(forest)["owners"] = _with_owners(owners, new)
        return forest

    def path(self, task_id: str) -> TaskPath:
        """Return the path to the task with this id.

        Raises:
            TaskNotFound: no task has it; the error names up to three near ids.
        """
        root = self.owners.get(task_id)
        if root is None:
            raise TaskNotFound(task_id, nearest(task_id, self.owners))
        ids = [task_id]
        while ids[-1] != root.id:
            ids.append(root.parents[ids[-1]])
        return self._descend(reversed(ids))

    def again(self, path: TaskPath) -> TaskPath:
        """Return the path with the same ids in this forest, which has them all."""
        return self._descend(task.id for task in path)

    def subtasks(self, path: TaskPath) -> tuple[Task, ...]:
        """Return the subtasks of the task at ``path``, or the roots."""
        return path[-1].tasks if path else self.roots

    def active(self) -> TaskPath | None:
        """Return the path to the leaf that is in progress, if there is one (R3.17)."""
        path: TaskPath = ()
        tasks = self.roots
        while tasks:
            found = next((task for task in tasks if task.status is Status.IN_PROGRESS), None)
            if found is None:
                return None
            path, tasks = (*path, found), found.tasks
        return path or None

    def replaced(self, path: TaskPath, task: Task) -> Forest:
        """Return the forest with ``task`` in the place of the one at ``path``."""
        *above, old = path
        for parent in reversed(above):
            old, task = parent, parent.with_tasks(_swapped(parent.tasks, old, task))
        return Forest(_swapped(self.roots, old, task))

    def with_subtasks(self, path: TaskPath, tasks: tuple[Task, ...]) -> Forest:
        """Return the forest with ``tasks`` as the subtasks of the task at ``path``, or as the roots."""
        return self.replaced(path, path[-1].with_tasks(tasks)) if path else Forest(tasks)

    def blocking(self, path: TaskPath, *, strict_roots: bool) -> list[Task]:
        """Return what must be done before the task at ``path``, outermost first, each level in order (R3.3, R3.10).

        Earlier roots count only with ``strict_roots``.
        """
        found: list[Task] = []
        siblings = self.roots
        for level, task in enumerate(path):
            if level or strict_roots:
                earlier = takewhile(lambda other, end=task: other is not end, siblings)
                found.extend(other for other in earlier if not other.is_done)
            siblings = task.tasks
        return found

    def next_leaf(self, root_id: str, *, strict_roots: bool) -> TaskPath | None:
        """Return the path to the leaf to do next, or None when all tasks are done (HI-6, R3.8).

        That is the active leaf, else the first that can be started: under the root with this id, under the roots
        after it, under those before it.
        """
        active = self.active()
        if active:
            return active
        here = next(position for position, root in enumerate(self.roots) if root.id == root_id)
        start = 0 if strict_roots else here
        waiting = (root for root in (*self.roots[start:], *self.roots[:start]) if not root.is_done)
        root = next(waiting, None)
        return first_open_leaf((root,)) if root else None

    def _descend(self, ids: Iterable[str]) -> TaskPath:
        path: list[Task] = []
        tasks = self.roots
        for task_id in ids:
            path.append(next(task for task in tasks if task.id == task_id))
            tasks = path[-1].tasks
        return tuple(path)


def _with_owners(found: dict[str, Task], roots: Iterable[Task]) -> dict[str, Task]:
    for root in roots:
        found[root.id] = root
        found.update(dict.fromkeys(root.parents, root))
    return found


def first_open_leaf(path: TaskPath) -> TaskPath:
    """Return the path to the first leaf, depth first, that is not done below the open task at ``path`` (R3.5)."""
    while path[-1].tasks:
        path = (*path, next(task for task in path[-1].tasks if not task.is_done))
    return path


def fold(
    top: NodeT, below: Callable[[NodeT], Iterable[NodeT]], make: Callable[[NodeT, tuple[MadeT, ...]], MadeT]
) -> MadeT:
    """Return what ``make`` makes of ``top`` and of what it made of each node below, the deepest first."""
    nodes = [top]
    ends: list[int] = []
    for node in nodes:
        nodes.extend(below(node))
        ends.append(len(nodes))
    made: dict[int, MadeT] = {}
    for index in reversed(range(len(nodes))):
        start = ends[index - 1] if index else 1
        made[index] = make(nodes[index], tuple(made.pop(child) for child in range(start, ends[index])))
    return made[0]


def walk(tasks: Sequence[Task]) -> Iterator[tuple[Task, Task | None]]:
    """Yield each of ``tasks`` and every task below, in the order of the tree, with its parent."""
    waiting: list[tuple[Task, Task | None]] = [(task, None) for task in reversed(tasks)]
    while waiting:
        task, parent = waiting.pop()
        yield task, parent
        waiting.extend((child, task) for child in reversed(task.tasks))


def height(task: Task) -> int:
    """Return how many levels the tree has; a leaf has one."""
    levels = 0
    level: Sequence[Task] = [task]
    while level:
        levels += 1
        level = [child for parent in level for child in parent.tasks]
    return levels


def reopened(task: Task) -> Task:
    """Return the tree with every leaf todo and without its resolution; itself when all are todo already (HI-3)."""
    if all(node.tasks or node.own_status is Status.TODO for node, _ in walk([task])):
        return task
    return fold(task, lambda node: node.tasks, _reopened)


def status_changes(before: Forest, after: Forest) -> set[str]:
    """Return the ids of the tasks that have another status in ``after``, where the same trees stand as ``before``."""
    found: set[str] = set()
    pairs = list(zip(before.roots, after.roots, strict=True))
    for old, new in pairs:
        if old is not new:
            pairs.extend(zip(old.tasks, new.tasks, strict=True))
            if old.status is not new.status:
                found.add(new.id)
    return found


def _reopened(task: Task, tasks: tuple[Task, ...]) -> Task:
    return task.with_tasks(tasks) if tasks else task.changed(own_status=Status.TODO, resolution=None)


def _swapped(tasks: Sequence[Task], old: Task, new: Task) -> tuple[Task, ...]:
    return tuple(new if task is old else task for task in tasks)

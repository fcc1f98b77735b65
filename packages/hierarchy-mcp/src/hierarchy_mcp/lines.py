"""Trees of tasks from the lines of a document that stands as it is written (ST-1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import is_
from typing import Final

from hierarchy_mcp.models import Task
from hierarchy_mcp.tree import MAX_LEVELS, walk
from task_core.store.encoding import is_nested_deeper
from task_core.strict_json import MAX_DEPTH

__all__ = ["TreeReader"]

_END: Final = b"]}"
"""After the subtasks of a task."""

_TASK_DEPTH: Final = MAX_DEPTH - 2 * MAX_LEVELS + 1
"""Levels that a task, its subtasks aside, may nest wherever it stands in a tree."""


class TreeReader:
    """Makes trees of lines that look as they are written; the caller makes sure that they do.

    A node that stands with the same subtasks among the ``known`` trees is that very node, with all that it has worked
    out.
    """

    def __init__(self, known: Iterable[Task]) -> None:
        self._known = {task.head_json: task for task, _ in walk([*known])}
        self._ids: set[str] = set()

    def read(self, lines: Iterable[bytes]) -> list[Task]:
        """Return the trees.

        Raises:
            ValueError: they are not written so.
            IndexError: a task ends that did not begin.
        """
        levels: list[list[Task]] = [[]]
        above: list[Task] = []
        for line in lines:
            text = line.strip(b" ,")
            if not text.startswith(b"{"):
                if text != _END:
                    break
                tasks = levels.pop()
                levels[-1].append(_with_same(above.pop(), tasks))
            elif text.endswith(_END):
                levels[-1].append(_with_same(self._task(text[: -len(_END)]), []))
            else:
                above.append(self._task(text))
                levels.append([])
            if len(above) >= MAX_LEVELS:
                raise ValueError("too many levels")
        return levels[0]

    def _task(self, head: bytes) -> Task:
        task = self._known.get(head) or Task.model_validate_json(head + _END)
        if task.id in self._ids or is_nested_deeper(head + _END, _TASK_DEPTH):
            raise ValueError("an id stands twice, or a value is nested too deep")
        self._ids.add(task.id)
        return task


def _with_same(task: Task, tasks: Sequence[Task]) -> Task:
    """Return ``task`` with the subtasks, itself where it has these very ones."""
    is_same = len(task.tasks) == len(tasks) and all(map(is_, task.tasks, tasks))
    return task if is_same else task.with_tasks(tuple(tasks))

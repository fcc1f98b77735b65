"""The table and the counts that show how far the work has come (HI-6, HI-7, R3.6, R3.11 to R3.14)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from hierarchy_mcp.models import Status, Task
from hierarchy_mcp.tree import walk
from task_core.text import escape_invisible

__all__ = ["Counts", "ParentProgress", "counts", "parent_progress", "per_cent", "table"]

_HEAD: Final = (
    "| Task Name | Parent Task | Status | Status Changed | Subtasks | Progress |",
    "| --- | --- | --- | --- | --- | --- |",
)

_MARKUP: Final = re.compile(r"[\\|]")
"""What would end a cell, and what stands before it once it is escaped."""


class Counts(NamedTuple):
    """How many tasks there are in each status, parents too."""

    total: int
    done: int
    in_progress: int
    todo: int


class ParentProgress(NamedTuple):
    """How many of its direct subtasks a parent has done, of how many."""

    task: Task
    done: int
    total: int


def per_cent(done: int, total: int) -> int:
    """Return ``done`` of ``total``, one or more, in whole per cent, rounded down."""
    return done * 100 // total


def counts(roots: Sequence[Task]) -> Counts:
    """Return how many of all tasks are in which status."""
    found = Counter(task.status for task, _ in walk(roots))
    return Counts(found.total(), found[Status.DONE], found[Status.IN_PROGRESS], found[Status.TODO])


def parent_progress(roots: Sequence[Task]) -> list[ParentProgress]:
    """Return how far each parent has come, in the order of the tree."""
    return [ParentProgress(task, _done_below(task), len(task.tasks)) for task, _ in walk(roots) if task.tasks]


def table(roots: Sequence[Task], changed: Collection[str]) -> str:
    """Return every task as a row of one Markdown table, in the order of the tree.

    ``changed`` holds the ids of the tasks that this call gave another status.
    """
    rows = [*_HEAD]
    names: dict[int, str] = {}
    for task, parent in walk(roots):
        name = _cell(task.name)
        if task.tasks:
            names[id(task)] = name
        above = names[id(parent)] if parent else "-"
        mark = "✓" if task.id in changed else "-"
        rows.append(f"| {name} | {above} | {task.status.value} | {mark} | {_progress(task)} |")
    return "\n".join(rows)


def _progress(task: Task) -> str:
    if not task.tasks:
        return "- | 100%" if task.is_done else "- | 0%"
    done, total = _done_below(task), len(task.tasks)
    return f"{done}/{total} | {per_cent(done, total)}%"


def _done_below(task: Task) -> int:
    return sum(child.is_done for child in task.tasks)


def _cell(text: str) -> str:
    return escape_invisible(_MARKUP.sub(r"\\\g<0>", text))

"""Beside the targets: the table of all tasks that hierarchy-mcp shows after a start and a completion (HI-7)."""

from __future__ import annotations

from functools import partial
from typing import Final

from benchmarks.bench import Bench
from benchmarks.rows import Row, Unit
from benchmarks.series import in_turn, timed
from hierarchy_mcp.models import Status, Task
from hierarchy_mcp.summary import table

__all__ = ["measure"]

TASKS: Final = 10_000
"""Tasks in the table, about."""

LIMIT: Final = 0.1
"""Seconds that making it may take: what a person does not notice."""


def measure(bench: Bench) -> list[Row]:
    """Return a row for each shape of the tree."""
    trees = {"flat": _tree(TASKS), "grouped": _tree(100, 100), "deep": _tree(*[1] * 88, TASKS)}
    works = {shape: partial(timed, partial(table, (tree,), ())) for shape, tree in trees.items()}
    return [
        Row(8, f"table of {TASKS:,} tasks, {shape}", "hierarchy", Unit.MILLISECONDS, series, limit=LIMIT)
        for shape, series in in_turn(works, bench.pick(9, 3)).items()
    ]


def _tree(*widths: int, name: str = "t") -> Task:
    """Return a task with so many subtasks, each of those with the next number of them, and so on."""
    width, *below = widths or (0,)
    tasks = tuple(_tree(*below, name=f"{name}.{number}") for number in range(width))
    return Task.model_validate({"id": name, "name": f"Write {name}", "status": Status.TODO.value}).with_tasks(tasks)

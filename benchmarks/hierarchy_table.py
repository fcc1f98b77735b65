"""Measure a store of 10,000 tasks: its table, and each operation on it: ``python benchmarks/hierarchy_table.py``.

The table must take less than 100 ms. Every operation goes through the service and the JSON engine, without the final
flush to the disk, whose cost is the disk's. Times are the best of several, in milliseconds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final

from hierarchy_mcp.arguments import CreateTask, ListTasks, UpdateTask
from hierarchy_mcp.codec import ForestCodec
from hierarchy_mcp.models import Status, Task
from hierarchy_mcp.service import HierarchyService
from hierarchy_mcp.summary import table
from task_core.store import JsonFileStore
from task_core.warning_list import WarningList

REPEATS: Final = 5
"""Measurements of which the best counts: what is slower had to wait for something else."""

SHAPES: Final = {"flat": (9_999, 0), "grouped": (99, 100), "deep": (0, 9_910)}
"""Tasks under the root and under each of those; the deep one has its leaves at the end of a chain of 89."""


def leaves(prefix: str, count: int) -> tuple[dict[str, object], ...]:
    """Return so many tasks to be created."""
    return tuple({"name": f"Write chapter {prefix}{number}", "id": f"{prefix}{number}"} for number in range(count))


def project(shape: str) -> CreateTask:
    """Return a root task with some 10,000 tasks below it."""
    wide, each = SHAPES[shape]
    tasks = leaves("t", wide) or leaves("t", each)
    if wide and each:
        tasks = tuple({**task, "tasks": leaves(f"{task['id']}-", each)} for task in tasks)
    for level in range(0 if wide else 88):
        tasks = ({"name": f"Part {level}", "id": f"p{level}", "tasks": tasks},)
    return CreateTask.model_validate({"name": "Book", "id": "book", "tasks": tasks})


def best(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Return the shortest time that ``work`` took, each time after ``before``, in milliseconds."""
    times = []
    for _ in range(REPEATS):
        before()
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times) * 1_000


def measure(folder: Path, shape: str) -> dict[str, float]:
    """Return what each operation costs on a project of this shape."""
    file = folder / f"{shape}.json"
    store = JsonFileStore[Task](file, ForestCodec(), WarningList(), fsync=False)
    service = HierarchyService(store, strict_roots=False, rng=Random(0))  # noqa: S311 - ids are to be the same each time
    arguments = project(shape)
    created = best(
        lambda: service.create_task(arguments), lambda: "book" in store.read() and service.delete_task("book")
    )
    roots = tuple(store.read())

    def reset() -> None:
        service.update_task(UpdateTask(id="book", status=Status.TODO))

    leaf = service.start_task("book").active_task.id
    return {
        "create all": created,
        "table": best(lambda: table(roots, ())),
        "start": best(lambda: service.start_task("book"), reset),
        "complete": best(lambda: service.complete_task(leaf, "done"), reset),
        "create one": best(lambda: service.create_task(CreateTask.model_validate({"name": "x", "parentId": "book"}))),
        "overview": best(lambda: service.list_tasks(ListTasks(depth=0))),
        "read file": best(lambda: ForestCodec().decode(file.read_bytes())),
    }


def main() -> None:
    """Measure every shape and print a line for each operation."""
    with tempfile.TemporaryDirectory() as name:
        results = {shape: measure(Path(name), shape) for shape in SHAPES}
    print(f"{'10,000 tasks, ms':<18}" + "".join(f"{shape:>10}" for shape in results))
    for operation in results["flat"]:
        print(f"{operation:<18}" + "".join(f"{costs[operation]:>10.1f}" for costs in results.values()))


if __name__ == "__main__":
    main()

"""Measure what a page of 50 tasks costs at 100 to 100,000 tasks, in each order: ``python benchmarks/tasks_v1_list.py``.

Every call goes through the service and the JSON engine, which looks at the file each time. "New" is the first page
right after a change, "again" the first page of an unchanged store, "next" the page after it; "save" is the change
itself, without fsync, to compare with. Times are the best of several, in milliseconds; the last lines say how many
times as much the largest store costs as the smallest.

How far a page costs the same: the engine hands its records out one by one, so a page of an unchanged store still
takes a look at each, but hardly more than its address: even at 100,000 tasks that is less than a call over the
protocol takes. After a change the list is put in order anew, which grows with the store, as the save does.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final, NamedTuple

from task_core.store import JsonFileStore, ListCodec
from task_core.warning_list import WarningList
from tasks_v1_mcp.arguments import TaskList, TaskUpdate
from tasks_v1_mcp.models import Priority, Status, StoredTask
from tasks_v1_mcp.query import Order
from tasks_v1_mcp.service import TaskService

SIZES: Final = (100, 1_000, 10_000, 100_000)
"""Tasks in the store."""

LIMIT: Final = 50
"""Tasks on the page."""

REPEATS: Final = 5
"""Measurements of which the best counts: what is slower had to wait for something else."""

START: Final = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Costs(NamedTuple):
    """Milliseconds for one page."""

    new: float
    again: float
    next: float
    save: float


def make_tasks(count: int) -> Iterator[StoredTask]:
    """Yield tasks of a usual length, one made each second."""
    rng = Random(count)  # noqa: S311 - the tasks are to be the same each time
    for number in range(count):
        moment = START + timedelta(seconds=number)
        yield StoredTask(
            id=f"task_{number:012d}",
            title=f"研究 question {number} of the launch market",
            description="What drives the cost, who competes, and what has changed since last year. " * 3,
            status=rng.choice(list(Status)),
            priority=rng.choice(list(Priority)),
            tags=("space", f"tag_{number % 17}"),
            topic_id="space_industry",
            created_at=moment,
            updated_at=moment + timedelta(seconds=rng.randrange(count)),
        )


def best(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Return the shortest time that ``work`` took, each time after ``before``, in milliseconds."""
    times = []
    for _ in range(REPEATS):
        before()
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times) * 1_000


def measure(service: TaskService, order: Order) -> Costs:
    """Return what a page costs in this order."""
    titles = iter(range(sys.maxsize))
    arguments = TaskList(order_by=order, limit=LIMIT)

    def change() -> None:
        service.update_task(TaskUpdate(id="task_000000000000", title=f"changed {next(titles)}"))

    new = best(lambda: service.list_tasks(arguments), change)
    page = service.list_tasks(arguments)
    following = TaskList(order_by=order, limit=LIMIT, cursor=page.next_cursor)
    again = best(lambda: service.list_tasks(arguments))
    return Costs(new, again, best(lambda: service.list_tasks(following)), best(change))


def measure_size(folder: Path, count: int) -> dict[Order, Costs]:
    """Return the costs in a store of ``count`` tasks."""
    store = JsonFileStore(folder / f"{count}.json", ListCodec(StoredTask), WarningList(), fsync=False)
    with store.transaction() as tasks:
        for task in make_tasks(count):
            tasks.add(task)
    now = START + timedelta(days=30)
    service = TaskService(store, lambda: now, Random(0))  # noqa: S311 - no id is made here
    return {order: measure(service, order) for order in Order}


def main() -> None:
    """Measure every size and print a line for each order, and the ratio of the largest to the smallest."""
    print(f"a page of {LIMIT}, ms\n{'tasks':>8}  {'order':<16}{'new':>10}{'again':>10}{'next':>10}{'save':>10}")
    with tempfile.TemporaryDirectory() as name:
        results = {count: measure_size(Path(name), count) for count in SIZES}
    for count, costs in results.items():
        for order, cost in costs.items():
            print(f"{count:>8,}  {order.value:<16}" + "".join(f"{part:>10.3f}" for part in cost))
    smallest, largest = results[SIZES[0]], results[SIZES[-1]]
    for order in Order:
        ratios = [high / low for high, low in zip(largest[order], smallest[order], strict=True)]
        print(f"   ratio  {order.value:<16}" + "".join(f"{ratio:>10.1f}" for ratio in ratios))


if __name__ == "__main__":
    main()

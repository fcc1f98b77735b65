"""Target 5: what calls, starts and memory cost from 1,000 to 1,000,000 tasks, in SQLite and, for comparison, in JSON.

All calls of one server, on each engine and among each number of tasks, are taken in turn with the bare floor: 4 KiB
that are appended to a file and synced.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count, product, tee
from statistics import median
from typing import Final, NamedTuple

from benchmarks.bench import Bench
from benchmarks.floors import append_seconds
from benchmarks.rows import Row, Unit
from benchmarks.series import Series, in_turn, rounds_of
from benchmarks.stores import GROUP
from benchmarks.subjects import ECHO, HIERARCHY, LABELS, QUIET_HEARTBEAT, TASKS_V1, Call, Place, Subject
from benchmarks.wire import Client
from task_core.store import Engine
from tests.wire.line_client import TOY

__all__ = [
    "APPEND",
    "DURABLE_LIMITS",
    "FIRST_LIMIT",
    "FLOORS",
    "GROWTH_LIMIT",
    "MEMORY_LIMIT",
    "OPERATIONS",
    "SIZES",
    "SUBJECTS",
    "Growth",
    "measure",
]

SUBJECTS: Final = (QUIET_HEARTBEAT, HIERARCHY, TASKS_V1)
"""The three servers."""

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
"""Tasks in the store."""

MOST_IN_JSON: Final = 100_000
"""Tasks in the largest document that is measured."""

AGAIN: Final = "start again"
"""startTask of the leaf that is active already: the same leaf and the same form of answer, but nothing is written."""

OPERATIONS: Final = ("create", "get", "list page", "start", AGAIN, "complete", "first call")
"""What is measured; the first call, a page of the list, counts from the start of the process."""

APPEND: Final = "append 4 KiB, fdatasync"
TRIVIAL: Final = "trivial call"
SPOKEN: Final = {TRIVIAL: "a trivial call", AGAIN: "a start that writes nothing"}
FLOORS: Final = {
    TRIVIAL: ("create", "get", "list page", "start", AGAIN, "complete"),
    APPEND: ("create", "start", "complete"),
}
"""The floors of the machine and of our transport, with the operations beside which they are shown."""

DURABLE_LIMITS: Final = {"create": (TRIVIAL, 3.0), "start": (AGAIN, 4.0), "complete": (AGAIN, 4.0)}
"""The call that writes nothing, and what a change may take beyond it, times the bare floor (EN-10)."""

GROWTH_LIMIT: Final = 1.5
"""What an operation may take among the most tasks, times the same among the fewest (EN-10)."""

FIRST_LIMIT: Final = 1.1
"""What the first call of a fresh process may take among the most tasks, times the same in an empty store (EN-10)."""

MEMORY_LIMIT: Final = 20 * 2**20
"""Bytes that a server may have in use beyond those with an empty store (EN-10)."""

CALLS: Final = 3
"""Creates before memory is looked at."""

Growth = dict[str, dict[str, dict[int, float]]]
"""Median seconds by operation, by server and engine or floor, and by the number of tasks."""

Places = dict[tuple[Engine, int], Place]
"""Stores of one server, by engine and number of tasks."""


class Key(NamedTuple):
    """What was timed; a floor has no engine and no number of tasks."""

    operation: str
    engine: Engine | None = None
    size: int = 0


class First(NamedTuple):
    """The measurements of a fresh process."""

    seconds: float
    """from its start to the answer of its first call"""
    memory: int
    """bytes that are in use after some calls more"""


Calls = dict[Key, Series]
"""What calls took."""

Firsts = dict[tuple[Engine, int], list[First]]
"""Measurements of fresh processes, by engine and number of tasks."""


def measure(bench: Bench, subjects: Sequence[Subject] = SUBJECTS) -> tuple[list[Row], Growth]:
    """Return a row for each bar, and what every operation takes on each engine and among each number of tasks."""
    sizes = bench.pick(SIZES, SIZES[:2])
    rows: list[Row] = []
    growth: Growth = {operation: {} for operation in OPERATIONS}
    floors: dict[str, float] = {}
    for subject in subjects:
        places = _places(bench, subject, sizes)
        calls, firsts = _calls(bench, places), _firsts(bench, places)
        for place in places.values():
            shutil.rmtree(place.folder)
        rows += [*_durable_rows(subject, sizes, calls), *_flat_rows(subject, sizes, calls)]
        rows += _process_rows(subject, max(sizes), firsts)
        _note(growth, subject, calls, firsts)
        floors |= {floor: calls[Key(floor)].median for floor in FLOORS}
    for floor, operations in FLOORS.items():
        for operation in operations:
            growth[operation][floor] = dict.fromkeys(sizes, floors[floor])
    return rows, growth


def _note(growth: Growth, subject: Subject, calls: Calls, firsts: Firsts) -> None:
    """Add the medians of one server, but for an empty store."""
    found = {key: series.median for key, series in calls.items()}
    for (engine, size), processes in firsts.items():
        found[Key("first call", engine, size)] = median(first.seconds for first in processes)
    for (operation, engine, size), seconds in found.items():
        if engine and size:
            growth[operation].setdefault(f"{subject.name}, {LABELS[engine]}", {})[size] = seconds


def _places(bench: Bench, subject: Subject, sizes: Sequence[int]) -> Places:
    kinds = [(engine, size) for engine in LABELS for size in (0, *sizes)]
    kinds = [(engine, size) for engine, size in kinds if engine is Engine.SQLITE or size <= MOST_IN_JSON]
    return {(engine, size): bench.place(subject, size, engine) for engine, size in kinds}


def _calls(bench: Bench, places: Places) -> Calls:
    """Return what each operation takes in each store with tasks, and what the floors take."""
    with ExitStack() as stack:
        toy = stack.enter_context(Client(TOY))
        folder = next(iter(places.values())).folder
        works: dict[Key, Callable[[], float]] = {
            Key(TRIVIAL): partial(_seconds, toy, ECHO),
            Key(APPEND): partial(append_seconds, folder / "appended"),
        }
        for (engine, size), place in places.items():
            if size:
                client = stack.enter_context(place.client())
                for operation, work in _works(client, place.subject, size).items():
                    works[Key(operation, engine, size)] = work
        return in_turn(works, bench.pick(100, 3), seconds=bench.pick(90, 5))


def _works(client: Client, subject: Subject, size: int) -> dict[str, Callable[[], float]]:
    works: dict[str, Callable[[], float]] = {
        "create": partial(_seconds, client, subject.create),
        "get": partial(_seconds, client, subject.get(subject.id_of(size // 2))),
        "list page": partial(_seconds, client, subject.page),
    }
    if subject is HIERARCHY:
        started, again, completed = tee((subject.id_of(number) for number in count() if number % GROUP), 3)
        works["start"] = lambda: _seconds(client, Call("startTask", {"id": next(started)}))
        works[AGAIN] = lambda: _seconds(client, Call("startTask", {"id": next(again)}))
        done = {"resolution": "written"}
        works["complete"] = lambda: _seconds(client, Call("completeTask", {"id": next(completed), **done}))
    return works


def _firsts(bench: Bench, places: Places) -> Firsts:
    works = {key: partial(_first, place) for key, place in places.items()}
    return rounds_of(works, bench.pick(11, 1), seconds=bench.pick(90, 5), warm_up=bench.pick(1, 0))


def _first(place: Place) -> First:
    subject = place.subject
    with place.client() as client:
        seconds = client.since_spawn(subject.page.line(client))
        for _ in range(CALLS):
            client.seconds(subject.create.line(client))
        return First(seconds, client.memory)


def _durable_rows(subject: Subject, sizes: Sequence[int], calls: Calls) -> Iterator[Row]:
    for operation, (call, limit) in DURABLE_LIMITS.items():
        for size, less in product(sizes, dict.fromkeys((call, TRIVIAL))):
            if found := calls.get(Key(operation, Engine.SQLITE, size)):
                yield Row(
                    target=5,
                    what=f"{operation} among {size:,} tasks, less {SPOKEN[less]}",
                    server=subject.name,
                    unit=Unit.MILLISECONDS,
                    measured=found.minus(calls[Key(TRIVIAL) if less == TRIVIAL else Key(less, Engine.SQLITE, size)]),
                    floor=calls[Key(APPEND)],
                    limit=limit,
                    floor_is=APPEND,
                    is_difference=True,
                )


def _flat_rows(subject: Subject, sizes: Sequence[int], calls: Calls) -> Iterator[Row]:
    fewest, most = min(sizes), max(sizes)
    for operation in ("create", "get", "list page"):
        yield Row(
            target=5,
            what=f"{operation} among {most:,} tasks",
            server=subject.name,
            unit=Unit.MILLISECONDS,
            measured=calls[Key(operation, Engine.SQLITE, most)],
            floor=calls[Key(operation, Engine.SQLITE, fewest)],
            limit=GROWTH_LIMIT,
            floor_is=f"among {fewest:,}",
        )


def _process_rows(subject: Subject, most: int, firsts: Firsts) -> list[Row]:
    full, empty = firsts[Engine.SQLITE, most], firsts[Engine.SQLITE, 0]
    memory, without = (Series(tuple(first.memory for first in found)) for found in (full, empty))
    return [
        Row(
            target=5,
            what=f"first call of a process among {most:,} tasks",
            server=subject.name,
            unit=Unit.MILLISECONDS,
            measured=Series(tuple(first.seconds for first in full)),
            floor=Series(tuple(first.seconds for first in empty)),
            limit=FIRST_LIMIT,
            floor_is="in an empty store",
        ),
        Row(
            target=5,
            what=f"memory for {most:,} tasks",
            server=subject.name,
            unit=Unit.MEBIBYTES,
            measured=memory.minus(without),
            limit=MEMORY_LIMIT,
        ),
    ]


def _seconds(client: Client, call: Call) -> float:
    return client.seconds(call.line(client))

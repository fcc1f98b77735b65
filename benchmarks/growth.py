"""Target 5: calls, starts and memory from 1,000 to 1,000,000 tasks, in SQLite and, for comparison, in JSON.

All calls of one server, on each engine and among each number of tasks, are taken in turn with the bare floor: 4 KiB
that are appended to a file and synced.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count, tee
from operator import sub
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from benchmarks.rows import Row, Unit, rounds_of, timed
from benchmarks.subjects import ECHO, GROUP, HIERARCHY, LABELS, QUIET, Bench, Place, Subject
from benchmarks.wire import Call, Client
from task_core.store import Engine
from tests.wire.line_client import TOY

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
"""Tasks in the store."""

MOST_IN_JSON: Final = 100_000
"""Tasks in the largest document that is measured."""

OPERATIONS: Final = ("create", "get", "list page", "start", "start again", "complete", "first call")
"""The calls that are measured.

``start again`` starts the leaf that is active already: the same leaf and the same form of answer, but nothing is
written. The first call, a page of the list, counts from the start of the process.
"""

TRIVIAL: Final = "trivial call"
APPEND: Final = "append 4 KiB, fdatasync"

DURABLE_LIMITS: Final = {"create": (TRIVIAL, 3.0), "start": ("start again", 4.0), "complete": ("start again", 4.0)}
"""The call that writes nothing, and the most that a change may take beyond it, times the bare floor (EN-10)."""

GROWTH_LIMIT: Final = 1.5
"""The most that a call may take among the most tasks, times the same among the fewest (EN-10)."""

FIRST_LIMIT: Final = 1.1
"""The most that a first call may take among the most tasks, times the same in an empty store (EN-10)."""

MEMORY_LIMIT: Final = 20 * 2**20
"""Bytes that a server may have in use beyond those with an empty store (EN-10)."""

Growth = dict[str, dict[str, dict[int, float]]]
"""Median seconds by operation, by server and engine, and by the number of tasks."""


class Key(NamedTuple):
    """A call that was timed; a floor has no engine and no number of tasks."""

    operation: str
    engine: Engine | None = None
    size: int = 0


class First(NamedTuple):
    """A fresh process: the seconds to the answer of its first call, and the bytes in use after some more."""

    seconds: float
    memory: int


Calls = dict[Key, list[float]]
Firsts = dict[tuple[Engine, int], list[First]]


def measure(bench: Bench, subjects: Sequence[Subject] = QUIET) -> tuple[list[Row], Growth]:
    """Return a row for each bar, and the time of every call on each engine and among each number of tasks."""
    sizes = bench.pick(SIZES, SIZES[:2])
    rows: list[Row] = []
    growth: Growth = {operation: {} for operation in OPERATIONS}
    for subject in subjects:
        kinds = [(engine, size) for engine in LABELS for size in (0, *sizes)]
        kinds = [(engine, size) for engine, size in kinds if engine is Engine.SQLITE or size <= MOST_IN_JSON]
        places = {(engine, size): bench.place(subject, size, engine) for engine, size in kinds}
        calls = _measure_calls(bench, places)
        works = {key: partial(_measure_first, place) for key, place in places.items()}
        firsts = rounds_of(works, bench.pick(11, 1), seconds=bench.pick(90, 5), warm_up=bench.pick(1, 0))
        for place in places.values():
            shutil.rmtree(place.folder)
        rows += _rows(subject, min(sizes), max(sizes), calls, firsts)
        medians = {key: median(found) for key, found in calls.items()}
        medians |= {Key("first call", *key): median(first.seconds for first in found) for key, found in firsts.items()}
        for (operation, engine, size), seconds in medians.items():
            if engine and size:
                growth[operation].setdefault(f"{subject.name}, {LABELS[engine]}", {})[size] = seconds
    return rows, growth


def _measure_calls(bench: Bench, places: dict[tuple[Engine, int], Place]) -> Calls:
    """Return the times of each call in each store with tasks, and of the floors."""
    with ExitStack() as stack:
        toy = stack.enter_context(Client(TOY))
        folder = next(iter(places.values())).folder
        works: dict[Key, Callable[[], float]] = {
            Key(TRIVIAL): partial(toy.time, ECHO),
            Key(APPEND): partial(_append_seconds, folder / "appended"),
        }
        for (engine, size), place in places.items():
            if size:
                client = stack.enter_context(place.client())
                for operation, work in _works(client, place.subject, size).items():
                    works[Key(operation, engine, size)] = work
        return rounds_of(works, bench.pick(100, 3), seconds=bench.pick(90, 5))


def _works(client: Client, subject: Subject, size: int) -> dict[str, Callable[[], float]]:
    works: dict[str, Callable[[], float]] = {
        "create": partial(client.time, subject.create),
        "get": partial(client.time, subject.get(subject.id_of(size // 2))),
        "list page": partial(client.time, subject.page),
    }
    if subject is HIERARCHY:
        started, again, completed = tee((subject.id_of(number) for number in count() if number % GROUP), 3)
        works["start"] = lambda: client.time(Call("startTask", {"id": next(started)}))
        works["start again"] = lambda: client.time(Call("startTask", {"id": next(again)}))
        done = {"resolution": "written"}
        works["complete"] = lambda: client.time(Call("completeTask", {"id": next(completed), **done}))
    return works


def _measure_first(place: Place) -> First:
    with place.client() as client:
        seconds = client.since_spawn(client.tool_line(place.subject.page))
        for _ in range(3):  # the first ones load what is loaded late
            client.time(place.subject.create)
        return First(seconds, client.memory)


def _rows(subject: Subject, fewest: int, most: int, calls: Calls, firsts: Firsts) -> Iterator[Row]:
    row = partial(Row, target=5, server=subject.name, unit=Unit.MILLISECONDS)
    for operation, (call, limit) in DURABLE_LIMITS.items():
        if found := calls.get(Key(operation, Engine.SQLITE, most)):
            less = calls[Key(TRIVIAL) if call == TRIVIAL else Key(call, Engine.SQLITE, most)]
            spoken = "a trivial call" if call == TRIVIAL else "a start that writes nothing"
            what = f"{operation} among {most:,} tasks, less {spoken}"
            measured, floor = median(map(sub, found, less)), median(calls[Key(APPEND)])
            yield row(what=what, measured=measured, floor=floor, limit=limit, floor_is=APPEND)
    for operation in ("create", "get", "list page"):
        measured, floor = (median(calls[Key(operation, Engine.SQLITE, size)]) for size in (most, fewest))
        what, floor_is = f"{operation} among {most:,} tasks", f"among {fewest:,}"
        yield row(what=what, measured=measured, floor=floor, limit=GROWTH_LIMIT, floor_is=floor_is)
    (full, memory), (empty, idle) = (zip(*firsts[Engine.SQLITE, size], strict=True) for size in (most, 0))
    what, floor_is = f"first call of a process among {most:,} tasks", "in an empty store"
    yield row(what=what, measured=median(full), floor=median(empty), limit=FIRST_LIMIT, floor_is=floor_is)
    grown = median(map(sub, memory, idle))
    yield Row(5, f"memory for {most:,} tasks", subject.name, Unit.MEBIBYTES, grown, None, MEMORY_LIMIT)


def _append_seconds(path: Path) -> float:
    """Return the seconds that it takes to append 4 KiB to a file and to sync its data: the least of the machine."""
    with path.open("ab", buffering=0) as file:
        return timed(lambda: (file.write(bytes(4096)), os.fdatasync(file.fileno())))

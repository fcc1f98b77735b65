"""Targets 3 and 4: a durable create in a document, what the history adds, and many creates that share one save."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks import growth
from benchmarks.bench import Bench
from benchmarks.rows import Row, Unit
from benchmarks.series import in_turn, timed
from benchmarks.subjects import ECHO, LABELS, QUIET_HEARTBEAT, SUBJECTS, Subject
from benchmarks.wire import Client
from task_core.store import Engine
from tests.wire.line_client import TOY

__all__ = ["measure_creates", "measure_sharing"]

LIMITS: Final = {1_000: 1.5, 10_000: 2.0}
"""The most that a create may take by the number of tasks, times its floor (EN-7)."""

HISTORY_LIMIT: Final = 1.05
"""The most that a create may take with history, times one without (AG-5)."""

IN_FLIGHT: Final = 32

SHARING_TASKS: Final = 10_000

SHARING_LIMIT: Final = 4.0
"""The least creates a second with ``IN_FLIGHT`` under way, times those one at a time (EN-9)."""


def measure_creates(bench: Bench) -> list[Row]:
    """Return a row for each server and number of tasks, and one for the history of each server and engine."""
    return [
        *(_create(bench, subject, count) for count in LIMITS for subject in (*SUBJECTS, QUIET_HEARTBEAT)),
        *(_history(bench, subject, engine) for engine in LABELS for subject in growth.SUBJECTS),
    ]


def measure_sharing(bench: Bench) -> list[Row]:
    """Return a row for each server."""
    return [_sharing(bench, subject) for subject in SUBJECTS]


def _create(bench: Bench, subject: Subject, count: int) -> Row:
    place = bench.place(subject, count)
    with Client(TOY) as toy, place.client() as client:
        client.seconds(subject.create.line(client))
        works = {
            "create": lambda: client.seconds(subject.create.line(client)),
            "trivial": lambda: toy.seconds(ECHO.line(toy)),
            **{path.name: _bare(path) for path in {place.store, place.folder / subject.record.file}},
        }
        found = in_turn(works, bench.pick(200, 5), seconds=bench.pick(8, 2))
    return Row(
        target=3,
        what=f"create among {count:,} tasks in a document",
        server=subject.name,
        unit=Unit.MILLISECONDS,
        measured=found.pop("create"),
        floor=found.pop("trivial").plus(*found.values()),
        limit=LIMITS[count],
        floor_is="trivial call and bare durable writes",
    )


def _history(bench: Bench, subject: Subject, engine: Engine) -> Row:
    bare = replace(subject, settings={**subject.settings, "TASK_HISTORY_DAYS": "0"})
    with ExitStack() as stack:
        works: dict[str, Callable[[], float]] = {}
        for name, each in (("with", subject), ("without", bare)):
            client = stack.enter_context(bench.place(each, 1_000, engine).client())
            works[name] = partial(_each, client, subject, 1, 1)
        found = in_turn(works, bench.pick(400, 5), seconds=bench.pick(8, 2))
    return Row(
        target=3,
        what=f"create among 1,000 tasks with history, {LABELS[engine]}",
        server=subject.name,
        unit=Unit.MILLISECONDS,
        measured=found["with"],
        floor=found["without"],
        limit=HISTORY_LIMIT,
        floor_is="without history",
    )


def _sharing(bench: Bench, subject: Subject) -> Row:
    together = bench.pick(2, 1) * IN_FLIGHT
    with bench.place(subject, SHARING_TASKS).client() as client:
        each = partial(_each, client, subject)
        works = {"alone": partial(each, 8, 1), "together": partial(each, together, IN_FLIGHT)}
        found = in_turn(works, bench.pick(11, 3), seconds=bench.pick(12, 3))
    return Row(
        target=4,
        what=f"creates with {IN_FLIGHT} in flight among {SHARING_TASKS:,} tasks in a document",
        server=subject.name,
        unit=Unit.CALLS,
        measured=found["together"],
        floor=found["alone"],
        limit=SHARING_LIMIT,
        floor_is="creates one at a time",
    )


def _each(client: Client, subject: Subject, calls: int, in_flight: int) -> float:
    return client.stream([subject.create.line(client) for _ in range(calls)], in_flight) / calls


def _bare(path: Path) -> Callable[[], float]:
    """Return a bare durable save: write the bytes at ``path`` to another file, sync, rename, and sync the folder."""

    def save(data: bytes) -> None:
        temporary = path.with_name(f".bare-{path.name}.tmp")
        with temporary.open("xb", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        temporary.replace(path.with_name(f"bare-{path.name}"))
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)

    return lambda: timed(partial(save, path.read_bytes()))

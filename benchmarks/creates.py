"""Targets 3 and 4: what a durable create in a document takes, and how many creates can share one save.

The floor of a create is a trivial call on our transport and a bare durable write of the same bytes, of HEARTBEAT.md
too where there is one. All is taken in turn, call by call.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench
from benchmarks.floors import replace_seconds
from benchmarks.rows import Row, Unit
from benchmarks.series import in_turn
from benchmarks.subjects import ECHO, FLAT_HIERARCHY, LABELS, QUIET_HEARTBEAT, SUBJECTS, Subject
from benchmarks.wire import Client
from task_core.store import Engine
from tests.wire.line_client import TOY

__all__ = ["measure_creates", "measure_sharing"]

LIMITS: Final = {1_000: 1.5, 10_000: 2.0}
"""What a create may take by the number of tasks, times its floor (EN-7)."""

FRONT_LIMIT: Final = 0.1
"""Seconds that a new task before 10,000 roots may take (EN-7)."""

IN_FLIGHT: Final = 32
"""Creates that are under way at a time."""

SHARING_TASKS: Final = 10_000
"""Tasks in the store that many creates go to at a time."""

SHARING_LIMITS: Final = {Engine.JSON: 4.0, Engine.SQLITE: None}
"""How many times as many creates a second there must be with ``IN_FLIGHT`` under way as one at a time."""


def measure_creates(bench: Bench) -> list[Row]:
    """Return a row for each server and number of tasks, and one for a new root before all others."""
    rows = [_create(bench, subject, count) for count in LIMITS for subject in (*SUBJECTS, QUIET_HEARTBEAT)]
    return [*rows, _front(bench)]


def measure_sharing(bench: Bench) -> list[Row]:
    """Return a row for each server and engine."""
    return [_sharing(bench, subject, engine) for engine in SHARING_LIMITS for subject in SUBJECTS]


def _create(bench: Bench, subject: Subject, count: int) -> Row:
    place = bench.place(subject, count)
    with Client(TOY) as toy, place.client() as client:
        client.seconds(subject.create.line(client))
        files = {place.store, place.folder / subject.record.file}
        works = {
            "create": lambda: client.seconds(subject.create.line(client)),
            "trivial": lambda: toy.seconds(ECHO.line(toy)),
            **{path.name: _bare(path) for path in files},
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


def _front(bench: Bench) -> Row:
    subject, count = FLAT_HIERARCHY, max(LIMITS)
    with bench.place(subject, count).client() as client:
        work = {"insert": lambda: client.seconds(subject.create.line(client))}
        found = in_turn(work, bench.pick(50, 5), seconds=bench.pick(8, 2))
    what = f"new task before {count:,} roots in a document"
    return Row(3, what, subject.name, Unit.MILLISECONDS, found["insert"], limit=FRONT_LIMIT)


def _sharing(bench: Bench, subject: Subject, engine: Engine) -> Row:
    together = bench.pick(2, 1) * IN_FLIGHT
    with bench.place(subject, SHARING_TASKS, engine).client() as client:
        each = partial(_each, client, subject)
        works = {"alone": partial(each, 8, 1), "together": partial(each, together, IN_FLIGHT)}
        found = in_turn(works, bench.pick(11, 3), seconds=bench.pick(12, 3))
    return Row(
        target=4,
        what=f"creates with {IN_FLIGHT} in flight among {SHARING_TASKS:,} tasks, {LABELS[engine]}",
        server=subject.name,
        unit=Unit.CALLS,
        measured=found["together"],
        floor=found["alone"],
        limit=SHARING_LIMITS[engine],
        floor_is="creates one at a time",
    )


def _each(client: Client, subject: Subject, calls: int, in_flight: int) -> float:
    return client.stream([subject.create.line(client) for _ in range(calls)], in_flight) / calls


def _bare(path: Path) -> Callable[[], float]:
    """Return what writes the bytes at ``path``, as they then are, durably to another file beside it."""
    return lambda: replace_seconds(path.with_name(f"bare-{path.name}"), path.read_bytes())

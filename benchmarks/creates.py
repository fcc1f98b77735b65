"""Targets 3 and 4: what a durable create takes, and how many can share one save.

The floor of a create is a trivial call on our transport and a bare durable write of the same bytes, of HEARTBEAT.md
too where there is one. All is taken in turn, call by call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from benchmarks.bench import Bench
from benchmarks.floors import replace_seconds
from benchmarks.rows import Row, Unit
from benchmarks.series import Series, in_turn
from benchmarks.subjects import ECHO, HEARTBEAT, NO_MIRROR, QUIET_HEARTBEAT, SUBJECTS, Call, Stores, Subject
from benchmarks.wire import Client
from task_core.files import identify
from tests.wire.line_client import TOY

__all__ = ["measure_creates", "measure_sharing"]

LIMITS: Final = {1_000: 1.3, 10_000: 1.5, 100_000: None}
"""What a create may take by the number of tasks, times its floor; None is only reported."""

IN_FLIGHT: Final = 32
"""Creates that are under way at a time."""

SHARING_TASKS: Final = 10_000
"""Tasks in the store that many creates go to at a time."""

SHARING_LIMIT: Final = 4.0
"""How many times as many creates a second there must be with ``IN_FLIGHT`` under way as one at a time."""


def measure_creates(bench: Bench) -> list[Row]:
    """Return a row for each server and number of tasks, and what HEARTBEAT.md adds to it."""
    sizes = [count for count in LIMITS if count <= bench.pick(100_000, 10_000)]
    rows = [_create(bench, subject, count) for count in sizes for subject in (*SUBJECTS, QUIET_HEARTBEAT)]
    return [*rows, *(_mirror(bench, count) for count in sizes if LIMITS[count]), _idle_mirror(bench.stores)]


def measure_sharing(bench: Bench) -> list[Row]:
    """Return a row for each server."""
    return [_sharing(bench, subject) for subject in (*SUBJECTS, QUIET_HEARTBEAT)]


def _create(bench: Bench, subject: Subject, count: int) -> Row:
    folder = bench.stores.copy(subject, count)
    files = [path for path in (folder / subject.store, folder / subject.file) if path.exists()]
    with Client(TOY) as toy, subject.client(folder) as client:
        works = {"create": partial(_seconds, client, subject.create), "trivial": partial(_seconds, toy, ECHO)}
        works |= {path.name: _bare(path) for path in files}
        found = in_turn(works, bench.pick(200, 5), seconds=bench.pick(8, 2))
    return Row(
        target=3,
        what=f"create among {count:,} tasks",
        server=subject.name,
        unit=Unit.MILLISECONDS,
        measured=found.pop("create"),
        floor=found.pop("trivial").plus(*found.values()),
        limit=LIMITS[count],
        floor_is="trivial call and bare durable writes",
    )


def _mirror(bench: Bench, count: int) -> Row:
    folder, other = (bench.stores.copy(HEARTBEAT, count) for _ in range(2))
    with HEARTBEAT.client(folder) as client, HEARTBEAT.client(other, settings=NO_MIRROR) as alone:
        works = {
            "with": partial(_seconds, client, HEARTBEAT.create),
            "without": partial(_seconds, alone, HEARTBEAT.create),
            "bare": _bare(folder / HEARTBEAT.file),
        }
        found = in_turn(works, bench.pick(200, 5), seconds=bench.pick(8, 2))
    return Row(
        target=3,
        what=f"what HEARTBEAT.md with {count:,} entries adds to a create",
        server=HEARTBEAT.name,
        unit=Unit.MILLISECONDS,
        measured=found["with"].minus(found["without"]),
        floor=found["bare"],
        limit=LIMITS[count],
        floor_is="bare durable write of it",
        is_difference=True,
    )


def _idle_mirror(stores: Stores) -> Row:
    """Count the writes of HEARTBEAT.md in updates of what it does not show."""
    folder = stores.copy(HEARTBEAT, 100)
    writes = 0
    with HEARTBEAT.client(folder) as client:
        for number in range(10):
            before = identify(folder / HEARTBEAT.file)
            updates: dict[str, JsonValue] = {"claude_session_id": f"session {number}"}
            client.seconds(client.tool_line("task_update", task_id=HEARTBEAT.id_of(50), updates=updates))
            writes += before != identify(folder / HEARTBEAT.file)
    return Row(
        target=3,
        what="writes of HEARTBEAT.md in ten updates that it does not show",
        server=HEARTBEAT.name,
        unit=Unit.WRITES,
        measured=Series((writes,)),
        limit=0,
    )


def _sharing(bench: Bench, subject: Subject) -> Row:
    folder = bench.stores.copy(subject, SHARING_TASKS)
    together = bench.pick(2, 1) * IN_FLIGHT
    with subject.client(folder) as client:
        works = {"alone": partial(_each, client, subject.create, 8, 1)}
        works["together"] = partial(_each, client, subject.create, together, IN_FLIGHT)
        found = in_turn(works, bench.pick(11, 3), seconds=bench.pick(12, 3))
    return Row(
        target=4,
        what=f"creates with {IN_FLIGHT} in flight among {SHARING_TASKS:,} tasks",
        server=subject.name,
        unit=Unit.CALLS,
        measured=found["together"],
        floor=found["alone"],
        limit=SHARING_LIMIT,
        floor_is="creates one at a time",
    )


def _seconds(client: Client, call: Call) -> float:
    return client.seconds(call.line(client))


def _each(client: Client, call: Call, calls: int, in_flight: int) -> float:
    return client.stream([call.line(client) for _ in range(calls)], in_flight) / calls


def _bare(path: Path) -> Callable[[], float]:
    """Return what writes the bytes at ``path``, as they then are, durably to another file beside it."""
    return lambda: replace_seconds(path.with_name(f"bare-{path.name}"), path.read_bytes())

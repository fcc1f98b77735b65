"""Target 5: what a server takes to see that another process has changed its store."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from itertools import count
from typing import Final

from benchmarks.bench import Bench
from benchmarks.floors import read_seconds
from benchmarks.rows import Row, Unit
from benchmarks.series import in_turn
from benchmarks.subjects import HEARTBEAT, NO_MIRROR, QUIET_HEARTBEAT, SUBJECTS, Subject

__all__ = ["measure"]

TASKS: Final = 10_000
"""Tasks in the store."""

LIMIT: Final = 1.5
"""What reading it again may take, times ``json.loads`` of the file and the making of the records."""


def measure(bench: Bench) -> list[Row]:
    """Return a row for each server; heartbeat also looks at HEARTBEAT.md, and so has one without it."""
    rows = [_measure(bench, subject, subject.name) for subject in (*SUBJECTS, QUIET_HEARTBEAT)]
    return [*rows, _measure(bench, HEARTBEAT, "heartbeat, without HEARTBEAT.md", NO_MIRROR)]


def _measure(bench: Bench, subject: Subject, name: str, settings: Mapping[str, str] | None = None) -> Row:
    folder = bench.stores.copy(subject, TASKS)
    data = (folder / subject.store).read_bytes()
    numbers = count(1)
    with ExitStack() as stack:
        reader, writer = (stack.enter_context(subject.client(folder, settings=settings)) for _ in range(2))

        def get() -> float:
            return reader.seconds(subject.get(subject.id_of(TASKS // 2)).line(reader))

        def get_after_change() -> float:
            writer.seconds(subject.change(subject.id_of(TASKS - 1), next(numbers)).line(writer))
            return get()

        works = {"changed": get_after_change, "same": get, "bare": partial(read_seconds, subject, data)}
        found = in_turn(works, bench.pick(15, 3), seconds=bench.pick(10, 3))
    return Row(
        target=5,
        what=f"get among {TASKS:,} tasks after a change by another process",
        server=name,
        unit=Unit.MILLISECONDS,
        measured=found["changed"],
        floor=found["bare"].plus(found["same"]),
        limit=LIMIT,
        floor_is="json.loads, making the records, a get",
    )

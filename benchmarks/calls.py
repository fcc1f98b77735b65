"""Target 2: what each call costs a server that runs already, and how many it answers when many are under way."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Final, NamedTuple

from benchmarks.bench import Bench
from benchmarks.rows import Row, Unit
from benchmarks.series import Series, rounds_of
from benchmarks.subjects import ASYNC_PLAIN, ECHO, PLAIN, SUBJECTS
from benchmarks.wire import Client
from tests.wire.line_client import TOY, Era

__all__ = ["measure"]

TASKS: Final = 1_000
"""Tasks in the store."""

IN_FLIGHT: Final = 32
"""Calls that are under way at a time."""

CPU_LIMIT: Final = 0.65
"""What a call may cost the processor, times the trivial tool of a plain MCPServer."""

RATE_LIMIT: Final = 1.8
"""How many calls a second must be answered, times the trivial tool of a plain MCPServer."""

TRIVIAL: Final = {
    "plain": PLAIN,
    "plain, as a coroutine": ASYNC_PLAIN,
    "trivial tool on our transport": TOY,
}
"""The servers with a trivial tool, by name."""


class Cost(NamedTuple):
    """What one call took, in seconds."""

    cpu: float
    """Of the processor, one call after the other."""
    time: float
    """With ``IN_FLIGHT`` under way."""


def measure(bench: Bench) -> list[Row]:
    """Return two rows for each server and era."""
    return [*_measure_era(bench, "legacy"), *_measure_era(bench, "modern")]


def _measure_era(bench: Bench, era: Era) -> list[Row]:
    calls = bench.pick(300, 100)
    with ExitStack() as stack:
        works: dict[str, Callable[[], Cost]] = {}
        for name, command in TRIVIAL.items():
            client = stack.enter_context(Client(command, era=era))
            works[name] = partial(_cost, client, [ECHO.line(client) for _ in range(calls)])
        for subject in SUBJECTS:
            client = stack.enter_context(bench.place(subject, TASKS).client(era))
            ids = [subject.id_of(number * 7 % TASKS) for number in range(calls)]
            works[subject.name] = partial(_cost, client, [subject.get(name).line(client) for name in ids])
        found = rounds_of(works, bench.pick(11, 3), seconds=bench.pick(45, 10))
    return _rows(found, era)


def _cost(client: Client, lines: list[bytes]) -> Cost:
    before = client.cpu
    client.stream(lines, 1)
    cpu = client.cpu - before
    return Cost(cpu / len(lines), client.stream(lines, IN_FLIGHT) / len(lines))


def _rows(found: dict[str, list[Cost]], era: Era) -> list[Row]:
    cpu = {name: Series(tuple(cost.cpu for cost in costs)) for name, costs in found.items()}
    time = {name: Series(tuple(cost.time for cost in costs)) for name, costs in found.items()}
    rows = []
    for name in found:
        row = partial(Row, target=2, server=name, floor_is="plain MCPServer")
        is_limited = name not in TRIVIAL
        rows.append(
            row(
                what=f"processor time of a get among {TASKS:,} tasks, {era} era",
                unit=Unit.MICROSECONDS,
                measured=cpu[name],
                floor=cpu["plain"],
                limit=CPU_LIMIT if is_limited else None,
            )
        )
        rows.append(
            row(
                what=f"gets with {IN_FLIGHT} in flight among {TASKS:,} tasks, {era} era",
                unit=Unit.CALLS,
                measured=time[name],
                floor=time["plain"],
                limit=RATE_LIMIT if is_limited else None,
            )
        )
    return rows

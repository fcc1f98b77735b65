"""Target 2: the cost of each call of a server that runs already, and how many it answers when many are under way."""

from contextlib import ExitStack
from functools import partial
from typing import Final, NamedTuple

from benchmarks.bench import Bench
from benchmarks.rows import Row, Unit
from benchmarks.series import Series, rounds_of
from benchmarks.subjects import ECHO, PLAIN, SUBJECTS
from benchmarks.wire import Client
from tests.wire.line_client import Era

__all__ = ["measure"]

TASKS: Final = 1_000

IN_FLIGHT: Final = 32

CPU_LIMIT: Final = 0.65
"""The most that a call may cost the processor, times the trivial tool of a plain MCPServer."""

RATE_LIMIT: Final = 1.8
"""The least calls a second, times the trivial tool of a plain MCPServer."""


class Cost(NamedTuple):
    """The seconds of one call."""

    cpu: float
    """Processor time, one call after the other."""
    time: float
    """Time with ``IN_FLIGHT`` calls under way."""


def measure(bench: Bench) -> list[Row]:
    """Return two rows for each server and era."""
    return [*_measure_era(bench, "legacy"), *_measure_era(bench, "modern")]


def _measure_era(bench: Bench, era: Era) -> list[Row]:
    calls = bench.pick(300, 100)
    with ExitStack() as stack:
        client = stack.enter_context(Client(PLAIN, era=era))
        works = {"plain": partial(_cost, client, [ECHO.line(client) for _ in range(calls)])}
        for subject in SUBJECTS:
            client = stack.enter_context(bench.place(subject, TASKS).client(era))
            ids = [subject.id_of(number * 7 % TASKS) for number in range(calls)]
            works[subject.name] = partial(_cost, client, [subject.get(name).line(client) for name in ids])
        found = rounds_of(works, bench.pick(11, 3), seconds=bench.pick(45, 10))
    cpu = {name: Series(tuple(cost.cpu for cost in costs)) for name, costs in found.items()}
    time = {name: Series(tuple(cost.time for cost in costs)) for name, costs in found.items()}
    get, gets = (
        f"processor time of a get among {TASKS:,} tasks",
        f"gets with {IN_FLIGHT} in flight among {TASKS:,} tasks",
    )
    return [
        Row(2, f"{what}, {era} era", name, unit, series[name], series["plain"], bar, "plain MCPServer")
        for what, unit, series, bar in (
            (get, Unit.MICROSECONDS, cpu, CPU_LIMIT),
            (gets, Unit.CALLS, time, RATE_LIMIT),
        )
        for name in found
        if name != "plain"
    ]


def _cost(client: Client, lines: list[bytes]) -> Cost:
    before = client.cpu
    client.stream(lines, 1)
    cpu = client.cpu - before
    return Cost(cpu / len(lines), client.stream(lines, IN_FLIGHT) / len(lines))

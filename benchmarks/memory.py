"""Target 6: the memory that tasks cost, and that a large request leaves behind."""

from __future__ import annotations

from functools import partial
from typing import Final

from benchmarks.bench import Bench
from benchmarks.rows import Row, Unit
from benchmarks.series import in_turn
from benchmarks.subjects import ECHO, PLAIN, SUBJECTS, Call, Subject
from benchmarks.wire import Client

__all__ = ["measure"]

TASKS: Final = 10_000
"""Tasks in the store."""

LIMIT: Final = 60 * 2**20
"""Bytes that they may cost over an empty store."""

LARGE: Final = 8 * 2**20 - 1_024
"""Bytes of text in the large request, which is nearly the longest line that is taken."""

REQUESTS: Final = 5
"""Large requests, one after the other."""

CALLS: Final = 3
"""Small calls before memory is looked at: the first load what is loaded late."""

LEFT: Final = f"memory kept after {REQUESTS} requests of 8 MiB"
EMPTY: Final = "memory of a server with an empty store"

GROWTH: Final = 2**20
"""Bytes that may stay in use after the large requests: what the allocator's own habits come to."""


def measure(bench: Bench) -> list[Row]:
    """Return the rows of each server, and what a plain MCPServer has in use."""
    return [*(row for subject in SUBJECTS for row in _measure(bench, subject)), *_plain(bench)]


def _measure(bench: Bench, subject: Subject) -> list[Row]:
    works = {
        "empty": lambda: _in_use(bench, subject, 0),
        "full": lambda: _in_use(bench, subject, TASKS),
        "large": lambda: _left_by_large_requests(subject.client(bench.stores.copy(subject, 0)), subject.create),
    }
    found = in_turn(works, bench.pick(3, 1), seconds=bench.pick(12, 4), warm_up=0)
    row = partial(Row, target=6, server=subject.name, unit=Unit.MEBIBYTES)
    return [
        row(what=f"memory for {TASKS:,} tasks", measured=found["full"].minus(found["empty"]), limit=LIMIT),
        row(what=LEFT, measured=found["large"], limit=GROWTH),
        row(what=EMPTY, measured=found["empty"]),
    ]


def _plain(bench: Bench) -> list[Row]:
    works = {
        EMPTY: lambda: _in_use_by(Client(PLAIN), ECHO),
        LEFT: lambda: _left_by_large_requests(Client(PLAIN), ECHO),
    }
    found = in_turn(works, bench.pick(3, 1), seconds=bench.pick(12, 4), warm_up=0)
    return [Row(6, what, "plain MCPServer", Unit.MEBIBYTES, series) for what, series in found.items()]


def _in_use(bench: Bench, subject: Subject, tasks: int) -> int:
    return _in_use_by(subject.client(bench.stores.copy(subject, tasks)), subject.create)


def _in_use_by(client: Client, call: Call) -> int:
    with client:
        _work(client, call)
        return client.memory


def _left_by_large_requests(client: Client, call: Call) -> int:
    """Send requests that are refused, because one of their texts is longer than any may be."""
    longest = next(iter(call.arguments))
    large = Call(call.tool, {**call.arguments, longest: "x" * LARGE})
    with client:
        _work(client, call)
        before = client.memory
        for _ in range(REQUESTS):
            client.exchange(large.line(client))
        _work(client, call)
        return client.memory - before


def _work(client: Client, call: Call) -> None:
    for _ in range(CALLS):
        client.seconds(call.line(client))

"""Target 6: the memory of a server, and what large requests leave behind."""

from collections.abc import Callable
from functools import partial
from typing import Final

from benchmarks.bench import Bench
from benchmarks.rows import Row, Unit
from benchmarks.series import in_turn
from benchmarks.subjects import ECHO, PLAIN, SUBJECTS, Call
from benchmarks.wire import Client

__all__ = ["measure"]

LARGE: Final = 4 * 2**20 - 1_024
"""Bytes of text in the large request, which is nearly the longest line that is accepted."""

REQUESTS: Final = 5
"""Large requests, one after the other."""

CALLS: Final = 3
"""Small calls before memory is read: the first load what is loaded late."""


def measure(bench: Bench) -> list[Row]:
    """Return the rows of each server and of a plain MCPServer."""
    subjects = {subject.name: (bench.place(subject, 0).client, subject.create) for subject in SUBJECTS}
    rows: list[Row] = []
    for name, (start, call) in {**subjects, "plain MCPServer": (partial(Client, PLAIN), ECHO)}.items():
        works = {
            "memory of a server with an empty store": partial(_in_use, start, call),
            f"memory kept after {REQUESTS} requests of 4 MiB": partial(_left_by_large_requests, start, call),
        }
        found = in_turn(works, bench.pick(3, 1), seconds=bench.pick(12, 4), warm_up=0)
        rows += [Row(6, what, name, Unit.MEBIBYTES, series) for what, series in found.items()]
    return rows


def _in_use(start: Callable[[], Client], call: Call) -> int:
    with start() as client:
        return _memory_after(client, call)


def _left_by_large_requests(start: Callable[[], Client], call: Call) -> int:
    """Send requests that are refused, because one of their texts is longer than any may be."""
    longest = next(iter(call.arguments))
    large = Call(call.tool, {**call.arguments, longest: "x" * LARGE})
    with start() as client:
        before = _memory_after(client, call)
        for _ in range(REQUESTS):
            client.exchange(large.line(client))
        return _memory_after(client, call) - before


def _memory_after(client: Client, call: Call) -> int:
    for _ in range(CALLS):
        client.seconds(call.line(client))
    return client.memory

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
"""Small calls before memory is looked at: the first load what is loaded late."""

LEFT: Final = f"memory kept after {REQUESTS} requests of 4 MiB"
EMPTY: Final = "memory of a server with an empty store"


def measure(bench: Bench) -> list[Row]:
    """Return the rows of each server and of a plain MCPServer."""
    subjects = {subject.name: (bench.place(subject, 0).client, subject.create) for subject in SUBJECTS}
    rows: list[Row] = []
    for name, (start, call) in {**subjects, "plain MCPServer": (partial(Client, PLAIN), ECHO)}.items():
        works = {EMPTY: partial(_in_use, start, call), LEFT: partial(_left_by_large_requests, start, call)}
        found = in_turn(works, bench.pick(3, 1), seconds=bench.pick(12, 4), warm_up=0)
        rows += [Row(6, what, name, Unit.MEBIBYTES, series) for what, series in found.items()]
    return rows


def _in_use(start: Callable[[], Client], call: Call) -> int:
    with start() as client:
        _work(client, call)
        return client.memory


def _left_by_large_requests(start: Callable[[], Client], call: Call) -> int:
    """Send requests that are refused, because one of their texts is longer than any may be."""
    longest = next(iter(call.arguments))
    large = Call(call.tool, {**call.arguments, longest: "x" * LARGE})
    with start() as client:
        _work(client, call)
        before = client.memory
        for _ in range(REQUESTS):
            client.exchange(large.line(client))
        _work(client, call)
        return client.memory - before


def _work(client: Client, call: Call) -> None:
    for _ in range(CALLS):
        client.seconds(call.line(client))

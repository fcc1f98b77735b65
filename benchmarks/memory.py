"""Target 6: the memory of a server."""

from collections.abc import Callable
from functools import partial

from benchmarks.bench import Bench
from benchmarks.rows import Row, Unit
from benchmarks.series import in_turn
from benchmarks.subjects import ECHO, PLAIN, SUBJECTS, Call
from benchmarks.wire import Client

__all__ = ["measure"]


def measure(bench: Bench) -> list[Row]:
    """Return the rows of each server and of a plain MCPServer."""
    works = {it.name: partial(_memory, bench.place(it, 0).client, it.create) for it in SUBJECTS}
    works["plain MCPServer"] = partial(_memory, partial(Client, PLAIN), ECHO)
    found = in_turn(works, bench.pick(3, 1), seconds=bench.pick(12, 4), warm_up=0)
    what = "memory of a server with an empty store"
    return [Row(6, what, name, Unit.MEBIBYTES, series) for name, series in found.items()]


def _memory(start: Callable[[], Client], call: Call) -> int:
    with start() as client:
        for _ in range(3):  # the first ones load what is loaded late
            client.seconds(call.line(client))
        return client.memory

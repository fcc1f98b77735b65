"""Target 7: how create, get, a page of the list and a start grow with the number of tasks, beside plain floors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from statistics import median
from typing import Final

from benchmarks.bench import Bench
from benchmarks.floors import read_seconds, replace_seconds
from benchmarks.series import rounds_of
from benchmarks.subjects import ECHO, PLAIN, QUIET_HEARTBEAT, SUBJECTS, Call, Subject
from benchmarks.wire import Client

__all__ = ["FLOORS", "OPERATIONS", "PLAIN_NAME", "Growth", "measure"]

SIZES: Final = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
"""Tasks in the store."""

OPERATIONS: Final = ("create", "get", "list page", "start-up")
"""What is measured; a start-up lasts from the spawn to the answer of the first get."""

PLAIN_NAME: Final = "plain MCPServer"
"""A trivial call, or the start until its answer: the floor without any store."""

FLOORS: Final = {"create": "bare durable write", "start-up": "json.loads and records"}
"""What an operation asks of the machine, by operation; the document is that of the server."""

Growth = dict[str, dict[str, dict[int, float]]]
"""Median seconds by operation, by server or floor, and by the number of tasks."""


def measure(bench: Bench) -> Growth:
    """Return what every operation takes at every size."""
    found: defaultdict[tuple[str, str, int], list[float]] = defaultdict(list)
    for size in SIZES if not bench.is_quick else SIZES[:3:2]:
        for subject in (*SUBJECTS, QUIET_HEARTBEAT):
            for (operation, name), values in _measure(bench, subject, size).items():
                found[operation, name, size] += values
    growth: Growth = {operation: {} for operation in OPERATIONS}
    for (operation, name, size), values in found.items():
        growth[operation].setdefault(name, {})[size] = median(values)
    return growth


def _measure(bench: Bench, subject: Subject, size: int) -> dict[tuple[str, str], list[float]]:
    """Return the seconds of every round by operation and by server or floor."""
    folder = bench.stores.copy(subject, size)
    data = (folder / subject.store).read_bytes()
    get, name = subject.get(subject.id_of(size // 2)), subject.name
    with ExitStack() as stack:
        client, plain = stack.enter_context(subject.client(folder)), stack.enter_context(Client(PLAIN))
        works: dict[tuple[str, str], Callable[[], float]] = {
            ("create", name): partial(_call, client, subject.create),
            ("get", name): partial(_call, client, get),
            ("list page", name): partial(_call, client, subject.page),
            ("start-up", name): partial(_start, partial(subject.client, folder), get),
            ("start-up", PLAIN_NAME): partial(_start, partial(Client, PLAIN), ECHO),
            ("create", FLOORS["create"]): partial(replace_seconds, folder / "bare.json", data),
            ("start-up", FLOORS["start-up"]): partial(read_seconds, subject, data),
        }
        works |= {(operation, PLAIN_NAME): partial(_call, plain, ECHO) for operation in OPERATIONS[:3]}
        return rounds_of(works, bench.pick(20, 1), seconds=bench.pick(4, 1))


def _call(client: Client, call: Call) -> float:
    return client.seconds(call.line(client))


def _start(start: Callable[[], Client], call: Call) -> float:
    with start() as client:
        return client.since_spawn(call.line(client))

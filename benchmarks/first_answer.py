"""Target 1: from the spawn of a server to its first answers, in both eras of the protocol.

Each start is a new process. One start of each server comes first, so that Python's compilation is not counted.
"""

import sys
from functools import partial
from typing import Final

from benchmarks.bench import Bench
from benchmarks.rows import Row, Unit
from benchmarks.series import Series, rounds_of
from benchmarks.subjects import ECHO, PLAIN, SUBJECTS, Call, Place
from benchmarks.wire import Client
from tests.wire.line_client import Era

__all__ = ["measure"]

TASKS: Final = 100
"""Tasks in the store that the first call reads."""

GREETING: Final = 0.10
"""What the first answers may take, times a plain MCPServer."""

FIRST_CALL: Final = 0.95
"""What the first call of a tool may take, times a plain MCPServer."""

Found = dict[str, dict[str, Series]]
"""Seconds from the spawn, by server and answer."""

FIRST_CALL_STEP: Final = "first tool call"

BARE: Final = (sys.executable, "-c", "import sys\nfor line in sys.stdin: print(line, end='', flush=True)")
"""The command of the smallest possible Python server: it echoes its input, with nothing loaded."""


def measure(bench: Bench) -> list[Row]:
    """Return a row for each answer and server, and what Python itself takes."""
    legacy, modern = _rounds(bench, "legacy"), _rounds(bench, "modern")
    return [*_rows(legacy, "legacy"), *_rows(modern, "modern"), _bare_row(modern)]


def _rounds(bench: Bench, era: Era) -> Found:
    starts = {"plain": partial(_start, PLAIN, era), "bare": partial(_start, BARE, "modern")}
    for subject in SUBJECTS:
        starts[subject.name] = partial(_start_subject, bench.place(subject, TASKS), era)
    found = rounds_of(starts, bench.pick(15, 3), seconds=bench.pick(45, 10))
    return {
        name: {step: Series(tuple(times[step] for times in each)) for step in each[0]} for name, each in found.items()
    }


def _start(command: tuple[str, ...], era: Era) -> dict[str, float]:
    return _answers(Client(command, era=era), ECHO)


def _start_subject(place: Place, era: Era) -> dict[str, float]:
    return _answers(place.client(era), place.subject.get(place.subject.id_of(TASKS // 2)))


def _answers(client: Client, call: Call) -> dict[str, float]:
    with client:
        return {**client.greeting, FIRST_CALL_STEP: client.since_spawn(call.line(client))}


def _rows(found: Found, era: Era) -> list[Row]:
    return [
        Row(
            target=1,
            what=step if step in {"initialize", "server/discover"} else f"{step}, {era} era",
            server=subject.name,
            unit=Unit.MILLISECONDS,
            measured=series,
            floor=found["plain"][step],
            limit=FIRST_CALL if step == FIRST_CALL_STEP else GREETING,
            floor_is="plain MCPServer",
        )
        for subject in SUBJECTS
        for step, series in found[subject.name].items()
    ]


def _bare_row(found: Found) -> Row:
    step = "server/discover"
    return Row(
        target=1,
        what="an echo by Python with nothing loaded",
        server="bare Python",
        unit=Unit.MILLISECONDS,
        measured=found["bare"][step],
        floor=found["plain"][step],
        floor_is="plain MCPServer",
    )

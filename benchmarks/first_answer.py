"""Target 1: from the spawn of a server to its first answers, in both eras of the protocol."""

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

GREETING: Final = 0.10
"""The most that a first answer may take, times a plain MCPServer."""

FIRST_CALL: Final = 0.95
"""The most that the first call of a tool may take, times a plain MCPServer."""

FIRST_CALL_STEP: Final = "first tool call"


def measure(bench: Bench) -> list[Row]:
    """Return a row for each era, server and answer."""
    return [*_measure_era(bench, "legacy"), *_measure_era(bench, "modern")]


def _measure_era(bench: Bench, era: Era) -> list[Row]:
    starts = {"plain": partial(_start, era)}
    for subject in SUBJECTS:
        starts[subject.name] = partial(_start_subject, bench.place(subject, TASKS), era)
    # The first start of each compiles its sources, so it does not count.
    found = rounds_of(starts, bench.pick(15, 3), seconds=bench.pick(45, 10))
    series = {
        (name, step): Series(tuple(times[step] for times in each)) for name, each in found.items() for step in each[0]
    }
    return [
        Row(
            target=1,
            what=step if step in {"initialize", "server/discover"} else f"{step}, {era} era",
            server=name,
            unit=Unit.MILLISECONDS,
            measured=measured,
            floor=series["plain", step],
            limit=FIRST_CALL if step == FIRST_CALL_STEP else GREETING,
            floor_is="plain MCPServer",
        )
        for (name, step), measured in series.items()
        if name != "plain"
    ]


def _start(era: Era) -> dict[str, float]:
    return _answers(Client(PLAIN, era=era), ECHO)


def _start_subject(place: Place, era: Era) -> dict[str, float]:
    return _answers(place.client(era), place.subject.get(place.subject.id_of(TASKS // 2)))


def _answers(client: Client, call: Call) -> dict[str, float]:
    with client:
        return {**client.greeting, FIRST_CALL_STEP: client.since_spawn(call.line(client))}

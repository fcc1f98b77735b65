"""Targets 1 to 4 and 7: first answers, each call, durable creates, shared commits, and a project of Task Master."""

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.rows import Row, Unit, rounds_of, timed
from benchmarks.subjects import ECHO, LABELS, PLAIN, QUIET, QUIET_HEARTBEAT, SUBJECTS, TEXT, Bench, Subject
from benchmarks.wire import Call, Client
from task_core.store import Engine
from tests.servers import record_of
from tests.wire.line_client import TOY

FIRST_CALL: Final = "first tool call"
FIRST_LIMITS: Final = {"initialize": 0.1, "tools/list": 0.1, FIRST_CALL: 0.95}
"""The most that a first answer may take, times a plain MCPServer."""

CPU_LIMIT, RATE_LIMIT = 0.65, 1.8
"""The most that a call may cost the processor, and the least calls a second, times a plain MCPServer."""

CREATE_LIMITS: Final = {1_000: 1.5, 10_000: 2.0}
"""The most that a create may take by the number of tasks, times its floor (EN-7)."""

HISTORY_LIMIT: Final = 1.05
"""The most that a create may take with history, times one without (AG-5)."""

IN_FLIGHT: Final = 32

SHARING_TASKS: Final = 10_000
SHARING_LIMIT: Final = 4.0
"""The least creates a second with ``IN_FLIGHT`` under way, times those one at a time (EN-9)."""

PROJECT_TASKS, PROJECT_SUBTASKS = 182, 914

CHANGED, CACHED, SAVED = "get_tasks, after a change", "get_tasks, from the cache", "set_task_status"
PROJECT_LIMITS: Final = {CHANGED: 0.060, CACHED: 0.005, SAVED: 0.120}
"""Seconds that a call on a project may take (TM-88)."""


def measure_first_answers(bench: Bench) -> list[Row]:
    """Return a row for each answer and server."""
    starts: dict[str, Callable[[], dict[str, float]]] = {"plain": lambda: _first_answers(Client(PLAIN), ECHO)}
    for subject in SUBJECTS:
        place, call = bench.place(subject, 100), subject.get(subject.id_of(50))
        starts[subject.name] = lambda place=place, call=call: _first_answers(place.client(), call)
    # The first start of each compiles its sources, so it does not count.
    found = rounds_of(starts, bench.pick(15, 3), seconds=bench.pick(45, 10))
    rows: list[Row] = []
    for step, limit in FIRST_LIMITS.items():
        medians = {name: median(times[step] for times in each) for name, each in found.items()}
        rows += _beside_plain(1, step, Unit.MILLISECONDS, medians, limit)
    return rows


def _first_answers(client: Client, call: Call) -> dict[str, float]:
    with client:
        return {**client.greeting, FIRST_CALL: client.since_spawn(client.tool_line(call))}


def _beside_plain(target: int, what: str, unit: Unit, medians: dict[str, float], limit: float) -> list[Row]:
    floor = medians.pop("plain")
    return [Row(target, what, name, unit, value, floor, limit, "plain MCPServer") for name, value in medians.items()]


def measure_calls(bench: Bench) -> list[Row]:
    """Return rows for the processor time of a get of each server, and for many gets at a time."""
    calls, tasks = bench.pick(300, 100), 1_000
    with ExitStack() as stack:
        plain = stack.enter_context(Client(PLAIN))
        works = {"plain": partial(_cost, plain, [ECHO] * calls)}
        for subject in SUBJECTS:
            client = stack.enter_context(bench.place(subject, tasks).client())
            gets = [subject.get(subject.id_of(number * 7 % tasks)) for number in range(calls)]
            works[subject.name] = partial(_cost, client, gets)
        found = rounds_of(works, bench.pick(11, 3), seconds=bench.pick(45, 10))
    cpu, time = ({name: median(cost[at] for cost in costs) for name, costs in found.items()} for at in (0, 1))
    alone, together = (
        f"processor time of a get among {tasks:,} tasks",
        f"gets with {IN_FLIGHT} in flight among {tasks:,} tasks",
    )
    return [
        *_beside_plain(2, alone, Unit.MICROSECONDS, cpu, CPU_LIMIT),
        *_beside_plain(2, together, Unit.CALLS, time, RATE_LIMIT),
    ]


def _cost(client: Client, calls: Sequence[Call]) -> tuple[float, float]:
    """Return the processor seconds of a call alone, and the seconds of one among others."""
    before = client.cpu
    client.stream(calls, 1)
    cpu = client.cpu - before
    return cpu / len(calls), client.stream(calls, IN_FLIGHT) / len(calls)


def measure_creates(bench: Bench) -> list[Row]:
    """Return a row for each server and number of tasks, and one for the history of each server and engine."""
    return [
        *(_create(bench, subject, count) for count in CREATE_LIMITS for subject in (*SUBJECTS, QUIET_HEARTBEAT)),
        *(_history(bench, subject, engine) for engine in LABELS for subject in QUIET),
    ]


def _create(bench: Bench, subject: Subject, count: int) -> Row:
    place = bench.place(subject, count)
    with Client(TOY) as toy, place.client() as client:
        client.time(subject.create)
        works = {
            "create": lambda: client.time(subject.create),
            "trivial": lambda: toy.time(ECHO),
            **{path.name: partial(_bare_save, path) for path in {place.store, place.folder / subject.record.file}},
        }
        found = rounds_of(works, bench.pick(200, 5), seconds=bench.pick(8, 2))
    what, created = f"create among {count:,} tasks in a document", median(found.pop("create"))
    floor = median(map(sum, zip(*found.values(), strict=True)))
    floor_is = "trivial call and bare durable writes"
    return Row(3, what, subject.name, Unit.MILLISECONDS, created, floor, CREATE_LIMITS[count], floor_is)


def _bare_save(path: Path) -> float:
    """Return the seconds of a bare durable save of the bytes at ``path``: write, sync, rename, sync the folder."""

    def save(data: bytes) -> None:
        temporary = path.with_name(f".bare-{path.name}.tmp")
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path.with_name(f"bare-{path.name}"))
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)

    return timed(partial(save, path.read_bytes()))


def _history(bench: Bench, subject: Subject, engine: Engine) -> Row:
    bare = replace(subject, settings={**subject.settings, "TASK_HISTORY_DAYS": "0"})
    with ExitStack() as stack:
        works: dict[str, Callable[[], float]] = {}
        for name, each in (("with", subject), ("without", bare)):
            client = stack.enter_context(bench.place(each, 1_000, engine).client())
            works[name] = partial(client.time, subject.create)
        found = rounds_of(works, bench.pick(400, 5), seconds=bench.pick(8, 2))
    what, measured = f"create among 1,000 tasks with history, {LABELS[engine]}", median(found["with"])
    floor = median(found["without"])
    return Row(3, what, subject.name, Unit.MILLISECONDS, measured, floor, HISTORY_LIMIT, "without history")


def measure_sharing(bench: Bench) -> list[Row]:
    """Return a row for each server with many creates under way."""
    return [_sharing(bench, subject) for subject in SUBJECTS]


def _sharing(bench: Bench, subject: Subject) -> Row:
    together = bench.pick(2, 1) * IN_FLIGHT
    with bench.place(subject, SHARING_TASKS).client() as client:
        works = {
            "together": lambda: client.stream([subject.create] * together, IN_FLIGHT) / together,
            "alone": lambda: client.stream([subject.create] * 8, 1) / 8,
        }
        found = rounds_of(works, bench.pick(11, 3), seconds=bench.pick(12, 3))
    what = f"creates with {IN_FLIGHT} in flight among {SHARING_TASKS:,} tasks in a document"
    measured, floor = median(found["together"]), median(found["alone"])
    return Row(4, what, subject.name, Unit.CALLS, measured, floor, SHARING_LIMIT, "creates one at a time")


def make_project() -> dict[str, Any]:
    """Return a project of 1.5 MB, as Task Master writes one."""
    tasks = [_item(number) | {"priority": "medium", "subtasks": []} for number in range(1, PROJECT_TASKS + 1)]
    for number in range(PROJECT_SUBTASKS):
        subtasks = tasks[number % PROJECT_TASKS]["subtasks"]
        subtasks.append(_item(len(subtasks) + 1) | {"parentTaskId": number % PROJECT_TASKS + 1})
    moment = "2026-01-01T00:00:00.000Z"
    metadata = {"created": moment, "updated": moment, "description": "Tasks for master context"}
    return {"master": {"tasks": tasks, "metadata": metadata}}


def _item(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "title": f"Write part {number}",
        "description": TEXT,
        "details": TEXT * 12,
        "testStrategy": TEXT,
        "status": "pending",
        "dependencies": [number - 1] if number > 1 else [],
    }


def measure_project(bench: Bench) -> list[Row]:
    """Return a row for each call; in each round another program changes the file first."""
    record = record_of("taskmaster")
    folder = Path(tempfile.mkdtemp(dir=bench.folder))
    path = folder / record.store()
    environment = record.environment(folder)
    path.write_text(json.dumps(make_project(), indent=2), "utf-8")
    root = {"projectRoot": str(path.parents[2])}
    statuses = ["in-progress", "pending"]
    with Client(record.module_command, environment) as client:

        def read() -> float:
            return client.time(Call("get_tasks", root))

        def read_changed() -> float:
            path.write_bytes(path.read_bytes().replace(b'"Write ', b'"Rewrite ', 1))
            return read()

        def save() -> float:
            statuses.reverse()
            return client.time(Call("set_task_status", {**root, "id": "1", "status": statuses[0]}))

        works = {CHANGED: read_changed, CACHED: read, SAVED: save}
        found = rounds_of(works, bench.pick(40, 3), seconds=bench.pick(30, 10))
    limits = PROJECT_LIMITS.items()
    return [Row(7, it, record.name, Unit.MILLISECONDS, median(found[it]), None, limit) for it, limit in limits]

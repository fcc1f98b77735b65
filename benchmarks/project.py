"""Target 7: what calls cost on a project as large as that of Task Master itself (TM-88)."""

import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from benchmarks.bench import Bench
from benchmarks.floors import replace_seconds
from benchmarks.foreign import ForeignClient
from benchmarks.rows import Row, Unit
from benchmarks.series import Series, in_turn, timed
from benchmarks.stores import TEXT
from benchmarks.subjects import Call
from benchmarks.wire import Client
from tests.servers import ServerRecord, record_of

__all__ = ["make_document", "measure"]

TASKS: Final = 182

SUBTASKS: Final = 914
"""Subtasks of all tasks together."""

CACHED: Final = "get_tasks, from the cache"
CHANGED: Final = "get_tasks, after a change"
SAVED: Final = "set_task_status"
THEIRS: Final = "Task Master"

READ: Final = "bare read"
WRITTEN: Final = "bare write"

LIMITS: Final = {CACHED: 0.005, CHANGED: 0.060, SAVED: 0.120}
"""Seconds that a call may take."""

FLOORS: Final = {CACHED: READ, CHANGED: READ, SAVED: WRITTEN}
"""What the machine needs at least: to read or to write the same file."""


def make_document() -> dict[str, Any]:
    """Return a project of 1.5 MB, as Task Master writes one."""
    tasks = [_item(number) | {"priority": "medium", "subtasks": []} for number in range(1, TASKS + 1)]
    for number in range(SUBTASKS):
        subtasks = tasks[number % TASKS]["subtasks"]
        subtasks.append(_item(len(subtasks) + 1) | {"parentTaskId": number % TASKS + 1})
    moment = "2026-01-01T00:00:00.000Z"
    metadata = {"created": moment, "updated": moment, "description": "Tasks for master context"}
    return {"master": {"tasks": tasks, "metadata": metadata}}


def measure(bench: Bench) -> list[Row]:
    """Return two rows for each call: its time, and that as a ratio to a bare read or write of the file.

    With a command for Task Master itself there is a third one, of its server on a copy of the project.
    """
    record = record_of("taskmaster")
    with ExitStack() as stack:
        folder, path = _make_project(bench, record)
        ours = stack.enter_context(Client(record.module_command, record.environment(folder)))
        works = {(record.name, name): work for name, work in _calls(ours, path).items()}
        works[record.name, READ] = lambda: timed(path.read_bytes)
        works[record.name, WRITTEN] = lambda: replace_seconds(path.with_name("bare.json"), path.read_bytes())
        if bench.task_master:
            folder, copy = _make_project(bench, record)
            environment = {**record.environment(folder), "HOME": str(folder)}
            theirs = stack.enter_context(ForeignClient(bench.task_master, environment))
            works |= {(THEIRS, name): work for name, work in _calls(theirs, copy).items()}
        found = in_turn(works, bench.pick(40, 3), seconds=bench.pick(30, 10))
    rows = [_row(server, name, series) for (server, name), series in found.items() if name in LIMITS]
    for name, floor in FLOORS.items():
        row = _row(record.name, f"{name}, as a ratio", found[record.name, name])
        rows.append(replace(row, floor=found[record.name, floor], floor_is=floor))
    return rows


def _row(server: str, what: str, series: Series) -> Row:
    limit = None if server == THEIRS else LIMITS.get(what)
    return Row(7, what, server, Unit.MILLISECONDS, series, limit=limit)


def _make_project(bench: Bench, record: ServerRecord) -> tuple[Path, Path]:
    """Return a new folder for a server, and the tasks file in it."""
    folder = Path(tempfile.mkdtemp(dir=bench.folder))
    record.environment(folder)
    path = folder / record.store()
    path.write_text(json.dumps(make_document(), indent=2), "utf-8")
    # Without it Task Master writes a warning at each call.
    path.parents[1].joinpath("config.json").write_text('{"models": {}, "global": {"projectName": "Parts"}}', "utf-8")
    return folder, path


def _calls(client: Client, path: Path) -> dict[str, Callable[[], float]]:
    """Return the calls by name; each makes one and returns its seconds."""
    root = str(path.parents[2])
    listing = Call("get_tasks", {"projectRoot": root})
    statuses = ["in-progress", "pending"]

    def change() -> float:
        path.write_bytes(path.read_bytes().replace(b'"Write ', b'"Rewrite ', 1))
        return client.seconds(listing.line(client))

    def save() -> float:
        statuses.reverse()
        arguments: dict[str, JsonValue] = {"projectRoot": root, "id": "1", "status": statuses[0]}
        return client.seconds(Call("set_task_status", arguments).line(client))

    return {CHANGED: change, CACHED: lambda: client.seconds(listing.line(client)), SAVED: save}


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

"""Target 7: calls on a project of Task Master as large as its own: 1.5 MB (TM-88)."""

import json
import tempfile
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from benchmarks.bench import Bench
from benchmarks.rows import Row, Unit
from benchmarks.series import in_turn
from benchmarks.stores import TEXT
from benchmarks.subjects import Call
from benchmarks.wire import Client
from tests.servers import record_of

__all__ = ["LIMITS", "SUBTASKS", "TASKS", "make_document", "measure"]

TASKS, SUBTASKS = 182, 914

CHANGED, CACHED, SAVED = "get_tasks, after a change", "get_tasks, from the cache", "set_task_status"

LIMITS: Final = {CHANGED: 0.060, CACHED: 0.005, SAVED: 0.120}
"""Seconds that a call may take."""


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
    """Return a row for each call; in each round another program changes the file first."""
    record = record_of("taskmaster")
    folder = Path(tempfile.mkdtemp(dir=bench.folder))
    environment = record.environment(folder)
    path = folder / record.store()
    path.write_text(json.dumps(make_document(), indent=2), "utf-8")
    root = str(path.parents[2])
    statuses = ["in-progress", "pending"]
    with Client(record.module_command, environment) as client:

        def read() -> float:
            return client.seconds(Call("get_tasks", {"projectRoot": root}).line(client))

        def read_changed() -> float:
            path.write_bytes(path.read_bytes().replace(b'"Write ', b'"Rewrite ', 1))
            return read()

        def save() -> float:
            statuses.reverse()
            arguments: dict[str, JsonValue] = {"projectRoot": root, "id": "1", "status": statuses[0]}
            return client.seconds(Call("set_task_status", arguments).line(client))

        works = {CHANGED: read_changed, CACHED: read, SAVED: save}
        found = in_turn(works, bench.pick(40, 3), seconds=bench.pick(30, 10))
    return [Row(7, what, record.name, Unit.MILLISECONDS, found[what], limit=limit) for what, limit in LIMITS.items()]


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

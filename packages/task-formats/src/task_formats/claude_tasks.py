"""The task lists of Claude Code: a folder with one file a task, or an older list of to-dos in one file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from task_formats.decoding import json_of, unique_ids
from task_formats.fields import STATES, Fields, normalize, one_line
from task_formats.objects import objects_in
from task_formats.record import ForeignTask, Problem, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from task_formats.record import SourceFile

__all__ = ["NAME", "find", "read", "signs"]

NAME: Final = "claude-tasks"

_TASK: Final = re.compile(r"(?:.*/)?\d+\.json")
"""The name of a file with one task."""


def find(path: Path) -> list[Path]:
    """Return the file, or the files of one list, sorted by their numbers; without numbers, all of JSON."""
    if path.is_file():
        return [path]
    found = [it for it in path.glob("*.json") if it.is_file()]
    numbered = [it for it in found if it.stem.isdecimal()]
    return sorted(numbered, key=lambda it: (int(it.stem), it.name)) or sorted(found)


def signs(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """Return what shows a list of Claude Code."""
    values = [json_of(file)[0] for file in files[:3]]
    tasks = [it for it in values if isinstance(it, dict) and "subject" in it and "status" in it]
    todos = [it for value in values if isinstance(value, list) for it in value if isinstance(it, dict)]
    found = {
        "subject and status in every file": len(tasks) == len(values) > 0,
        "files called N.json": bool(tasks) and all(_TASK.fullmatch(file.name) for file in files),
        "blocks and blockedBy": any("blockedBy" in it or "blocks" in it for it in tasks),
        "content and status in every item": bool(todos) and all("content" in it and "status" in it for it in todos),
        "activeForm": any("activeForm" in it for it in todos),
    }
    return tuple(name for name, holds in found.items() if holds)


def read(files: Sequence[SourceFile]) -> Reading:
    """Read the files; no input raises an error."""
    problems: list[Problem] = []
    tasks: list[ForeignTask] = []
    for item, place, number in objects_in(files, problems):
        stem = place.rpartition("/")[2].removesuffix(".json")
        tasks.append(_task(Fields(item, place, problems), place, str(number or stem)))
    unknown = {task.status for task in tasks if task.status and normalize(task.status) not in STATES}
    unique, repeated = unique_ids(tasks)
    return Reading(unique, (*problems, *repeated), unknown_statuses=frozenset(unknown))


def _task(fields: Fields, place: str, number: str) -> ForeignTask:
    title = one_line(fields.text("subject") or fields.text("content"))
    status, task_id = fields.text("status"), fields.text("id") or number
    fields.take("blocks")  # each is in the other task's blockedBy too
    if not title:
        fields.report("No subject; the id is used.")
    return ForeignTask(
        id=task_id,
        title=title or task_id,
        text=fields.text("description"),
        state=STATES.get(normalize(status), "open"),
        status=status,
        dependencies=fields.names("blockedBy"),
        rest=fields.rest(),
        place=place,
    )

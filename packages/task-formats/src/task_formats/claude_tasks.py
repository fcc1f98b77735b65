"""The task lists of Claude Code: a folder with one file a task, or an older list of to-dos in one file."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from task_formats.arranging import add_reverse
from task_formats.decoding import json_of, objects_in
from task_formats.fields import Fields, IdRegister, find_unknown, one_line, state_of
from task_formats.record import Contents, ForeignTask, Remark, SourceFile

__all__ = ["find", "read", "signs"]

_TASK: Final = re.compile(r"(?:.*/)?\d+\.json", re.ASCII)
"""The name of a file with one task."""


def find(path: Path) -> list[Path]:
    """Return the file, or the files of one list or of all lists in a folder, sorted; without numbers, all of JSON."""
    if path.is_file():
        return [path]
    found = [it for it in path.glob("*.json") if it.is_file()]
    for numbered in (found, [it for it in path.glob("*/*.json") if it.is_file()]):
        if tasks := [it for it in numbered if _TASK.fullmatch(it.name)]:
            return sorted(tasks, key=lambda it: (it.parent.name, int(it.stem), it.name))
    return sorted(found)


def signs(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """Return what shows a list of Claude Code."""
    values = [json_of(file)[0] for file in files]
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


def read(files: Sequence[SourceFile]) -> Contents:
    """Read the files; no input raises an error.

    The ids of a list that is in a folder of its own begin with the folder's name. Older to-dos have the name of their
    file before their ids, which come from their text if they have none: their numbers change with every update.
    """
    problems: list[Remark] = []
    tasks: list[ForeignTask] = []
    ids = IdRegister(problems)
    blocks: dict[str, tuple[str, ...]] = {}
    for item, place, number in objects_in(files, problems):
        if not item.keys() & {"subject", "content", "status"}:
            problems.append(Remark(place, "This is not a task: it has no subject, content or status."))
            continue
        fields = Fields(item, place, problems)
        name = place.removesuffix(f":{number}").removesuffix(".json")
        folder, _, stem = name.rpartition("/")
        start = f"{name}:" if number else f"{folder}:" if folder else ""
        title = one_line(fields.text("subject") or fields.text("content"))
        own = fields.text("id") or ("" if number else stem)
        task_id = ids.claim(start + own, place) if own else ids.name(title, place, start)
        blocks[task_id] = tuple(start + name for name in fields.names("blocks"))
        tasks.append(_task(fields, task_id, title, start, place))
    return Contents(add_reverse(tasks, blocks, "blocks"), tuple(problems), unknown_statuses=find_unknown(tasks))


def _task(fields: Fields, task_id: str, title: str, start: str, place: str) -> ForeignTask:
    status = fields.text("status")
    if not title:
        fields.report("No subject; the id is used.")
    return ForeignTask(
        id=task_id,
        title=title or task_id,
        text=fields.text("description"),
        state=state_of(status),
        status=status,
        dependencies=tuple(start + name for name in fields.names("blockedBy")),
        rest=fields.rest(),
        place=place,
    )

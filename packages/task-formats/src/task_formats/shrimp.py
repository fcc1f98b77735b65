"""Shrimp Task Manager: a JSON file with a list of tasks, and a folder of those that were cleared."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from task_formats.decoding import as_text, json_of, unique_ids
from task_formats.fields import STATES, Fields, normalize, one_line, split_criteria
from task_formats.record import Contents, ForeignTask, Remark, SourceFile

__all__ = ["find", "read", "signs"]

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_OWN_FIELDS: Final = frozenset({"analysisResult", "implementationGuide", "relatedFiles", "verificationCriteria"})
_GUIDE: Final = "**Implementation guide**\n\n"


def find(path: Path) -> list[Path]:
    """Return the list of tasks at ``path``, a file, a data folder or a project, and the files in ``memory`` beside it.

    The folder ``memory`` itself has just its own files.
    """
    if path.is_file():
        return [path]
    if path.name == "memory":
        return sorted(path.glob("*.json"))
    for folder in (path, path / "data", *sorted(path.glob("shrimp_data*")), *sorted(path.glob(".shrimp*"))):
        if (folder / "tasks.json").is_file():
            return [folder / "tasks.json", *sorted((folder / "memory").glob("*.json"))]
    return []


def signs(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """Return the signs that ``files`` are of Shrimp."""
    records = [record for file in files if not _is_memory(file) for _, record in _read_records(file, [])]
    tasks = [record for record in records if isinstance(record, dict)]
    if not tasks or len(tasks) < len(records):
        return ()
    found: list[str] = []
    if all("name" in task and "createdAt" in task and _UUID.fullmatch(as_text(task.get("id"))) for task in tasks):
        found.append("tasks with name, createdAt and a UUID")
    edges = [edge for task in tasks if isinstance(edges := task.get("dependencies"), list) for edge in edges]
    if edges and all(isinstance(edge, dict) and "taskId" in edge for edge in edges):
        found.append("dependencies with taskId")
    if any(task.keys() & _OWN_FIELDS for task in tasks):
        found.append("implementationGuide, verificationCriteria or relatedFiles")
    return tuple(found)


def read(files: Sequence[SourceFile]) -> Contents:
    """Read the tasks of ``files``; those in a folder ``memory`` are counted, not read."""
    problems: list[Remark] = []
    tasks: list[ForeignTask] = []
    for file in files:
        for place, record in () if _is_memory(file) else _read_records(file, problems):
            if not isinstance(record, dict):
                problems.append(Remark(place, f"{as_text(record)[:80]} is not a task."))
            elif task := _read_task(Fields(record, place, problems), place):
                tasks.append(task)
    memory = [file.name for file in files if _is_memory(file)]
    warnings: tuple[str, ...] = ()
    if memory:
        folder = memory[0].rpartition("/")[0]
        warnings = (f"{folder} has {len(memory)} files of cleared tasks; import that folder to have them too.",)
    unique, repeated = unique_ids(tasks)
    unknown = frozenset(task.status for task in unique if task.status and normalize(task.status) not in STATES)
    left_out = {"files in memory": len(memory)} if memory else {}
    return Contents(unique, (*problems, *repeated), left_out, warnings, unknown)


def _is_memory(file: SourceFile) -> bool:
    return "memory" in file.name.split("/")[:-1]


def _read_records(file: SourceFile, problems: list[Remark]) -> Iterator[tuple[str, object]]:
    """Yield the places and the values of the tasks in ``file``."""
    value, wrong = json_of(file)
    problems += wrong
    records = value.get("tasks") if isinstance(value, dict) else value
    if isinstance(value, dict) and (others := value.keys() - {"tasks"}):
        problems.append(Remark(file.name, f"{', '.join(sorted(others))[:80]}: not read, only tasks is."))
    if isinstance(records, list):
        yield from ((f"{file.name}[{number}]", record) for number, record in enumerate(records))
    elif not wrong:
        problems.append(Remark(file.name, "There is no list of tasks."))


def _read_task(fields: Fields, place: str) -> ForeignTask | None:
    """Read one task; None, with a problem, if it has neither an id nor a name."""
    identity, title = one_line(fields.text("id")), one_line(fields.text("name"))
    if not identity and not title:
        fields.report("The record has neither an id nor a name: it is not a task.")
        return None
    if not identity:
        identity = place.rpartition("/")[2]
        fields.report(f"There is no id; the task gets {identity}.")
    if not title:
        title = identity
        fields.report("There is no name; the id is used.")
    status = one_line(fields.text("status"))
    edges = fields.take("dependencies")
    needs, others = list[str](), list[object]()
    for edge in edges if isinstance(edges, list) else [edges]:
        target = edge.get("taskId") if isinstance(edge, dict) and edge.keys() == {"taskId"} else edge
        if isinstance(target, str) and target.strip():
            needs.append(one_line(target))
        elif edge and as_text(edge).strip():
            others.append(edge)
    guide, notes = fields.text("implementationGuide"), fields.text("notes")
    return ForeignTask(
        id=identity,
        title=title,
        text=fields.text("description"),
        state=STATES.get(normalize(status), "open"),
        status=status,
        dependencies=tuple(dict.fromkeys(needs)),
        created=fields.time("createdAt"),
        updated=fields.time("updatedAt"),
        closed=fields.time("completedAt"),
        criteria=split_criteria(fields.text("verificationCriteria")),
        notes=tuple(filter(None, (guide and _GUIDE + guide, notes))),
        result=fields.text("summary"),
        rest=fields.rest() | ({"dependencies": as_text(others)} if others else {}),
        place=place,
    )

"""Shrimp Task Manager: a JSON file with a list of tasks, and a folder of those that were cleared."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from task_formats.decoding import Found, as_text, json_of, list_objects
from task_formats.fields import Fields, IdRegister, find_unknown, one_line, split_criteria, state_of
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
    tasks = [record for file in files if not _is_memory(file) for record, _, _ in _read_records(file, [])]
    found: list[str] = []
    is_own = ({"name", "createdAt"} <= task.keys() and _UUID.fullmatch(as_text(task.get("id"))) for task in tasks)
    if tasks and all(is_own):
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
    ids = IdRegister(problems)
    for file in files:
        for record, place, _ in () if _is_memory(file) else _read_records(file, problems):
            if task := _read_task(Fields(record, place, problems), place, ids):
                tasks.append(task)
    memory = [file.name for file in files if _is_memory(file)]
    warnings: tuple[str, ...] = ()
    if memory:
        folder = memory[0].rpartition("/")[0]
        warnings = (f"{folder} has {len(memory)} files of cleared tasks; import that folder to have them too.",)
    left_out = {"files in memory": len(memory)} if memory else {}
    return Contents(tuple(tasks), tuple(problems), left_out, warnings, find_unknown(tasks))


def _is_memory(file: SourceFile) -> bool:
    return "memory" in file.name.split("/")[:-1]


def _read_records(file: SourceFile, problems: list[Remark]) -> Iterator[Found]:
    """Yield the tasks in ``file``."""
    value, wrong = json_of(file)
    problems += wrong
    records = value.get("tasks") if isinstance(value, dict) else value
    if isinstance(value, dict) and (others := value.keys() - {"tasks"}):
        problems.append(Remark(file.name, f"{', '.join(sorted(others))[:80]}: not read, only tasks is."))
    if isinstance(records, list):
        yield from list_objects(records, file.name, problems)
    elif not wrong:
        problems.append(Remark(file.name, "There is no list of tasks."))


def _read_task(fields: Fields, place: str, ids: IdRegister) -> ForeignTask | None:
    """Read one task; None, with a problem, if it has neither an id nor a name."""
    found = fields.identify("id", "name", place.rpartition("/")[2])
    if not found:
        return None
    status = one_line(fields.text("status"))
    guide, notes = fields.text("implementationGuide"), fields.text("notes")
    return ForeignTask(
        id=ids.claim(found[0], place),
        title=found[1],
        text=fields.text("description"),
        state=state_of(status),
        status=status,
        dependencies=tuple(fields.members("dependencies", lambda edge: edge.get("taskId"))),
        created=fields.time("createdAt"),
        updated=fields.time("updatedAt"),
        closed=fields.time("completedAt"),
        criteria=split_criteria(fields.text("verificationCriteria")),
        notes=tuple(filter(None, (guide and _GUIDE + guide, notes))),
        result=fields.text("summary"),
        rest=fields.rest(),
        place=place,
    )

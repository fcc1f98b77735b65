"""Projects of Task Master: ``tasks.json``, with tags or without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from task_formats.decoding import as_text, json_of, unique_ids
from task_formats.fields import STATES, Fields, normalize, one_line
from task_formats.objects import list_objects
from task_formats.record import ForeignTask, Problem, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from task_formats.record import SourceFile

__all__ = ["NAME", "find", "read", "signs"]

NAME: Final = "taskmaster"

_PLACES: Final = (".taskmaster/tasks/tasks.json", "tasks/tasks.json", "tasks.json")
"""Where a project has its tasks, the present place first."""

_OWN: Final = frozenset({"details", "testStrategy", "subtasks"})
"""Fields that only the items of Task Master have."""


def find(path: Path) -> list[Path]:
    """Return the file, or the tasks file of the project."""
    if path.is_file():
        return [path]
    return next(([place] for name in _PLACES if (place := path / name).is_file()), [])


def signs(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """Return what shows a project of Task Master."""
    value = json_of(files[0])[0] if files else None
    items = [it for _, listed in _tags(value) for it in listed if isinstance(it, dict)]
    found = {
        "id, title and status in every task": bool(items)
        and all({"id", "title", "status"} <= it.keys() for it in items),
        "details, testStrategy or subtasks": any(_OWN & it.keys() for it in items),
    }
    return tuple(name for name, holds in found.items() if holds)


def read(files: Sequence[SourceFile]) -> Reading:
    """Read the files; no input raises an error."""
    problems: list[Problem] = []
    tasks: list[ForeignTask] = []
    for file in files:
        value, found = json_of(file)
        problems += found
        tags = [*_tags(value)]
        if not (tags or found):
            problems.append(Problem(file.name, "No tasks: a list called tasks is expected, alone or in each tag."))
        for tag, items in tags:
            lone = len(tags) == 1
            name = file.name if lone else f"{file.name}:{tag}"
            tasks += _Tag("" if lone else tag, name, problems).read(items)
    unknown = {task.status for task in tasks if task.status and normalize(task.status) not in STATES}
    unique, repeated = unique_ids(tasks)
    return Reading(unique, (*problems, *repeated), unknown_statuses=frozenset(unknown))


def _tags(value: object) -> Iterator[tuple[str, list[object]]]:
    """Yield the name of each tag with its tasks; without tags, the list alone."""
    if not isinstance(value, dict):
        return
    for name, tag in value.items():
        if name == "tasks" and isinstance(tag, list):
            yield "", tag
        elif isinstance(tag, dict) and isinstance(tag.get("tasks"), list):
            yield name, tag["tasks"]
        elif isinstance(tag, list) and name == "master":
            yield name, tag


class _Tag:
    """Reads the tasks of one tag; with several, their ids begin with its name."""

    def __init__(self, tag: str, name: str, problems: list[Problem]) -> None:
        self._tag = tag
        self._start = f"{tag}:" if tag else ""
        self._name = name
        self._problems = problems

    def read(self, items: Sequence[object]) -> Iterator[ForeignTask]:
        """Yield every task, each followed by its subtasks."""
        for item, place, number in list_objects(items, self._name, self._problems):
            yield from self._read(item, place, number, None, ())

    def _read(
        self, item: dict[str, Any], place: str, number: int, parent: str | None, siblings: Sequence[str]
    ) -> Iterator[ForeignTask]:
        fields = Fields(item, place, self._problems)
        own = fields.text("id") or str(number)
        task_id = own if parent is None or own.startswith(f"{parent}.") else f"{parent}.{own}"
        subtasks = fields.get("subtasks")
        below = [*list_objects(subtasks, place, self._problems)] if isinstance(subtasks, list) else []
        if below or subtasks == []:
            fields.take("subtasks")
        fields.take("parentTaskId")
        fields.take("parentId")
        needs = (self._target(name, parent, siblings) for name in fields.names("dependencies"))
        title = one_line(fields.text("title"))
        status = fields.text("status")
        if not title:
            fields.report("No title; the id is used.")
        yield ForeignTask(
            id=self._start + task_id,
            title=title or task_id,
            text=fields.text("description"),
            state=STATES.get(normalize(status), "open"),
            status=status,
            priority=fields.priority("priority"),
            labels=(f"tag:{self._tag}",) if self._tag else (),
            parent=parent and self._start + parent,
            dependencies=tuple(dict.fromkeys(self._start + name for name in needs)),
            updated=fields.time("updatedAt"),
            criteria=tuple(filter(None, [fields.text("testStrategy")])),
            notes=tuple(filter(None, [fields.text("details")])),
            rest=fields.rest(),
            place=place,
        )
        names = [as_text(it.get("id", rank)) for it, _, rank in below]
        for child, where, rank in below:
            yield from self._read(child, where, rank, task_id, names)

    @staticmethod
    def _target(name: str, parent: str | None, siblings: Sequence[str]) -> str:
        """Return the id that a dependency of a subtask means: first a sibling's, else a task's."""
        return f"{parent}.{name}" if parent and name in siblings else name

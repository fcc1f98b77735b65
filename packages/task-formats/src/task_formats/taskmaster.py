"""Projects of Task Master: ``tasks.json``, with tags or without."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from task_formats.decoding import as_text, json_of, list_objects
from task_formats.fields import Fields, IdRegister, find_unknown, one_line, state_of
from task_formats.record import Contents, ForeignTask, Remark, SourceFile

__all__ = ["find", "read", "signs"]

_PLACES: Final = (".taskmaster/tasks/tasks.json", "tasks/tasks.json", "tasks.json")
"""The places for the tasks of a project, the present one first."""

_MAIN: Final = "master"
"""The tag that a project has from the beginning."""

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
    items = [it for _, listed in _split(value)[0] for it in listed if isinstance(it, dict)]
    found = {
        "id, title and status in every task": bool(items)
        and all({"id", "title", "status"} <= it.keys() for it in items),
        "details, testStrategy or subtasks": any(_OWN & it.keys() for it in items),
    }
    return tuple(name for name, holds in found.items() if holds)


def read(files: Sequence[SourceFile]) -> Contents:
    """Read the files; no input raises an error.

    The ids of a tag other than ``master`` begin with its name, also if it is the only one: they stay when others come.
    """
    problems: list[Remark] = []
    tasks: list[ForeignTask] = []
    about = 0
    ids = IdRegister(problems)
    for file in files:
        value, found = json_of(file)
        problems += found
        tags, others = _split(value)
        if not (tags or found):
            problems.append(Remark(file.name, "No tasks: a list called tasks is expected, alone or in each tag."))
        for tag, items in tags:
            labels = (f"tag:{tag}",) if tag and (len(tags) > 1 or tag != _MAIN) else ()
            reader = _TagReader("" if tag in {"", _MAIN} else f"{tag}:", labels, ids, problems)
            tasks += reader.read(items, f"{file.name}:{tag}" if labels else file.name)
        named = [name for name in others if name.rpartition(".")[2] != "metadata"]
        about += len(others) - len(named)
        problems += (
            Remark(file.name, f"{one_line(name)}: not read, because it is not a list of tasks.") for name in named
        )
    left_out = {"metadata of tags": about} if about else {}
    return Contents(tuple(tasks), tuple(problems), left_out, unknown_statuses=find_unknown(tasks))


def _split(value: object) -> tuple[list[tuple[str, list[object]]], list[str]]:
    """Return the name of each tag with its tasks, blank without tags, and the names of all other members."""
    tags: list[tuple[str, list[object]]] = []
    others: list[str] = []
    for name, member in value.items() if isinstance(value, dict) else ():
        if isinstance(member, list) and name in {"tasks", _MAIN}:
            tags.append(("" if name == "tasks" else name, member))
        elif isinstance(member, dict) and isinstance(member.get("tasks"), list):
            tags.append((name, member["tasks"]))
            others += (f"{name}.{it}" for it in member if it != "tasks")
        else:
            others.append(name)
    return tags, others


class _TagReader(NamedTuple):
    """Reads the tasks of one tag; their ids begin with ``start``."""

    start: str
    labels: tuple[str, ...]
    ids: IdRegister
    problems: list[Remark]

    def read(self, items: Sequence[object], name: str) -> Iterator[ForeignTask]:
        """Yield every task, each followed by its subtasks; ``name`` begins their places."""
        for item, place, number in list_objects(items, name, self.problems):
            yield from self._read(item, place, number, None, ())

    def _read(
        self, item: dict[str, Any], place: str, number: int, parent: str | None, siblings: Sequence[str]
    ) -> Iterator[ForeignTask]:
        fields = Fields(item, place, self.problems)
        own = fields.text("id") or str(number)
        task_id = own if parent is None or own.startswith(f"{parent}.") else f"{parent}.{own}"
        task_id = self.ids.claim(self.start + task_id, place).removeprefix(self.start)
        subtasks = fields.get("subtasks")
        below = [*list_objects(subtasks, place, self.problems)] if isinstance(subtasks, list) else []
        if below or subtasks == []:
            fields.take("subtasks")
        for name in ("parentTaskId", "parentId"):
            if as_text(fields.get(name)) in {parent, "undefined"}:
                fields.take(name)
        # A dependency of a subtask means a sibling first, else a task.
        named = fields.names("dependencies")
        needs = (f"{parent}.{name}" if parent and name in siblings else name for name in named)
        title = one_line(fields.text("title"))
        status = fields.text("status")
        if not title:
            fields.report("No title; the id is used.")
        yield ForeignTask(
            id=self.start + task_id,
            title=title or task_id,
            text=fields.text("description"),
            state=state_of(status),
            status=status,
            priority=fields.priority("priority"),
            labels=self.labels,
            parent=parent and self.start + parent,
            dependencies=tuple(dict.fromkeys(self.start + name for name in needs)),
            updated=fields.time("updatedAt"),
            criteria=tuple(filter(None, [fields.text("testStrategy")])),
            notes=tuple(filter(None, [fields.text("details")])),
            rest=fields.rest(),
            place=place,
        )
        names = [as_text(it.get("id", rank)) for it, _, rank in below]
        for child, where, rank in below:
            yield from self._read(child, where, rank, task_id, names)

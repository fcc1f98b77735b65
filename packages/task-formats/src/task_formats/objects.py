"""The objects in JSON files: one for each task."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from task_formats.decoding import json_of
from task_formats.record import ForeignTask, Remark, SourceFile

__all__ = ["Found", "add_reverse", "list_objects", "objects_in"]

Found = tuple[dict[str, Any], str, int]
"""An object, its place, and its number."""


def objects_in(files: Iterable[SourceFile], problems: list[Remark]) -> Iterator[Found]:
    """Yield each object of files that are an object or a list of them, with its place and its number.

    An object alone has the name of its file as its place and the number 0. What is not an object is a problem.
    """
    for file in files:
        value, found = json_of(file)
        problems += found
        if isinstance(value, dict):
            yield value, file.name, 0
        elif isinstance(value, list):
            yield from list_objects(value, file.name, problems)
        elif not found:
            problems.append(Remark(file.name, "Tasks are expected here: a list of objects, or one object."))


def list_objects(items: Iterable[object], name: str, problems: list[Remark]) -> Iterator[Found]:
    """Yield each object in a list with its place, which begins with ``name``, and its number, from 1."""
    for number, item in enumerate(items, 1):
        if isinstance(item, dict):
            yield item, f"{name}:{number}", number
        else:
            problems.append(Remark(f"{name}:{number}", "This is not a task: an object is expected."))


def add_reverse(
    tasks: Iterable[ForeignTask], held: Mapping[str, Sequence[str]], name: str, *, is_parent: bool = False
) -> tuple[ForeignTask, ...]:
    """Return the tasks with the relations that only their other ends have.

    ``held`` has, by the id of a task, those that wait for it, or that are below it if ``is_parent``. One that is not
    here, or that is below another one, stays in ``rest`` under ``name``.
    """
    known = {task.id: task for task in tasks}
    for task_id, targets in held.items():
        left: list[str] = []
        for target in targets:
            other = known.get(target)
            if other is None or (is_parent and other.parent not in {None, task_id}):
                left.append(target)
            elif is_parent:
                known[target] = replace(other, parent=task_id)
            elif task_id not in other.dependencies:
                known[target] = replace(other, dependencies=(*other.dependencies, task_id))
        if left:
            task = known[task_id]
            known[task_id] = replace(task, rest={**task.rest, name: ", ".join(left)})
    return tuple(known.values())

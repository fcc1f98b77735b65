"""The objects in JSON files: one for each task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from task_formats.decoding import json_of
from task_formats.record import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from task_formats.record import SourceFile

__all__ = ["Found", "list_objects", "objects_in"]

Found = tuple[dict[str, Any], str, int]
"""An object, its place, and its number."""


def objects_in(files: Iterable[SourceFile], problems: list[Problem]) -> Iterator[Found]:
    """Yield each object of files that are an object or a list of them, with its place and its number.

    An object alone has the name of its file as its place and the number 0. What is no object is a problem.
    """
    for file in files:
        value, found = json_of(file)
        problems += found
        if isinstance(value, dict):
            yield value, file.name, 0
        elif isinstance(value, list):
            yield from list_objects(value, file.name, problems)
        elif not found:
            problems.append(Problem(file.name, "Tasks are expected here: a list of objects, or one object."))


def list_objects(items: Iterable[object], name: str, problems: list[Problem]) -> Iterator[Found]:
    """Yield each object in a list with its place, which begins with ``name``, and its number, from 1."""
    for number, item in enumerate(items, 1):
        if isinstance(item, dict):
            yield item, f"{name}:{number}", number
        else:
            problems.append(Problem(f"{name}:{number}", "This is no task: an object is expected."))

"""Dependencies with two readings: a number in a subtask may mean its sibling or a task (TM-34)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, Self

from pydantic import JsonValue

from taskmaster_mcp.core.stored_ids import read_text

__all__ = ["Readable", "find_task_readings"]


class Readable(Protocol):
    """An item with dependencies as they are stored."""

    fields: dict[str, JsonValue]

    @property
    def id(self) -> str:
        """The whole id."""

    @property
    def dependencies(self) -> list[JsonValue]:
        """The dependencies as they are stored."""

    @property
    def subtasks(self) -> Sequence[Self]:
        """The subtasks."""

    def resolve_first(self, stored: JsonValue) -> str:
        """Return the first reading of a stored dependency."""

    def other_reading(self, stored: JsonValue) -> str:
        """Return the task that a dependency on a sibling may also mean, or nothing."""


def find_task_readings(items: Iterable[Readable]) -> frozenset[tuple[int, str]]:
    """Return the stored numbers that mean a task, each with the identity of its item's fields.

    The sibling of that number waits for the item, and the task does not, so only one reading is free of cycles.
    """
    known = [*items]
    graph = {it.id: [*map(it.resolve_first, it.dependencies), *(sub.id for sub in it.subtasks)] for it in known}
    found: set[tuple[int, str]] = set()
    for item in known:
        for stored in item.dependencies:
            task, sibling = item.other_reading(stored), item.resolve_first(stored)
            if task in graph and _waits(graph, sibling, item.id) and not _waits(graph, task, item.id):
                found.add((id(item.fields), read_text(stored)))
                graph[item.id] = [task if target == sibling else target for target in graph[item.id]]
    return frozenset(found)


def _waits(graph: Mapping[str, Sequence[str]], start: str, end: str) -> bool:
    """Return whether one item waits for another."""
    reached = {start: None}
    waiting = [start]
    for name in waiting:
        new = [target for target in graph.get(name, ()) if target not in reached]
        reached.update(dict.fromkeys(new))
        waiting.extend(new)
    return end in reached

"""Finds and repairs wrong dependencies and words of a tag (TM-60, TM-61)."""

from collections import Counter
from collections.abc import Container, Iterator
from typing import Final, NamedTuple

from pydantic import JsonValue

from taskmaster_mcp.core.graph import Graph, build_graph, contains, find_path
from taskmaster_mcp.core.items import PRIORITIES, JsonObject, ProjectItem, TagTasks
from taskmaster_mcp.core.stored_words import STATUSES

__all__ = ["Issue", "count_checked", "find_issues", "fix_dependencies"]

_MESSAGES: Final = {
    "self": "{id} depends on itself.",
    "missing": "{id} depends on {target}, which does not exist.",
    "circular": "{id} depends on {target}, which waits for {id}.",
    "duplicate": "{id} depends on {target} twice.",
    "ambiguous": "{id} depends on {target} as its sibling, and there is a task {number} too.",
    "contained": "{id} depends on {target}, and one contains the other.",
    "duplicate-id": "Several items have the id {id}; only the first can be changed.",
    "unknown-status": "{id} has the status '{word}'. Known: {statuses}.",
    "odd-value": "{id} has a value of another type as '{word}'; what would change it is refused.",
    "unknown-priority": "{id} has the priority '{word}'. Known: {priorities}.",
}


_REPAIRABLE: Final = frozenset({"self", "missing", "circular", "duplicate", "contained"})
"""The types that a repair removes; whether anything else is wrong, only a person knows."""

_TYPES: Final = {"details": str, "dependencies": list, "metadata": dict, "subtasks": list}
"""The fields that tools change in part, with their types."""


class Issue(NamedTuple):
    """Something that is wrong with one item."""

    type: str
    id: str
    target: str = ""
    word: str = ""

    @property
    def is_repairable(self) -> bool:
        """True if ``fix_dependencies`` removes it."""
        return self.type in _REPAIRABLE

    @property
    def as_json(self) -> JsonObject:
        """The issue as an answer shows it."""
        message = _MESSAGES[self.type].format(
            id=self.id,
            target=self.target,
            number=self.target.rpartition(".")[2],
            word=self.word[:50],
            statuses=", ".join(STATUSES),
            priorities=", ".join(PRIORITIES),
        )
        found: JsonObject = {"type": self.type, "taskId": self.id}
        return found | ({"dependencyId": self.target} if self.target else {}) | {"message": message}


def find_issues(tasks: TagTasks) -> list[Issue]:
    """Return everything that is wrong in a tag: repeated ids first, then item by item."""
    graph = build_graph(tasks)
    certain = _build_certain_graph(tasks, graph)
    counts = Counter(item.id for item in tasks.items)
    found = [Issue("duplicate-id", name) for name, count in counts.items() if count > 1]
    for item in tasks.items:
        found += _wrong_words(item)
        found += _wrong_dependencies(item, graph, certain)
    return found


def count_checked(tasks: TagTasks) -> JsonObject:
    """Return how much was checked."""
    items = [*tasks.items]
    subtasks = sum(item.is_subtask for item in items)
    dependencies = sum(len(item.dependencies) for item in items)
    return {
        "tasksChecked": len(items) - subtasks,
        "subtasksChecked": subtasks,
        "dependenciesChecked": dependencies,
    }


def fix_dependencies(tasks: TagTasks) -> list[Issue]:
    """Remove the dependencies that are wrong, and of each cycle the one that closes it; return what was removed."""
    removed: list[Issue] = []
    known = tasks.index().keys()
    for item in tasks.items:
        kept: list[JsonValue] = []
        seen: set[str] = set()
        for stored in item.dependencies:
            target = item.resolve(stored)
            kind = _fault(item, target, seen, known)
            seen.add(target)
            if kind:
                removed.append(Issue(kind, item.id, target))
            else:
                kept.append(stored)
        if len(kept) < len(item.dependencies):
            item.fields["dependencies"] = kept
            tasks.touch(item)
    return removed + _break_cycles(tasks)


def _break_cycles(tasks: TagTasks) -> list[Issue]:
    """Remove each dependency that closes a cycle, in order of ascending ids; those with two readings stay."""
    graph: Graph = {item.id: [subtask.id for subtask in item.subtasks] for item in tasks.items}
    removed: list[Issue] = []
    for item in sorted(tasks.items, key=_by_id):
        kept: list[JsonValue] = []
        for stored in item.dependencies:
            target = item.resolve(stored)
            is_certain = item.other_reading(stored) not in graph
            if is_certain and find_path(graph, target, item.id):
                removed.append(Issue("circular", item.id, target))
                continue
            kept.append(stored)
            if is_certain:
                graph[item.id].append(target)
        if len(kept) < len(item.dependencies):
            item.fields["dependencies"] = kept
            tasks.touch(item)
    return removed


def _build_certain_graph(tasks: TagTasks, known: Container[str]) -> Graph:
    """Return what each item waits for: subtasks, and dependencies that cannot mean another of the ``known`` tasks."""
    graph: Graph = {}
    for item in tasks.items:
        certain = [item.resolve(stored) for stored in item.dependencies if item.other_reading(stored) not in known]
        graph.setdefault(item.id, []).extend([*certain, *(subtask.id for subtask in item.subtasks)])
    return graph


def _by_id(item: ProjectItem) -> tuple[int, int]:
    if item.parent:
        return item.parent.number or 0, item.number or 0
    return item.number or 0, 0


def _wrong_words(item: ProjectItem) -> Iterator[Issue]:
    for name, kind in _TYPES.items():
        if not isinstance(item.fields.get(name), kind | None):
            yield Issue("odd-value", item.id, word=name)
    if item.status not in STATUSES:
        yield Issue("unknown-status", item.id, word=item.status)
    if item.priority not in PRIORITIES and item.text("priority"):
        yield Issue("unknown-priority", item.id, word=item.priority)


def _wrong_dependencies(item: ProjectItem, graph: Graph, certain: Graph) -> Iterator[Issue]:
    seen: set[str] = set()
    for stored in item.dependencies:
        target = item.resolve(stored)
        kind = _fault(item, target, seen, graph)
        has_two = item.other_reading(stored) in graph
        if not kind and find_path(graph if has_two else certain, target, item.id):
            kind = "ambiguous" if has_two else "circular"
        if not kind and isinstance(stored, str) and "." not in stored and "." in target and stored.strip() in graph:
            kind = "ambiguous"  # Task Master writes a sibling as a number, and a task as text
        seen.add(target)
        if kind:
            yield Issue(kind, item.id, target)


def _fault(item: ProjectItem, target: str, seen: set[str], known: Container[str]) -> str:
    """Return what is wrong with one dependency by itself, or nothing."""
    if target in seen:
        return "duplicate"
    if target == item.id:
        return "self"
    if target not in known:
        return "missing"
    return "contained" if contains(target, item.id) or contains(item.id, target) else ""

"""Dependencies as stored and as meant, and everything that is wrong in a tag (TM-34 to TM-36, TM-60, TM-61)."""

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from pydantic import JsonValue

from taskmaster_mcp.core.items import PRIORITIES, JsonObject, ProjectItem, TagTasks
from taskmaster_mcp.core.stored_words import REFERENCE, STATUSES, Graph, find_path, is_same, read_text
from taskmaster_mcp.errors import AmbiguousDependency, CircularDependency, LimitExceeded, Refused

__all__ = [
    "Issue",
    "add_dependency",
    "build_graph",
    "check_no_new_cycle",
    "count_checked",
    "drop_dependencies",
    "express_dependency",
    "find_issues",
    "fix_dependencies",
]

_MAX_DEPENDENCIES: Final = 200
"""Dependencies of an item, for new ones (TM-87)."""

_MESSAGES: Final = {
    "self": "{id} depends on itself.",
    "missing": "{id} depends on {target}, which does not exist.",
    "circular": "{id} depends on {target}, which waits for {id}.",
    "duplicate": "{id} depends on {target} twice.",
    "ambiguous": "{id} depends on {target} as its sibling, and there is a task {number} too.",
    "unreadable": "{id} has a dependency that is not an id: {word}. Correct it; no repair removes it.",
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


def build_graph(
    tasks: TagTasks, *, inherits: bool = False, counts: Callable[[ProjectItem, JsonValue], bool] = lambda *_: True
) -> Graph:
    """Return what each item waits for, of its stored dependencies those that one ``counts``.

    A subtask that ``inherits`` also waits for what its task waits for (TM-36).
    """

    def find_targets(item: ProjectItem) -> list[str]:
        return [item.resolve(it) for it in item.dependencies if counts(item, it)]

    graph: Graph = {}
    for task in tasks.tasks:
        targets, subtasks = find_targets(task), task.subtasks
        graph.setdefault(task.id, []).extend([*targets, *(subtask.id for subtask in subtasks)])
        inherited = [target for target in targets if not task.is_within(target)] if inherits else []
        for subtask in subtasks:
            graph.setdefault(subtask.id, []).extend([*find_targets(subtask), *inherited])
    return graph


def check_no_new_cycle(before: Graph, tasks: TagTasks, renamed: Callable[[str], str] = str) -> None:
    """Raise ``CircularDependency`` if a change since ``before`` closes a cycle; ``renamed`` returns new ids for old."""
    known = {(renamed(name), renamed(target)) for name, found in before.items() for target in found}
    after = build_graph(tasks)
    for name, found in after.items():
        for target in found:
            if (name, target) not in known and (back := find_path(after, target, name)):
                raise CircularDependency([name, *back])


def express_dependency(
    tasks: TagTasks, item: ProjectItem, target: str, index: Mapping[str, ProjectItem] | None = None
) -> int | str:
    """Return how the document stores that ``item`` depends on ``target``, or raise ``AmbiguousDependency`` (TM-35)."""
    found = (tasks.index() if index is None else index).get(target)
    if found and found.number is None:
        own = read_text(found.fields.get("id"))
        stored = own if not found.parent or found.parent == item.parent else found.id
        if item.resolve(stored) != found.id:
            raise AmbiguousDependency(item.id, found.id, item.resolve(stored))
        return stored
    parent, _, own = target.rpartition(".") if "." in target else (target, "", "")
    if not item.parent:
        return target if own else tasks.stored_id(int(parent))
    if own:
        return int(own) if parent == item.parent.id else target
    if sibling := next((found.id for found in item.parent.subtasks if str(found.number) == target), ""):
        raise AmbiguousDependency(item.id, target, sibling)
    return target


def add_dependency(
    tasks: TagTasks,
    item: ProjectItem,
    target: str,
    graph: Graph | None = None,
    index: Mapping[str, ProjectItem] | None = None,
) -> bool:
    """Make ``item`` depend on ``target``, which exists, and return whether that is new (TM-36, TM-59).

    ``graph`` and ``index`` are those of the tasks, for one who adds many; the graph is kept up to date. ``Refused``
    means that both are the same, and ``CircularDependency`` that the target waits for the item, or that one contains
    the other.
    """
    if target == item.id:
        raise Refused("SELF_DEPENDENCY", id=target)
    if target in item.targets:
        return False
    if item.is_within(target):
        raise CircularDependency([item.id, target, item.id])
    graph = build_graph(tasks, inherits=True) if graph is None else graph
    if back := find_path(graph, target, item.id):
        raise CircularDependency([item.id, *back])
    if len(item.dependencies) >= _MAX_DEPENDENCIES:
        raise LimitExceeded(f"Dependencies of '{item.id}'", _MAX_DEPENDENCIES, len(item.dependencies) + 1)
    item.fields["dependencies"] = [*item.stored("dependencies", list), express_dependency(tasks, item, target, index)]
    tasks.touch(item)
    for waiting in (item, *item.subtasks):
        graph.setdefault(waiting.id, []).append(target)
    return True


def drop_dependencies(tasks: TagTasks, is_dropped: Callable[[ProjectItem, str], bool]) -> list[dict[str, str]]:
    """Remove the dependencies for which ``is_dropped`` holds, and return them by ``id`` and ``dependsOn``."""
    dropped: list[dict[str, str]] = []
    for item in tasks.items:
        pairs = [(stored, item.resolve(stored)) for stored in item.dependencies]
        gone = [target for _, target in pairs if is_dropped(item, target)]
        if gone:
            item.fields["dependencies"] = [stored for stored, target in pairs if target not in gone]
            tasks.touch(item)
            dropped += [{"id": item.id, "dependsOn": target} for target in gone]
    return dropped


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
    graph, known, repeated = build_graph(tasks), tasks.index(), _find_repeated(tasks)
    certain = build_graph(tasks, counts=lambda item, it: _is_certain(item, it, graph, repeated))
    found = [Issue("duplicate-id", name) for name in repeated]
    for item in tasks.items:
        found += _wrong_words(item)
        faults = _find_faults(item, known, repeated)
        found += _wrong_dependencies(item, faults, graph, certain)
    return found


def count_checked(tasks: TagTasks) -> JsonObject:
    """Return how much was checked."""
    items = [*tasks.items]
    subtasks = sum(item.is_subtask for item in items)
    dependencies = sum(len(item.dependencies) for item in items)
    return {"tasksChecked": len(items) - subtasks, "subtasksChecked": subtasks, "dependenciesChecked": dependencies}


def fix_dependencies(tasks: TagTasks) -> list[Issue]:
    """Remove the dependencies that are wrong, and of each cycle the one that closes it; return what was removed."""
    removed: list[Issue] = []
    known, repeated = tasks.index(), _find_repeated(tasks)
    for item in tasks.items:
        found = [*zip(item.dependencies, _find_faults(item, known, repeated), strict=True)]
        gone = [fault for _, fault in found if fault and fault.is_repairable]
        if gone:
            item.fields["dependencies"] = [stored for stored, fault in found if fault not in gone]
            tasks.touch(item)
            removed += gone
    return removed + _break_cycles(tasks)


def _break_cycles(tasks: TagTasks) -> list[Issue]:
    """Remove each dependency that closes a cycle, in order of ascending ids; those with two readings stay."""
    graph: Graph = {item.id: [subtask.id for subtask in item.subtasks] for item in tasks.items}
    repeated = _find_repeated(tasks)
    removed: list[Issue] = []
    for item in sorted(tasks.items, key=lambda it: [part.number or 0 for part in (it.parent, it) if part]):
        kept: list[JsonValue] = []
        for stored in item.dependencies:
            target = item.resolve(stored)
            is_certain = _is_certain(item, stored, graph, repeated)
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


def _is_certain(item: ProjectItem, stored: JsonValue, known: Container[str], repeated: Container[str]) -> bool:
    is_repeated = item.id in repeated or item.resolve(stored) in repeated
    return not is_repeated and item.other_reading(stored) not in known


def _find_repeated(tasks: TagTasks) -> list[str]:
    """Return the ids that several items have, such as a task 3.1 and a subtask of 3."""
    return [name for name, count in Counter(item.id for item in tasks.items).items() if count > 1]


def _wrong_words(item: ProjectItem) -> Iterator[Issue]:
    for name, kind in _TYPES.items():
        if not isinstance(item.fields.get(name), kind | None):
            yield Issue("odd-value", item.id, word=name)
    if item.status not in STATUSES:
        yield Issue("unknown-status", item.id, word=item.status)
    if item.priority not in PRIORITIES and item.text("priority"):
        yield Issue("unknown-priority", item.id, word=item.priority)


def _wrong_dependencies(
    item: ProjectItem, faults: Iterable[Issue | None], graph: Graph, certain: Graph
) -> Iterator[Issue]:
    for stored, fault in zip(item.dependencies, faults, strict=True):
        target = item.resolve(stored)
        has_two = item.other_reading(stored) in graph
        if fault:
            yield fault
        elif has_two and find_path(graph, target, item.id):
            yield Issue("ambiguous", item.id, target)
        elif target in certain.get(item.id, ()) and find_path(certain, target, item.id):
            yield Issue("circular", item.id, target)
        elif isinstance(stored, str) and "." not in stored and "." in target and stored.strip() in graph:
            yield Issue("ambiguous", item.id, target)  # Task Master writes a sibling as a number, and a task as text


def _find_faults(
    item: ProjectItem, known: Mapping[str, ProjectItem], repeated: Container[str]
) -> Iterator[Issue | None]:
    """Yield for each dependency what is wrong with it by itself, or None; a repeated id may mean any of its items."""
    seen: dict[str, JsonValue] = {}
    for stored in item.dependencies:
        target = item.resolve(stored)
        is_clear = target not in repeated and item.id not in repeated
        is_written_twice = target in seen and is_same(seen[target], stored)
        kind = "contained" if is_clear and item.is_within(target) else ""
        if target not in known and not _is_id(read_text(stored), known):
            kind = "unreadable"
        elif is_written_twice or (is_clear and target in seen):
            is_sure = is_written_twice or item.other_reading(stored) not in known
            kind = "duplicate" if is_sure else "ambiguous"
        elif is_clear and target == item.id:
            kind = "self"
        elif target not in known:
            kind = "missing"
        seen.setdefault(target, stored)
        word = json.dumps(stored, ensure_ascii=False) if kind == "unreadable" else ""
        yield Issue(kind, item.id, "" if word else target, word) if kind else None


def _is_id(text: str, known: Mapping[str, ProjectItem]) -> bool:
    """Return whether a dependency on nothing is an id, as the tag has them, and not a title or something else."""
    has_text_ids = any(not REFERENCE.fullmatch(name) for name in known)
    is_text = has_text_ids and bool(text) and text.casefold() not in [it.title.casefold() for it in known.values()]
    return is_text or REFERENCE.fullmatch(text) is not None

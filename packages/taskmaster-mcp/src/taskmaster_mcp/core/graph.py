"""Dependencies of tasks and subtasks, as stored and as meant (TM-34 to TM-36)."""

from collections.abc import Callable, Mapping
from typing import Final

from taskmaster_mcp.core.items import ProjectItem, TagTasks
from taskmaster_mcp.core.stored_words import Graph, find_path, read_text
from taskmaster_mcp.errors import AmbiguousDependency, CircularDependency, LimitExceeded, Refused

__all__ = [
    "MAX_DEPENDENCIES",
    "add_dependency",
    "build_graph",
    "check_no_new_cycle",
    "drop_dependencies",
    "express_dependency",
]

MAX_DEPENDENCIES: Final = 200
"""Dependencies of an item, for new ones (TM-87)."""


def build_graph(tasks: TagTasks, *, inherits: bool = False) -> Graph:
    """Return what each item waits for; a subtask that ``inherits`` also waits for what its task waits for (TM-36)."""
    graph: Graph = {}
    for task in tasks.tasks:
        targets, subtasks = task.targets, task.subtasks
        graph.setdefault(task.id, []).extend([*targets, *(subtask.id for subtask in subtasks)])
        inherited = [target for target in targets if not task.is_within(target)] if inherits else []
        for subtask in subtasks:
            graph.setdefault(subtask.id, []).extend([*subtask.targets, *inherited])
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
        return _express_text(item, found)
    parent, _, own = target.rpartition(".") if "." in target else (target, "", "")
    if not item.parent:
        return target if own else tasks.stored_id(int(parent))
    if own:
        return int(own) if parent == item.parent.id else target
    if sibling := next((found.id for found in item.parent.subtasks if str(found.number) == target), ""):
        raise AmbiguousDependency(item.id, target, sibling)
    return target


def _express_text(item: ProjectItem, target: ProjectItem) -> str:
    """Return how the document stores a dependency on an item whose id is not a number."""
    own = read_text(target.fields.get("id"))
    stored = own if not target.parent or target.parent == item.parent else target.id
    if item.resolve(stored) != target.id:
        raise AmbiguousDependency(item.id, target.id, item.resolve(stored))
    return stored


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
    if len(item.dependencies) >= MAX_DEPENDENCIES:
        raise LimitExceeded(f"Dependencies of '{item.id}'", MAX_DEPENDENCIES, len(item.dependencies) + 1)
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

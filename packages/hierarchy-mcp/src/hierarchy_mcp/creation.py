"""New trees from the arguments of one call, with free ids and at most as deep as every reader can follow (HI-1)."""

from collections.abc import Container, Iterator
from random import Random
from typing import Final

from hierarchy_mcp.arguments import NewTask, is_id
from hierarchy_mcp.models import MAX_LEVELS, HierarchyTask
from task_core.errors import InvalidArguments
from task_core.store import Transaction

__all__ = ["add_tree", "check_levels", "choose_id", "count_levels"]

_BASE32: Final = "abcdefghijklmnopqrstuvwxyz234567"
"""The alphabet of RFC 4648 in lower case."""

_ID_LENGTH: Final = 8
"""Characters of an id that the server makes: 40 random bits."""


def add_tree(
    work: Transaction[HierarchyTask], new: NewTask, parent: str, index: int | None, rng: Random
) -> HierarchyTask:
    """Add the todo task with all its subtasks, and return it; a given id is kept, another is made (R6.7, R6.8).

    Raises:
        DuplicateId: an id is taken or given twice.
        TaskNotFound: no task has the parent's id.
    """
    given = {node.id for node, _ in _nodes(new) if node.id}
    added: dict[int, HierarchyTask] = {}
    for node, above in _nodes(new):
        task = HierarchyTask(
            id=node.id or _new_id(work, given, rng),
            name=node.name,
            description=node.description,
            completion_criteria=node.completion_criteria or (),
            constraints=node.constraints or (),
        )
        added[id(node)] = task
        if above is None:
            work.add(task, parent, index)
        else:
            work.add(task, added[id(above)].id)
    return added[id(new)]


def check_levels(levels_above: int, levels: int, field: str) -> None:
    """Check that a tree of ``levels`` levels fits below ``levels_above`` others.

    Raises:
        InvalidArguments: the tree would be too deep; the error names ``field``.
    """
    if levels_above + levels > MAX_LEVELS:
        advice = f"a tree has at most {MAX_LEVELS} levels, and this would make {levels_above + levels}: make it flatter"
        raise InvalidArguments([(field, advice)])


def count_levels(new: NewTask) -> int:
    """Return how many levels the new tree has."""
    levels, level = 0, [new]
    while level:
        levels, level = levels + 1, [child for node in level for child in node.tasks or ()]
    return levels


def choose_id(work: Transaction[HierarchyTask], wanted: str, rng: Random) -> str:
    """Return ``wanted`` if a task may have it and none has, else a free id."""
    return wanted if is_id(wanted) and wanted not in work else _new_id(work, (), rng)


def _new_id(work: Transaction[HierarchyTask], given: Container[str], rng: Random) -> str:
    """Return a free id of random characters."""
    while (found := "".join(rng.choices(_BASE32, k=_ID_LENGTH))) in work or found in given:
        pass
    return found


def _nodes(new: NewTask) -> Iterator[tuple[NewTask, NewTask | None]]:
    """Yield every task with the one that contains it, level by level."""
    nodes: list[tuple[NewTask, NewTask | None]] = [(new, None)]
    for node, _ in nodes:
        nodes.extend((child, node) for child in node.tasks or ())
    yield from nodes

"""The rules of a tree of tasks: which leaf comes next, what must be done before it, and what follows from a change."""

from collections.abc import Container, Iterator, Sequence
from itertools import chain, takewhile
from random import Random
from typing import Final

from hierarchy_mcp.arguments import NewTask, is_id
from hierarchy_mcp.models import MAX_LEVELS, HierarchyStatus, HierarchyTask, derive_status
from task_core.errors import MAX_NAMED, InvalidArguments, quote_names
from task_core.store import ROOTS, Collection, Selection, Transaction

__all__ = [
    "active_leaves",
    "add_tree",
    "check_levels",
    "choose_id",
    "claimed_tasks",
    "count_levels",
    "find_blocking",
    "find_path",
    "find_rivals",
    "first_open_leaf",
    "next_leaf",
    "settle",
    "settle_undone",
]


def find_path(tasks: Collection[HierarchyTask], task_id: str) -> list[HierarchyTask]:
    """Return the root above the task, the subtask below that, and so on to the task itself; none for ``ROOTS``.

    Raises:
        TaskNotFound: no task has the id.
    """
    return [*tasks.ancestors(task_id), tasks.get(task_id)] if task_id else []


def first_open_leaf(tasks: Collection[HierarchyTask], task: HierarchyTask) -> HierarchyTask:
    """Return the first leaf, depth first, that is not done below the open ``task``; for a leaf, itself (R3.5)."""
    while child := tasks.first_open_child(task.id):
        task = child
    return task


def active_leaves(tasks: Collection[HierarchyTask]) -> list[HierarchyTask]:
    """Return the leaves in progress: one, or none, and one for each claimed root (R3.17, AG-17).

    Apart from these, only their ancestors are in progress.
    """
    active = tasks.select(Selection(states=(HierarchyStatus.IN_PROGRESS.value,)))
    return [task for task in active if not tasks.child_states(task.id)]


def find_rivals(work: Transaction[HierarchyTask], leaf: HierarchyTask) -> list[HierarchyTask]:
    """Return the other active leaves where only one may be active (R3.17, AG-17).

    That is in its root if that is claimed, or else in all roots that are not.
    """
    claimed = claimed_tasks(work)

    def group(task: HierarchyTask) -> str:
        root = find_path(work, task.id)[0].id
        return root if root in claimed else ""

    own = group(leaf)
    return [task for task in active_leaves(work) if task.id != leaf.id and group(task) == own]


def find_blocking(
    tasks: Collection[HierarchyTask], path: Sequence[HierarchyTask], *, strict_roots: bool
) -> tuple[Sequence[HierarchyTask], int]:
    """Return the first tasks that must be done before the open one at the end of ``path``, and how many there are.

    These are the open siblings before it and before each of its ancestors, outermost first, in order (R3.3, R3.10);
    earlier roots count only with ``strict_roots``.
    """
    found: list[HierarchyTask] = []
    count = 0
    parents = [ROOTS, *(task.id for task in path[:-1])]
    for parent, task in [*zip(parents, path, strict=True)][0 if strict_roots else 1 :]:
        first = tasks.first_open_child(parent)
        if first is None or first.id == task.id:
            continue
        if len(found) < MAX_NAMED:
            earlier = tasks.children(parent, is_open=True, limit=MAX_NAMED)
            found += takewhile(lambda other, end=task.id: other.id != end, earlier)
        count += tasks.count_children(parent, is_open=True, before=task.id)
    return found[:MAX_NAMED], count


def next_leaf(work: Transaction[HierarchyTask], done: HierarchyTask, *, strict_roots: bool) -> HierarchyTask | None:
    """Return the leaf to do after the one that was ``done``, or None when all tasks are done (HI-6, R3.8).

    That is the active leaf, else the first that can be started: below its root, below the roots after it, below those
    before it. Whoever has claimed that root gets only what is below it, and nobody else does (AG-17).
    """
    root, claimed = find_path(work, done.id)[0], claimed_tasks(work)
    for active in find_rivals(work, done):
        return active
    if root.id in claimed:
        return None if root.is_done else first_open_leaf(work, root)
    here = root if not (strict_roots or root.is_done) else None
    limit = len(claimed) + 1
    after = [] if strict_roots else work.children(ROOTS, is_open=True, after=root.id, limit=limit)
    for start in chain(filter(None, [here]), after, work.children(ROOTS, is_open=True, limit=limit)):
        if start.id not in claimed:
            return first_open_leaf(work, start)
    return None


def claimed_tasks(work: Transaction[HierarchyTask]) -> set[str]:
    """Return the ids of the tasks that agents have claimed, those whose agent is gone too."""
    return {claim.task for claim in work.claims}


def settle(work: Transaction[HierarchyTask], above: Sequence[HierarchyTask]) -> list[HierarchyTask]:
    """Give each task of ``above``, a path, the status that follows from its subtasks; return those that changed.

    The innermost comes first. A parent that lost its last subtask is a leaf again: done if it was, else todo (HI-4).
    """
    changed: list[HierarchyTask] = []
    for task in reversed(above):
        states = work.child_states(task.id)
        status = (
            derive_status(states.keys()) if states else HierarchyStatus.DONE if task.is_done else HierarchyStatus.TODO
        )
        if status is task.status:
            break
        changed.append(task.changed(status=status))
        work.replace(changed[-1])
    return changed


def settle_undone(work: Transaction[HierarchyTask], ids: Sequence[str]) -> str:
    """Give the tasks above ``ids`` the status that follows, and return the rule that is broken, or nothing."""
    for name in ids:
        above = work.ancestors(name)
        settle(work, [*above, work.get(name)] if work.child_states(name) else above)
        if len(above) + max(level for _, level in work.subtree(name)) > MAX_LEVELS:
            return f"a tree has at most {MAX_LEVELS} levels"
    for leaf in active_leaves(work):
        if rivals := find_rivals(work, leaf):
            return f"only one task may be in progress, not {quote_names([leaf.id, *(it.id for it in rivals)])}"
    return ""


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
    while (found := "".join(rng.choices(_BASE32, k=_ID_LENGTH))) in work or found in given:
        pass
    return found


def _nodes(new: NewTask) -> Iterator[tuple[NewTask, NewTask | None]]:
    """Yield every task with the one that contains it, level by level."""
    nodes: list[tuple[NewTask, NewTask | None]] = [(new, None)]
    for node, _ in nodes:
        nodes.extend((child, node) for child in node.tasks or ())
    yield from nodes

"""The table and the counts that show the progress, of bounded size (HI-6, HI-7, R3.6, R3.11 to R3.14)."""

import re
from collections.abc import Collection as Ids
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from typing import Final

from hierarchy_mcp.models import HierarchyStatus, HierarchyTask
from hierarchy_mcp.results import ParentEntry, ProgressSummary
from task_core.bounds import size_of
from task_core.store import ROOTS, Collection, Selection
from task_core.text import escape_invisible, shorten

__all__ = ["summarize_progress", "table", "walk"]

_HEAD: Final = (
    "| Task Name | Parent Task | Status | Status Changed | Subtasks | Progress |",
    "| --- | --- | --- | --- | --- | --- |",
)

_MAX_ROWS: Final = 60
"""Tasks in a table (HI-7)."""

_MAX_UNASKED: Final = 12
"""Tasks up to which the table has all of them without being asked for (PE-19)."""

_MAX_BESIDE: Final = 10
"""Siblings of the leaf on each side that are preferred when not all tasks fit (HI-7)."""

_MAX_PARENTS: Final = 20
"""Parents in a progress summary (HI-6)."""

_MAX_NAME: Final = 80
"""Characters of a name in a cell, at most."""

_MAX_BYTES: Final = 16_384
"""Bytes of a table as JSON; names are cut further where it would have more (TOOL-9)."""

_MARKUP: Final = re.compile(r"[\\`*_~\[\]<>|!&@]|:(?=//)|(?<=www)\.", re.IGNORECASE)
"""Characters that could end a cell, or turn a name into emphasis, code, an image, a link or HTML."""


def summarize_progress(
    tasks: Collection[HierarchyTask],
    completed: Sequence[HierarchyTask],
    following: Sequence[HierarchyTask],
    changed: Ids[str],
    *,
    is_whole: bool = True,
) -> ProgressSummary:
    """Return the table and the counts of all tasks after a completion; ``is_whole`` and ``changed`` as in ``table``.

    ``completed`` and ``following`` are the paths to the leaf that was completed and to the next one, if there is one;
    ``changed`` has the ids of the tasks that the call gave another status, the nearest first.
    """
    found = {status: tasks.count(Selection(states=(status.value,))) for status in HierarchyStatus}
    total = sum(found.values())
    leaf = following or completed
    return ProgressSummary(
        table=table(tasks, leaf, completed[-1], changed, is_whole=is_whole),
        total_tasks=total,
        completed_tasks=found[HierarchyStatus.DONE],
        in_progress_tasks=found[HierarchyStatus.IN_PROGRESS],
        todo_tasks=found[HierarchyStatus.TODO],
        completion_percentage=_per_cent(found[HierarchyStatus.DONE], total),
        parents=_parent_entries(tasks, _parents(tasks, completed, following)),
    )


def table(
    tasks: Collection[HierarchyTask],
    leaf: Sequence[HierarchyTask],
    named: HierarchyTask,
    changed: Ids[str],
    *,
    is_whole: bool = True,
) -> str:
    """Return the tasks as rows of one Markdown table, in the order of the tree: all of them, or those around the leaf.

    ``leaf`` is the path to the active or next leaf, ``named`` the task that the call named, and ``changed`` has the ids
    of the tasks that it gave another status, the nearest first. Unless the table ``is_whole``, it shows only these, or
    else the leaf, where there are more than 12 tasks.
    """
    total = len(tasks)
    advice = "listTasks shows them"
    if not is_whole and total > _MAX_UNASKED:
        rows = _place_rows(tasks, map(tasks.get, [*changed][:_MAX_ROWS] or [leaf[-1].id]))
        advice += ", or ask for all with `table`: true"
    elif total <= _MAX_ROWS:
        rows = list(walk(tasks))
    else:
        chosen: dict[str, HierarchyTask] = {}
        for task in takewhile(lambda _: len(chosen) < _MAX_ROWS, _rank_by_nearness(tasks, leaf, named, changed)):
            chosen[task.id] = task
        rows = _place_rows(tasks, chosen.values())
    states = tasks.child_states_of([task.id for task, _ in rows])
    end = [f"\nTasks not shown: {total - len(rows):,}; {advice}."] if total > len(rows) else []
    limit = _MAX_NAME
    while True:
        lines = [_row(task, parent, states[task.id], changed, limit) for task, parent in rows]
        text = "\n".join([*_HEAD, *lines, *end])
        if size_of(text) <= _MAX_BYTES:
            return text
        limit //= 2


def walk(
    tasks: Collection[HierarchyTask], parent: HierarchyTask | None = None
) -> Iterator[tuple[HierarchyTask, HierarchyTask | None]]:
    """Yield every task below ``parent``, or all, with its parent, in the order of the tree."""
    for task in tasks.children(parent.id if parent else ROOTS):
        yield task, parent
        yield from walk(tasks, task)


def _place_rows(
    tasks: Collection[HierarchyTask], chosen: Iterable[HierarchyTask]
) -> list[tuple[HierarchyTask, HierarchyTask | None]]:
    """Return the tasks with their parents, in the order of the tree."""
    ordered = sorted(chosen, key=lambda task: _position(tasks, task.id))
    parents = [tasks.row(task.id).parent for task in ordered]
    return [(task, tasks.get(parent) if parent else None) for task, parent in zip(ordered, parents, strict=True)]


def _rank_by_nearness(
    tasks: Collection[HierarchyTask], leaf: Sequence[HierarchyTask], named: HierarchyTask, changed: Ids[str]
) -> Iterator[HierarchyTask]:
    """Yield tasks by their priority for a row, some of them twice."""
    yield from reversed(leaf)
    yield named
    yield from map(tasks.get, changed)
    parents = [ROOTS, *(task.id for task in leaf[:-1])]
    beside = leaf[-1].id
    yield from tasks.children(parents[-1], before=beside, limit=_MAX_BESIDE)
    yield from tasks.children(parents[-1], after=beside, limit=_MAX_BESIDE)
    yield from chain.from_iterable(tasks.children(parent, limit=_MAX_ROWS) for parent in reversed(parents))


def _parents(
    tasks: Collection[HierarchyTask], completed: Sequence[HierarchyTask], following: Sequence[HierarchyTask]
) -> list[HierarchyTask]:
    """Return the parents of a summary: all in the order of the tree, or those above the two leaves first."""
    ids = tasks.parents(_MAX_PARENTS + 1)
    if len(ids) <= _MAX_PARENTS:
        return [tasks.get(name) for name in sorted(ids, key=lambda name: _position(tasks, name))]
    near = dict.fromkeys(task.id for path in (completed, following) for task in reversed(path[:-1]))
    return [tasks.get(name) for name in [*near, *(name for name in ids if name not in near)][:_MAX_PARENTS]]


def _position(tasks: Collection[HierarchyTask], task_id: str) -> tuple[int, ...]:
    path = (*(task.id for task in tasks.ancestors(task_id)), task_id)
    return tuple(tasks.row(name).position for name in path)


def _parent_entries(tasks: Collection[HierarchyTask], parents: Sequence[HierarchyTask]) -> list[ParentEntry]:
    states = tasks.child_states_of([parent.id for parent in parents])
    return [
        ParentEntry(
            id=parent.id,
            name=parent.name,
            completed_subtasks=done,
            remaining_subtasks=total - done,
            completion_percentage=_per_cent(done, total),
        )
        for parent in parents
        for done, total in [_count_done(states[parent.id])]
    ]


def _row(
    task: HierarchyTask, parent: HierarchyTask | None, below: Mapping[str, int], changed: Ids[str], limit: int
) -> str:
    done, total = _count_done(below)
    subtasks = f"{done}/{total}" if total else "-"
    progress = _per_cent(done, total) if total else 100 * task.is_done
    above = _cell(parent.name, limit) if parent else "-"
    mark = "✓" if task.id in changed else "-"
    return f"| {_cell(task.name, limit)} | {above} | {task.status.value} | {mark} | {subtasks} | {progress}% |"


def _count_done(states: Mapping[str, int]) -> tuple[int, int]:
    return states.get(HierarchyStatus.DONE, 0), sum(states.values())


def _per_cent(done: int, total: int) -> int:
    return done * 100 // total


def _cell(text: str, limit: int) -> str:
    return escape_invisible(_MARKUP.sub(r"\\\g<0>", shorten(text, limit)))

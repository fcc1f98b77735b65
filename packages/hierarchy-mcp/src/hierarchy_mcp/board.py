"""The tasks at a glance: the short trees and the summary that are read as resources (RES-2, RES-3)."""

from collections.abc import Iterator
from itertools import chain, islice

from hierarchy_mcp.answers import count_below
from hierarchy_mcp.models import HierarchyStatus, HierarchyTask
from hierarchy_mcp.summary import status_counts
from hierarchy_mcp.tree import active_leaf
from task_core.bounds import MAX_PAGE, size_of, take_fitting
from task_core.server.overview import (
    MAX_LISTED,
    MAX_SUMMED,
    MAX_TEXT,
    JsonObject,
    SummaryLine,
    SummarySection,
    render_list,
    render_summary,
)
from task_core.store import ROOTS, Collection
from task_core.text import shorten

__all__ = ["short_trees", "summarize"]


def short_trees(tasks: Collection[HierarchyTask]) -> JsonObject:
    """Return the trees with id, name and status only, in as many whole levels as an answer allows.

    It has at most ``MAX_LISTED`` tasks: where a tree is cut, ``subtask_count`` replaces ``tasks``, and if there are too
    many roots, the last are left out.
    """
    found = level = take_fitting([_short(task) for task in tasks.children(ROOTS, limit=MAX_LISTED)])
    count, size = len(found), sum(map(size_of, found))
    while level and count + sum(numbers := count_below(tasks, level)) <= MAX_LISTED:
        parents = [task for task, number in zip(level, numbers, strict=True) if number]
        below = [[_short(child) for child in tasks.children(str(task["id"]))] for task in parents]
        size += sum(map(size_of, chain.from_iterable(below)))
        if size > MAX_PAGE:
            break
        count += sum(numbers)
        for task, children in zip(parents, below, strict=True):
            task["tasks"] = [*children]
        level = [*chain.from_iterable(below)]
    for task, number in zip(level, count_below(tasks, level), strict=True):
        if number:
            task["subtask_count"] = number
    return render_list(found, len(tasks), count)


def summarize(tasks: Collection[HierarchyTask]) -> str:
    """Return the summary: the leaf in progress, and the first todo leaves in the order in which to do them."""
    active = active_leaf(tasks)
    counts = status_counts(tasks)
    following = [_entry(tasks, leaf) for leaf in islice(_todo_leaves(tasks), MAX_SUMMED)]
    sections = {
        "Active": SummarySection([_entry(tasks, active)] if active else [], int(active is not None)),
        "Next": SummarySection(following, len(following)),
    }
    return render_summary({status.value: counts[status] for status in reversed(HierarchyStatus)}, sections, "listTasks")


def _todo_leaves(tasks: Collection[HierarchyTask]) -> Iterator[HierarchyTask]:
    waiting = tasks.children(ROOTS, is_open=True, limit=MAX_SUMMED + 1)[::-1]
    while waiting:
        task = waiting.pop()
        below = tasks.children(task.id, is_open=True, limit=MAX_SUMMED + 1)
        waiting.extend(reversed(below))
        if not below and task.status is HierarchyStatus.TODO:
            yield task


def _entry(tasks: Collection[HierarchyTask], task: HierarchyTask) -> SummaryLine:
    above = tasks.ancestors(task.id)
    return SummaryLine(task.id, task.name, f"in {above[-1].name}" if above else "")


def _short(task: HierarchyTask) -> JsonObject:
    return {"id": task.id, "name": shorten(task.name, MAX_TEXT), "status": task.status.value}

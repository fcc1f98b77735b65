"""The tasks as people see them: trees in the order of work, and what people can do to them."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from pydantic import JsonValue
from typing_extensions import override

from hierarchy_mcp.codec import open_trees
from hierarchy_mcp.models import KIND, MAX_LEVELS, HierarchyStatus, HierarchyTask
from hierarchy_mcp.rendering import render_tree
from hierarchy_mcp.settings import HierarchySettings
from hierarchy_mcp.tree import active_leaves, find_path
from task_core.store import ROOTS, Collection
from task_core.store.view import StoreView
from task_core.view import Action, BoardActions, Line, Section, View
from task_core.warning_list import WarningList

__all__ = ["ACTIONS", "HierarchyView", "open_view"]

_FIELDS: Final = ("name", "description", "completion_criteria", "constraints")

_TODO, _IN_PROGRESS, _DONE = (status.value for status in HierarchyStatus)

_HEADINGS: Final = {"Active": _IN_PROGRESS, "Next": _TODO}


class HierarchyView(StoreView[HierarchyTask]):
    """The trees of tasks; leaves are what people work on."""

    finished = KIND.closed
    headings = _HEADINGS
    has_ordered_roots = False
    """true if the roots must be done in order, too"""
    advice = "Start a task with startTask, finish it with completeTask; listTasks shows all."

    @override
    def line(self, task: HierarchyTask, depth: int) -> Line:
        return Line(task.id, task.status.value, task.name, depth=depth, more=task.description or "")

    @override
    def render(self, tasks: Collection[HierarchyTask], task_id: str) -> dict[str, JsonValue]:
        return render_tree(tasks, tasks.get(task_id))

    @override
    def first(self, tasks: Collection[HierarchyTask], status: str, limit: int) -> Sequence[HierarchyTask]:
        """Return the active leaves, or the first todo leaves."""
        return active_leaves(tasks)[:limit] if status != _TODO else [*islice(_todo_leaves(tasks, limit), limit)]

    @override
    def startable(self, tasks: Collection[HierarchyTask], limit: int) -> Iterator[str]:
        """Yield the roots in which nobody is at work: agents work at once only in different ones (AG-17)."""
        busy = {find_path(tasks, leaf.id)[0].id for leaf in active_leaves(tasks)}
        for root in tasks.children(ROOTS, is_open=True, limit=1 if self.has_ordered_roots else limit + len(busy)):
            if root.id not in busy:
                yield root.id

    @override
    def count(self, tasks: Collection[HierarchyTask]) -> dict[str, int]:
        return dict(reversed(super().count(tasks).items()))

    @override
    def section(self, tasks: Collection[HierarchyTask], status: str, count: int, limit: int) -> Section:
        """Return leaves, each with the name of the task above it."""
        leaves = self.first(tasks, status, limit)
        above = [tasks.ancestors(leaf.id) for leaf in leaves]
        notes = [f"in {path[-1].name}" if path else "" for path in above]
        entries = [self.line(leaf, 0)._replace(note=note) for leaf, note in zip(leaves, notes, strict=True)]
        return Section(entries, len(entries))


def open_view(settings: HierarchySettings) -> View:
    """Return the tasks in the store that ``settings`` name."""
    view = HierarchyView(open_trees(settings, WarningList()))
    view.has_ordered_roots = settings.root_order == "strict"
    return view


def _todo_leaves(tasks: Collection[HierarchyTask], count: int) -> Iterator[HierarchyTask]:
    waiting = tasks.children(ROOTS, is_open=True, limit=count + 1)[::-1]
    while waiting:
        task = waiting.pop()
        below = tasks.children(task.id, is_open=True, limit=count + 1)
        waiting.extend(reversed(below))
        if not below and task.status is HierarchyStatus.TODO:
            yield task


ACTIONS: Final = BoardActions(
    path="file_path",
    create=Action("create", "createTask", fields=_FIELDS),
    edit=Action("edit", "updateTask", task="id", fields=(*_FIELDS, "resolution")),
    steps=(
        Action(
            "start",
            "startTask",
            task="id",
            sources=(_TODO, _IN_PROGRESS),
            in_order=(_TODO,),
            status=_IN_PROGRESS,
        ),
        Action(
            "complete",
            "completeTask",
            task="id",
            fields=("resolution",),
            sources=(_TODO, _IN_PROGRESS),
            in_order=(_TODO,),
            is_for_leaves=True,
            status=_DONE,
        ),
        Action(
            "reopen",
            "updateTask",
            task="id",
            values={"status": _TODO},
            sources=(_IN_PROGRESS, _DONE),
            status=_TODO,
            reopens=True,
        ),
        Action("remove", "deleteTask", task="id", removes=True),
    ),
    poll=Action("poll", "listTasks", values={"limit": 1, "depth": 0}),
    create_below=Action("create_below", "createTask", parent="parentId", fields=_FIELDS),
    place_below=Action("place_below", "updateTask", task="id", parent="parentId", index="insertIndex"),
    place_on_top=Action("place_on_top", "updateTask", task="id", index="insertIndex", values={"parentId": None}),
    levels=MAX_LEVELS,
)
"""The tools behind each thing that people can do."""

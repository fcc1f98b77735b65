"""The tasks as people see them: trees in the order of work."""

from pydantic import JsonValue
from typing_extensions import override

from hierarchy_mcp.answers import render_tree
from hierarchy_mcp.codec import CODEC
from hierarchy_mcp.models import KIND, HierarchyTask
from hierarchy_mcp.settings import HierarchySettings
from hierarchy_mcp.tree import active_leaf, first_open_leaf
from task_core.store import ROOTS, Collection, open_store
from task_core.store.view import StoreView
from task_core.view import Line, View
from task_core.warning_list import WarningList

__all__ = ["HierarchyView", "open_view"]


class HierarchyView(StoreView[HierarchyTask]):
    """The trees of tasks."""

    finished = KIND.closed

    @override
    def line(self, task: HierarchyTask, depth: int) -> Line:
        return Line(task.id, task.status.value, task.name, depth=depth)

    @override
    def render(self, tasks: Collection[HierarchyTask], task_id: str) -> dict[str, JsonValue]:
        """Return the task with its subtasks, as ``getTask`` does."""
        return render_tree(tasks, tasks.get(task_id))

    @override
    def choose(self, tasks: Collection[HierarchyTask]) -> HierarchyTask | None:
        """Return the active leaf, else the first that is open."""
        root = tasks.first_open_child(ROOTS)
        return active_leaf(tasks) or (first_open_leaf(tasks, root) if root else None)


def open_view(settings: HierarchySettings) -> View:
    """Return the tasks in the store that ``settings`` name."""
    return HierarchyView(open_store(settings, CODEC, WarningList()))

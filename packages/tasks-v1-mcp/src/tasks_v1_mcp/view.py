"""The tasks as people see them: the newest first, with a priority that is not the usual one."""

from typing_extensions import override

from task_core.store import Collection, Order, Selection, open_store
from task_core.store.view import StoreView
from task_core.view import Line, View
from task_core.warning_list import WarningList
from tasks_v1_mcp.codec import CODEC
from tasks_v1_mcp.models import StoredTask, V1Status
from tasks_v1_mcp.settings import TasksSettings

__all__ = ["TasksView", "open_view"]


class TasksView(StoreView[StoredTask]):
    """The tasks of one person."""

    finished = frozenset({V1Status.DONE.value, V1Status.CANCELED.value})
    listed = Selection(descending=True)

    @override
    def line(self, task: StoredTask, depth: int) -> Line:
        return Line(task.id, task.status.value, task.title, task.priority.note, depth)

    @override
    def choose(self, tasks: Collection[StoredTask]) -> StoredTask | None:
        """Return what is in progress, else what is pending: the highest priority first, then the newest."""
        for status in (V1Status.IN_PROGRESS, V1Status.PENDING):
            first = Selection(states=(status.value,), order=Order.RANK, descending=True, limit=1)
            for task in tasks.select(first):
                return task
        return None


def open_view(settings: TasksSettings) -> View:
    """Return the tasks in the store that ``settings`` name."""
    return TasksView(open_store(settings, CODEC, WarningList()))

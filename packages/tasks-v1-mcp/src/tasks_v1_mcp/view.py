"""The tasks as people see them: the newest first, with a priority that is not the usual one; and what people can do."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from typing_extensions import override

from task_core.store import Collection, Order, Selection, open_store
from task_core.store.view import StoreView
from task_core.view import Action, BoardActions, Line, View
from task_core.warning_list import WarningList
from tasks_v1_mcp.codec import CODEC
from tasks_v1_mcp.models import TRANSITIONS, Priority, StoredTask, V1Status
from tasks_v1_mcp.settings import TasksSettings

__all__ = ["ACTIONS", "TasksView", "open_view"]

_FIELDS: Final = ("title", "description", "category", "priority", "tags", "topic_id", "source")

_NAMES: Final = {V1Status.IN_PROGRESS: "start", V1Status.DONE: "complete", V1Status.CANCELED: "cancel"}

_HEADINGS: Final = {"Active": V1Status.IN_PROGRESS.value, "Next": V1Status.PENDING.value}

_URGENT: Final = Selection(order=Order.RANK, descending=True)
"""The highest priority first, then the newest."""


class TasksView(StoreView[StoredTask]):
    """The tasks of one person."""

    finished = frozenset({V1Status.DONE.value, V1Status.CANCELED.value})
    listed = Selection(descending=True)
    headings = _HEADINGS
    advice = "Start a task, or finish it, with update_task_status; list_tasks shows all."

    @override
    def line(self, task: StoredTask, depth: int) -> Line:
        return Line(
            task.id,
            task.status.value,
            task.title,
            "" if task.priority is Priority.MEDIUM else task.priority.value,
            depth,
            priority=task.priority.value,
            topic=task.topic_id or "",
            tags=task.tags,
            more=task.description or "",
            created_at=task.created_at,
            changed_at=task.updated_at,
        )

    @override
    def first(self, tasks: Collection[StoredTask], status: str, limit: int) -> Sequence[StoredTask]:
        return tasks.select(replace(_URGENT, states=(status,), limit=limit))


def open_view(settings: TasksSettings) -> View:
    """Return the tasks in the store that ``settings`` name."""
    return TasksView(open_store(settings, CODEC, WarningList()))


def _step(status: V1Status) -> Action:
    return Action(
        _NAMES[status],
        "update_task_status",
        task="id",
        values={"status": status.value},
        sources=[source.value for source, targets in TRANSITIONS.items() if status in targets],
        status=status.value,
    )


ACTIONS: Final = BoardActions(
    path="tasks_file_path",
    create=Action("create", "create_task", fields=_FIELDS),
    edit=Action("edit", "update_task", task="id", fields=_FIELDS),
    steps=[*map(_step, _NAMES)],
    poll=Action("poll", "list_tasks", values={"limit": 1}),
    priorities=[priority.value for priority in reversed(Priority)],
)
"""The tools behind each thing that people can do."""

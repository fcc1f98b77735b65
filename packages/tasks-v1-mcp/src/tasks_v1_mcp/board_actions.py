"""What people can do to tasks on the board."""

from typing import Final

from task_core.actions import Action, BoardActions
from tasks_v1_mcp.models import TRANSITIONS, V1Status

__all__ = ["ACTIONS"]

_FIELDS: Final = ("title", "description", "category", "priority", "tags", "topic_id", "source")

_NAMES: Final = {V1Status.IN_PROGRESS: "start", V1Status.DONE: "complete", V1Status.CANCELED: "cancel"}


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
    look=Action("look", "list_tasks", values={"limit": 1}),
)
"""The tools behind each thing that people can do."""

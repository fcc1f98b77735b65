"""The actions on tasks and subtasks that the board offers to people."""

from typing import Final

from task_core.actions import Action, BoardActions
from taskmaster_mcp.core.stored_words import STATUSES

__all__ = ["ACTIONS"]

_FIELDS: Final = ("title", "description", "details", "testStrategy")

_NAMES: Final = {
    "in-progress": "start",
    "done": "complete",
    "review": "review",
    "blocked": "block",
    "deferred": "defer",
    "cancelled": "cancel",
    "pending": "reopen",
}


def _step(status: str) -> Action:
    return Action(
        _NAMES[status],
        "set_task_status",
        task="id",
        values={"status": status},
        sources=[source for source in STATUSES if source != status],
        status=status,
    )


ACTIONS: Final = BoardActions(
    path="task_master_project_root",
    create=Action("create", "add_task", fields=(*_FIELDS, "priority", "dependencies")),
    edit=Action("edit", "update_task", task="id", fields=(*_FIELDS, "priority")),
    steps=(*map(_step, _NAMES), Action("remove", "remove_task", task="id", removes=True)),
    look=Action("look", "get_tasks", values={"limit": 1}),
    settings={"task_master_tools": "all"},
    one_line=("title", "dependencies"),
    create_below=Action("create_below", "add_subtask", parent="id", fields=_FIELDS),
    place_below=Action("place_below", "add_subtask", task="taskId", parent="id"),
    place_on_top=Action("place_on_top", "remove_subtask", task="id", values={"convert": True}),
)
"""The tools behind each thing that people can do."""

"""What people can do to tasks on the board."""

from typing import Final

from hierarchy_mcp.models import HierarchyStatus
from task_core.actions import Action, BoardActions

__all__ = ["ACTIONS"]

_FIELDS: Final = ("name", "description", "completion_criteria", "constraints")

_TODO, _IN_PROGRESS, _DONE = (status.value for status in HierarchyStatus)

ACTIONS: Final = BoardActions(
    path="file_path",
    create=Action("create", "createTask", fields=_FIELDS),
    edit=Action("edit", "updateTask", task="id", fields=(*_FIELDS, "resolution")),
    steps=(
        Action("start", "startTask", task="id", sources=(_TODO, _IN_PROGRESS), status=_IN_PROGRESS),
        Action(
            "complete",
            "completeTask",
            task="id",
            fields=("resolution",),
            sources=(_TODO, _IN_PROGRESS),
            status=_DONE,
        ),
        Action(
            "reopen", "updateTask", task="id", values={"status": _TODO}, sources=(_IN_PROGRESS, _DONE), status=_TODO
        ),
        Action("remove", "deleteTask", task="id", removes=True),
    ),
    look=Action("look", "listTasks", values={"limit": 1, "depth": 0}),
    create_below=Action("create_below", "createTask", parent="parentId", fields=_FIELDS),
    place_below=Action("place_below", "updateTask", task="id", parent="parentId", index="insertIndex"),
    place_on_top=Action("place_on_top", "updateTask", task="id", index="insertIndex", values={"parentId": None}),
)
"""The tools behind each thing that people can do."""

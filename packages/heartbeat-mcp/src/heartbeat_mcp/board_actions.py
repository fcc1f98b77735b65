"""What people can do to tasks on the board."""

from typing import Final

from heartbeat_mcp.models import HeartbeatStatus
from task_core.actions import Action, BoardActions

__all__ = ["ACTIONS"]

_NAMES: Final = {
    HeartbeatStatus.RUNNING: "start",
    HeartbeatStatus.COMPLETE: "complete",
    HeartbeatStatus.FAIL: "fail",
    HeartbeatStatus.PENDING: "reopen",
}


def _step(status: HeartbeatStatus) -> Action:
    return Action(
        _NAMES[status],
        "task_update",
        task="task_id",
        inside="updates",
        values={"status": status.value},
        sources=[source.value for source in HeartbeatStatus if source is not status],
        status=status.value,
    )


ACTIONS: Final = BoardActions(
    path="heartbeat_file_path",
    create=Action("create", "task_create", fields=("raw_user_request", "raw_reference", "ideas")),
    edit=Action(
        "edit",
        "task_update",
        task="task_id",
        inside="updates",
        fields=("raw_user_request", "raw_reference", "ideas", "result", "result_file", "claude_session_id"),
    ),
    steps=[*map(_step, _NAMES)],
    look=Action("look", "task_list", values={"limit": 1}),
    mirror="heartbeat_file_path",
)
"""The tools behind each thing that people can do."""

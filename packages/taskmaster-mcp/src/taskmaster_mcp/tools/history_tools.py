"""The tools of the history, with the project and the tag as every tool of this server takes them (AG-6)."""

from task_core.fields import Arguments
from task_core.server.app import TaskServer
from task_core.server.task_history import TaskHistory, UndoChange, add_history_tools
from taskmaster_mcp.direct.registry import ProjectRegistry, Target
from taskmaster_mcp.direct.undoing import ProjectHistory
from taskmaster_mcp.tools.arguments import Call, TagCall

__all__ = ["add_project_history"]


class _ProjectHistoryCall(TagCall, TaskHistory):
    """Arguments of ``task_history``."""


class _ProjectUndoCall(Call, UndoChange):
    """Arguments of ``undo_change``."""


def add_project_history(server: TaskServer, registry: ProjectRegistry) -> None:
    """Publish ``task_history`` and ``undo_change`` over the project that a call names."""

    def find(arguments: Arguments) -> ProjectHistory:
        assert isinstance(arguments, Call)  # noqa: S101 - for the type checker: both kinds are calls
        tag = getattr(arguments, "tag", None)
        return ProjectHistory(Target(registry, arguments.project_root, arguments.file, tag))

    add_history_tools(server, find, _ProjectHistoryCall, _ProjectUndoCall)

"""The sets of tools that ``TASK_EXTRA_TOOLS`` adds, with the project and the tag as every tool takes them (AG-1)."""

from collections.abc import Container

from task_core.fields import Arguments
from task_core.models import Clock
from task_core.server.app import TaskServer
from task_core.server.brief_tool import add_brief_tool
from task_core.server.claim_tools import ClaimTask, ReleaseTask, add_claim_tools
from task_core.server.task_history import TaskHistory, UndoChange, add_history_tools
from task_core.view import Briefed
from taskmaster_mcp.direct.claiming import ProjectClaiming
from taskmaster_mcp.direct.registry import ProjectRegistry, Target
from taskmaster_mcp.direct.undoing import ProjectHistory
from taskmaster_mcp.tools.arguments import Call, TagCall

__all__ = ["add_extra_set"]


class _ProjectHistoryCall(TagCall, TaskHistory):
    """Arguments of ``task_history``."""


class _ProjectUndoCall(Call, UndoChange):
    """Arguments of ``undo_change``."""


class _ProjectClaimCall(TagCall, ClaimTask):
    """Arguments of ``claim_task``."""


class _ProjectReleaseCall(TagCall, ReleaseTask):
    """Arguments of ``release_task``."""


def add_extra_set(
    server: TaskServer, chosen: Container[str], registry: ProjectRegistry, view: Briefed, clock: Clock
) -> None:
    """Publish the ``chosen`` sets of tools over the project that a call names, after all other tools."""
    if "history" in chosen:
        kinds = _ProjectHistoryCall, _ProjectUndoCall
        add_history_tools(server, lambda call: ProjectHistory(_find(registry, call)), *kinds)
    if "brief" in chosen:
        add_brief_tool(server, lambda: view, clock)
    if "claims" in chosen:  # last: it changes the tools that are there
        add_claim_tools(
            server, lambda call: ProjectClaiming(_find(registry, call)), _ProjectClaimCall, _ProjectReleaseCall
        )


def _find(registry: ProjectRegistry, arguments: Arguments) -> Target:
    assert isinstance(arguments, Call)  # noqa: S101 - for the type checker: all kinds are calls
    return Target(registry, arguments.project_root, arguments.file, getattr(arguments, "tag", None))

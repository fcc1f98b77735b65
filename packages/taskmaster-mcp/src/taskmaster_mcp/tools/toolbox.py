"""The shape of every answer and error, and the tools that a server offers (TM-4, TM-8, TM-9, TM-12, AG-1)."""

from collections.abc import Callable, Collection, Container
from inspect import signature
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, JsonValue

from task_core import errors
from task_core.bounds import fit
from task_core.claims.claim import ClaimLost, NotClaimed, TaskClaimed
from task_core.errors import TaskError
from task_core.fields import Arguments
from task_core.models import Clock
from task_core.server import extra_tools
from task_core.server.app import TaskServer
from task_core.server.faults import AnswerForm, Workers, render_error
from task_core.server.progress import report_progress
from task_core.store.undo import ChangeNotFound, NotUndone
from task_core.view import Briefed
from taskmaster_mcp.direct.extras import ProjectClaiming, ProjectHistory
from taskmaster_mcp.direct.operations import Progress
from taskmaster_mcp.direct.registry import DirectResult, ProjectRegistry, Target
from taskmaster_mcp.errors import CORE, INPUT, UNEXPECTED, SubtaskNotFound, TaskmasterError
from taskmaster_mcp.settings import ALIASES, SETS, describe_set, name_sets
from taskmaster_mcp.tools.arguments import Call, TagCall

__all__ = ["REASONS", "CodedError", "Tool", "ToolAnswer", "add_extra_set", "make_form", "publish_tool", "run_tool"]

REASONS: Final[dict[type[TaskError], tuple[str, str]]] = {
    errors.DuplicateId: (CORE, "TASK_ALREADY_EXISTS"),
    errors.DuplicateKey: (INPUT, "DUPLICATE_KEY"),
    errors.InternalError: (UNEXPECTED, ""),
    errors.InvalidArguments: (INPUT, ""),
    errors.InvalidTransition: (CORE, ""),
    errors.ResourceNotFound: (INPUT, ""),
    errors.StoreDamaged: (CORE, "INVALID_TASKS_FILE"),
    errors.StoreLocked: (CORE, "STORE_LOCKED"),
    errors.StoreNewer: (CORE, "INVALID_TASKS_FILE"),
    errors.StoreUnreadable: (CORE, "STORE_UNREADABLE"),
    errors.StoreWriteFailed: (CORE, "STORE_WRITE_FAILED"),
    ChangeNotFound: (CORE, "CHANGE_NOT_FOUND"),
    ClaimLost: (CORE, "CLAIM_LOST"),
    NotClaimed: (CORE, "NOT_CLAIMED"),
    NotUndone: (CORE, "NOT_UNDONE"),
    SubtaskNotFound: (CORE, "SUBTASK_NOT_FOUND"),
    TaskClaimed: (CORE, "TASK_CLAIMED"),
    errors.TaskNotFound: (CORE, "TASK_NOT_FOUND"),
    errors.UnknownPrompt: (INPUT, ""),
    errors.UnknownTool: (INPUT, "UNKNOWN_TOOL"),
}
"""The code and the reason of each error of the core."""


class CodedError(TaskmasterError):
    """An error of the core, with the code and the reason that clients see."""

    def __init__(self, error: TaskError) -> None:
        self.kind, self.reason = REASONS[type(error)]
        super().__init__(error.message, error.details)


def make_form(offered: Collection[str]) -> AnswerForm:
    """Return the form of answers and errors of a server with the tools ``offered`` (TM-8, TM-9)."""

    def translate(error: TaskError) -> TaskmasterError:
        found = error if isinstance(error, TaskmasterError) else CodedError(error)
        found.message = name_sets(found.message, offered)
        name = str(found.details.get("name"))
        tool = ALIASES.get(name, name)
        if isinstance(error, errors.UnknownTool) and tool in SETS["all"]:
            found.message = f"Unknown tool '{name}': it is {describe_set(tool)}."
        return found

    return AnswerForm("data", translate, lambda error: {"fromCache": False, **render_error(error)})


class Tool(NamedTuple):
    """A tool as clients see it, and the direct function that does its work."""

    direct: Callable[..., DirectResult]
    call: type[Call]
    about: str = ""
    """what it does, if that is not the docstring of its arguments"""
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    whole: bool = False
    """true if its data are not cut if they are long: one task in full, or a document"""

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.direct.__name__.removesuffix("_direct")


class ToolAnswer(BaseModel):
    """The answer of a tool."""

    model_config = ConfigDict(extra="forbid")

    fromCache: bool  # noqa: N815 - the name that clients see
    data: dict[str, JsonValue]


def publish_tool(server: TaskServer, registry: ProjectRegistry, tool: Tool) -> None:
    """Publish a tool, which calls its direct function with the values of its arguments."""

    def answer(arguments: Call) -> ToolAnswer:
        result = run_tool(registry, tool, arguments)
        if result.error is not None:
            raise result.error
        return ToolAnswer(fromCache=result.from_cache, data=result.data)

    answer.__name__, answer.__doc__ = tool.name, tool.about or tool.call.__doc__
    answer.__annotations__ = {"arguments": tool.call, "return": ToolAnswer}
    server.tool(
        read_only=tool.read_only,
        destructive=tool.destructive,
        idempotent=tool.read_only or tool.idempotent,
        whole=tool.whole,
    )(answer)


def run_tool(registry: ProjectRegistry, tool: Tool, arguments: Call) -> DirectResult:
    """Return the result of a call, or at once how to ask for it (TM-78)."""
    target, names = _find(registry, arguments), [*signature(tool.direct).parameters][1:]
    given: dict[str, Any] = arguments.values(name for name in names if name != "progress")

    def work(progress: Progress) -> DirectResult:
        return tool.direct(target, **given, **({"progress": progress} if "progress" in names else {}))

    if not arguments.is_background:
        return work(report_progress)
    _ = target.project, target.tag  # those of now, whatever becomes the current tag meanwhile

    def operation(progress: Progress) -> tuple[JsonValue, JsonValue]:
        try:
            result = Workers.run_here("An operation", lambda: work(progress))
        except TaskError as fault:
            result = DirectResult(error=fault)
        form = make_form(registry.offered)
        error = form.render(form.translate(result.error))["error"] if result.error else None
        return fit(result.data), error

    message = target.advise("Accepted. Call get_operation_status with the operationId to see its state.")
    return DirectResult({**registry.operations.start(operation), "message": message})


class _ProjectHistoryCall(TagCall, extra_tools.TaskHistory):
    """Arguments of ``task_history``."""


class _ProjectUndoCall(Call, extra_tools.UndoChange):
    """Arguments of ``undo_change``."""


class _ProjectClaimCall(TagCall, extra_tools.ClaimTask):
    """Arguments of ``claim_task``."""


class _ProjectReleaseCall(TagCall, extra_tools.ReleaseTask):
    """Arguments of ``release_task``."""


def add_extra_set(
    server: TaskServer, chosen: Container[str], registry: ProjectRegistry, view: Briefed, clock: Clock
) -> None:
    """Publish the ``chosen`` sets of tools over the project that a call names, after all other tools."""
    if "history" in chosen:
        kinds = _ProjectHistoryCall, _ProjectUndoCall
        extra_tools.add_history_tools(server, lambda call: ProjectHistory(_find(registry, call)), *kinds)
    if "brief" in chosen:
        extra_tools.add_brief_tool(server, lambda: view, clock)
    if "claims" in chosen:  # last: it changes the tools that are there
        extra_tools.add_claim_tools(
            server, lambda call: ProjectClaiming(_find(registry, call)), _ProjectClaimCall, _ProjectReleaseCall
        )


def _find(registry: ProjectRegistry, arguments: Arguments) -> Target:
    assert isinstance(arguments, Call)  # noqa: S101 - for the type checker: all kinds are calls
    return Target(registry, arguments.project_root, arguments.file, getattr(arguments, "tag", None))

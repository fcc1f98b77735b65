"""The shape of every answer, and the tools that a server offers (TM-4, TM-8, TM-9)."""

from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, JsonValue

from task_core.bounds import fit
from task_core.errors import TaskError
from task_core.server.app import TaskServer
from task_core.server.faults import Workers
from task_core.server.progress import report_progress
from taskmaster_mcp.direct.operations import Progress
from taskmaster_mcp.direct.registry import ProjectRegistry, Target
from taskmaster_mcp.direct.results import DirectResult
from taskmaster_mcp.error_codes import make_form
from taskmaster_mcp.tools.arguments import Call

__all__ = ["Tool", "ToolAnswer", "publish_tool", "run_tool"]


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
    given: dict[str, Any] = arguments.values

    def work(progress: Progress) -> DirectResult:
        reporting = {"progress": progress} if arguments.reports_progress else {}
        return tool.direct(target, **given, **reporting)

    target = Target(registry, arguments.project_root, arguments.file, getattr(arguments, "tag", None))
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

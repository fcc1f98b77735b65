"""The shape of every answer, and the tools that a server offers (TM-4, TM-8, TM-9)."""

from collections.abc import Callable, Collection
from functools import wraps
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from task_core.bounds import fit
from task_core.errors import TaskError
from task_core.server.app import TaskServer
from task_core.server.faults import Workers
from task_core.server.progress import report_progress
from taskmaster_mcp.direct.operations import Progress
from taskmaster_mcp.direct.registry import ProjectRegistry, Scope
from taskmaster_mcp.direct.results import DirectResult
from taskmaster_mcp.error_codes import FORM

__all__ = ["Function", "ToolAnswer", "Toolbox"]

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)

Function = Callable[[ArgumentsT], DirectResult]
"""A tool: its name and its docstring are what clients see."""


class ToolAnswer(BaseModel):
    """The answer of a tool."""

    model_config = ConfigDict(extra="forbid")

    fromCache: bool  # noqa: N815 - the name that clients see
    data: dict[str, JsonValue]


class Toolbox:
    """Publishes the tools that were chosen, and lets them go on in the background."""

    def __init__(self, server: TaskServer, registry: ProjectRegistry, chosen: Collection[str]) -> None:
        self.registry = registry
        self._server = server
        self._chosen = chosen

    def tool(
        self, *, read_only: bool = False, destructive: bool = False, idempotent: bool = False, whole: bool = False
    ) -> Callable[[Function[ArgumentsT]], Function[ArgumentsT]]:
        """Publish the function below if its name was chosen.

        Its data are cut if they are too long, unless they are ``whole``: one task in full, or a document.
        """
        publish = self._server.tool(read_only=read_only, destructive=destructive, idempotent=idempotent, whole=whole)

        def offer(function: Function[ArgumentsT]) -> Function[ArgumentsT]:
            @wraps(function)
            def answer(arguments: ArgumentsT) -> ToolAnswer:
                result = function(arguments)
                if result.error is not None:
                    raise result.error
                return ToolAnswer(fromCache=result.from_cache, data=result.data)

            answer.__annotations__ = {**function.__annotations__, "return": ToolAnswer}
            if function.__name__ in self._chosen:
                publish(answer)
            return function

        return offer

    def run(self, work: Callable[[Scope, Progress], DirectResult], scope: Scope, *, background: bool) -> DirectResult:
        """Return the result of ``work``, or at once how to ask for it (TM-78).

        Work in the background keeps to the project and the tag of now, whatever becomes the current tag meanwhile.
        """
        if not background:
            return work(scope, report_progress)
        project, tag = self.registry.open(scope)
        scope = Scope(str(project.root), scope.file, tag)

        def operation(progress: Progress) -> tuple[JsonValue, JsonValue]:
            try:
                result = Workers.run_here("An operation", lambda: work(scope, progress))
            except TaskError as fault:
                result = DirectResult(error=fault)
            error = FORM.render(FORM.translate(result.error))["error"] if result.error else None
            return fit(result.data), error

        return DirectResult(self.registry.operations.start(operation))

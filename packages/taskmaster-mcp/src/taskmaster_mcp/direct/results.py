"""The results of direct functions, which never raise (TM-1, TM-2)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Concatenate, ParamSpec

from task_core.errors import TaskError
from taskmaster_mcp.core.items import JsonObject
from taskmaster_mcp.direct.registry import ProjectRegistry

__all__ = ["DirectResult", "direct"]

P = ParamSpec("P")


@dataclass(frozen=True)
class DirectResult:
    """The result of a direct function: data, or an error."""

    data: JsonObject = field(default_factory=dict)
    error: TaskError | None = None
    from_cache: bool = False


def direct(
    function: Callable[Concatenate[ProjectRegistry, P], DirectResult],
) -> Callable[Concatenate[ProjectRegistry, P], DirectResult]:
    """Make a direct function of ``function``: what it raises becomes its result."""

    @wraps(function)
    def call(registry: ProjectRegistry, *args: P.args, **kwargs: P.kwargs) -> DirectResult:
        try:
            return function(registry, *args, **kwargs)
        except TaskError as error:
            return DirectResult(error=error)

    return call

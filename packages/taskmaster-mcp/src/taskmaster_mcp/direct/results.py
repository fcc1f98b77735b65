"""The frame of direct functions: each returns a result and never raises (TM-1, TM-2)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Concatenate, ParamSpec

from task_core.errors import TaskError
from taskmaster_mcp.core.items import JsonObject
from taskmaster_mcp.direct.registry import Target

__all__ = ["DirectResult", "cached", "direct"]

P = ParamSpec("P")


@dataclass(frozen=True)
class DirectResult:
    """The result of a direct function: data, or an error."""

    data: JsonObject = field(default_factory=dict)
    error: TaskError | None = None
    from_cache: bool = False


def direct(
    function: Callable[Concatenate[Target, P], JsonObject],
) -> Callable[Concatenate[Target, P], DirectResult]:
    """Make a direct function of ``function``: an error becomes its result."""

    @wraps(function)
    def call(target: Target, *args: P.args, **kwargs: P.kwargs) -> DirectResult:
        try:
            return DirectResult(function(target, *args, **kwargs), from_cache=target.from_cache)
        except TaskError as error:
            return DirectResult(error=error)

    return call


def cached(
    function: Callable[Concatenate[Target, P], JsonObject],
) -> Callable[Concatenate[Target, P], JsonObject]:
    """Keep what ``function`` returns for the same arguments as long as the files of the project stay the same."""

    @wraps(function)
    def call(target: Target, *args: P.args, **kwargs: P.kwargs) -> JsonObject:
        project, tag = target.project, target.tag
        key = (function, project.root, project.path, tag, repr(kwargs))
        data, target.from_cache = target.registry.cache.get_cached_or_execute(
            key, lambda: project.revision(tag), lambda: function(target, *args, **kwargs)
        )
        return data

    return call

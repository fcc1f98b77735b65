"""One form for failures: a result for a tool call, and a JSON-RPC error for any other request (ERR-3)."""

from dataclasses import replace
from typing import Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import ValidationError
from starlette.requests import Request

from task_core.errors import ECHO_LIMIT, InvalidArguments, ResourceNotFound, TaskError, TaskNotFound, UnknownPrompt
from task_core.server.arguments import invalid_arguments
from task_core.text import shorten

__all__ = ["SCOPE_KEY", "as_mcp_error", "guard", "offence_in"]

SCOPE_KEY: Final = "task_core.offence"
"""The key in the scope of a request under which the HTTP transport puts an offence."""

_CLIENT_ERRORS: Final = (InvalidArguments, ResourceNotFound, TaskNotFound, UnknownPrompt)
"""The errors that the client can avoid by asking for something else."""


def offence_in(request: object) -> TaskError | None:
    """Return the fault in the text of a call, such as a repeated key, that is invisible once the text is parsed.

    The transport carries it past the SDK, as the context of ``request``, to the place that answers the call.
    """
    carried = request.scope.get(SCOPE_KEY) if isinstance(request, Request) else request
    return carried if isinstance(carried, TaskError) else None


def as_mcp_error(error: TaskError) -> MCPError:
    """Return the JSON-RPC error for a failed request other than a tool call, with our error code."""
    code = INVALID_PARAMS if isinstance(error, _CLIENT_ERRORS) else INTERNAL_ERROR
    return MCPError(code, error.message, {"code": error.code, **error.details})


async def guard(ctx: ServerRequestContext[None], call_next: CallNext) -> HandlerResult:
    """Let a malformed tool call reach its handler, which answers it, and say what is wrong with other requests.

    Raises:
        MCPError: the SDK refused the request; bad parameters have the code ``InvalidArguments`` in their data, and at
            most ``ECHO_LIMIT`` characters of what the client sent are repeated (TOOL-3).
    """
    try:
        return await call_next(_answerable(ctx) if ctx.method == "tools/call" else ctx)
    except ValidationError as error:
        raise as_mcp_error(invalid_arguments(error, {})) from None
    except MCPError as error:
        code, data = error.error.code, error.error.data
        if code == INVALID_PARAMS and not data:
            data = {"code": InvalidArguments.__name__}
        data = shorten(data, ECHO_LIMIT) if isinstance(data, str) else data
        raise MCPError(code, error.error.message, data) from None


def _answerable(ctx: ServerRequestContext[None]) -> ServerRequestContext[None]:
    params = ctx.params or {}
    wrong = list[tuple[str, str]]()
    if not isinstance(params.get("name"), str):
        wrong.append(("name", "Give the name of a tool."))
    if not (params.get("arguments") is None or isinstance(params["arguments"], dict)):
        wrong.append(("arguments", "Give a JSON object."))
    if not wrong:
        return ctx
    offence = offence_in(ctx.request) or InvalidArguments(wrong)
    return replace(ctx, params={**params, "name": "", "arguments": {}}, request=offence)

"""Middleware that gives what the SDK refuses the form that clients are promised (ERR-3)."""

from __future__ import annotations

from dataclasses import replace

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import ValidationError

from task_core.errors import ECHO_LIMIT, InvalidArguments
from task_core.server.arguments import invalid_arguments
from task_core.server.offence import Offence, offence_in
from task_core.text import shorten

__all__ = ["guard"]


async def guard(ctx: ServerRequestContext[None], call_next: CallNext) -> HandlerResult:
    """Let a malformed tool call reach its handler, to be answered there, and say what is wrong with other requests.

    Raises:
        MCPError: the SDK refused the request; bad parameters have the code ``InvalidArguments`` in their data, and
            of what the client sent at most ``ECHO_LIMIT`` characters are repeated (TOOL-3).
    """
    try:
        return await call_next(_answerable(ctx) if ctx.method == "tools/call" else ctx)
    except ValidationError as error:
        reason = invalid_arguments(error, ctx.params or {}, {})
        raise MCPError(INVALID_PARAMS, reason.message, {"code": reason.code, **reason.details}) from None
    except MCPError as error:
        code, data = error.error.code, error.error.data
        if code == INVALID_PARAMS and not data:
            data = {"code": InvalidArguments.__name__}
        told = shorten(data, ECHO_LIMIT) if isinstance(data, str) else data
        raise MCPError(code, error.error.message, told) from None


def _answerable(ctx: ServerRequestContext[None]) -> ServerRequestContext[None]:
    params = ctx.params or {}
    wrong = []
    if not isinstance(params.get("name"), str):
        wrong.append(("name", "Give the name of a tool."))
    if params.get("arguments") is not None and not isinstance(params["arguments"], dict):
        wrong.append(("arguments", "Give a JSON object."))
    if not wrong:
        return ctx
    offence = offence_in(ctx.request) or InvalidArguments(wrong)
    return replace(ctx, params={**params, "name": "", "arguments": {}}, request=Offence(offence))

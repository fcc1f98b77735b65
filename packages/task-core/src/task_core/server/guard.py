"""Middleware that gives what the SDK refuses the form that clients are promised (ERR-3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import ValidationError

from task_core.errors import InvalidArguments
from task_core.server.arguments import invalid_arguments
from task_core.server.offence import Offence, offence_in

__all__ = ["guard"]


async def guard(context: ServerRequestContext[None, object], call_next: CallNext) -> HandlerResult:
    """Let a malformed tool call reach its handler, to be answered there, and say what is wrong in other requests.

    Raises:
        MCPError: the SDK refused the request; bad parameters have the code ``InvalidArguments`` in their data.
    """
    try:
        return await call_next(_answerable(context) if context.method == "tools/call" else context)
    except ValidationError as error:
        reason = invalid_arguments(error, context.params or {}, {})
        raise MCPError(INVALID_PARAMS, reason.message, {"code": reason.code, **reason.details}) from None
    except MCPError as error:
        if error.error.code == INVALID_PARAMS and not error.error.data:
            raise MCPError(INVALID_PARAMS, error.error.message, {"code": InvalidArguments.__name__}) from None
        raise


def _answerable(context: ServerRequestContext[None, object]) -> ServerRequestContext[None, object]:
    params = context.params or {}
    wrong = []
    if not isinstance(params.get("name"), str):
        wrong.append(("name", "Give the name of a tool."))
    if not isinstance(params.get("arguments"), Mapping | None):
        wrong.append(("arguments", "Give a JSON object."))
    if not wrong:
        return context
    offence = offence_in(context.request) or InvalidArguments(wrong)
    return replace(context, params={**params, "name": "", "arguments": {}}, request=Offence(offence))

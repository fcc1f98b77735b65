"""What a request that is no tool call is answered when it fails: a JSON-RPC error with the code of ours (ERR-3)."""

from __future__ import annotations

from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from task_core.errors import InvalidArguments, ResourceNotFound, TaskError, TaskNotFound, UnknownPrompt

__all__ = ["refused"]

_ASKED_WRONGLY: Final = (InvalidArguments, ResourceNotFound, TaskNotFound, UnknownPrompt)
"""The errors that the client can mend by asking for something else."""


def refused(error: TaskError) -> MCPError:
    """Return the error as the SDK sends it: -32602 for what was asked wrongly, -32603 for what failed on our side."""
    code = INVALID_PARAMS if isinstance(error, _ASKED_WRONGLY) else INTERNAL_ERROR
    return MCPError(code, error.message, {"code": error.code, **error.details})

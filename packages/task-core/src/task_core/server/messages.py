"""Reads one JSON-RPC message strictly: what the SDK would bend or drop in silence gets an answer (P1, ERR-3)."""

from __future__ import annotations

import json
import re
from typing import Final

from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import JsonValue, ValidationError

from task_core import strict_json
from task_core.errors import DuplicateKey, InvalidArguments, TaskError
from task_core.server.offence import Offence

__all__ = ["HEAD", "TAIL", "read_message", "too_long"]

HEAD: Final = 65_536
"""Bytes at the start of a bad message in which its id is looked for: reading on would take time that it is not worth."""

TAIL: Final = 1_024
"""Bytes at the end of a message that is too long in which its id is looked for; many clients write it last."""

_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]', re.DOTALL)
"""What opens or closes a level, and strings, which hide such characters; one that is not closed reaches to the end."""

_ID_VALUE: Final = re.compile(rb'\s*:\s*("(?:[^"\\]|\\.){0,200}"|-?\d{1,19})(?=\s*[,}])')
"""What follows the key ``id`` where the id can be told: text, or an integer."""

_LAST_ID: Final = re.compile(rb',\s*"id"\s*:\s*("[^"\\]{0,200}"|-?\d{1,19})\s*\}\s*\Z')
"""An id as the last member of the outermost object."""

```

"""The argument ``agent`` of the tools that change tasks: which of several agents in one process calls (AG-13)."""

import re
from typing import Final

import mcp_types

from task_core.errors import InvalidArguments
from task_core.server.schema import Schema

__all__ = ["add_agent", "take_agent"]

_NAME: Final = "agent"

_FORM: Final = re.compile(r"[\w.-]{1,60}|[\w.-]{0,60}#\d{1,18}")
"""The name of an agent or the token of its claim, which has no name if the agent gave none."""


def add_agent(schema: Schema) -> Schema:
    """Return the schema of a tool's arguments with the name of the agent."""
    named = {"type": "string", "description": "Your name"}
    return {**schema, "properties": {**schema["properties"], _NAME: named}}


def take_agent(params: mcp_types.CallToolRequestParams) -> tuple[mcp_types.CallToolRequestParams, str]:
    """Return a call without the name of its agent, and that name, which is empty if none was given.

    It raises ``InvalidArguments`` if the name has another form.
    """
    given = dict(params.arguments or {})
    if _NAME not in given:
        return params, ""
    agent = given.pop(_NAME)
    if not (isinstance(agent, str) and _FORM.fullmatch(agent)):
        raise InvalidArguments([(_NAME, "give a name for yourself, up to 60 letters, digits, '-', '_' or '.'")])
    return params.model_copy(update={"arguments": given}), agent

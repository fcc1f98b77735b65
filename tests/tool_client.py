"""Calls tools of a server in memory, over the SDK's own client."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any, Literal

import anyio
import mcp_types
from jsonschema import Draft202012Validator
from mcp.client import Client
from pydantic import JsonValue

from task_core.server.app import TaskServer

__all__ = ["Era", "OpenClient", "Roots", "ToolFailed", "call_tool", "tool_schemas"]

Era = Literal["auto", "legacy"]
"""Which era of the protocol the client speaks; ``auto`` is the modern one."""


_check_schema = Draft202012Validator.check_schema


@cache
def _check_once(schema: str) -> None:
    _check_schema(json.loads(schema))


# Each new client of the SDK checks the output schema of the tool that it calls, which takes most of a call's time.
setattr(Draft202012Validator, "check_schema", lambda schema: _check_once(json.dumps(schema)))  # noqa: B010


class ToolFailed(Exception):
    """The tool answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.details: dict[str, Any] = error["details"]

    @property
    def paths(self) -> list[str]:
        """The arguments that are wrong."""
        return [entry["path"] for entry in self.details["fields"]]


class Roots:
    """A client's answer to the question for its roots; it comes once it ``may_answer``."""

    def __init__(self, *uris: str) -> None:
        self.uris = uris
        self.asked = 0
        self.may_answer = anyio.Event()
        self.may_answer.set()

    async def __call__(self, context: object) -> mcp_types.ListRootsResult:
        del context
        self.asked += 1
        await self.may_answer.wait()
        # Without the model's own check, since a client may have anything as a root.
        return mcp_types.ListRootsResult(roots=[mcp_types.Root.model_construct(uri=uri) for uri in self.uris])


async def call_tool(
    server: TaskServer, tool: str, arguments: dict[str, JsonValue], era: Era = "auto"
) -> dict[str, Any]:
    """Call one tool over a client of its own and return the structured result.

    Raises:
        ToolFailed: the tool answered with an error.
    """
    async with Client(server.sdk, mode=era) as client:
        result = await client.call_tool(tool, arguments)
    return _content(result)


class OpenClient:
    """One client for all calls of a test: its first call reads every schema, which takes longer than the call itself.

    It opens with the first call and ends with the event loop of the test.
    """

    def __init__(self, server: TaskServer, era: Era = "auto") -> None:
        self.server = server
        self._era = era
        self._client: Client | None = None

    async def call(self, tool: str, arguments: dict[str, JsonValue]) -> dict[str, Any]:
        """Call one tool and return the structured result.

        Raises:
            ToolFailed: the tool answered with an error.
        """
        return _content(await self.result(tool, arguments))

    async def result(self, tool: str, arguments: dict[str, JsonValue]) -> mcp_types.CallToolResult:
        """Call one tool and return its whole result."""
        if self._client is None:
            opened = asyncio.get_running_loop().create_future()
            self._holder = asyncio.create_task(self._hold(opened))
            self._client = await opened
        return await self._client.call_tool(tool, arguments)

    async def close(self) -> None:
        """End the client before the event loop ends."""
        if self._client:
            self._client = None
            self._holder.cancel()
            await asyncio.wait([self._holder])

    async def _hold(self, opened: asyncio.Future[Client]) -> None:
        """Keep the client open in one task, as its cancel scopes ask, until the loop cancels what is left."""
        try:
            async with Client(self.server.sdk, mode=self._era) as client:
                opened.set_result(client)
                await asyncio.get_running_loop().create_future()
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)


def _content(result: mcp_types.CallToolResult) -> dict[str, Any]:
    content: dict[str, Any] | None = result.structured_content
    assert content is not None
    if result.is_error:
        raise ToolFailed(content["error"])
    return content


async def tool_schemas(server: TaskServer) -> dict[str, dict[str, Any]]:
    """Return the input schema of every tool, by its name."""
    async with Client(server.sdk) as client:
        return {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}

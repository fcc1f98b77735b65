"""The server that tools are defined on: closed, typed arguments in, one JSON object or one error out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from inspect import cleandoc
from typing import TypeVar, get_type_hints

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel, JsonValue

from task_core.errors import TaskError, UnknownTool
from task_core.server.arguments import read_arguments
from task_core.server.guard import guard
from task_core.server.offence import offence_in
from task_core.server.offers import offer
from task_core.server.prompts import Prompt
from task_core.server.resources import Board
from task_core.server.schema import Schema, input_schema, output_schema
from task_core.server.subscriptions import Subscriptions
from task_core.server.workers import Workers
from task_core.text import nearest
from task_core.warning_list import WarningList

__all__ = ["TaskServer"]

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)
ResultT = TypeVar("ResultT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class _Tool:
    definition: Tool
    run: Callable[[Mapping[str, JsonValue]], dict[str, JsonValue]]
    peek: Callable[[Mapping[str, JsonValue]], dict[str, JsonValue] | None] | None
    """Returns the result where it is at hand, else nothing."""


class TaskServer:
    """An MCP server whose tools are plain functions from one pydantic model to another.

    ``lifespan`` is entered before the first request and left after the last; ``close`` must end every wait
    for the store, so that no call holds up the end of the process (P3).
    """

    def __init__(
        self,
        name: str,
        *,
        title: str,
        version: str,
        instructions: str,
        warnings: WarningList,
        lifespan: Callable[[], AbstractAsyncContextManager[None]] | None = None,
        close: Callable[[], None] | None = None,
    ) -> None:
        self._warnings = warnings
        self._close = close
        self._tools: dict[str, _Tool] = {}
        self._workers = Workers()
        self._subscriptions: Subscriptions | None = None
        self._sdk: Server[None] = Server(
            name,
            title=title,
            version=version,
            instructions=instructions,
            lifespan=lambda _: nullcontext() if lifespan is None else lifespan(),
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        # The guard takes the place of the SDK's tracing, which costs time on every call and which nobody reads.
        self._sdk.middleware[:] = [guard]

    @property
    def sdk(self) -> Server[None]:
        """The SDK's server, for a transport to run or a test's client to connect to."""
        return self._sdk

    def close(self) -> None:
        """End every wait for the store and every stream of notifications; calls that wait fail."""
        if self._subscriptions is not None:
            self._subscriptions.close()
        if self._close is not None:
            self._close()

    def end(self) -> None:
        """Let the threads end that carry out calls; to be called once nothing is served any more."""
        self._workers.end()

    def tool(
        self,
        *,
        title: str,
        read_only: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        peek: Callable[[ArgumentsT], ResultT | None] | None = None,
    ) -> Callable[[Callable[[ArgumentsT], ResultT]], Callable[[ArgumentsT], ResultT]]:
        """Publish the function below as a tool: its name, its docstring, the schemas of its two models (TOOL-1).

        The function runs in a thread and may block. ``peek`` is asked before, in the event loop, and must neither read
        a file nor wait for anything: it returns the same result where that is at hand, since to change threads twice
        costs more than to look up one task. Tools are listed in the order of their definition.
        """
        annotations = ToolAnnotations(
            read_only_hint=read_only, destructive_hint=destructive, idempotent_hint=idempotent, open_world_hint=False
        )

        def publish(function: Callable[[ArgumentsT], ResultT]) -> Callable[[ArgumentsT], ResultT]:
            arguments_type, result_type = get_type_hints(function).values()
            schema = input_schema(arguments_type)

            def run(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
                result = function(read_arguments(arguments_type, arguments, schema))
                return result.model_dump(mode="json", by_alias=True)

            def look(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue] | None:
                result = peek and peek(read_arguments(arguments_type, arguments, schema))
                return None if result is None else result.model_dump(mode="json", by_alias=True)

            definition = Tool(
                name=function.__name__,
                title=title,
                description=cleandoc(function.__doc__ or ""),
                input_schema=schema,
                output_schema=output_schema(result_type),
                annotations=annotations,
            )
            self._tools[definition.name] = _Tool(definition, run, look if peek else None)
            return function

        return publish

    def offer(self, board: Board, *prompts: Prompt) -> None:
        """Publish the tasks as resources, and prompts to work on them, beside the tools (RES-1, PRM-1).

        Clients are told of changes after each successful call of a tool, as ``subscriptions`` says.
        """
        self._subscriptions = offer(self._sdk, self._workers, board, prompts)

    def _input_schema(self, name: str) -> Schema | None:
        tool = self._tools.get(name)
        return tool.definition.input_schema if tool else None

    async def _list(self, _: ServerRequestContext[None], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool.definition for tool in self._tools.values()])

    async def _call(self, context: ServerRequestContext[None], params: CallToolRequestParams) -> CallToolResult:
        try:
            tool, what = self._called(context, params.name), f"The tool {params.name}"
            arguments = params.arguments or {}
            result = self._workers.run_here(what, lambda: self._found(tool, arguments))
            if result is None:
                result = await self._workers.run(what, lambda: self._success(tool.run(arguments)))
        except TaskError as error:
            return self._failure(error)
        if self._subscriptions is not None:
            await self._subscriptions.tell()
        return result

    def _called(self, context: ServerRequestContext[None], name: str) -> _Tool:
        offence = offence_in(context.request)
        if offence is not None:
            raise offence
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownTool(name, nearest(name, self._tools))
        return tool

    def _found(self, tool: _Tool, arguments: Mapping[str, JsonValue]) -> CallToolResult | None:
        content = tool.peek(arguments) if tool.peek else None
        return None if content is None else self._success(content)

    def _success(self, content: dict[str, JsonValue]) -> CallToolResult:
        content = content | self._waiting_warnings()
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        text.encode()  # half a character fails here, where it costs one call, and not in the transport
        return CallToolResult(content=[TextContent(text=text)], structured_content=content)

    def _failure(self, error: TaskError) -> CallToolResult:
        content: dict[str, JsonValue] = {
            "error": {"code": error.code, "message": error.message, "details": error.details}
        }
        return CallToolResult(
            content=[TextContent(text=f"{error.code}: {error.message}")],
            structured_content=content | self._waiting_warnings(),
            is_error=True,
        )

    def _waiting_warnings(self) -> dict[str, JsonValue]:
        warnings = self._warnings.take()
        return {"warnings": list(warnings)} if warnings else {}

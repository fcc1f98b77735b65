"""The server that tools are defined on: closed, typed arguments in, one JSON object or one error out."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from inspect import cleandoc
from time import perf_counter
from typing import Final, NamedTuple, Self, TypeVar, get_type_hints

import mcp_types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from pydantic import BaseModel, JsonValue
from pydantic_core import to_json
from starlette.requests import Request

from task_core.bounds import MAX_ANSWER, WARNING_ROOM, fit
from task_core.errors import TaskError, UnknownTool
from task_core.server.faults import Workers, find_offence, guard, read_arguments
from task_core.server.progress import stream_progress
from task_core.server.prompts import Prompt, Prompts
from task_core.server.resources import Board, Resources
from task_core.server.schema import Schema, input_schema, output_schema
from task_core.server.subscriptions import Subscriptions
from task_core.text import nearest, shorten
from task_core.warning_list import WarningList

__all__ = ["TaskServer"]

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)
ResultT = TypeVar("ResultT", bound=BaseModel)

_log = logging.getLogger(__name__)


_ROOM: Final = MAX_ANSWER - WARNING_ROOM
"""Bytes of an answer without its warnings."""

_MAX_MESSAGE: Final = 8_000
"""Characters of an error in the text beside its structured form, which is cut in bytes."""

_KEY_SIZE: Final = len(',"warnings":')
"""Bytes that an answer with warnings has beside their list."""


class _Answer(NamedTuple):
    """The result of a tool, and the same as JSON."""

    content: dict[str, JsonValue]
    data: bytes

    @classmethod
    def of(cls, content: dict[str, JsonValue]) -> Self:
        # A lone surrogate fails here, where it costs one call, and not in the transport.
        return cls(content, to_json(content))


@dataclass(frozen=True, slots=True)
class _Tool:
    definition: mcp_types.Tool
    run: Callable[[Mapping[str, JsonValue]], _Answer]
    """returns an answer within its bounds"""
    is_read_only: bool
    is_quick: bool


class TaskServer:
    """An MCP server whose tools are plain functions from one pydantic model to another.

    ``lifespan`` is entered before the first request and left after the last; ``close`` must end every wait
    for the store, so that no call delays the end of the process (P3). ``is_at_hand`` returns whether a quick tool
    can be answered now without waiting for anything.
    """

    def __init__(
        self,
        name: str,
        *,
        title: str,
        version: str,
        instructions: str,
        warnings: WarningList,
        lifespan: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
        close: Callable[[], None] = lambda: None,
        is_at_hand: Callable[[], bool] = lambda: False,
    ) -> None:
        self._warnings = warnings
        self.close = close
        """ends every wait for the store; waiting calls fail"""
        self._translate: Callable[[TaskError], TaskError] | None = None
        self._failure_fields: Mapping[str, JsonValue] = {}
        self._aliases: dict[str, str] = {}
        self._is_at_hand = is_at_hand
        self._tools: dict[str, _Tool] = {}
        self._workers = Workers()
        self._subscriptions: Subscriptions | None = None
        self.sdk: Server[None] = Server(
            name,
            title=title,
            version=version,
            instructions=instructions,
            lifespan=lambda _: lifespan(),
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        """the SDK's server, for a transport to run or a test's client to connect to"""
        # The guard replaces the SDK's tracing, which costs time on every call and which nobody reads.
        self.sdk.middleware[:] = [guard]

    def end_streams(self) -> None:
        """End every stream of notifications with its final answer."""
        if self._subscriptions is not None:
            self._subscriptions.close()

    def end(self) -> None:
        """Let the threads that carry out calls end; call this once nothing is served any more."""
        self._workers.end()

    def tool(
        self,
        *,
        title: str | None = None,
        read_only: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        quick: bool = False,
        whole: bool = False,
        uncut: Sequence[str] = (),
        cut_in: str = "",
    ) -> Callable[[Callable[[ArgumentsT], ResultT]], Callable[[ArgumentsT], ResultT]]:
        """Publish the function below as a tool: its name, its docstring, the schemas of its two models (TOOL-1).

        The function runs in a thread, may block, and may call ``report_progress``. A ``quick`` one runs in the event
        loop if its data is at hand, since changing threads twice costs more than looking up one task. Tools are listed
        in the order of their definition.

        An answer that is too long is cut, except for its ``uncut`` fields, which are bounded themselves; ``whole`` is
        for a tool that answers with one named task in full (TOOL-9). An answer that is an envelope is ``cut_in`` its
        member of this name.
        """
        annotations = mcp_types.ToolAnnotations(
            read_only_hint=read_only, destructive_hint=destructive, idempotent_hint=idempotent, open_world_hint=False
        )

        def publish(function: Callable[[ArgumentsT], ResultT]) -> Callable[[ArgumentsT], ResultT]:
            arguments_type, result_type = get_type_hints(function).values()
            schema = input_schema(arguments_type)

            def run(arguments: Mapping[str, JsonValue]) -> _Answer:
                result = function(read_arguments(arguments_type, arguments, schema))
                answer = _Answer.of(result.model_dump(mode="json", by_alias=True))
                is_short = whole or len(answer.data) <= _ROOM
                return answer if is_short else _Answer.of(_cut(answer.content, uncut, cut_in))

            definition = mcp_types.Tool(
                name=function.__name__,
                title=title,
                description=cleandoc(function.__doc__ or ""),
                input_schema=schema,
                output_schema=output_schema(result_type),
                annotations=annotations,
            )
            self._tools[definition.name] = _Tool(definition, run, read_only, quick)
            return function

        return publish

    def translate_errors(self, translate: Callable[[TaskError], TaskError], fields: Mapping[str, JsonValue]) -> None:
        """Answer a failed call with the error that ``translate`` returns for its own, and with ``fields`` beside it."""
        self._translate = translate
        self._failure_fields = fields

    def alias(self, name: str, tool: str) -> None:
        """Let clients call ``tool`` by another ``name``, which is not listed."""
        self._aliases[name] = tool

    def offer(self, board: Board, *prompts: Prompt) -> None:
        """Publish the tasks as resources, and prompts to work on them, beside the tools (RES-1, PRM-1).

        Clients are notified of changes after each successful tool call, as ``subscriptions`` describes.
        """
        resources, offered = Resources(board, self._workers), Prompts(prompts)
        self._subscriptions = subscriptions = Subscriptions(board.store, self._workers)
        self.sdk.middleware.append(_advertise)
        add = self.sdk.add_request_handler
        add("resources/list", mcp_types.PaginatedRequestParams, resources.list)
        add("resources/templates/list", mcp_types.PaginatedRequestParams, resources.templates)
        add("resources/read", mcp_types.ReadResourceRequestParams, resources.read)
        add("resources/subscribe", mcp_types.SubscribeRequestParams, subscriptions.subscribe)
        add("resources/unsubscribe", mcp_types.UnsubscribeRequestParams, subscriptions.unsubscribe)
        add("subscriptions/listen", mcp_types.SubscriptionsListenRequestParams, subscriptions.listen)
        add("prompts/list", mcp_types.PaginatedRequestParams, offered.list)
        add("prompts/get", mcp_types.GetPromptRequestParams, offered.get)
        add("completion/complete", mcp_types.CompleteRequestParams, resources.complete)

    def _input_schema(self, name: str) -> Schema | None:
        tool = self._tool(name)
        return tool.definition.input_schema if tool else None

    def _tool(self, name: str) -> _Tool | None:
        return self._tools.get(self._aliases.get(name, name))

    async def _list(
        self, _: ServerRequestContext[None], __: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=[tool.definition for tool in self._tools.values()])

    async def _call(
        self, context: ServerRequestContext[None], params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        start, outcome = perf_counter(), "cancelled"
        try:
            answer = await self._answer(context, params)
            outcome = "ok"
            return self._success(answer)
        except TaskError as error:
            outcome = error.code
            return self._failure(error)
        finally:
            tool = self._tool(params.name)
            name = tool.definition.name if tool else "invalid call"  # no text of the client (CLI-4)
            _log.info("%s: %s in %.1f ms", name, outcome, (perf_counter() - start) * 1000)

    async def _answer(self, context: ServerRequestContext[None], params: mcp_types.CallToolRequestParams) -> _Answer:
        tool, what = self._find_tool(context, params.name), f"The tool {params.name}"
        work = partial(tool.run, params.arguments or {})
        if tool.is_quick and self._is_at_hand():
            return self._workers.run_here(what, work)
        is_heard = (context.meta or {}).get("progress_token") is not None
        async with stream_progress(context, work) if is_heard else nullcontext(work) as reporting:
            answer = await self._workers.run(what, reporting, is_read_only=tool.is_read_only)
        if self._subscriptions is not None and not tool.is_read_only:
            self._subscriptions.due.set()
        return answer

    def _find_tool(self, context: ServerRequestContext[None], name: str) -> _Tool:
        offence = find_offence(context.request)
        if offence is not None:
            raise offence
        tool = self._tool(name)
        if tool is None:
            raise UnknownTool(name, nearest(name, self._tools))
        return tool

    # Warnings are taken here, not in the thread: those of a call that is cancelled wait for the next answer (WARN-2).

    def _success(self, answer: _Answer) -> mcp_types.CallToolResult:
        if warnings := self._warnings.take(max(MAX_ANSWER - len(answer.data), WARNING_ROOM) - _KEY_SIZE):
            answer = _Answer.of({**answer.content, "warnings": [*warnings]})
        text = answer.data.decode()
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(text=text)], structured_content=answer.content)

    def _failure(self, error: TaskError) -> mcp_types.CallToolResult:
        error = self._translate(error) if self._translate else error
        content: dict[str, JsonValue] = {
            **self._failure_fields,
            "error": {"code": error.code, "message": error.message, "details": error.details},
        }
        content = fit(content, _ROOM)
        text = f"{error.code}: {shorten(error.message, _MAX_MESSAGE)}"
        if warnings := self._warnings.take(WARNING_ROOM - _KEY_SIZE):
            content = {**content, "warnings": [*warnings]}
            text = "\n".join([text, *(f"Warning: {warning}" for warning in warnings)])
        return mcp_types.CallToolResult(
            content=[mcp_types.TextContent(text=text)], structured_content=content, is_error=True
        )


def _cut(content: dict[str, JsonValue], uncut: Sequence[str], member: str) -> dict[str, JsonValue]:
    inner = content.get(member)
    if not isinstance(inner, dict):
        return fit(content, _ROOM, keep=uncut)
    return {**content, member: fit(inner, _ROOM - len(to_json({**content, member: {}})), keep=uncut)}


async def _advertise(ctx: ServerRequestContext[None], call_next: CallNext) -> HandlerResult:
    """Advertise the notifications that the server sends, and no others.

    In the older era that is possible on stdio only. The lists of tools and prompts never change.
    """
    result = await call_next(ctx)
    if ctx.method in {"initialize", "server/discover"} and isinstance(result, dict):
        is_heard = ctx.method != "initialize" or not isinstance(ctx.request, Request)
        unchanging = {"listChanged": False}
        result["capabilities"] |= {"tools": unchanging, "prompts": unchanging}
        result["capabilities"]["resources"] = {"subscribe": is_heard, "listChanged": is_heard}
    return result

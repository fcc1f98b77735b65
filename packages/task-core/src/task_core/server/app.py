"""The server that tools are defined on: closed, typed arguments in, one JSON object or one error out."""

import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from inspect import cleandoc, iscoroutinefunction
from time import perf_counter
from typing import Any, TypeVar, get_type_hints

import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from pydantic import BaseModel, JsonValue
from starlette.requests import Request

from task_core.errors import TaskError, UnknownTool
from task_core.fields import warn_of_joined_items
from task_core.history.changes import made_by, name_client
from task_core.moving import Mover
from task_core.server import faults
from task_core.server.faults import AnswerForm, RenderedAnswer, Workers
from task_core.server.progress import stream_progress
from task_core.server.prompts import Prompt, Prompts
from task_core.server.resources import Resources, TaskResources, advertise
from task_core.server.schema import Schema, add_agent, input_schema, output_schema, take_agent
from task_core.server.subscriptions import Subscriptions
from task_core.store.base import WatchedStore
from task_core.store.claiming import Claiming
from task_core.store.undo import History
from task_core.text import nearest
from task_core.warning_list import WarningList

__all__ = ["TaskServer", "Work"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., BaseModel | Awaitable[BaseModel]])

_log = logging.getLogger(__name__)

Work = Callable[[], RenderedAnswer | Awaitable[RenderedAnswer]]
"""A call as it is carried out."""


@dataclass(frozen=True, slots=True)
class _Tool:
    definition: mcp_types.Tool
    run: Callable[[Mapping[str, JsonValue]], RenderedAnswer | Awaitable[RenderedAnswer]]
    """returns an answer within its bounds"""
    is_read_only: bool
    is_quick: bool


class TaskServer:
    """An MCP server whose tools are plain functions from one pydantic model to another.

    ``lifespan`` surrounds all requests; ``close`` must end every wait for the store, so that no call delays the end of
    the process (P3). ``can_answer_now`` returns whether a quick tool can be answered without waiting for anything.
    """

    find_mover: Callable[[], Mover[Any]] | None = None
    find_history: Callable[[], History] | None = None
    find_claiming: Callable[[], Claiming] | None = None
    _has_agents = False

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
        can_answer_now: Callable[[], bool] = lambda: False,
    ) -> None:
        self._warnings = warnings
        self.close = close
        """ends every wait for the store; waiting calls fail"""
        self.form = AnswerForm()
        """the form of answers, if it differs from that of other servers"""
        self._aliases: dict[str, str] = {}
        self.store: WatchedStore | None = None
        """the store of the tasks, once they are offered, unless it is found later"""
        self.read_brief: Callable[[], str] | None = None
        """returns the content of ``tasks://brief``, if that is offered"""
        self.note_call: Callable[[str, str, float], None] = lambda name, outcome, seconds: _log.info(
            "%s: %s in %.1f ms", name, outcome, seconds * 1000
        )
        """notes the tool, the outcome and the seconds of each call"""
        self.wrap_change: Callable[[mcp_types.CallToolRequestParams, Work], Work] = lambda _, work: work
        """returns how a call of a tool that may change the tasks is carried out"""
        self._can_answer_now = can_answer_now
        self._tools: dict[str, _Tool] = {}
        self.workers = Workers()
        """carry out the calls; their threads may be those of another server"""
        self._subscriptions: Subscriptions | None = None
        self.sdk: Server[None] = Server(
            name,
            title=title,
            version=version,
            instructions=instructions,
            lifespan=lambda _: lifespan(),
            get_tool_input_schema=self.input_schema,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        """the SDK's server, for a transport to run or a test's client to connect to"""
        # The SDK's tracing costs time on every call, so it stays only where somebody asks for it (HO-7).
        is_traced = any(name.startswith("OTEL_") for name in os.environ)
        self.sdk.middleware[:] = [*(self.sdk.middleware if is_traced else ()), faults.guard]

    def end_streams(self) -> None:
        """End every stream of notifications with its final answer."""
        if self._subscriptions is not None:
            self._subscriptions.close()

    def end(self) -> None:
        """Let the threads that carry out calls end; call this once nothing is served any more."""
        self.workers.end()

    def is_read_only(self, tool: str) -> bool:
        """Return whether a tool changes nothing, as one that does not exist."""
        found = self.find_tool(tool)
        return found is None or found.is_read_only

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
        open_world: bool = False,
    ) -> Callable[[FunctionT], FunctionT]:
        """Publish the function below as a tool: its name, its docstring, the schemas of its two models (TOOL-1).

        It runs in a thread, may block, and may call ``report_progress``; a ``quick`` one runs in the event loop if its
        data is at hand, and a coroutine function always does, and is cancelled with its call. An answer that is too
        long is cut, except for its ``uncut`` fields, which are bounded themselves; ``whole`` is for a tool that answers
        with one named task in full (TOOL-9). A tool of an ``open_world`` reaches beyond its own store.
        """
        annotations = mcp_types.ToolAnnotations(
            read_only_hint=read_only,
            destructive_hint=destructive,
            idempotent_hint=idempotent,
            open_world_hint=open_world,
        )

        def publish(function: FunctionT) -> FunctionT:
            arguments_type, result_type = get_type_hints(function).values()
            schema = input_schema(arguments_type)
            read = partial(faults.read_arguments, arguments_type, schema=schema)

            def render(result: BaseModel) -> RenderedAnswer:
                answer = RenderedAnswer.of(result.model_dump(mode="json", by_alias=True))
                return answer if whole else answer.cut(uncut, self.form.envelope)

            def run(arguments: Mapping[str, JsonValue]) -> RenderedAnswer:
                return render(faults.repeat_after_edits(function, read(arguments)))

            async def await_result(arguments: Mapping[str, JsonValue]) -> RenderedAnswer:
                return render(await function(read(arguments)))

            definition = mcp_types.Tool(
                name=function.__name__,
                title=title,
                description=cleandoc(function.__doc__ or ""),
                input_schema=schema,
                output_schema=output_schema(result_type),
                annotations=annotations,
            )
            carry_out = await_result if iscoroutinefunction(function) else run
            self._tools[definition.name] = _Tool(definition, carry_out, read_only, quick)
            return function

        return publish

    def alias(self, name: str, tool: str) -> None:
        """Let clients call ``tool`` by another ``name``, which is not listed."""
        self._aliases[name] = tool

    def offer(
        self,
        tasks: TaskResources,
        *prompts: Prompt,
        on_subscribers_changed: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """Publish the tasks as resources, and prompts to work on them, beside the tools (RES-1, PRM-1).

        Clients are notified of changes in the store of ``tasks``, and of those that are reported to ``changed``. The
        event loop calls ``on_subscribers_changed`` as ``Subscriptions`` does.
        """
        resources, offered = Resources(tasks, self.workers, self.read_brief), Prompts(prompts)
        self.store = None if callable(tasks.store) else tasks.store
        self._subscriptions = subscriptions = Subscriptions(tasks.find_store, self.workers, on_subscribers_changed)
        self.sdk.middleware.append(partial(advertise, tasks.list_tool))
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

    def name_agents(self) -> None:
        """Let every tool take the name of the ``agent`` that calls; those that change something say so."""
        self._has_agents = True
        for name, tool in self._tools.items():
            if not tool.is_read_only:
                changes = {"input_schema": add_agent(tool.definition.input_schema)}
                self._tools[name] = replace(tool, definition=tool.definition.model_copy(update=changes))

    async def changed(self, *ids: str, resized: bool = False) -> None:
        """Notify clients that these tasks have changed, which no store shows; ``resized``: their number has, too."""
        if self._subscriptions is not None:
            await self._subscriptions.report(ids, resized=resized)

    def input_schema(self, name: str) -> Schema | None:
        """Return the schema of a tool's arguments, or None if the tool does not exist."""
        tool = self.find_tool(name)
        return tool.definition.input_schema if tool else None

    def find_tool(self, name: str) -> _Tool | None:
        """Return a tool, also by an alias."""
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
            agent = ""
            if self._has_agents:
                arguments, agent = take_agent(params.arguments or {})
                params = params.model_copy(update={"arguments": arguments})
            client = context.session.client_params
            by = name_client(client.client_info.name, client.client_info.version) if client else ""
            with made_by(by, params.name, agent, is_remote=isinstance(context.request, Request)):
                answer = await self._answer(context, params)
            outcome = "ok"
            warn_of_joined_items(self._warnings, params.arguments, self.input_schema(params.name) or {})
            # Warnings are taken here, not in the thread: those of a cancelled call wait for the next answer (WARN-2).
            answer = answer.with_warnings(self._warnings)
            text = mcp_types.TextContent(text=answer.data.decode())
            return mcp_types.CallToolResult(content=[text], structured_content=answer.content)
        except TaskError as error:
            outcome = error.code
            return faults.make_failure(error, self.form, self._warnings)
        finally:
            tool = self.find_tool(params.name)
            name = tool.definition.name if tool else "invalid call"  # no text of the client (CLI-4)
            self.note_call(name, outcome, perf_counter() - start)

    async def _answer(
        self, context: ServerRequestContext[None], params: mcp_types.CallToolRequestParams
    ) -> RenderedAnswer:
        if offence := faults.find_offence(context.request):
            raise offence
        tool, what = self.find_tool(params.name), f"The tool {params.name}"
        if tool is None:
            raise UnknownTool(params.name, nearest(params.name, self._tools))
        work: Work = partial(tool.run, params.arguments or {})
        if not tool.is_read_only:
            work = self.wrap_change(params, work)
        if tool.is_quick and self._can_answer_now():
            return self.workers.run_here(what, work)
        is_heard = (context.meta or {}).get("progress_token") is not None and not iscoroutinefunction(work)
        async with stream_progress(context, work) if is_heard else nullcontext(work) as reporting:
            answer = await self.workers.run(what, reporting, is_read_only=tool.is_read_only)
        if self._subscriptions is not None and not tool.is_read_only:
            self._subscriptions.due.set()
        return answer

"""Carries out calls, and gives whatever fails one form: a result for a tool call, else a JSON-RPC error (ERR-3)."""

import asyncio
import json
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from inspect import iscoroutinefunction
from typing import Final, NamedTuple, Self, TypeVar

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent
from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import to_json
from starlette.requests import Request

from task_core import errors
from task_core.bounds import MAX_ANSWER, WARNING_ROOM, fit
from task_core.errors import ECHO_LIMIT, InternalError, InvalidArguments, TaskError
from task_core.server.schema import Schema, decode_scalars, explain_invalid
from task_core.text import shorten
from task_core.warning_list import WarningList

__all__ = [
    "SCOPE_KEY",
    "AnswerForm",
    "RenderedAnswer",
    "Workers",
    "as_mcp_error",
    "find_offence",
    "guard",
    "make_failure",
    "read_arguments",
    "render_error",
    "repeat_after_edits",
]

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)
ResultT = TypeVar("ResultT")

SCOPE_KEY: Final = "task_core.offence"
"""The key in the scope of a request under which the HTTP transport puts an offence."""

_WORKERS: Final = 40
"""Calls of each sort that are carried out at a time, each in a thread; more calls wait their turn (TOOL-7)."""

_ROOM: Final = MAX_ANSWER - WARNING_ROOM
"""Bytes of an answer without its warnings."""

_KEY_SIZE: Final = len(',"warnings":')
"""Bytes that an answer with warnings has beside their list."""

_log = logging.getLogger(__name__)


def render_error(error: TaskError) -> dict[str, JsonValue]:
    """Return the structured content of a failure as the servers give it."""
    return {"error": {"code": error.code, "message": error.message, "details": error.details}}


class RenderedAnswer(NamedTuple):
    """The result of a tool, and the same as JSON."""

    content: dict[str, JsonValue]
    data: bytes

    @classmethod
    def of(cls, content: dict[str, JsonValue]) -> Self:
        """Return the answer with this content."""
        # A lone surrogate fails here, where it costs one call, and not in the transport.
        return cls(content, to_json(content))

    def cut(self, uncut: Sequence[str], member: str) -> Self:
        """Return an answer within its bounds: itself, or one that is cut in its ``member``, if it has that."""
        if len(self.data) <= _ROOM:
            return self
        inner = self.content.get(member)
        if not isinstance(inner, dict):
            return self.of(fit(self.content, _ROOM, keep=uncut))
        room = _ROOM - len(to_json({**self.content, member: {}}))
        return self.of({**self.content, member: fit(inner, room, keep=uncut)})

    def with_warnings(self, warnings: WarningList) -> Self:
        """Return the answer with the warnings that wait behind its own, as many as there is room for."""
        waiting = warnings.take(max(MAX_ANSWER - len(self.data), WARNING_ROOM) - _KEY_SIZE)
        return self.of(_add_warnings(self.content, waiting)) if waiting else self


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The form of a server's answers, if its document fixes another one."""

    envelope: str = ""
    """The member that holds everything else; an answer that is too long is cut in it."""
    translate: Callable[[TaskError], TaskError] = lambda error: error
    """Returns the error that clients see."""
    render: Callable[[TaskError], dict[str, JsonValue]] = render_error
    """Returns the structured content for that error."""
    is_text_json: bool = False
    """True if the text of a failure is its structured content too."""


class Workers:
    """Carries out functions that may block; those that change the store wait for its lock in threads of their own."""

    def __init__(self) -> None:
        self.threads = (ThreadPoolExecutor(_WORKERS), ThreadPoolExecutor(_WORKERS))
        """for what may change the store, and for what only reads"""

    async def run(
        self, what: str, function: Callable[[], ResultT | Awaitable[ResultT]], *, is_read_only: bool = True
    ) -> ResultT:
        """Return the result of ``function``; ``what`` names the work in the log.

        If the wait is cancelled, a function that has begun goes on, and one that has not is not called. A coroutine
        function runs in the event loop and is cancelled with the wait, which does not last until it has ended.

        Raises:
            TaskError: the function's own, or ``InternalError`` in place of any other, whose text must not leak.
        """
        if iscoroutinefunction(function):
            return await self._run_task(what, function)
        # Whoever gets here first, the worker or the cancelled caller, pops the function and so releases its arguments.
        outcome = Future[ResultT]()
        context = copy_context()
        waiting = [(function, outcome)]

        def work() -> None:
            with suppress(IndexError):
                begun, ended = waiting.pop()
                try:
                    ended.set_result(context.run(self.run_here, what, begun))
                except (TaskError, KeyboardInterrupt) as error:
                    # Drop the frames that it passed through: they hold everything that the call was given.
                    error.__context__ = error.__cause__ = None
                    ended.set_exception(error.with_traceback(None))

        try:
            self.threads[is_read_only].submit(work)
        except RuntimeError as error:
            # The work is in the queue even though no thread could be started, and another thread may have taken it.
            with suppress(IndexError):
                waiting.pop()
                _log_fault(what, error)
                raise InternalError(was_begun=False) from error
        try:
            return await asyncio.wrap_future(outcome)
        finally:
            waiting.clear()
            del outcome  # it holds the error, whose traceback holds this frame

    async def _run_task(self, what: str, function: Callable[[], Awaitable[ResultT]]) -> ResultT:
        # A task of its own: what it does at its end is not cancelled again, as it would be within the SDK's scopes.
        task = asyncio.ensure_future(function())
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            raise
        return self.run_here(what, task.result)

    def end(self) -> None:
        """Let each thread end once nothing waits for it; no more functions are accepted."""
        for threads in self.threads:
            threads.shutdown(wait=False)

    @staticmethod
    def run_here(what: str, function: Callable[[], ResultT]) -> ResultT:
        """Do the same as ``run`` at once in this thread, which ``function`` must not block; it raises the same."""
        try:
            return function()
        except (TaskError, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - a fault in one call must not end the server or leak its text
            _log_fault(what, error)
            raise InternalError from None


def _log_fault(what: str, error: BaseException) -> None:
    # The message of an exception may quote a task, which no line above DEBUG may (CLI-4).
    trace = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s failed with %s:\n%s", what, type(error).__name__, trace)
    _log.debug("The message was: %s", error)


def read_arguments(model: type[ArgumentsT], arguments: Mapping[str, JsonValue], schema: Schema) -> ArgumentsT:
    """Return ``arguments`` as ``model``; an unknown one is compared with the properties in ``schema``.

    Text is read as a number or a boolean where the model asks for one (PE-17).
    It raises ``InvalidArguments``, and ``DuplicateKey`` for a JSON string that repeats a key.
    """
    # Validated as JSON: only then does strict validation accept a list for a tuple or text for an enum.
    given = json.dumps(arguments)
    try:
        try:
            return model.model_validate_json(given)
        except ValidationError as error:
            return model.model_validate_json(json.dumps(decode_scalars(json.loads(given), error)))
    except ValidationError as error:
        raise explain_invalid(error, schema) from None


def repeat_after_edits(function: Callable[[ArgumentsT], ResultT], arguments: ArgumentsT) -> ResultT:
    """Return what ``function`` returns, called up to three times if somebody edits the document while it is saved."""
    for _ in range(2):
        try:
            return function(arguments)
        except errors.StoreWriteFailed as error:
            if not error.is_edited:
                raise
    return function(arguments)


def find_offence(request: object) -> TaskError | None:
    """Return the fault in the text of a call, such as a repeated key, which the transport carries past the SDK."""
    carried = request.scope.get(SCOPE_KEY) if isinstance(request, Request) else request
    return carried if isinstance(carried, TaskError) else None


def as_mcp_error(error: TaskError) -> MCPError:
    """Return the JSON-RPC error for a failed request other than a tool call, with our error code."""
    avoidable = (InvalidArguments, errors.ResourceNotFound, errors.TaskNotFound, errors.UnknownPrompt)
    code = INVALID_PARAMS if isinstance(error, avoidable) else INTERNAL_ERROR
    return MCPError(code, error.message, {"code": error.code, **error.details})


def make_failure(error: TaskError, form: AnswerForm, warnings: WarningList) -> CallToolResult:
    """Return the result of a call that failed; the text has its warnings too (ERR-3, WARN-2)."""
    error = form.translate(error)
    content = fit(form.render(error), _ROOM)
    if waiting := warnings.take(WARNING_ROOM - _KEY_SIZE):
        content = _add_warnings(content, waiting)
    text = f"{error.code}: {shorten(error.message, 8_000)}"  # the structured form is cut in bytes
    text = "\n".join([text, *(f"Warning: {warning}" for warning in _warnings_of(content))])
    if form.is_text_json:
        text = to_json(content).decode()
    return CallToolResult(content=[TextContent(text=text)], structured_content=content, is_error=True)


def _warnings_of(content: dict[str, JsonValue]) -> list[JsonValue]:
    found = content.get("warnings")
    return found if isinstance(found, list) else []


def _add_warnings(content: dict[str, JsonValue], waiting: list[str]) -> dict[str, JsonValue]:
    return {**content, "warnings": [*_warnings_of(content), *waiting]}


async def guard(ctx: ServerRequestContext[None], call_next: CallNext) -> HandlerResult:
    """Let a malformed tool call reach its handler, which answers it, and say what is wrong with other requests.

    An error for bad parameters has a code in its data, and repeats at most ``ECHO_LIMIT`` characters (TOOL-3).
    """
    try:
        return await call_next(_make_answerable(ctx) if ctx.method == "tools/call" else ctx)
    except ValidationError as error:
        raise as_mcp_error(explain_invalid(error, {})) from None
    except TaskError as error:
        raise as_mcp_error(error) from None
    except MCPError as error:
        code, data = error.error.code, error.error.data
        if code == INVALID_PARAMS and not data:
            data = {"code": InvalidArguments.__name__}
        data = shorten(data, ECHO_LIMIT) if isinstance(data, str) else data
        raise MCPError(code, error.error.message, data) from None


def _make_answerable(ctx: ServerRequestContext[None]) -> ServerRequestContext[None]:
    params = ctx.params or {}
    wrong = list[tuple[str, str]]()
    if not isinstance(params.get("name"), str):
        wrong.append(("name", "Give the name of a tool."))
    if not (params.get("arguments") is None or isinstance(params["arguments"], dict)):
        wrong.append(("arguments", "Give a JSON object."))
    if not wrong:
        return ctx
    offence = find_offence(ctx.request) or InvalidArguments(wrong)
    return replace(ctx, params={**params, "name": "", "arguments": {}}, request=offence)

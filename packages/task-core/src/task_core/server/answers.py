"""What a call is answered with: the content of a result, and the form that a server gives it (ERR-3, TOOL-9)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import mcp_types
from pydantic import JsonValue
from pydantic_core import to_json

from task_core.bounds import MAX_ANSWER, WARNING_ROOM, fit
from task_core.errors import TaskError
from task_core.text import shorten
from task_core.warning_list import WarningList

__all__ = ["Answer", "AnswerForm", "make_failure", "make_result", "render_error"]

_ROOM: Final = MAX_ANSWER - WARNING_ROOM
"""Bytes of an answer without its warnings."""

_MAX_MESSAGE: Final = 8_000
"""Characters of an error in the text beside its structured form, which is cut in bytes."""

_KEY_SIZE: Final = len(',"warnings":')
"""Bytes that an answer with warnings has beside their list."""


class Answer(NamedTuple):
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


def render_error(error: TaskError) -> dict[str, JsonValue]:
    """Return the structured content of a failure as the servers give it."""
    return {"error": {"code": error.code, "message": error.message, "details": error.details}}


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The form of a server's answers, if its document fixes another one."""

    envelope: str = ""
    """The member that holds everything else; an answer that is too long is cut in it."""
    translate: Callable[[TaskError], TaskError] = lambda error: error
    """Returns the error that clients see."""
    render: Callable[[TaskError], dict[str, JsonValue]] = render_error
    """Returns the structured content for that error."""


def make_result(answer: Answer, warnings: WarningList) -> mcp_types.CallToolResult:
    """Return the result of a call that succeeded, with the warnings that wait (WARN-1)."""
    if waiting := warnings.take(max(MAX_ANSWER - len(answer.data), WARNING_ROOM) - _KEY_SIZE):
        answer = Answer.of(_add_warnings(answer.content, waiting))
    text = answer.data.decode()
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(text=text)], structured_content=answer.content)


def make_failure(error: TaskError, form: AnswerForm, warnings: WarningList) -> mcp_types.CallToolResult:
    """Return the result of a call that failed; the text has its warnings too (ERR-3, WARN-2)."""
    error = form.translate(error)
    content = fit(form.render(error), _ROOM)
    if waiting := warnings.take(WARNING_ROOM - _KEY_SIZE):
        content = _add_warnings(content, waiting)
    text = f"{error.code}: {shorten(error.message, _MAX_MESSAGE)}"
    text = "\n".join([text, *(f"Warning: {warning}" for warning in _warnings_of(content))])
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(text=text)], structured_content=content, is_error=True
    )


def _warnings_of(content: dict[str, JsonValue]) -> list[JsonValue]:
    found = content.get("warnings")
    return found if isinstance(found, list) else []


def _add_warnings(content: dict[str, JsonValue], waiting: list[str]) -> dict[str, JsonValue]:
    return {**content, "warnings": [*_warnings_of(content), *waiting]}

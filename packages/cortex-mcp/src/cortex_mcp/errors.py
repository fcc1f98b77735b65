"""The server's own errors; clients get those of ``ctx`` word for word (CX-88)."""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue
from typing_extensions import override

from task_core.errors import TaskError
from task_core.text import escape_invisible

__all__ = [
    "CTX_ERRORS",
    "STDERR_LIMIT",
    "CtxError",
    "CtxRefused",
    "RunnerClosed",
    "ctx_failed",
    "ctx_timeout",
    "render_failure",
]

STDERR_LIMIT: Final = 500
"""Characters at the end of what ``ctx`` wrote to stderr that an error repeats (CX-88)."""

_INSTALL: Final = "Ask the user to run 'pip install cortex-tasks-cli', or set CORTEX_CTX to the ctx of Cortex."

CTX_ERRORS: Final[Mapping[str, str]] = {
    "CtxNotFound": f"ctx was not found {{place}}. {_INSTALL}",
    "CtxForeign": f"The '{{name}}' that was found is not the ctx of Cortex. {_INSTALL}",
    "CtxFailed": "ctx failed: {why}. Call get_task_status to see what was done, then call again.",
    "Timeout": "'{command}' was ended after {seconds:g} seconds. Call get_task_status to see what was done, then call "
    "again.",
    "PathOutsideWorkspace": "Give 'directory' as a folder inside the workspace, or leave it out; the user sets "
    "CORTEX_WORKSPACE.",
}
"""The sentence of each code, which says what to do next; 'Timeout' is the code that ``ctx`` itself gives."""


class CtxRefused(TaskError):
    """``ctx`` refused; ``content`` is its answer, with the sentence ``error`` and the ``code``."""

    def __init__(self, content: Mapping[str, JsonValue]) -> None:
        details = content.get("details")
        super().__init__(str(content.get("error")), details if isinstance(details, dict) else {})
        self.content: dict[str, JsonValue] = dict(content)

    @property
    @override
    def code(self) -> str:
        """The code of ``ctx``."""
        return str(self.content.get("code"))


class CtxError(TaskError):
    """A failure to run ``ctx``; ``values`` fill the sentence of its code in the table."""

    def __init__(self, code: str, details: Mapping[str, JsonValue] | None = None, **values: object) -> None:
        super().__init__(CTX_ERRORS[code].format_map(values), details or {})
        self._code = code

    @property
    @override
    def code(self) -> str:
        """The code in the table."""
        return self._code


class RunnerClosed(CtxError):
    """The server ends, and so do the programs."""

    def __init__(self) -> None:
        super().__init__("CtxFailed", {"exit_code": None, "stderr": ""}, why="the server ends")


def ctx_failed(why: str, exit_code: int | None = None, stderr: str = "") -> CtxError:
    """Return the error of a ``ctx`` that ended without a usable answer; ``stderr`` is what it wrote there."""
    tail = escape_invisible(stderr.strip()[-STDERR_LIMIT:])[-STDERR_LIMIT:]
    return CtxError("CtxFailed", {"exit_code": exit_code, "stderr": tail}, why=why)


def ctx_timeout(command: str, seconds: float) -> CtxError:
    """Return the error of a ``ctx`` that did not end in time, and was ended."""
    return CtxError("Timeout", {"command": command, "seconds": seconds}, command=command, seconds=seconds)


def render_failure(error: TaskError) -> dict[str, JsonValue]:
    """Return the structured content of a failure: that of ``ctx`` word for word, and others in its form."""
    if isinstance(error, CtxRefused):
        return error.content
    return {"success": False, "error": error.message, "code": error.code, "details": error.details}

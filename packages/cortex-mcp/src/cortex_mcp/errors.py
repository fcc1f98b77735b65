"""The errors of this server beside those of ``ctx``, which clients get word for word (CX-88)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import JsonValue
from typing_extensions import override

from task_core.errors import TaskError
from task_core.text import escape_invisible, shorten

__all__ = [
    "STDERR_LIMIT",
    "CtxFailed",
    "CtxForeign",
    "CtxNotFound",
    "CtxRefused",
    "CtxTimeout",
    "DirectoryOutsideWorkspace",
    "render_failure",
]

STDERR_LIMIT: Final = 500
"""Characters at the end of what ``ctx`` wrote to stderr that an error repeats (CX-88)."""

_INSTALL: Final = "Ask the user to run 'pip install cortex-tasks-cli', or set CORTEX_CTX to the ctx of Cortex."


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


class CtxNotFound(TaskError):
    """There is no ``ctx`` where it was looked for."""

    def __init__(self, place: str) -> None:
        super().__init__(f"ctx was not found {place}. {_INSTALL}")


class CtxForeign(TaskError):
    """The ``ctx`` that was found is not that of Cortex, or is one that this server does not understand."""

    def __init__(self, path: Path) -> None:
        name = escape_invisible(path.name)
        super().__init__(f"The '{name}' that was found is not the ctx of Cortex. {_INSTALL}", {"name": name})


class CtxFailed(TaskError):
    """``ctx`` ended without an answer that can be used; ``why`` says how, and ``stderr`` is what it wrote there."""

    def __init__(self, why: str, exit_code: int | None = None, stderr: str = "") -> None:
        tail = escape_invisible(stderr.strip()[-STDERR_LIMIT:])[-STDERR_LIMIT:]
        super().__init__(
            f"ctx failed: {why}. Call get_task_status to see what was done, then call again.",
            {"exit_code": exit_code, "stderr": tail},
        )


class CtxTimeout(TaskError):
    """``ctx`` did not end in time, and was ended."""

    def __init__(self, command: str, seconds: float) -> None:
        super().__init__(
            f"'{command}' was ended after {seconds:g} seconds. Call get_task_status to see what was done, "
            "then call again.",
            {"command": command, "seconds": seconds},
        )

    @property
    @override
    def code(self) -> str:
        """The code that ``ctx`` itself gives for it."""
        return "Timeout"


class DirectoryOutsideWorkspace(TaskError):
    """The directory of a call leads out of the workspace."""

    def __init__(self, directory: str) -> None:
        shown = shorten(escape_invisible(directory), 100)
        super().__init__(
            "Give 'directory' as a folder inside the workspace, or leave it out; the user sets CORTEX_WORKSPACE.",
            {"directory": shown},
        )

    @property
    @override
    def code(self) -> str:
        """The code that other servers use for it."""
        return "PathOutsideWorkspace"


def render_failure(error: TaskError) -> dict[str, JsonValue]:
    """Return the structured content of a failure: that of ``ctx`` word for word, and others in its form."""
    if isinstance(error, CtxRefused):
        return error.content
    return {"success": False, "error": error.message, "code": error.code, "details": error.details}

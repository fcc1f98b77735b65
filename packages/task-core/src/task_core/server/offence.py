"""What the transport found wrong with a call, carried past the SDK to the place that answers it (ERR-3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from task_core.errors import TaskError

__all__ = ["SCOPE_KEY", "Offence", "offence_in"]

SCOPE_KEY: Final = "task_core.offence"
"""Where the HTTP transport leaves an offence in the scope of its request."""


@dataclass(frozen=True, slots=True)
class Offence:
    """A fault in the text of a call, such as a repeated key, that is not seen any more once the text is read."""

    error: TaskError


def offence_in(request: object) -> TaskError | None:
    """Return the fault that came with ``request``, as the SDK hands it to a handler: the transport's own context."""
    carried = request.scope.get(SCOPE_KEY) if isinstance(request, Request) else request
    return carried.error if isinstance(carried, Offence) else None

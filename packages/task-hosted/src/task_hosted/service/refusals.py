"""Responses that refuse a request before it reaches the server of its tenant (HO-2, HO-4)."""

import math
from typing import Final

from mcp_types import INTERNAL_ERROR, RequestId
from starlette.responses import JSONResponse, Response

from task_core.server.transports.wire import refusal

__all__ = ["Refusal", "make_challenge", "make_refusal"]


class Refusal(Exception):
    """Ends a request with this status, these headers, and a body, or else the text as a JSON-RPC error."""

    def __init__(
        self, status: int, message: str, headers: dict[str, str] | None = None, body: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        self._body = body

    def respond(self, request_id: RequestId | None) -> Response:
        """Return the response to the request with this id."""
        error = refusal(INTERNAL_ERROR, str(self), request_id)
        body = self._body or error.model_dump(by_alias=True, exclude_unset=True)
        return JSONResponse(body, self.status, self.headers)


def make_refusal(status: int, message: str, seconds: float) -> Refusal:
    """Return the refusal of a request that the server would accept after so many seconds."""
    return Refusal(status, message, {"Retry-After": str(math.ceil(seconds))})


_NEEDED: Final = "tasks:read tasks:write"
"""The scopes that a client should ask for."""


def make_challenge(metadata_url: str, status: int, message: str, *, error: str = "", scope: str = _NEEDED) -> Refusal:
    """Return the refusal of a request without a sufficient token (RFC 6750), which says where to get one."""
    parts = {"error": error, "error_description": message} if error else {}
    parts |= {"scope": scope, "resource_metadata": metadata_url}
    header = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items())
    body = {"error": error or "unauthorized", "error_description": message}
    return Refusal(status, message, {"WWW-Authenticate": header}, body)

"""Responses that refuse a request before it reaches the server of its tenant (HO-2, HO-4)."""

import math
from typing import Final

from mcp_types import INTERNAL_ERROR, RequestId
from starlette.responses import JSONResponse, Response

from task_core.server.transports.wire import refusal

__all__ = ["Challenges", "Refusal", "make_refusal"]


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


class Challenges:
    """Refusals of requests without a sufficient token (RFC 6750); each says where to get one."""

    def __init__(self, metadata_url: str) -> None:
        self._metadata_url = metadata_url

    def demand_token(self, *, is_given: bool) -> Refusal:
        """Return the refusal of a request without a token, or with one that is not valid here."""
        if not is_given:
            return self._challenge(401, "", "Send a token of the issuer in the header Authorization.", _NEEDED)
        return self._challenge(401, "invalid_token", "The token is not valid for this server.", _NEEDED)

    def demand_scope(self, scope: str) -> Refusal:
        """Return the refusal of a request whose token lacks ``scope``."""
        return self._challenge(403, "insufficient_scope", f"This needs the scope {scope}.", scope)

    def _challenge(self, status: int, error: str, message: str, scope: str) -> Refusal:
        parts = {"error": error, "error_description": message} if error else {}
        parts |= {"scope": scope, "resource_metadata": self._metadata_url}
        header = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items())
        body = {"error": error or "unauthorized", "error_description": message}
        return Refusal(status, message, {"WWW-Authenticate": header}, body)

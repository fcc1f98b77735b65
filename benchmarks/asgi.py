"""Requests to an application of this process, without a web server: only its own work counts."""

import asyncio
from typing import Any

from starlette.types import ASGIApp

__all__ = ["send"]


async def send(app: ASGIApp, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, bytes]:
    """Return status and body of the answer to a request."""
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
    parts: list[bytes] = []
    status = 0

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        return await asyncio.get_running_loop().create_future()  # the client neither sends more nor leaves

    async def take(message: Any) -> None:  # noqa: ANN401
        nonlocal status
        status = message.get("status", status)
        parts.append(message.get("body", b""))

    await app(scope, receive, take)
    return status, b"".join(parts)

"""A client that listens to one server for changes of a user's list, whichever server they were made through."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.subscriptions import ResourceUpdated

__all__ = ["listen"]

_LIST = "tasks://list"


async def listen(url: str, token: str, report: Callable[[str], None]) -> None:
    """Call ``report`` with '' once the client listens, and with what has changed after each change, until cancelled."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(10, read=None)) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
        client.listen(resource_subscriptions=[_LIST]) as news,
    ):
        report("")
        async for update in news:
            if isinstance(update, ResourceUpdated):
                report(update.uri)

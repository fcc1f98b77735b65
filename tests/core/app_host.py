"""A small host of MCP Apps: a page in a real browser, with the view of a real server in a sandboxed frame."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from mcp.client import Client
from mcp.client.extension import advertise
from mcp_types import TextResourceContents
from playwright.async_api import FrameLocator, Page

from task_core.server.app import TaskServer
from task_core.server.app_view import EXTENSION, VIEW_TYPE
from tests.browser import SharedBrowser, find_violations

__all__ = ["HOST_THAT_CALLS", "Host", "Message", "open_view"]

Message = dict[str, Any]

HOST_THAT_CALLS: Final[Message] = {"serverTools": {}}
"""What a host declares that passes the calls of a view on."""

_POLICY: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
"""What every host has to enforce for a view that asks for nothing."""

_PAGE: Final = """<!DOCTYPE html>
<html lang="en"><title>Host</title>
<body><iframe title="View" sandbox="allow-scripts" style="width: 100%; height: 50px; border: 0"></iframe>
<script>
"use strict";
const frame = document.querySelector("iframe");
const sent = [];
const post = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
let given;

function openView(setup) {
  given = setup;
  frame.srcdoc = setup.html;
}

window.addEventListener("message", async ({ source, data }) => {
  if (source !== frame.contentWindow) return;
  sent.push(data);
  if (data.method === "ui/initialize") {
    post({ id: data.id, result: given.greeting });
  } else if (data.method === "ui/notifications/initialized") {
    post({ method: "ui/notifications/tool-input", params: { arguments: given.arguments } });
    if (given.result) post({ method: "ui/notifications/tool-result", params: given.result });
  } else if (data.method === "ui/notifications/size-changed") {
    frame.style.height = `${data.params.height}px`;
  } else if (data.method === "tools/call") {
    post({ id: data.id, ...JSON.parse(await callTool(data.params)) });
  }
});
</script>
"""


@dataclass
class Host:
    """A view that is open in a host, and the client with which the host calls the server."""

    client: Client
    page: Page
    refusal: str = ""
    """why the host refuses the calls of the view, if it does"""
    called: list[Message] = field(default_factory=list)
    """the calls of the view"""
    fetched: list[str] = field(default_factory=list)
    """what the browser has asked for"""

    @property
    def view(self) -> FrameLocator:
        """What is in the frame."""
        return self.page.frame_locator("iframe")

    async def script(self, expression: str) -> Any:  # noqa: ANN401 - whatever the expression is
        """Return the value of an expression in the view."""
        return await self.page.frames[1].evaluate(expression)

    async def call(self, tool: str, arguments: Mapping[str, object]) -> Message:
        """Call a tool of the server, and return the result as a host passes it on."""
        result = await self.client.call_tool(tool, dict(arguments))
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def pass_on(self, params: Message) -> str:
        """Return how a call of the view is answered, as text: the driver of the browser takes no deep trees."""
        self.called.append(params)
        if self.refusal:
            return json.dumps({"error": {"code": -32000, "message": self.refusal}})
        return json.dumps({"result": await self.call(params["name"], params["arguments"])})

    async def post(self, **message: object) -> None:
        """Send a message to the view."""
        await self.page.evaluate("(message) => post(message)", message)

    async def sent(self, method: str) -> list[Message]:
        """Return the messages with this method that the view has sent."""
        messages: list[Message] = await self.page.evaluate("sent")
        return [message for message in messages if message.get("method") == method]

    async def answer(self, method: str) -> Message:
        """Send a request to the view, and return its answer."""
        await self.post(id=method, method=method, params={})
        found = await self.page.wait_for_function("(id) => sent.find((one) => one.id === id)", arg=method)
        answer: Message = await found.json_value()
        return answer

    async def violations(self) -> list[str]:
        """Return what axe-core objects to in the view."""
        return await find_violations(self.page.frames[1])


@asynccontextmanager
async def open_view(
    server: TaskServer,
    tool: str,
    *,
    arguments: Mapping[str, object] | None = None,
    context: Mapping[str, object] | None = None,
    capabilities: Mapping[str, object] = HOST_THAT_CALLS,
    is_called: bool = True,
    width: int = 800,
) -> AsyncIterator[Host]:
    """Open the view of a tool, with the answer to a call of it, in a host with these capabilities and this context."""
    declared = advertise(EXTENSION, {"mimeTypes": [VIEW_TYPE]})
    async with Client(server.sdk, extensions=[declared]) as client:
        page = await SharedBrowser.browser.new_page(viewport={"width": width, "height": 900}, locale="en-US")
        try:
            host = Host(client, page)
            page.on("request", lambda request: host.fetched.append(request.url))
            await page.expose_function("callTool", host.pass_on)
            await page.set_content(_PAGE)
            greeting = {
                "protocolVersion": "2026-01-26",
                "hostInfo": {"name": "test", "version": "1"},
                "hostCapabilities": dict(capabilities),
                "hostContext": dict(context or {}),
            }
            setup = {
                "html": await _read_view(client, tool),
                "greeting": greeting,
                "arguments": dict(arguments or {}),
                "result": await host.call(tool, arguments or {}) if is_called else None,
            }
            await page.evaluate("(setup) => openView(setup)", setup)
            await page.wait_for_function("sent.some((one) => one.method === 'ui/notifications/initialized')")
            yield host
        finally:
            await page.close()


async def _read_view(client: Client, tool: str) -> str:
    """Return the page that the server links to its tool, under the policy of the host."""
    links = {listed.name: listed.meta for listed in (await client.list_tools()).tools if listed.meta}
    (content,) = (await client.read_resource(links[tool]["ui"]["resourceUri"])).contents
    assert isinstance(content, TextResourceContents)
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    return content.text.replace("<head>", f"<head>{policy}", 1)

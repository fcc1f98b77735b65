"""A hosted server in this process, with an issuer of tokens that a test can change, count and turn off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import JsonValue
from starlette.types import ASGIApp, Message

from examples.hosted.issuer import TokenIssuer
from task_core.command.hosting import load_hosted
from task_core.server.hosted.app import HostedServer
from task_core.server.hosted.settings import HostedSettings
from tests.servers import ServerRecord
from tests.tool_client import Era
from tests.wire.served import legacy

__all__ = ["ORIGIN", "PUBLIC_URL", "Authority", "Site", "alive", "hosting"]

ORIGIN: Final = "https://tasks.example.com"

PUBLIC_URL: Final = f"{ORIGIN}/mcp"

_numbers = count(1)


@dataclass
class Authority:
    """An issuer as the server reaches it; each has a URL of its own, so that no two tests share a tenant."""

    issuer: TokenIssuer = field(default_factory=lambda: TokenIssuer(f"https://issuer{next(_numbers)}.example.com"))
    answers: dict[str, httpx2.Response] = field(default_factory=dict)
    """what it answers in place of the usual, by path"""
    asked: list[str] = field(default_factory=list)
    """the paths that were asked for"""
    is_down: bool = False

    def client(self) -> httpx2.Client:
        """Return a client of the server that reaches this issuer."""
        return httpx2.Client(transport=httpx2.MockTransport(self._answer))

    def token(self, user: str = "ada", **claims: object) -> str:
        """Return a token of ``user`` for the server."""
        return self.issuer.sign(user, PUBLIC_URL, **claims)

    def tenant(self, user: str = "ada") -> str:
        """Return the tenant of ``user``."""
        return f"{self.issuer.url} sub={user}"

    @property
    def fetches(self) -> int:
        """How many times the keys were fetched."""
        return self.asked.count("/keys")

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        self.asked.append(path)
        if self.is_down:
            raise httpx2.ConnectError("refused")
        if path in self.answers:
            return self.answers[path]
        known = {"/.well-known/oauth-authorization-server": self.issuer.metadata(), "/keys": self.keys()}
        return httpx2.Response(200, json=known[path]) if path in known else httpx2.Response(404)

    def keys(self) -> dict[str, Any]:
        """Return the set of keys as it is published."""
        return {"keys": [self.issuer.key.to_jwk()]}


@dataclass(frozen=True)
class Site:
    """A hosted server of one kind, and how its clients reach it."""

    record: ServerRecord
    hosted: HostedServer
    authority: Authority

    def http(self, token: str | None = None, **headers: str) -> httpx2.AsyncClient:
        """Return a client of the application; underscores in the names of ``headers`` are hyphens."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            given["Authorization"] = f"Bearer {token}"
        accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        transport = httpx2.ASGITransport(app=self.hosted.app)
        return httpx2.AsyncClient(transport=transport, base_url=ORIGIN, headers=accepted | given)

    async def post(self, body: bytes, token: str | None = None, path: str = "/mcp", **headers: str) -> httpx2.Response:
        """Return the answer to one request."""
        async with self.http(token, **headers) as client:
            return await client.post(path, content=body)

    async def call(
        self, token: str, tool: str, meta: Mapping[str, JsonValue] | None = None, **arguments: JsonValue
    ) -> dict[str, Any]:
        """Return the structured answer of a tool, an error too, called as the older era does."""
        body = json.loads(legacy(tool, json.dumps(arguments))[0])
        if meta:
            body["params"]["_meta"] = meta
        answer = await self.post(json.dumps(body).encode(), token)
        assert answer.status_code == 200, answer.text
        content: dict[str, Any] = answer.json()["result"]["structuredContent"]
        return content

    async def create(self, user: str, text: str = "a task") -> str:
        """Create a task of ``user`` and return its id."""
        answer = await self.call(self.authority.token(user), self.record.create, **{self.record.text: text})
        return self.record.task_id(answer)

    async def texts(self, user: str) -> list[str]:
        """Return the texts of the tasks that ``user`` sees."""
        listed = await self.call(self.authority.token(user), self.record.list, **self.record.calls[self.record.list])
        return [task[self.record.text] for task in listed["tasks"]]

    @asynccontextmanager
    async def client(self, user: str, era: Era = "auto") -> AsyncIterator[Client]:
        """Yield the SDK's own client, with a token of ``user``; it hears no notifications."""
        async with (
            self.http(self.authority.token(user)) as http,
            Client(streamable_http_client(PUBLIC_URL, http_client=http), mode=era) as client,
        ):
            yield client


@asynccontextmanager
async def alive(app: ASGIApp) -> AsyncIterator[None]:
    """Run the lifespan of an application for as long as the block lasts, as a server does."""
    to_app = asyncio.Queue[Message]()
    from_app = asyncio.Queue[Message]()
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    task = asyncio.ensure_future(app(scope, to_app.get, from_app.put))
    await to_app.put({"type": "lifespan.startup"})
    assert (await from_app.get())["type"] == "lifespan.startup.complete"
    try:
        yield
    finally:
        await to_app.put({"type": "lifespan.shutdown"})
        assert (await from_app.get())["type"] == "lifespan.shutdown.complete"
        await task


@asynccontextmanager
async def hosting(
    record: ServerRecord, store: str, authority: Authority | None = None, **settings: object
) -> AsyncIterator[Site]:
    """Yield a hosted server over the store at an address, with settings in lower case without ``task_``."""
    authority = authority or Authority()
    usual = {"auth_issuer": authority.issuer.url, "public_url": PUBLIC_URL, "allowed_hosts": "tasks.example.com"}
    named = {f"task_{name}": value for name, value in {**usual, "calls_burst": 10_000, **settings}.items()}
    of_server = record.settings_type.model_validate({"task_store": store, "task_extra_tools": "changes"})
    hosted = load_hosted(record.program(), of_server, HostedSettings.model_validate(named), authority.client())
    try:
        async with alive(hosted.app):
            yield Site(record, hosted, authority)
    finally:
        hosted.end()

"""A hosted server in this process, and issuers of tokens: one that a test can change and turn off, and a process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import httpx2
import jwt
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import JsonValue
from starlette.types import ASGIApp, Message
from typing_extensions import override

from examples.hosted.issuer import TokenIssuer
from task_hosted.service.settings import HostedSettings
from task_hosted.service.tokens import IssuerKeys, make_tenant
from task_hosted.serving import HostedServer, load_hosted
from tests.core.listening import until
from tests.processes import ending
from tests.servers import ServerRecord
from tests.tool_client import Era
from tests.wire.line_client import ENVELOPE
from tests.wire.served import PUBLIC_URL, Served, legacy

__all__ = [
    "NOT_FOUND",
    "ORIGIN",
    "Authority",
    "Issuer",
    "Listener",
    "Moment",
    "Site",
    "alive",
    "hosting",
    "make_scope",
    "start_issuer",
]

NOT_FOUND: Final = jwt.PyJWKClientConnectionError("404")
"""The answer of an issuer that has nothing at a path."""

ORIGIN: Final = PUBLIC_URL.removesuffix("/mcp")

_numbers = count(1)


class Moment:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Authority:
    """An issuer as the server reaches it; each has a URL of its own, so that no two tests share a tenant."""

    issuer: TokenIssuer = field(default_factory=lambda: TokenIssuer(f"https://issuer{next(_numbers)}.example.com"))
    answers: dict[str, object] = field(default_factory=dict)
    """what it answers in place of the usual, by path: a document, an error, or what waits for one"""
    asked: list[str] = field(default_factory=list)
    """the paths that were asked for"""
    is_down: bool = False

    def client(self, url: str) -> jwt.PyJWKClient:
        """Return what fetches a document of this issuer."""
        return _AuthorityClient(url, self)

    def token(self, user: str = "ada", **claims: object) -> str:
        """Return a token of ``user`` for the server."""
        return self.issuer.sign(user, PUBLIC_URL, **claims)

    def tenant(self, user: str = "ada") -> str:
        """Return the tenant of ``user``."""
        return f"{self.issuer.url} sub={user}"

    @property
    def fetches(self) -> int:
        """The number of times that the keys were fetched."""
        return self.asked.count("/keys")

    def answer(self, path: str) -> object:
        """Return the document at a path, or raise what a client would."""
        self.asked.append(path)
        known = {"/.well-known/oauth-authorization-server": self.issuer.metadata(), "/keys": self.keys()}
        answer = {**known, **self.answers}.get(path, NOT_FOUND)
        if self.is_down:
            raise jwt.PyJWKClientConnectionError("refused")
        if callable(answer):
            answer()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def keys(self) -> dict[str, Any]:
        """Return the set of keys as it is published."""
        return {"keys": [self.issuer.key.to_jwk()]}


class _AuthorityClient(jwt.PyJWKClient):
    """Asks an ``Authority`` in place of the network."""

    def __init__(self, url: str, authority: Authority) -> None:
        super().__init__(url, cache_jwk_set=False)
        self._authority = authority

    @override
    def fetch_data(self) -> object:
        return self._authority.answer(urlsplit(self.uri).path)


class Issuer(Served):
    """The issuer that the examples have, as a process."""

    def token(self, user: str, audience: str = PUBLIC_URL) -> str:
        """Return a token of ``user`` for the service."""
        form = urlencode({"grant_type": "client_credentials", "client_id": user, "resource": audience})
        answer = self.post(form.encode(), "/token", Content_Type="application/x-www-form-urlencoded")
        return str(answer.json["access_token"])

    def tenant(self, user: str) -> str:
        """Return the tenant of ``user``."""
        return str(make_tenant(self.url, "sub", user))


@contextmanager
def start_issuer() -> Iterator[Issuer]:
    """Yield an issuer of tokens."""
    command = [sys.executable, "-m", "examples.hosted.issuer", "--port", "0"]
    with ending(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as process:
        yield Issuer(process, process.stdout.readline().split()[-1] if process.stdout else "")
        process.terminate()


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

    async def call(self, token: str, tool: str, **arguments: JsonValue) -> dict[str, Any]:
        """Return the structured answer of a tool, an error too, called as the older era does."""
        return await self.call_with({}, token, tool, **arguments)

    async def call_with(
        self, meta: dict[str, JsonValue], token: str, tool: str, **arguments: JsonValue
    ) -> dict[str, Any]:
        """Do the same with this ``_meta``."""
        body = json.loads(legacy(tool, json.dumps(arguments))[0])
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
    async def listening(self, user: str, *uris: str, token: str | None = None) -> AsyncIterator[Listener]:
        """Yield a client of ``user`` that listens for changes of the list and of these resources."""
        listener = Listener()
        task = asyncio.ensure_future(listener.run(self, token or self.authority.token(user), uris))
        try:
            await until(lambda: len(listener.sent) >= 2)  # the acknowledgement, or a refusal
            yield listener
        finally:
            listener.leave()
            await task

    @asynccontextmanager
    async def client(self, user: str, era: Era = "auto") -> AsyncIterator[Client]:
        """Yield the SDK's own client, with a token of ``user``; it hears no notifications."""
        async with (
            self.http(self.authority.token(user)) as http,
            Client(streamable_http_client(PUBLIC_URL, http_client=http), mode=era) as client,
        ):
            yield client


class Listener:
    """A client that listens, whose stream can be looked at while it is open."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self._left = asyncio.Event()
        self._body: list[Message] = []

    @property
    def status(self) -> int:
        """The status of the answer, 0 before it begins."""
        return int(self.sent[0]["status"]) if self.sent else 0

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages so far."""
        text = b"".join(message.get("body", b"") for message in self.sent[1:]).decode()
        return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]

    @property
    def changed(self) -> list[str]:
        """The URIs of the resources that changed, in order."""
        return [found["params"]["uri"] for found in self.messages if found.get("method", "").endswith("/updated")]

    @property
    def is_ended(self) -> bool:
        """True once the answer is complete."""
        return bool(self.sent) and not self.sent[-1].get("more_body", self.sent[-1]["type"].endswith("start"))

    def leave(self) -> None:
        """Close the connection."""
        self._left.set()

    async def run(self, site: Site, token: str, uris: Sequence[str]) -> None:
        """Send the request, and take what comes until the connection is closed."""
        wanted = {"resourcesListChanged": True, "resourceSubscriptions": [*uris]}
        params = {"notifications": wanted, "_meta": ENVELOPE}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}).encode()
        self._body.append({"type": "http.request", "body": body, "more_body": False})
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}
        await site.hosted.app(make_scope(token, headers), self._receive, self._send)

    async def _receive(self) -> Message:
        if self._body:
            return self._body.pop()
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)


def make_scope(token: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the scope of a POST to the protocol, as a server makes it."""
    usual = {"Host": "tasks.example.com", "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    every = {**usual, "Accept": "application/json, text/event-stream", **headers}
    return {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in every.items()],
    }


@asynccontextmanager
async def alive(app: ASGIApp) -> AsyncIterator[None]:
    """Run the lifespan of an application for as long as the block lasts, as a server does."""
    to_app = asyncio.Queue[Message]()
    from_app = asyncio.Queue[Message]()
    scope: dict[str, Any] = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
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
    keys = IssuerKeys(authority.issuer.url, authority.client)
    hosted = load_hosted(record.program(), of_server, HostedSettings.model_validate(named), keys)
    try:
        async with alive(hosted.app):
            yield Site(record, hosted, authority)
    finally:
        hosted.end()

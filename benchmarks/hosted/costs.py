"""Processor time of one call in a replica, part by part; each is measured without the parts around it.

A replica as a process, then in this process its application, the SDK's manager below the gate, a manager with a tool
that does nothing, the service over the store, and the driver with the statements alone.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from http.client import HTTPConnection
from random import SystemRandom
from typing import Any, Final
from urllib.parse import urlsplit

import mcp_types
import psycopg
from benchmarks.asgi import send
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import ASGIApp

from benchmarks.bench import Bench
from benchmarks.hosted.client import check
from benchmarks.hosted.database import Site, fill, open_database
from benchmarks.hosted.recording import Asked, Exchange, record_calls
from benchmarks.hosted.replicas import OPERATIONS, PATH, calls_of, headers_of, serve_replicas
from benchmarks.subjects import TASKS_V1, Call
from benchmarks.wire import cpu_of
from task_core.server.app import TaskServer
from task_core.store import Store
from task_hosted.postgres import Pool, PostgresDatabase
from task_hosted.postgres.pool import PostgresConnection, connect_once
from task_hosted.service.identity import TokenReader
from task_hosted.service.keys import IssuerKeys
from tasks_v1_mcp.arguments import CreateTaskArguments, ListTasksArguments
from tasks_v1_mcp.codec import CODEC
from tasks_v1_mcp.models import StoredTask
from tasks_v1_mcp.service import TaskService
from tests.hosted.service import Authority, Issuer, hosting, start_issuer
from tests.wire.served import PUBLIC_URL, Served

__all__ = ["PARTS", "Cost", "measure_costs"]

TASKS: Final = 1_000
"""Tasks in the list."""

_TASK: Final = 7
"""The task that is asked for."""

_WHOLE, _APP, _TOKEN, _MANAGER = "replica", "application", "token", "manager"
_PLAIN, _SERVICE, _DRIVER = "manager of a plain server", "service", "driver"

PARTS: Final = {
    "HTTP server (uvicorn, h11, sockets)": (_WHOLE, _APP),
    "token (PyJWT, ES256)": (_TOKEN,),
    "gate: names, limits, strict reading, tenant": (_APP, _MANAGER, _TOKEN),
    "SDK: protocol, with the same answer": (_PLAIN,),
    "TaskServer: threads, arguments, answer": (_MANAGER, _PLAIN, _SERVICE),
    "service and engine": (_SERVICE, _DRIVER),
    "driver (psycopg), the same statements": (_DRIVER,),
}
"""Each part, and what it is the difference of: the first less all others."""


@dataclass(frozen=True)
class Cost:
    """Seconds of the processor of a call of one operation, by what was measured; the least of the rounds.

    Whatever else uses the cores makes a call cost more, through the caches that they share.
    """

    operation: str
    seconds: dict[str, float]
    exchanges: int
    """how often it waits for the database"""

    def of(self, part: str) -> float:
        """Return the seconds of a part."""
        whole, *rest = PARTS[part]
        return self.seconds[whole] - sum(self.seconds[name] for name in rest)


def measure_costs(bench: Bench) -> list[Cost]:
    """Return the costs of each operation."""
    with open_database() as site, start_issuer() as issuer:
        tasks = bench.pick(TASKS, 50)
        for user in ("1", "2"):
            fill(site.url, issuer.tenant(user), tasks)
        recorded = {operation: _record(site, issuer, operation) for operation in OPERATIONS}
        with serve_replicas(site.url, issuer, 1) as (replica,):
            stage = _Stage(site, replica, issuer, tasks, bench.pick(100, 10), bench.pick(15, 1))
            return [asyncio.run(stage.measure(operation, recorded[operation])) for operation in OPERATIONS]


def _record(site: Site, issuer: Issuer, operation: str) -> list[Exchange]:
    """Return what a call of one user sends as if another one had made it, who has no task with the same new id."""
    sender, other = issuer.tenant("2"), issuer.tenant("1")
    exchanges = record_calls(site, issuer, "2", operation).first
    return [
        tuple(Asked(text, tuple(other if value == sender else value for value in values)) for text, values in exchange)
        for exchange in exchanges
    ]


@dataclass(frozen=True)
class _Stage:
    """One measurement, and its number of repetitions."""

    site: Site
    replica: Served
    issuer: Issuer
    tasks: int
    calls: int
    rounds: int

    @cached_property
    def token(self) -> str:
        """The token of the user who calls."""
        return self.issuer.token("1")

    @property
    def tenant(self) -> str:
        """The tenant of this user."""
        return self.issuer.tenant("1")

    async def measure(self, operation: str, recorded: Sequence[Exchange]) -> Cost:
        """Measure everything in turn."""
        async with AsyncExitStack() as stack:
            works = await self._works(stack, operation, recorded)
            found: dict[str, list[float]] = {name: [] for name in works}
            for number in range(-1, self.rounds):  # the first round does not count
                for name, work in works.items():
                    seconds = await self._seconds(name, work)
                    if number >= 0:
                        found[name].append(seconds)
        return Cost(operation, {name: min(values) for name, values in found.items()}, len(recorded))

    async def _works(
        self, stack: AsyncExitStack, operation: str, recorded: Sequence[Exchange]
    ) -> dict[str, Callable[[], Awaitable[object]]]:
        call = calls_of(operation, range(_TASK, _TASK + 1))[0]
        manager = await stack.enter_async_context(_managed(self._build_server().sdk, call))
        plain = await stack.enter_async_context(_managed(_plain_server(json.loads(await manager())), call))
        store = stack.enter_context(closing(self._open_store()))
        connection = stack.enter_context(closing(connect_once(self.site.url)))
        return {
            _WHOLE: self._ask_replica(call),
            _APP: await stack.enter_async_context(self._application(call)),
            _TOKEN: partial(self._make_reader().verify_token, self.token),
            _MANAGER: manager,
            _PLAIN: plain,
            _SERVICE: _serve(TaskService(store, SystemRandom()), operation),
            _DRIVER: _replay(connection, recorded),
        }

    async def _seconds(self, name: str, work: Callable[[], Awaitable[object]]) -> float:
        clock = partial(cpu_of, self.replica.process.pid) if name == _WHOLE else time.process_time
        before = clock()
        for _ in range(self.calls):
            await work()
        return (clock() - before) / self.calls

    def _ask_replica(self, call: Call) -> Callable[[], Awaitable[object]]:
        connection = HTTPConnection(self.replica.address)
        body, headers = headers_of(call)
        given = {**headers, "Authorization": f"Bearer {self.token}"}

        async def ask() -> None:
            connection.request("POST", PATH, body, given)
            response = connection.getresponse()
            check(response.status, response.read())

        return ask

    @asynccontextmanager
    async def _application(self, call: Call) -> AsyncIterator[Callable[[], Awaitable[bytes]]]:
        authority, limits = Authority(), {"calls_per_second": 1e9, "calls_burst": 10**9}
        fill(self.site.url, authority.tenant(), self.tasks)
        async with hosting(TASKS_V1.record, self.site.url, authority, **limits) as service:
            own = {"Host": urlsplit(PUBLIC_URL).netloc, "Authorization": f"Bearer {authority.token()}"}
            yield _ask(service.hosted.app, call, own)

    def _make_reader(self) -> TokenReader:
        return TokenReader(self.issuer.url, PUBLIC_URL, "sub", IssuerKeys(self.issuer.url))

    def _build_server(self) -> TaskServer:
        return TASKS_V1.record.build({"task_store": self.site.url, "task_tenant": self.tenant})

    def _open_store(self) -> Store[StoredTask]:
        database = PostgresDatabase(Pool(self.site.url), self.tenant, CODEC.kind.name)
        return Store(database, CODEC.kind, tenant=self.tenant)


def _ask(app: ASGIApp, call: Call, own: Mapping[str, str]) -> Callable[[], Awaitable[bytes]]:
    text, headers = headers_of(call)
    body = text.encode()
    given = {**headers, "Content-Length": str(len(body)), **own}

    async def ask() -> bytes:
        return check(*await send(app, "POST", PATH, given, body))

    return ask


@asynccontextmanager
async def _managed(server: Server[None], call: Call) -> AsyncIterator[Callable[[], Awaitable[bytes]]]:
    """Yield what calls ``server`` through the SDK's manager, without what the hosted service has before it."""
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    async with manager.run():
        yield _ask(manager.handle_request, call, {"Host": "127.0.0.1"})


def _plain_server(answer: Mapping[str, Any]) -> Server[None]:
    """Return a server of the SDK whose tools do nothing but give this answer."""
    result = mcp_types.CallToolResult.model_validate(answer["result"])

    async def call_tool(_: ServerRequestContext[None], __: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        return result

    async def list_tools(
        _: ServerRequestContext[None], __: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=[])

    server = Server[None]("plain", on_call_tool=call_tool, on_list_tools=list_tools)
    server.middleware.clear()  # as in ours, without tracing
    return server


def _serve(service: TaskService, operation: str) -> Callable[[], Awaitable[object]]:
    new = CreateTaskArguments.model_validate_json(json.dumps(dict(TASKS_V1.create.arguments)))
    page = ListTasksArguments.model_validate_json(json.dumps(dict(TASKS_V1.page.arguments)))
    works: dict[str, Callable[[], object]] = {
        "get": partial(service.get_task, str(_TASK)),
        "list page": partial(service.list_tasks, page),
        "create": partial(service.create_task, new),
    }

    async def serve() -> object:
        return works[operation]()

    return serve


def _replay(connection: PostgresConnection, recorded: Sequence[Exchange]) -> Callable[[], Awaitable[object]]:
    """Return what sends the recorded statements with the driver alone; it takes back what it writes."""

    def run(asked: Asked) -> psycopg.RawCursor[Any]:
        text = "ROLLBACK" if asked.text == "COMMIT" else asked.text
        return psycopg.RawCursor(connection).execute(text.encode(), asked.values or None)

    async def replay() -> None:
        for exchange in recorded:
            with connection.pipeline() if len(exchange) > 1 else nullcontext():
                cursors = [run(asked) for asked in exchange]
            if cursors[-1].description:
                cursors[-1].fetchall()

    return replay

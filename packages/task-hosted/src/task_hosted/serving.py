"""Assembles a hosted server from its settings, and serves it until a signal comes (HO-1, HO-8)."""

from __future__ import annotations

import gc
import logging
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.routing import Route

from task_core.bootstrap import BadSettings, log_to_stderr
from task_core.cli.program import Program
from task_core.cli.settings import load_settings
from task_core.server.transports.asgi import AllowedNames
from task_core.server.transports.connections import listen, say_where, serve
from task_core.server.transports.wire import stop_signal
from task_core.store import Engine, Store
from task_hosted.service.endpoint import ProtocolEndpoint
from task_hosted.service.health import ReplicaHealth
from task_hosted.service.limits import Limits
from task_hosted.service.metrics import Metrics
from task_hosted.service.settings import HostedSettings
from task_hosted.service.tenants import Quota, Tenants
from task_hosted.service.tokens import READ_SCOPE, WRITE_SCOPE, IssuerKeys, TokenReader
from task_hosted.service.tool_calls import log_call, make_repeatable

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from task_core.cli.settings import StoreServerSettings
    from task_core.server.app import TaskServer
    from task_hosted.postgres import Pool

__all__ = ["HostedServer", "load_hosted", "run_hosted", "serve_hosted"]

_TALKATIVE: Final = "mcp"
"""A logger that writes several lines per request at INFO, where one line per call is enough."""

_KEEP_ALIVE: Final = 75
"""Seconds to keep an idle connection: longer than proxies do, so that none uses one that is just being closed."""

_MAX_FILES: Final = 65_536
"""Open files to ask for; where macOS names no limit, it refuses the highest value."""

_OPEN_PATHS: Final = frozenset({"/livez", "/readyz"})
"""Paths that answer under any host name, because probes address the machine."""


def serve_hosted(program: Program, log_level: str | None, host: str, port: int) -> None:
    """Serve one server for each tenant until a signal comes, or raise ``BadSettings``."""
    settings = load_settings(program.settings_type())
    hosted = load_settings(HostedSettings)
    log_to_stderr(log_level or settings.log_level)
    is_debugging = logging.root.level == logging.DEBUG
    logging.getLogger(_TALKATIVE).setLevel(logging.NOTSET if is_debugging else logging.WARNING)
    server = load_hosted(program, settings, hosted)
    # What was imported stays: looking through it takes time, most of all at the end.
    gc.freeze()  # pragma: no cover - the rest in a process: tests/hosted/test_processes.py
    try:  # pragma: no cover - as above
        run_hosted(server, hosted, host, port)
    finally:  # pragma: no cover - as above
        server.end()


def load_hosted(
    program: Program, settings: StoreServerSettings, hosted: HostedSettings, keys: IssuerKeys | None = None
) -> HostedServer:
    """Return the hosted server of ``program``; ``keys`` are those of the issuer.

    It raises ``BadSettings`` if a setting is not for a hosted server.
    """
    _check(settings)

    def build(tenant: str) -> TaskServer:
        return program.build(settings.model_copy(update={"task_tenant": tenant}))

    pool = cast("Pool", settings.pool) if settings.address.engine is Engine.POSTGRESQL else None
    return HostedServer(hosted, program.build(settings), build, pool=pool, keys=keys)


def _check(settings: StoreServerSettings) -> None:
    if settings.address.engine not in {Engine.SQLITE, Engine.POSTGRESQL}:
        raise BadSettings(
            f"TASK_STORE is {settings.address}: with TASK_AUTH_ISSUER, the tasks must be in a database. "
            "Expected: sqlite:/path or postgresql://user@host/database."
        )
    for variable in sorted(settings.model_fields_set & {*settings.personal, "task_tenant"}):
        raise BadSettings(f"{variable.upper()} is for a server with one user: leave it out, or TASK_AUTH_ISSUER.")


class HostedServer:
    """One server for many tenants: an ASGI application and its shutdown."""

    def __init__(
        self,
        settings: HostedSettings,
        first: TaskServer,
        build: Callable[[str], TaskServer],
        *,
        pool: Pool | None = None,
        keys: IssuerKeys | None = None,
    ) -> None:
        """``build`` returns the server of a tenant; ``first`` has the same tools, and lends its threads to them all.

        ``keys`` are those of the issuer.
        """
        self._settings = settings
        self._first = first
        self._build = build
        self.pool = pool
        """The connections that all stores share, if any."""
        self.limits = Limits(settings)
        self.health = ReplicaHealth(pool.probe if pool else partial(_store_of(first).changes, None, 0))
        port = settings.task_metrics_port
        self.metrics = Metrics(port, self.limits, pool) if port else None
        self._tenants = Tenants(self._build_tenant)
        self.app = self._build_app(keys or IssuerKeys(settings.task_auth_issuer))
        """The ASGI application."""

    def end_streams(self) -> None:
        """End every stream of notifications with its final answer."""
        self._tenants.end_streams()

    def close(self) -> None:  # pragma: no cover - in a process: tests/hosted/test_processes.py
        """End every wait for the store; waiting calls fail."""
        self._tenants.close()

    def end(self) -> None:
        """Let the worker threads end; call this once nothing is served any more."""
        self._first.close()
        self._first.end()

    async def drain(self) -> None:  # pragma: no cover - in a process: tests/hosted/test_processes.py
        """Announce the end to proxies, and return once they have had time to use other replicas."""
        self.health.is_draining = True
        with anyio.move_on_after(self._settings.task_drain_seconds):
            await stop_signal()  # a second one ends the wait

    def _build_tenant(self, name: str) -> TaskServer:
        server = self._build(name)
        server.workers.threads = self._first.workers.threads
        server.note_call = self.metrics.note_call if self.metrics else log_call
        store = _store_of(server)
        store.check_growth = Quota(self._settings.task_quota_tasks, self._settings.task_quota_bytes).check
        server.wrap_change = make_repeatable(store)
        if self.metrics:
            store.observe(self.metrics.note_store)
        return server

    def _build_app(self, keys: IssuerKeys) -> ASGIApp:
        settings = self._settings
        urls = {"issuer_url": settings.task_auth_issuer, "resource_server_url": settings.task_public_url}
        auth = AuthSettings.model_validate({**urls, "validate_token_resource": True})
        resource = AnyHttpUrl(settings.task_public_url)
        reader = TokenReader(settings.task_auth_issuer, settings.task_public_url, settings.task_tenant_claim, keys)
        endpoint = ProtocolEndpoint(
            BearerAuthBackend(reader, resource_server_url=resource),
            str(build_resource_metadata_url(resource)),
            self.limits,
            self._tenants,
            self._first.is_read_only,
        )
        scopes, names = [READ_SCOPE, WRITE_SCOPE], _make_names(settings)
        app = Starlette(
            routes=[
                Route("/livez", self.health.live),
                Route("/readyz", self.health.ready),
                *create_protected_resource_routes(resource, [auth.issuer_url], scopes, self._first.sdk.title),
                Route(settings.path, names.let_pages_read(endpoint)),
            ],
            lifespan=self._live,
        )
        app.router.redirect_slashes = False
        return names.check(app, _OPEN_PATHS)

    @asynccontextmanager
    async def _live(self, _: Starlette) -> AsyncIterator[None]:
        if self.pool:
            self.pool.open(self)
        async with self._tenants.run():
            yield
        if self.pool:
            self.pool.leave(self)


def _store_of(server: TaskServer) -> Store[Any]:
    assert isinstance(server.store, Store)  # noqa: S101 - for the type checker: only servers with a store are hosted
    return server.store


def _make_names(settings: HostedSettings) -> AllowedNames:
    hosts = [
        re.escape(host) + ("" if re.search(r":\d+$", host) else r"(:\d{1,5})?") for host in settings.task_allowed_hosts
    ]
    origins = "|".join(map(re.escape, settings.task_allowed_origins)) or "(?!)"
    return AllowedNames(
        re.compile("|".join(hosts), re.ASCII | re.IGNORECASE),
        re.compile(origins, re.ASCII | re.IGNORECASE),
        "This server has another name.",
        "Pages from there may not call this server.",
    )


def run_hosted(server: HostedServer, settings: HostedSettings, host: str, port: int) -> None:
    """Serve at ``http://host:port``, with the path of the public URL, until SIGTERM, SIGINT or SIGHUP comes.

    It raises ``BadSettings`` if an address cannot be used.
    """
    _allow_many_connections()
    if server.metrics:
        server.metrics.publish()
    with listen(host, port) as listener:  # pragma: no cover - in a process: tests/hosted/test_processes.py
        say_where(listener, settings.path)

        async def run() -> None:
            await serve(server.app, listener, server, drain=server.drain, keep_alive=_KEEP_ALIVE)

        anyio.run(run)


def _allow_many_connections() -> None:
    """Let this process have up to 65,536 open files if the system allows it: each stream of a client is one."""
    if sys.platform != "win32":  # pragma: no branch - Windows has no such limit
        import resource  # noqa: PLC0415 - not on Windows

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # macOS takes less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, _MAX_FILES)), hard))

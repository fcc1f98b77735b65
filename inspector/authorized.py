"""Puts a hosted server behind a proxy that adds a token to each request, for a suite that has no option for one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import httpx2
import uvicorn
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from examples.hosted.issuer import TokenIssuer
from examples.hosted.issuer import build_app as build_issuer
from inspector.pinned import server_command
from tests.servers import ServerRecord
from tests.wire.served import PUBLIC_URL, serving

__all__ = ["serving_authorized"]

OF_ONE_CONNECTION: Final = {b"authorization", b"connection", b"content-length", b"transfer-encoding"}
"""Headers that the proxy does not pass on."""


@contextmanager
def serving_authorized(server: ServerRecord, folder: Path) -> Iterator[str]:
    """Yield the address of a hosted server that takes every request for one of the same user."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        issuer_port, port = [listener.getsockname()[1] for listener in listeners]
        issuer = TokenIssuer(f"http://127.0.0.1:{issuer_port}")
        stack.enter_context(_in_thread(build_issuer(issuer), listeners[0]))
        origins = ",".join(f"http://{name}:{port}" for name in ("127.0.0.1", "localhost"))
        settings = {
            "TASK_AUTH_ISSUER": issuer.url,
            "TASK_PUBLIC_URL": PUBLIC_URL,
            "TASK_ALLOWED_HOSTS": "127.0.0.1,localhost",
            "TASK_ALLOWED_ORIGINS": origins,
            "TASK_CALLS_BURST": "100000",
            "TASK_DRAIN_SECONDS": "0",
            "TASK_STORE": f"sqlite:{folder / 'tasks.db'}",
            "LOG_LEVEL": "ERROR",
        }
        served = stack.enter_context(serving([server_command(server.command)], settings))
        proxy = _Proxy(f"http://{served.address}", issuer.sign("suite", PUBLIC_URL))
        stack.enter_context(_in_thread(proxy, listeners[1]))
        yield f"http://127.0.0.1:{port}/mcp"


class _Proxy:
    """Passes each request on as it is, but for its token."""

    def __init__(self, target: str, token: str) -> None:
        self._target = target
        self._token = token
        self._client = httpx2.AsyncClient(timeout=None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request with what the server answers."""
        request = Request(scope, receive)
        headers = [(name, value) for name, value in request.headers.raw if name not in OF_ONE_CONNECTION]
        headers.append((b"authorization", f"Bearer {self._token}".encode()))
        url, body = f"{self._target}{request.url.path}", await request.body()
        passed = self._client.build_request(request.method, url, headers=headers, content=body)
        answer = await self._client.send(passed, stream=True)
        response = StreamingResponse(answer.aiter_raw(), answer.status_code, background=BackgroundTask(answer.aclose))
        response.raw_headers = [(name.lower(), value) for name, value in answer.headers.raw]
        response.raw_headers = [pair for pair in response.raw_headers if pair[0] not in OF_ONE_CONNECTION]
        await response(scope, receive, send)


@contextmanager
def _in_thread(app: ASGIApp, listener: socket.socket) -> Iterator[None]:
    """Serve ``app`` while the block lasts."""
    config = uvicorn.Config(app, log_level="error", lifespan="off", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()

"""The web server around the application (CX-96, CX-102)."""

import asyncio
import logging
import socket
import sys
from contextlib import closing
from ipaddress import ip_address
from pathlib import Path
from typing import Final, NamedTuple

import uvicorn
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from cortex_backend.api.app import build_app
from cortex_backend.settings import BackendSettings, SettingsError

__all__ = ["Serving", "listen", "serve"]

_log: Final = logging.getLogger(__name__)

_HEAD_BYTES: Final = 16 * 1024
"""Bytes of a request line and headers that are read before their end is there; the request guard counts whole ones."""

_HEAD_SECONDS: Final = 10.0
"""Seconds in which the head of a request must arrive, from the connection's beginning or the head's first byte."""


class _TimelyConnection(H11Protocol):
    """A connection that is closed if the head of a request does not arrive in time: it needs a file, but no login."""

    _deadline: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._await_head()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()

    @override
    def handle_events(self) -> None:
        super().handle_events()
        self._await_head()

    def _await_head(self) -> None:
        # Between two requests, uvicorn's own timer runs until the first byte of the second one.
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering or self.timeout_keep_alive_task:
            self._stop_waiting()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(_HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None


class Serving(NamedTuple):
    """Address to serve on, and who speaks TLS."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: Path | None = None
    key: Path | None = None
    is_behind_proxy: bool = False

    def check(self) -> None:
        """Raise ``SettingsError`` if passwords could be read on the way, or half of a certificate is missing."""
        if (self.certificate is None) != (self.key is None):
            raise SettingsError("Give both --tls-cert and --tls-key.")
        if not (_is_loopback(self.host) or self.certificate or self.is_behind_proxy):
            raise SettingsError(
                f"--host {self.host} would send passwords in the clear: give --tls-cert and --tls-key, or"
                " --behind-tls-proxy if a proxy speaks TLS."
            )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(serving: Serving) -> socket.socket:
    """Return a socket that listens; it raises ``OSError`` if the address cannot be used."""
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    listener = socket.create_server((serving.host, serving.port), family=family, backlog=128)
    # Connections inherit it; otherwise the body of each answer would wait until the client acknowledges its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def serve(settings: BackendSettings, serving: Serving) -> None:
    """Answer requests until a signal comes; the address is printed once it answers.

    It raises ``DatabaseRefused``, ``SettingsError``, or ``OSError`` for the address and the certificate.
    """
    serving.check()
    with listen(serving) as listener, closing(build_app(settings)) as app:
        config = uvicorn.Config(
            app,
            http=_TimelyConnection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=_HEAD_BYTES,
            ssl_certfile=serving.certificate,
            ssl_keyfile=serving.key,
            timeout_graceful_shutdown=5,
        )
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        scheme = "https" if serving.certificate else "http"
        sys.stdout.write(f"cortex-backend serves on {scheme}://{shown}:{port}\n")
        sys.stdout.flush()
        if serving.is_behind_proxy and not settings.trusted_proxies:
            _log.warning(
                "CORTEX_TRUSTED_PROXIES is not set: all clients of the proxy share one limit of failed logins. "
                "Set it to the address of the proxy."
            )
        uvicorn.Server(config).run(sockets=[listener])

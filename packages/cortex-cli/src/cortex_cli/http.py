"""One HTTP request at a time, over TLS or to this machine only; redirects are answers like others (CX-61).

No other module of ``ctx`` opens a connection; the backend and the forges go through ``send``.
"""

import os
import ssl
import threading
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from socket import SHUT_RDWR, socket
from typing import Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from cortex_cli import VERSION

__all__ = ["ANSWER_LIMIT", "ConnectionFailed", "Reply", "UnsafeUrl", "check_url", "is_loopback", "origin_of", "send"]

ANSWER_LIMIT: Final = 8 * 1024 * 1024
"""Bytes that an answer may have at most."""

_PORTS: Final = {"http": 80, "https": 443}


class UnsafeUrl(ValueError):
    """A URL to which nothing is sent; the message says what is wrong, without repeating it."""


class ConnectionFailed(OSError):
    """No complete answer arrived; the message says why. ``is_timeout`` is true if it took too long."""

    def __init__(self, reason: str, *, is_timeout: bool = False) -> None:
        super().__init__(reason)
        self.is_timeout = is_timeout


class Reply(NamedTuple):
    """An answer; the names of the headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def is_loopback(host: str) -> bool:
    """Return whether ``host`` is this machine: 127.0.0.0/8, ::1 or localhost."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_url(url: str) -> SplitResult:
    """Return the parts of a URL; raise ``UnsafeUrl`` if a token may not be sent there.

    It may be sent over https, or over http to this machine; the URL has no user info.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UnsafeUrl("is not a URL") from None
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise UnsafeUrl("must begin with https:// and name a host")
    if any(not "!" <= character <= "~" for character in url):
        raise UnsafeUrl("must not have spaces, control or foreign characters")
    if "@" in parts.netloc:
        raise UnsafeUrl("must not have a user name or a password in it")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise UnsafeUrl("must be https, since http is for servers on this machine only")
    return parts


def origin_of(url: str) -> str:
    """Return the ``scheme://host:port`` under which logins are kept; raise ``UnsafeUrl`` as ``check_url`` does."""
    parts = check_url(url)
    host = str(parts.hostname)
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port or _PORTS[parts.scheme]}"


def send(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None = None,
    *,
    seconds: float,
    limit: int = ANSWER_LIMIT,
) -> Reply:
    """Send one request and return its answer, whatever its status; raise ``UnsafeUrl`` as ``check_url`` does.

    Raise ``ConnectionFailed`` without a complete answer within ``seconds`` and ``limit``, which is in bytes.
    """
    parts = check_url(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = _open(parts, seconds)
    expired = threading.Event()

    def cut_off() -> None:  # a timeout of the socket begins again with every byte that comes
        expired.set()
        with suppress(OSError):  # it may have ended by itself
            opened.shutdown(SHUT_RDWR)

    timer = threading.Timer(seconds, cut_off)
    timer.daemon = True
    try:
        connection.connect()
        opened: socket = connection.sock
        timer.start()
        connection.request(method, target, body, {"User-Agent": f"ctx/{VERSION}", **headers})
        with connection.getresponse() as response:
            content = _read(response, limit)
        if expired.is_set():  # headers that are cut off look complete
            raise TimeoutError
    except (OSError, HTTPException, ValueError) as error:
        raise _failure(error, is_timeout=expired.is_set()) from None
    finally:
        timer.cancel()
        connection.close()
    return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, content)


def _failure(error: Exception, *, is_timeout: bool) -> ConnectionFailed:
    if isinstance(error, ConnectionFailed):
        return error
    if is_timeout or isinstance(error, TimeoutError):
        return ConnectionFailed("no answer in time", is_timeout=True)
    if isinstance(error, ssl.SSLCertVerificationError):
        return ConnectionFailed(f"its certificate is not valid: {error.verify_message}")
    reason = (error.strerror if isinstance(error, OSError) else "") or "the connection was lost"
    return ConnectionFailed(reason)


def _read(response: HTTPResponse, limit: int) -> bytes:
    content = response.read(limit + 1)
    if len(content) > limit:
        raise ConnectionFailed(f"the answer is longer than {limit} bytes")
    if response.length:
        raise ConnectionFailed("the answer is not complete")
    return content


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _open(parts: SplitResult, seconds: float) -> HTTPConnection:
    host = str(parts.hostname)
    port = parts.port or _PORTS[parts.scheme]
    if parts.scheme == "http":
        return HTTPConnection(host, port, timeout=seconds)
    proxy = _proxy_for(host)
    if proxy is None:
        return HTTPSConnection(host, port, timeout=seconds, context=_tls())
    connection = HTTPSConnection(str(proxy.hostname), proxy.port or 8080, timeout=seconds, context=_tls())
    headers = {}
    if proxy.username is not None:
        login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
    connection.set_tunnel(host, port, headers)
    return connection


def _proxy_for(host: str) -> SplitResult | None:
    value = os.environ.get("https_proxy") or os.environ.get("HTTPS_PROXY")
    if not value or is_loopback(host):
        return None
    for entry in (os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").split(","):
        name = entry.strip().lstrip(".").lower()
        if name == "*" or (name and (host == name or host.endswith(f".{name}"))):
            return None
    try:
        proxy = urlsplit(value if "://" in value else f"http://{value}")
    except ValueError:
        raise ConnectionFailed("https_proxy is not a URL") from None
    return proxy

"""The services for clients: the issuer of tokens, the replicas of the server, and the proxy in front of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from examples.hosted.cluster import ask_service
from examples.hosted.daemons import Daemon
from examples.hosted.database import store_url
from examples.hosted.layout import REPLICAS, ROOT, Layout
from examples.hosted.passwords import SERVER
from examples.hosted.programs import find_haproxy

__all__ = ["ask_for_token", "is_serving", "issuer", "proxy", "replica"]

_ANSWER_SECONDS: Final = 2.0
"""Seconds that a service may take to answer."""

_METADATA: Final = "/.well-known/oauth-authorization-server"


def issuer(layout: Layout, machine: str = "issuer") -> Daemon:
    """Return the issuer of tokens, which believes whatever name it is given: for trying only."""
    port = str(layout.port_of("issuer", "issuer"))
    command = (sys.executable, "-m", "examples.hosted.issuer", "--port", port, "--key", str(_find_key(layout)))
    name = machine if machine == "issuer" else f"{machine}-issuer"
    return Daemon(name, machine, command, {"PYTHONPATH": str(ROOT)})


def replica(layout: Layout, machine: str, package: str, settings: Mapping[str, str]) -> Daemon:
    """Return one of the servers, whose code is in ``package``, with ``settings`` beside those that it needs."""
    host, _, port = layout.address("server", machine).partition(":")
    command = (sys.executable, "-m", package, "--transport", "http", "--host", host, "--port", port)
    environment = {
        "TASK_STORE": store_url(layout),
        "PGPASSFILE": str(layout.folder / f"{SERVER}.pgpass"),
        "TASK_AUTH_ISSUER": layout.issuer_url,
        "TASK_PUBLIC_URL": layout.public_url,
        "TASK_ALLOWED_HOSTS": layout.host("proxy"),
        # Longer than it takes until another node is the primary, so that calls wait for it instead of failing.
        "TASK_LOCK_TIMEOUT": "40",
        "LOG_LEVEL": "INFO",
        **settings,
    }
    return Daemon(machine, machine, command, environment)


def proxy(layout: Layout) -> Daemon:
    """Return haproxy, which sends each request to a server that is ready."""
    environment = {
        "PROXY": layout.address("proxy", "proxy"),
        "PUBLIC_HOST": layout.address("proxy", "proxy"),
        "REPLICA1": layout.address("server", "replica1"),
        "REPLICA2": layout.address("server", "replica2"),
    }
    command = (str(find_haproxy()), "-db", "-f", str(ROOT / "examples/hosted/haproxy.cfg"))
    return Daemon("proxy", "proxy", command, environment)


def is_serving(layout: Layout) -> bool:
    """Return whether the issuer, every server and the proxy answer."""
    ready = [layout.address("server", machine) for machine in REPLICAS] + [layout.address("proxy", "proxy")]
    asked = [(layout.address("issuer", "issuer"), _METADATA), *((address, "/readyz") for address in ready)]
    return all(ask_service(address, path) is not None for address, path in asked)


def ask_for_token(layout: Layout, user: str) -> str:
    """Return a token with which a client is ``user`` for an hour, or raise ``OSError``."""
    form = {"grant_type": "client_credentials", "client_id": user, "resource": layout.public_url}
    connection = HTTPConnection(layout.address("issuer", "issuer"), timeout=_ANSWER_SECONDS)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    try:
        connection.request("POST", "/token", urlencode(form), headers)
        token: str = json.loads(connection.getresponse().read())["access_token"]
        return token
    finally:
        connection.close()


def _find_key(layout: Layout) -> Path:
    """Return the path of the key that signs tokens, after making it up if there is none yet."""
    path = layout.folder / "issuer.pem"
    if not path.exists():
        form = Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        layout.write(path.name, generate_private_key(SECP256R1()).private_bytes(*form).decode())
    return path

"""What clients reach: the issuer of tokens, the replicas of the server, and the proxy in front of them."""

from __future__ import annotations

import sys

from examples.hosted.daemons import Daemon
from examples.hosted.database import store_url
from examples.hosted.layout import ROOT, Layout
from examples.hosted.passwords import SERVER
from examples.hosted.programs import find_haproxy

__all__ = ["issuer", "proxy", "replica"]


def issuer(layout: Layout) -> Daemon:
    """Return the issuer of tokens, which knows every user by whatever name they give: for trying only."""
    port = str(layout.port_of("issuer", "issuer"))
    command = (sys.executable, "-m", "examples.hosted.issuer", "--port", port)
    return Daemon("issuer", "issuer", command, {"PYTHONPATH": str(ROOT)})


def replica(layout: Layout, machine: str, package: str) -> Daemon:
    """Return one of the servers, whose code is in ``package``."""
    address = layout.host(machine), str(layout.port_of("server", machine))
    command = (sys.executable, "-m", package, "--transport", "http", "--host", address[0], "--port", address[1])
    environment = {
        "TASK_STORE": store_url(layout),
        "PGPASSFILE": str(layout.folder / f"{SERVER}.pgpass"),
        "TASK_AUTH_ISSUER": layout.issuer_url,
        "TASK_PUBLIC_URL": layout.public_url,
        "TASK_ALLOWED_HOSTS": layout.address("proxy", "proxy"),
        "LOG_LEVEL": "INFO",
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

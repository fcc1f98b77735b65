"""The database: a cluster of three nodes, each with a member of etcd and a PostgreSQL that Patroni watches over."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

import psutil

from examples.hosted.daemons import Daemon, end_processes
from examples.hosted.layout import NODES, ROOT, Layout
from examples.hosted.programs import find_etcd, find_patroni, find_postgres
from examples.hosted.passwords import Passwords

__all__ = ["end_postgres", "etcd_member", "find_postmaster", "find_primary", "is_complete", "patroni", "wait_until"]

_STOP_SECONDS: Final = 20.0
"""Seconds that PostgreSQL may take to end."""

_ANSWER_SECONDS: Final = 2.0
"""Seconds that Patroni may take to answer."""


def etcd_member(layout: Layout, node: str) -> Daemon:
    """Return the member of etcd on a node."""
    clients, peers = (f"http://{layout.address(service, node)}" for service in ("etcd", "peers"))
    members = ",".join(f"{each}=http://{layout.address('peers', each)}" for each in NODES)
    options = {
        "name": node,
        "data-dir": str(layout.folder / node / "etcd"),
        "listen-client-urls": clients,
        "advertise-client-urls": clients,
        "listen-peer-urls": peers,
        "initial-advertise-peer-urls": peers,
        "initial-cluster": members,
        "initial-cluster-token": "tasks",
        "log-level": "warn",
    }
    command = [str(find_etcd()), *(f"--{name}={value}" for name, value in options.items())]
    return Daemon(f"etcd-{node}", node, command)


def patroni(layout: Layout, node: str, passwords: Passwords) -> Daemon:
    """Return Patroni on a node, which starts PostgreSQL there."""
    folder = layout.folder / node
    environment = {
        "PATH": f"{find_postgres()}:/usr/bin:/bin",
        "PATRONI_NAME": node,
        "PATRONI_ETCD3_HOSTS": layout.addresses("etcd"),
        "PATRONI_RESTAPI_LISTEN": layout.address("patroni", node),
        "PATRONI_RESTAPI_CONNECT_ADDRESS": layout.address("patroni", node),
        "PATRONI_POSTGRESQL_LISTEN": layout.address("postgres", node),
        "PATRONI_POSTGRESQL_CONNECT_ADDRESS": layout.address("postgres", node),
        "PATRONI_POSTGRESQL_DATA_DIR": str(folder / "postgres"),
        "PATRONI_POSTGRESQL_BIN_DIR": str(find_postgres()),
        "PATRONI_POSTGRESQL_PGPASS": str(folder / "pgpass"),
        "PATRONI_SUPERUSER_USERNAME": "postgres",
        "PATRONI_SUPERUSER_PASSWORD": passwords.superuser,
        "PATRONI_REPLICATION_USERNAME": "replicator",
        "PATRONI_REPLICATION_PASSWORD": passwords.replication,
    }
    return Daemon(f"patroni-{node}", node, [*find_patroni(), str(ROOT / "examples/hosted/patroni.yaml")], environment)


def find_primary(layout: Layout) -> str | None:
    """Return the node that takes writes, or None if there is none."""
    return next((node for node in NODES if _ask(layout, node, "/primary") is not None), None)


def is_complete(layout: Layout) -> bool:
    """Return whether every node runs, and a standby of the primary is synchronous."""
    primary = find_primary(layout)
    members = (_ask(layout, primary, "/cluster") or {}).get("members", []) if primary else []
    roles = sorted(member["role"] for member in members if member["state"] in {"running", "streaming"})
    return roles == ["leader", "replica", "sync_standby"]


def find_postmaster(layout: Layout, node: str) -> psutil.Process | None:
    """Return the first process of the PostgreSQL on a node, or None if it does not run."""
    try:
        pid = int((layout.folder / node / "postgres" / "postmaster.pid").read_text("utf-8").splitlines()[0])
        process = psutil.Process(pid)
        is_ours = str(layout.folder / node) in " ".join(process.cmdline())
    except (OSError, ValueError, IndexError, psutil.NoSuchProcess):
        return None
    return process if is_ours else None


def end_postgres(layout: Layout) -> int:
    """Stop every PostgreSQL that runs without its Patroni, and return how many there were."""
    running = [process for node in NODES if (process := find_postmaster(layout, node))]
    return end_processes(running, _STOP_SECONDS, signal.SIGINT)  # SIGTERM would wait for its clients


def wait_until(is_done: Callable[[], bool], what: str, seconds: float) -> None:
    """Look four times a second until ``is_done`` returns True; raise ``TimeoutError`` after ``seconds``."""
    end = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} took longer than {seconds:.0f} seconds: see the logs")
        time.sleep(0.25)


def _ask(layout: Layout, node: str, path: str) -> dict[str, Any] | None:
    """Return what Patroni answers, or None if it does not, or denies what ``path`` asks."""
    connection = HTTPConnection(layout.address("patroni", node), timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
    except (OSError, HTTPException, ValueError):
        return None
    else:
        return answer if response.status == HTTPStatus.OK else None
    finally:
        connection.close()

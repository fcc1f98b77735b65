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
from examples.hosted.layout import MEMBERS, NODES, ROOT, Layout
from examples.hosted.passwords import Passwords
from examples.hosted.programs import find_etcd, find_patroni, find_postgres

__all__ = [
    "ask_service",
    "end_postgres",
    "etcd_member",
    "find_etcd_leader",
    "find_postmaster",
    "find_primary",
    "find_synchronous",
    "is_complete",
    "patroni",
    "switch_over",
    "wait_until",
]

_STOP_SECONDS: Final = 20.0
"""Seconds that PostgreSQL may take to end."""

_ANSWER_SECONDS: Final = 2.0
"""Seconds that a service may take to answer."""


def etcd_member(layout: Layout, machine: str) -> Daemon:
    """Return the member of etcd on a machine."""
    clients, peers = (f"http://{layout.address(service, machine)}" for service in ("etcd", "peers"))
    options = {
        "name": machine,
        "data-dir": str(layout.folder / machine),
        "listen-client-urls": clients,
        "advertise-client-urls": clients,
        "listen-peer-urls": peers,
        "initial-advertise-peer-urls": peers,
        "initial-cluster": ",".join(f"{each}=http://{layout.address('peers', each)}" for each in MEMBERS),
        "initial-cluster-token": "tasks",
        "log-level": "warn",
    }
    return Daemon(machine, machine, [str(find_etcd()), *(f"--{name}={value}" for name, value in options.items())])


def patroni(layout: Layout, node: str, passwords: Passwords) -> Daemon:
    """Return Patroni on a node, which starts PostgreSQL there."""
    folder = layout.folder / node
    environment = {
        "PATH": f"{find_postgres()}:/usr/bin:/bin",
        "PATRONI_NAME": node,
        "PATRONI_ETCD3_HOSTS": layout.addresses("etcd", MEMBERS),
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
    return Daemon(node, node, [*find_patroni(), str(ROOT / "examples/hosted/patroni.yaml")], environment)


def find_primary(layout: Layout) -> str | None:
    """Return the node that takes writes, or None if there is none."""
    return next((node for node in NODES if _ask(layout, node, "/primary") is not None), None)


def find_synchronous(layout: Layout) -> str | None:
    """Return the node that has every commit which was acknowledged, beside the primary, or None if there is none."""
    return next((name for name, role in _roles(layout).items() if role == "sync_standby"), None)


def is_complete(layout: Layout) -> bool:
    """Return whether every node runs, and a standby of the primary is synchronous."""
    return sorted(_roles(layout).values()) == ["leader", "replica", "sync_standby"]


def switch_over(layout: Layout, node: str) -> None:
    """Ask the primary, which is ``node``, to let a standby take over."""
    _ask(layout, node, "/switchover", {"leader": node})


def find_etcd_leader(layout: Layout) -> str:
    """Return the machine of the member that leads etcd; raise ``LookupError`` if there is none."""
    for machine in MEMBERS:
        status = ask_service(layout.address("etcd", machine), "/v3/maintenance/status", {})
        if status and status["header"]["member_id"] == status["leader"]:
            return machine
    raise LookupError("no member of etcd leads")


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


def ask_service(address: str, path: str, body: object = None) -> dict[str, Any] | None:
    """Return what a service answers, or None if it does not, or denies what ``path`` asks."""
    connection = HTTPConnection(address, timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
    except (OSError, HTTPException, ValueError):
        return None
    else:
        return answer if response.status == HTTPStatus.OK else None
    finally:
        connection.close()


def wait_until(is_done: Callable[[], bool], what: str, seconds: float) -> None:
    """Look four times a second until ``is_done`` returns True; raise ``TimeoutError`` after ``seconds``."""
    end = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} took longer than {seconds:.0f} seconds: see the logs")
        time.sleep(0.25)


def _roles(layout: Layout) -> dict[str, str]:
    """Return the role of each node that runs, as the primary has it."""
    primary = find_primary(layout)
    cluster = _ask(layout, primary, "/cluster") if primary else None
    members: list[dict[str, str]] = cluster["members"] if cluster else []
    return {member["name"]: member["role"] for member in members if member["state"] in {"running", "streaming"}}


def _ask(layout: Layout, node: str, path: str, body: object = None) -> dict[str, Any] | None:
    return ask_service(layout.address("patroni", node), path, body)

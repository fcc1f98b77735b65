"""The layout of the deployment: its folder, its machines, and the port of each service."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

__all__ = ["MEMBERS", "NODES", "REPLICAS", "ROOT", "Layout", "find_user"]

ROOT: Final = Path(__file__).resolve().parents[2]
"""The workspace."""

NODES: Final = ("node1", "node2", "node3")
"""The machines of the database: each runs Patroni with its PostgreSQL."""

MEMBERS: Final = ("etcd1", "etcd2", "etcd3")
"""The machines of etcd, which decides which node is the primary; they may be those of the database."""

REPLICAS: Final = ("replica1", "replica2")
"""The machines of the servers."""

_PORTS: Final = {"proxy": 0, "issuer": 1, "server": 10, "patroni": 20, "postgres": 30, "etcd": 40, "peers": 50}
"""Offsets of each service from the first port; the number of the machine is added too."""


def find_user() -> tuple[int, int] | None:
    """Return the user and group that run everything, if not the caller's own: nothing runs as root."""
    if os.geteuid():
        return None
    account = pwd.getpwnam("nobody")
    return account.pw_uid, account.pw_gid


@dataclass(frozen=True)
class Layout:
    """The places of one deployment; on one machine, every address is the loopback address."""

    folder: Path
    """holds all data, settings, secrets and logs"""
    port: int = 7400
    """the port of the proxy, and the first of all ports"""
    hosts: Mapping[str, str] = field(default_factory=dict)
    """the address of each machine that has one of its own"""

    def host(self, machine: str) -> str:
        """Return the address of a machine."""
        return self.hosts.get(machine, "127.0.0.1")

    def port_of(self, service: str, machine: str) -> int:
        """Return the port of a service on a machine."""
        number = int(machine[-1]) if machine[-1].isdecimal() else 0
        return self.port + _PORTS[service] + number

    def address(self, service: str, machine: str) -> str:
        """Return ``HOST:PORT`` of a service on a machine."""
        return f"{self.host(machine)}:{self.port_of(service, machine)}"

    def addresses(self, service: str, machines: Iterable[str]) -> str:
        """Return the addresses of a service on some machines, with commas between them."""
        return ",".join(self.address(service, machine) for machine in machines)

    @property
    def public_url(self) -> str:
        """The address of the service for its clients."""
        return f"http://{self.address('proxy', 'proxy')}/mcp"

    @property
    def issuer_url(self) -> str:
        """The address of the issuer of tokens."""
        return f"http://{self.address('issuer', 'issuer')}"

    def create(self, name: str = "") -> Path:
        """Return the folder, or one inside it, after making it for the user alone."""
        folder = self.folder / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._hand_over(folder)
        return folder

    def write(self, name: str, text: str) -> Path:
        """Write a file in the folder that only the user can read, and return its path."""
        path = self.folder / name
        with self._open(path, os.O_TRUNC) as file:
            file.write(text.encode())
        return path

    def open_log(self, name: str) -> BinaryIO:
        """Return the open log of a program, at its end."""
        return self._open(self.create("logs") / f"{name}.log", os.O_APPEND)

    def _open(self, path: Path, how: int) -> BinaryIO:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | how, 0o600)
        self._hand_over(path)
        return os.fdopen(descriptor, "wb")

    def _hand_over(self, path: Path) -> None:
        user = find_user()
        if user:
            os.chown(path, *user, follow_symlinks=False)

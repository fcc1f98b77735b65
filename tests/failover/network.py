"""A network of machines inside this one: each has a network namespace of its own, and a switch can cut it off.

Only root can make one, in a network and mount namespace that end with the process (``reveal_programs``).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from typing import Final

from examples.hosted.layout import find_user

__all__ = ["HOSTS", "Network", "is_possible"]

_SWITCH: Final = "switch"
_PREFIX: Final = "10.77.0"
_OWN: Final = f"{_PREFIX}.1"

_NUMBERS: Final = {"node": 10, "etcd": 20, "replica": 30}

HOSTS: Final = {
    **{f"{kind}{number}": f"{_PREFIX}.{base + number}" for kind, base in _NUMBERS.items() for number in (1, 2, 3)},
}
"""The address of each machine; the proxy and the clients are where the switch is, on its loopback address."""

_FORWARDS, _DROPS = "3", "0"
"""The states of a port of the switch: one that drops everything looks to both sides like a cable that leads nowhere."""


def is_possible() -> bool:
    """Return whether this process may make networks."""
    return os.geteuid() == 0


class Network:
    """The network of a deployment, made in the namespaces of this process."""

    def __init__(self) -> None:
        _ip("link set lo up")
        _ip(f"link add {_SWITCH} type bridge")
        _ip(f"addr add {_OWN}/24 dev {_SWITCH}")
        _ip(f"link set {_SWITCH} up")

    def add(self, machine: str) -> None:
        """Connect a machine."""
        _ip(f"netns add {machine}")
        _ip(f"link add {machine} type veth peer name wire netns {machine}")
        _ip(f"link set {machine} master {_SWITCH} up")
        _ip(f"-n {machine} addr add {HOSTS[machine]}/24 dev wire")
        _ip(f"-n {machine} link set wire up")
        _ip(f"-n {machine} link set lo up")

    def within(self, machine: str) -> Sequence[str]:
        """Return the command that starts a program on a machine, as the user of the deployment."""
        if machine not in HOSTS:
            return ()
        user, group = find_user() or (os.geteuid(), os.getegid())
        return ("nsenter", f"--net=/run/netns/{machine}", f"--setuid={user}", f"--setgid={group}", "--")

    def cut_off(self, machines: Iterable[str]) -> None:
        """Drop everything that goes to and from machines."""
        self._set(machines, _DROPS)

    def connect(self, machines: Iterable[str]) -> None:
        """Carry everything to and from machines again."""
        self._set(machines, _FORWARDS)

    def _set(self, machines: Iterable[str], state: str) -> None:
        for machine in machines:
            subprocess.run(["bridge", "link", "set", "dev", machine, "state", state], check=True)  # noqa: S607


def _ip(command: str) -> None:
    subprocess.run(["ip", *command.split()], check=True)  # noqa: S607 - wherever iproute2 is

"""The client that a command runs below, whose process a claim can be attached to (AG-13).

A session file of such a process has its number and start time in its name, in place of a lock. Only Linux says when a
process has started; elsewhere, and where a command runs below no client, a claim is an assignment, which never expires.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["ASSIGNED", "SYSTEM", "Holder", "find_holder", "is_attached", "is_running"]

ASSIGNED: Final = "assigned"
"""The session of claims that no process holds: they last until somebody releases them."""

SYSTEM: Path = Path("/proc")
"""The files that show the processes of this system."""

_INTERPRETERS: Final = frozenset({"node", "bun", "deno"})
"""Programs whose first argument names the client that they run."""


class Holder(NamedTuple):
    """A process for which commands claim tasks."""

    process: str
    """its session"""
    title: str = ""
    """the name of its client, if that is known"""


class _RunningProcess(NamedTuple):
    parent: int
    start: str
    """its start, in ticks since the start of the system"""
    words: list[str]
    """the name that it goes by, and its command"""


def find_holder(clients: Mapping[str, str]) -> Holder:
    """Return the nearest process above this one that is one of ``clients``, or else that of an assignment.

    ``clients`` has the title for each name that a program or package of a client has.
    """
    number = os.getppid()
    while number and (process := _read(number)):
        for name in _names(process.words):
            if name in clients:
                return Holder(f"client.{number}.{process.start}.{_system()}", clients[name])
        number = process.parent
    return Holder(ASSIGNED)


def is_attached(session: str) -> bool:
    """Return whether a session is that of a client's process or of assignments, so that it has no lock."""
    return session == ASSIGNED or re.match(r"client\.\d+\.\d+\.", session) is not None


def is_running(session: str) -> bool:
    """Return whether the process of such a session still runs, or may run where this process cannot see it."""
    if session == ASSIGNED:
        return True
    _, number, start, *system = session.split(".")
    here = _system().split(".")
    if here != system:
        return here[0] in {"", system[0]}  # in another container of this machine, not before its last start
    process = _read(int(number))
    return process is not None and process.start == start


def _names(words: list[str]) -> list[str]:
    """Return the names of a process: its own, that of its program, and those of the script that this interprets."""
    found, *command = words
    names, plain = [found], [it for it in [*command, ""] if not it.startswith("-")]
    for word in plain[: 2 if _stem(plain[0]) in _INTERPRETERS else 1]:
        names += [_stem(word), *re.findall(r"node_modules/(?:@[^/]+/)?([^/]+)/", word)]
    return names


def _stem(word: str) -> str:
    return re.split(r"[\\/]", word)[-1].removesuffix(".js")


def _read(number: int) -> _RunningProcess | None:
    """Return a process, or None if it has ended or this system does not show it."""
    folder = SYSTEM / str(number)
    try:
        name, _, rest = (folder / "stat").read_text(errors="replace").rpartition(") ")
        command = (folder / "cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return None
    state, parent, *others = rest.split()
    return None if state in "ZX" else _RunningProcess(int(parent), others[17], [name.partition("(")[2], *command])


def _system() -> str:
    """Return the names of the start of this system and of what numbers its processes; of another system, no name."""
    try:
        start, numbers = (SYSTEM / "sys/kernel/random/boot_id").read_text(), (SYSTEM / "self/ns/pid").readlink()
        return f"{start[:8]}.{str(numbers).strip('pid:[]')}"
    except OSError:
        return "."

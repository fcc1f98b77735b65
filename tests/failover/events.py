"""Failures of the machines in a failover, and the repair of each (HO-10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psutil

from examples.hosted.cluster import (
    find_etcd_leader,
    find_postmaster,
    find_primary,
    find_synchronous,
    switch_over,
)
from examples.hosted.main import Deployment
from tests.failover.network import Network

__all__ = ["EVENTS", "Event", "Stage"]


@dataclass(frozen=True)
class Stage:
    """The deployment under test; without a network nothing can be cut off."""

    deployment: Deployment
    network: Network | None

    def processes(self, machine: str) -> list[psutil.Process]:
        """Return every process of a machine."""
        daemon = self.deployment.daemons.find(machine)
        return [*([daemon] if daemon else []), *self.postgres(machine)]

    def postgres(self, node: str) -> list[psutil.Process]:
        """Return the processes of the PostgreSQL on a node."""
        postmaster = find_postmaster(self.deployment.layout, node)
        return [postmaster, *postmaster.children(recursive=True)] if postmaster else []

    def patroni(self, node: str) -> list[psutil.Process]:
        """Return the process of Patroni on a node, without its PostgreSQL."""
        daemon = self.deployment.daemons.find(node)
        return [daemon] if daemon else []

    def start(self, machine: str) -> None:
        """Start the program of a machine, unless it runs."""
        self.deployment.run(next(daemon for daemon in self.deployment.all if daemon.name == machine))


Undo = Callable[[], object]


@dataclass(frozen=True)
class Event:
    """Something that happens to a machine for a while."""

    what: str
    how: str
    begin: Callable[[Stage], Undo]
    """does it, and returns how it ends"""
    is_about_servers: bool = False
    """whether it happens to a server, so that only clients over HTTP notice"""

    @property
    def name(self) -> str:
        """The name of the event in reports."""
        return f"{self.what} {self.how}"


Find = Callable[[Stage], str]
Processes = Callable[[Stage, str], Sequence[psutil.Process]]


def _kill(find: Find, processes: Processes = Stage.processes) -> Callable[[Stage], Undo]:
    def begin(stage: Stage) -> Undo:
        machine = find(stage)
        for process in processes(stage, machine):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        return lambda: stage.start(machine)

    return begin


def _freeze(find: Find, processes: Processes = Stage.processes) -> Callable[[Stage], Undo]:
    def begin(stage: Stage) -> Undo:
        found = processes(stage, find(stage))
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
        return lambda: [process.resume() for process in found if process.is_running()]

    return begin


def _cut_off(find: Find) -> Callable[[Stage], Undo]:
    def begin(stage: Stage) -> Undo:
        machine, network = find(stage), stage.network
        assert network
        network.cut_off([machine])
        return lambda: network.connect([machine])

    return begin


def _cut_off_orphan(stage: Stage) -> Undo:
    node = _find_primary(stage)
    start = _kill(lambda _: node, Stage.patroni)(stage)
    connect = _cut_off(lambda _: node)(stage)
    return lambda: [connect(), start()]


def _drain(stage: Stage) -> Undo:
    machine = _find_replica(stage)
    process = stage.deployment.daemons.find(machine)
    assert process
    process.terminate()
    return lambda: stage.start(machine)


def _switch_over(stage: Stage) -> Undo:
    switch_over(stage.deployment.layout, _find_primary(stage))
    return lambda: None


def _find_primary(stage: Stage) -> str:
    node = find_primary(stage.deployment.layout)
    assert node
    return node


def _find_standby(stage: Stage) -> str:
    node = find_synchronous(stage.deployment.layout)
    assert node
    return node


def _find_member(stage: Stage) -> str:
    return find_etcd_leader(stage.deployment.layout)


def _find_replica(_: Stage) -> str:
    return "replica1"


CUT: Final = "cut off"

EVENTS: Final = (
    Event("a planned", "switchover", _switch_over),
    *(
        event
        for what, find in (
            ("the primary's node", _find_primary),
            ("the synchronous standby's node", _find_standby),
            ("the leader of etcd", _find_member),
        )
        for event in (
            Event(what, "killed", _kill(find)),
            Event(what, "frozen", _freeze(find)),
            Event(what, CUT, _cut_off(find)),
        )
    ),
    Event("PostgreSQL of the primary", "killed", _kill(_find_primary, Stage.postgres)),
    Event("PostgreSQL of the primary", "frozen", _freeze(_find_primary, Stage.postgres)),
    Event("Patroni alone on the primary's node", "killed", _kill(_find_primary, Stage.patroni)),
    Event("the orphan of a killed Patroni", CUT, _cut_off_orphan),
    Event("a server", "drained", _drain, is_about_servers=True),
    Event("a server", "killed", _kill(_find_replica), is_about_servers=True),
    Event("a server", "frozen", _freeze(_find_replica), is_about_servers=True),
    Event("a server", CUT, _cut_off(_find_replica), is_about_servers=True),
)
"""Every event, in the order of the report."""

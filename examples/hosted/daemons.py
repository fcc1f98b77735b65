"""Programs that go on when whoever started them has ended, each known by its process and its log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import psutil

from examples.hosted.layout import Layout, find_user

__all__ = ["Daemon", "Daemons", "end_processes"]

_KILL_SECONDS: Final = 5.0
"""Seconds that the kernel may take to end a process that was killed."""


@dataclass(frozen=True)
class Daemon:
    """A program to run, and the machine that it runs on."""

    name: str
    machine: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


class Daemons:
    """The running programs of one deployment; a number and the moment of its start identify a process."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def start(self, daemon: Daemon, within: Sequence[str] = ()) -> bool:
        """Start a program, through the command ``within`` if there is one; return False if it runs already."""
        if self.find(daemon.name):
            return False
        user, group = (None if within else find_user()) or (None, None)
        with self._layout.open_log(daemon.name) as log:
            process = subprocess.Popen(
                [*within, *daemon.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._layout.folder,
                env={"PATH": os.defpath, "HOME": str(self._layout.folder), "LC_ALL": "C.UTF-8", **daemon.environment},
                user=user,
                group=group,
                extra_groups=None if user is None else (),
                start_new_session=True,
                umask=0o077,
            )
        self._layout.create("run")
        self._layout.write(
            f"run/{daemon.name}.json", json.dumps([process.pid, psutil.Process(process.pid).create_time()])
        )
        return True

    def find(self, name: str) -> psutil.Process | None:
        """Return the process of a program, or None if it does not run."""
        try:
            pid, created = json.loads((self._layout.folder / "run" / f"{name}.json").read_text("utf-8"))
            process = psutil.Process(pid)
            is_ours = process.create_time() == created and process.status() != psutil.STATUS_ZOMBIE
        except (OSError, ValueError, psutil.NoSuchProcess):
            return None
        return process if is_ours else None

    def stop(self, daemons: Iterable[Daemon], grace: float = 20.0) -> int:
        """End programs, all at once, and return how many ran; what takes longer than ``grace`` seconds is killed."""
        return end_processes([process for daemon in daemons if (process := self.find(daemon.name))], grace)


def end_processes(processes: Sequence[psutil.Process], grace: float, order: int = signal.SIGTERM) -> int:
    """End processes by a signal, kill those that take longer than ``grace`` seconds, and return how many there were."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(order)
    _, alive = psutil.wait_procs(processes, grace)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, _KILL_SECONDS)
    return len(processes)

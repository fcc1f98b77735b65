"""Use of the cores: processor time of process trees, and of everything else on the machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import psutil

__all__ = ["OTHERS", "Meter", "processor_seconds"]

OTHERS: Final = "others"
"""Every process that is in no group."""


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of those that it has started, ended ones too."""
    root = psutil.Process(pid)
    times = [process.cpu_times() for process in [root, *root.children(recursive=True)]]
    ended = root.cpu_times()
    return sum(each.user + each.system for each in times) + ended.children_user + ended.children_system


class Meter:
    """Measures the processor time of groups of process trees, and of all others, from its creation on."""

    def __init__(self, groups: Mapping[str, Collection[int]]) -> None:
        """``groups`` has the processes of each by name."""
        self._groups = groups
        self._start = self._read()

    def read(self) -> dict[str, float]:
        """Return the seconds of each group, and of all others."""
        now = self._read()
        used = {name: now[name] - before for name, before in self._start.items()}
        return {**used, OTHERS: 2 * used[OTHERS] - sum(used.values())}

    def _read(self) -> dict[str, float]:
        times = psutil.cpu_times()
        every = times.user + times.nice + times.system + times.irq + times.softirq
        return {**{name: sum(map(processor_seconds, pids)) for name, pids in self._groups.items()}, OTHERS: every}

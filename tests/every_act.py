"""Every act of every server."""

from __future__ import annotations

from typing import Final

from tests.heartbeat import acts as heartbeat
from tests.hierarchy import acts as hierarchy
from tests.tasks_v1 import acts as tasks_v1

__all__ = ["ACTS"]

ACTS: Final = {
    f"{module.__name__.split('.')[1]}: {act.name}": act
    for module in (heartbeat, hierarchy, tasks_v1)
    for act in module.ACTS
}
"""By the names of the server and of the act."""

"""New tasks under unused ids (HB-1)."""

from collections.abc import Callable
from random import Random

from heartbeat_mcp.archive import Archive
from heartbeat_mcp.ids import readable_id
from heartbeat_mcp.mirror import FoundTask
from heartbeat_mcp.models import Task
from task_core.clock import Clock
from task_core.store import Collection

__all__ = ["TaskMaker"]


class TaskMaker:
    """Makes tasks under ids that are free in the store and in the archive (HB-1, C4)."""

    def __init__(self, archive: Archive, clock: Clock, rng: Random) -> None:
        self.archive = archive
        self.clock = clock
        self._rng = rng

    def new_id(self, tasks: Collection[Task], is_shown: Callable[[str], bool]) -> str:
        """Return an id that no task and no entry (``is_shown``) has; the caller holds the lock of the store."""
        return readable_id(lambda name: name in tasks or name in self.archive or is_shown(name), self._rng, len(tasks))

    def made_of(self, found: FoundTask, task_id: str) -> Task:
        """Return a new task from what was found in HEARTBEAT.md; a finished one gets this moment as its end."""
        now = self.clock()
        ended = now if found.status.is_finished else None
        times = {"created_at": now, "updated_at": now, "completed_at": ended}
        return Task.model_validate({**vars(found), "id": task_id, **times})

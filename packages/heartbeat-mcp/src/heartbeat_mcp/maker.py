"""New tasks under unused ids (HB-1)."""

from collections.abc import Callable
from random import Random

from pydantic import ValidationError

from heartbeat_mcp.archive import Archive
from heartbeat_mcp.arguments import TaskCreate, Updates
from heartbeat_mcp.ids import readable_id
from heartbeat_mcp.mirror import FoundTask
from heartbeat_mcp.models import Task
from task_core.errors import TaskError
from task_core.models import Clock
from task_core.store import Collection

__all__ = ["TaskMaker"]


class TaskMaker:
    """Makes tasks under ids that are free in the store and in the archive (HB-1, C4)."""

    def __init__(
        self, archive: Archive, clock: Clock, rng: Random, check_reference: Callable[[str, str], None]
    ) -> None:
        """``check_reference`` raises ``PathOutsideWorkspace`` for a field and a value that leads outside."""
        self.archive = archive
        self.check_reference = check_reference
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

    def fault_of(self, found: FoundTask) -> str:
        """Return why a call would refuse a task like this, or nothing."""
        texts = {"raw_user_request": found.raw_user_request, "raw_reference": found.raw_reference}
        others = {"result": found.result, "result_file": found.result_file}
        try:
            TaskCreate.model_validate({**texts, "ideas": found.ideas})
            Updates.model_validate({name: text for name, text in others.items() if text is not None})
            for field in ("raw_reference", "result_file"):
                if (reference := getattr(found, field)) is not None:
                    self.check_reference(field, reference)
        except ValidationError as error:
            return error.errors(include_url=False, include_input=False)[0]["msg"].rstrip(".")
        except TaskError as error:
            return error.message.rstrip(".")
        return ""

"""The tasks as people see them: those in the store, the oldest first; HEARTBEAT.md is neither read nor written."""

from dataclasses import replace

from pydantic import JsonValue
from typing_extensions import override

from heartbeat_mcp.archive import Archive, ArchiveFile, ArchiveRows
from heartbeat_mcp.codec import CODEC
from heartbeat_mcp.models import FINISHED, HeartbeatStatus, HeartbeatTask
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.store import Collection, Selection, Store, open_store
from task_core.store.view import StoreView
from task_core.view import Line, View
from task_core.warning_list import WarningList

__all__ = ["HeartbeatView", "open_view"]


class HeartbeatView(StoreView[HeartbeatTask]):
    """The tasks that are not archived; an archived one is found by its id."""

    finished = frozenset(FINISHED)

    def __init__(self, store: Store[HeartbeatTask], archive: Archive) -> None:
        super().__init__(store)
        self._archive = archive
        self.listed = Selection(facets=archive.facets)

    @override
    def line(self, task: HeartbeatTask, depth: int) -> Line:
        return Line(task.id, task.status.value, task.raw_user_request, depth=depth)

    @override
    def render(self, tasks: Collection[HeartbeatTask], task_id: str) -> dict[str, JsonValue]:
        return self._archive.find_any(task_id, tasks).model_dump(mode="json")

    @override
    def choose(self, tasks: Collection[HeartbeatTask]) -> HeartbeatTask | None:
        """Return the oldest task that is Running, else the oldest that is Pending."""
        for status in (HeartbeatStatus.RUNNING, HeartbeatStatus.PENDING):
            for task in tasks.select(replace(self.listed, states=(status.value,), limit=1)):
                return task
        return None


def open_view(settings: HeartbeatSettings) -> View:
    """Return the tasks in the store that ``settings`` name."""
    warnings = WarningList()
    path = settings.archive_path
    return HeartbeatView(open_store(settings, CODEC, warnings), ArchiveFile(path, warnings) if path else ArchiveRows())

"""The tasks as people see them: those in the store, the oldest first; and what people can do to them.

A view neither reads nor writes HEARTBEAT.md. The resources show the same through the service, which does.
"""

from collections.abc import Collection as Words
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from pydantic import JsonValue
from typing_extensions import override

from heartbeat_mcp.archive import Archive, ArchiveFile
from heartbeat_mcp.codec import CODEC
from heartbeat_mcp.models import ACTIVE, ARCHIVED, FINISHED, HeartbeatStatus, HeartbeatTask
from heartbeat_mcp.recurrence import SCHEDULE_FIELDS
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.models import Clock, format_timestamp, microseconds, utc_now
from task_core.server.overview import MAX_LISTED, MAX_TEXT, JsonObject, render_list
from task_core.store import Collection, Selection, Store, open_store
from task_core.store.view import StoreView
from task_core.text import shorten
from task_core.view import Action, BoardActions, Line, Section, View, match_statuses
from task_core.warning_list import WarningList

__all__ = ["ACTIONS", "HeartbeatView", "list_active", "open_view"]

_HEADINGS: Final = {"Active": HeartbeatStatus.RUNNING.value, "Next": HeartbeatStatus.PENDING.value}

_NAMES: Final = {
    HeartbeatStatus.RUNNING: "start",
    HeartbeatStatus.COMPLETE: "complete",
    HeartbeatStatus.FAIL: "fail",
    HeartbeatStatus.PENDING: "reopen",
}


class HeartbeatView(StoreView[HeartbeatTask]):
    """The tasks that are not archived; an archived one is found by its id."""

    finished = frozenset(FINISHED)
    headings = _HEADINGS
    advice = "Start a task, or finish it, with task_update; task_list shows all."

    def __init__(self, store: Store[HeartbeatTask], archive: Archive, clock: Clock = utc_now) -> None:
        super().__init__(store)
        self._clock = clock
        self._archive = archive
        self.listed = Selection(facets=archive.facets)

    @override
    def line(self, task: HeartbeatTask, depth: int) -> Line:
        return Line(
            task.id,
            task.status.value,
            task.raw_user_request,
            task.schedule_words,
            depth=depth,
            more="\n".join(filter(None, (task.raw_reference, *task.ideas, task.result))),
            created_at=task.created_at,
            changed_at=task.updated_at,
            remark=task.ideas[-1] if task.ideas else task.result or "",
        )

    @override
    def first(self, tasks: Collection[HeartbeatTask], status: str, limit: int) -> Sequence[HeartbeatTask]:
        """Return the first tasks with a status that are due; in the order of tasks, those that are not due are last."""
        found = super().first(tasks, status, limit)
        now = self._clock() if any(task.starts for task in found) else None
        return [task for task in found if not (now and task.starts and task.starts > now)]

    @override
    def section(self, tasks: Collection[HeartbeatTask], status: str, count: int, limit: int) -> Section:
        later = Selection(states=(status,), facets=self.listed.facets, after=(microseconds(self._clock()), ""))
        return super().section(tasks, status, count - tasks.count(later), limit)

    def archived(self, statuses: Words[str] = ()) -> Iterator[Line]:
        """Return the archived tasks with one of ``statuses``, or all."""
        wanted = match_statuses(statuses, self.statuses)
        kept = self.walk_list(Selection(states=wanted, facets=(ARCHIVED,))) if self._archive.facets else ()
        with self._store.read() as tasks:  # a crash may have left one in both places
            beside = [task for task in self._archive.tasks() if task.id not in tasks]
        shown = (self.line(task, 0) for task in beside if not wanted or task.status in wanted)
        return (line._replace(note="archived") for line in chain(kept, shown))

    @override
    def render(self, tasks: Collection[HeartbeatTask], task_id: str) -> dict[str, JsonValue]:
        return self._archive.find_any(task_id, tasks).model_dump(mode="json")


def open_view(settings: HeartbeatSettings) -> View:
    """Return the tasks in the store that ``settings`` name."""
    warnings = WarningList()
    path = settings.archive_path
    return HeartbeatView(open_store(settings, CODEC, warnings), ArchiveFile(path, warnings) if path else Archive())


def list_active(tasks: Collection[HeartbeatTask]) -> JsonObject:
    """Return the Pending and Running tasks in short form, the oldest first."""
    selection = Selection(states=ACTIVE)
    shown = tasks.select(replace(selection, limit=MAX_LISTED))
    return render_list([_short(task) for task in shown], tasks.count(selection))


def _short(task: HeartbeatTask) -> JsonObject:
    due = {"due": format_timestamp(task.starts)} if task.starts else {}
    return {
        "id": task.id,
        "status": task.status.value,
        "raw_user_request": shorten(task.raw_user_request, MAX_TEXT),
        "created_at": format_timestamp(task.created_at),
        "updated_at": format_timestamp(task.updated_at),
        **due,
    }


def _step(status: HeartbeatStatus) -> Action:
    return Action(
        _NAMES[status],
        "task_update",
        task="task_id",
        inside="updates",
        values={"status": status.value},
        sources=[source.value for source in HeartbeatStatus if source is not status],
        status=status.value,
    )


ACTIONS: Final = BoardActions(
    path="heartbeat_file_path",
    create=Action(
        "create", "task_create", fields=("raw_user_request", "raw_reference", "ideas"), extra=SCHEDULE_FIELDS
    ),
    edit=Action(
        "edit",
        "task_update",
        task="task_id",
        inside="updates",
        fields=("raw_user_request", "raw_reference", "ideas", "result", "result_file", "claude_session_id"),
        extra=SCHEDULE_FIELDS,
    ),
    steps=[*map(_step, _NAMES)],
    poll=Action("poll", "task_list", values={"limit": 1}),
    mirror="heartbeat_file_path",
    note=Action(
        "note", "task_update", task="task_id", inside="updates", outside={"append_ideas": True}, fields=("ideas",)
    ),
)
"""The tools behind each thing that people can do."""

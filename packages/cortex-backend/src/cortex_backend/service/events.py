"""Events: what the caller may see, oldest first (CX-45)."""

from cortex_backend.database import CortexDatabase
from cortex_backend.enums import EventKind
from cortex_backend.models import EventRow
from cortex_backend.problems import Problem
from cortex_backend.schemas.events import EventList, EventQuery, EventView
from cortex_backend.service.caller import Caller
from cortex_backend.store.events import list_events, newest_event_id
from cortex_backend.store.tasks import find_task

__all__ = ["Events"]


class Events:
    """The reading of events."""

    def __init__(self, database: CortexDatabase) -> None:
        self._database = database

    def list(self, caller: Caller, query: EventQuery) -> EventList:
        """Return the events that the caller may see."""
        return self._list(caller, query, None)

    def list_of_task(self, caller: Caller, task_id: int, query: EventQuery) -> EventList:
        """Return the events of a task; raise the problem ``NotFound`` if the caller sees no task with this id."""
        return self._list(caller, query, task_id)

    def _list(self, caller: Caller, query: EventQuery, task_id: int | None) -> EventList:
        with self._database.read() as session:
            if task_id is not None and find_task(session, caller.user_id, task_id) is None:
                raise Problem("NotFound", kind="task")
            rows = list_events(session, caller.user_id, query.after, query.limit, task_id)
            last = rows[-1].id if rows else min(query.after, newest_event_id(session))
        return EventList(events=[_view(row) for row in rows], last=last)


def _view(row: EventRow) -> EventView:
    return EventView(
        id=row.id,
        at=row.at,
        kind=EventKind(row.kind),
        task_id=row.task_id,
        project_id=row.project_id,
        actor=row.actor,
        session_id=row.session_id,
        old=row.old,
        new=row.new,
    )

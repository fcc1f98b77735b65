"""The SQL of events (CX-44): numbered by one counter, so that reading on from an id misses none."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from cortex_backend.caller import Caller
from cortex_backend.enums import EventKind
from cortex_backend.models import CounterRow, EventRow, MembershipRow

__all__ = ["NewEvent", "add_events", "list_events", "newest_event_id"]

_COUNTER: Final = "events"


class NewEvent(NamedTuple):
    """An event before it is written; it holds no text of tasks."""

    kind: EventKind
    project_id: int | None = None
    task_id: int | None = None
    old: str | None = None
    new: str | None = None


def add_events(session: Session, caller: Caller, at: datetime, *events: NewEvent) -> None:
    """Add what a caller did. Let this be the last of a transaction: other writers wait for the counter."""
    query = (
        update(CounterRow)
        .where(CounterRow.name == _COUNTER)
        .values(value=CounterRow.value + len(events))
        .returning(CounterRow.value)
        .execution_options(synchronize_session=False)
    )
    first = session.scalars(query).one() - len(events) + 1
    for event_id, event in enumerate(events, first):
        who = {"at": at, "actor": caller.user_id, "session_id": caller.session_id}
        session.add(EventRow(id=event_id, **{**event._asdict(), **who, "kind": event.kind.value}))
    session.flush()


def list_events(
    session: Session, user_id: int, after: int, limit: int, task_id: int | None = None
) -> Sequence[EventRow]:
    """Return the events that the user may see with an id above ``after``, oldest first, at most ``limit``."""
    mine = select(MembershipRow.project_id).where(MembershipRow.user_id == user_id)
    is_own = EventRow.project_id.is_(None) & (EventRow.actor == user_id)
    is_visible = EventRow.project_id.in_(mine) | is_own
    query = select(EventRow).where(EventRow.id > after, is_visible).order_by(EventRow.id).limit(limit)
    if task_id is not None:
        query = query.where(EventRow.task_id == task_id)
    return session.scalars(query).all()


def newest_event_id(session: Session) -> int:
    """Return the id of the newest event, or 0."""
    return session.scalars(select(CounterRow.value).where(CounterRow.name == _COUNTER)).one()

"""The query and the answer of events (CX-44, CX-45)."""

from datetime import datetime
from typing import Final

from pydantic import Field

from cortex_backend.enums import EventKind
from cortex_backend.schemas.common import AnswerModel, ClosedModel

__all__ = ["EventList", "EventQuery", "EventView"]

_MAX_EVENT_ID: Final = 2**53 - 1
"""The upper limit of an id of an event: JSON numbers are exact up to here."""


class EventQuery(ClosedModel):
    """Query for the events with an id above ``after``."""

    after: int = Field(default=0, ge=0, le=_MAX_EVENT_ID, description="`last` of the previous answer.")
    limit: int = Field(default=100, ge=1, le=500, description="Maximum number of events.")
    wait: int = Field(default=0, ge=0, le=25, description="Has no effect: the answer comes at once.")


class EventView(AnswerModel):
    """Something that happened: ``from`` and ``to`` are statuses, roles, or ids of users, and never text of tasks."""

    id: int = Field(examples=[1001])
    at: datetime
    kind: EventKind
    task_id: int | None = Field(examples=[42])
    project_id: int | None = Field(examples=[7])
    actor: int = Field(examples=[3])
    session_id: str | None
    old: str | None = Field(serialization_alias="from", examples=["TODO"])
    new: str | None = Field(serialization_alias="to", examples=["IN_PROGRESS"])


class EventList(AnswerModel):
    """Events, oldest first; give ``last`` as ``after`` to see those that follow."""

    events: list[EventView]
    last: int = Field(examples=[1001])

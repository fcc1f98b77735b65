"""Plans the changes of a task that a request asks for, and their events (CX-12 to CX-14, CX-44)."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from cortex_backend.enums import EventKind, ForgeKind, PullRequestState, TaskStatus
from cortex_backend.models import TaskRow
from cortex_backend.schemas.tasks import PullRequestPatch, TaskPatch
from cortex_backend.service.rules.moves import check_branch, check_branch_name, check_move, choose_assignee
from cortex_backend.store.events import NewEvent

__all__ = ["TaskChange", "plain_values", "plan_change"]

_EDITED: Final = ("title", "description", "type", "priority", "deadline")
"""The fields whose change is an event without values: some are text."""

_REQUEST: Final = ("url", "number", "forge", "state", "head_sha", "base")
"""The fields of a pull request that a request can set."""

_NEW_REQUEST: Final = {"forge": ForgeKind.NONE.value, "state": PullRequestState.OPEN.value}


class TaskChange(NamedTuple):
    """The columns that change, with their new values, and the events."""

    columns: dict[str, object]
    events: list[NewEvent]


def plain_values(values: Mapping[str, object]) -> dict[str, object]:
    """Return ``values`` as a database takes them: psycopg would write the name of an enumeration's member."""
    return {name: value.value if isinstance(value, StrEnum) else value for name, value in values.items()}


def plan_change(row: TaskRow, body: TaskPatch, caller: int, role: str, now: datetime) -> TaskChange:
    """Return what ``body`` changes in a task, if anything; raise the problems of ``moves``."""
    given = plain_values(body.model_dump(exclude_unset=True, exclude={"pull_request"}))
    old_status = TaskStatus(row.status)
    status = body.status if "status" in given else old_status
    check_branch_name(row.id, body.branch_name)
    check_move(old_status, status)
    wanted: dict[str, object] = {name: given[name] for name in (*_EDITED, "branch_name") if name in given}
    wanted["status"] = status.value
    wanted["assignee_id"] = choose_assignee(
        caller,
        role,
        row.assignee_id,
        dict.fromkeys(given.keys() & {"assignee_id"}, body.assignee_id),
        is_start="status" in given and status is TaskStatus.IN_PROGRESS,
    )
    check_branch(old_status, status, wanted.get("branch_name", row.branch_name))
    if "pull_request" in body.model_fields_set:
        wanted |= _plan_request(row, body.pull_request, now)
    columns = {name: value for name, value in wanted.items() if getattr(row, name) != value}
    return TaskChange(columns, _list_events(row, columns))


def _plan_request(row: TaskRow, body: PullRequestPatch | None, now: datetime) -> dict[str, object]:
    """Return the columns of the pull request after a change."""
    if body is None:
        return {f"pr_{name}": None for name in (*_REQUEST, "submitted_at")}
    given = plain_values(body.model_dump(exclude_unset=True))
    if row.pr_forge is None:
        given = {**_NEW_REQUEST, **given, "submitted_at": now}
    return {f"pr_{name}": value for name, value in given.items()}


def _list_events(row: TaskRow, columns: dict[str, object]) -> list[NewEvent]:
    events: list[NewEvent] = []

    def add(kind: EventKind, old: object = None, new: object = None) -> None:
        words = (None if value is None else str(value) for value in (old, new))
        events.append(NewEvent(kind, row.project_id, row.id, *words))

    if "assignee_id" in columns:
        add(EventKind.ASSIGNED, row.assignee_id, columns["assignee_id"])
    if "status" in columns:
        add(EventKind.STATUS_CHANGED, row.status, columns["status"])
    if "branch_name" in columns:
        add(EventKind.BRANCH_SET)  # its name is made of the title
    if any(name.startswith("pr_") for name in columns):
        state = columns.get("pr_state", row.pr_state)
        add(_kind_of_request(row, state), row.pr_state, state)
    if not columns.keys().isdisjoint(_EDITED):
        add(EventKind.EDITED)
    return events


def _kind_of_request(row: TaskRow, state: object) -> EventKind:
    if state == PullRequestState.MERGED and row.pr_state != state:
        return EventKind.PR_MERGED
    return EventKind.PR_OPENED if row.pr_state is None else EventKind.PR_UPDATED

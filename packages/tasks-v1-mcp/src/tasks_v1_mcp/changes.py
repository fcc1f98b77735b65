"""How a call creates or changes a task: pure rules, no store and no clock (V1-1, V1-3, V1-5, V1-6)."""

from datetime import UTC, datetime, timedelta
from typing import Final

from task_core.errors import InvalidArguments, InvalidTransition
from tasks_v1_mcp.arguments import TaskCreate, TaskUpdate
from tasks_v1_mcp.models import TRANSITIONS, Status, StoredTask

__all__ = ["created", "moved", "updated"]

_STEP: Final = timedelta(microseconds=1)
"""The least by which ``updated_at`` moves, even if the clock stops or steps back."""

_LAST: Final = datetime.max.replace(tzinfo=UTC)
"""The last moment that there is: a task of then keeps it."""


def created(task_id: str, arguments: TaskCreate, now: datetime) -> StoredTask:
    """Return the new task; ``now`` is in UTC."""
    given = {name: value for name, value in arguments.given.items() if value is not None}
    return StoredTask.model_validate({"id": task_id, "created_at": now, "updated_at": now, **given})


def moved(task: StoredTask, status: Status, now: datetime) -> StoredTask:
    """Return ``task`` with ``status``, or ``task`` itself if it has that status already; ``now`` is in UTC.

    Raises:
        InvalidTransition: the table of states does not allow it.
    """
    allowed = TRANSITIONS[task.status]
    if status is not task.status and status not in allowed:
        advice = "" if allowed else f"'{task.status.value}' is final; create a new task to take it up again."
        raise InvalidTransition(task.status.value, status.value, [other.value for other in allowed], advice)
    return _changed(task, {"status": status}, now)


def updated(task: StoredTask, arguments: TaskUpdate, now: datetime) -> StoredTask:
    """Return ``task`` with what was given, or ``task`` itself if that changes nothing; ``now`` is in UTC.

    Null resets a field to its default.

    Raises:
        InvalidArguments: nothing to change is given.
    """
    given = {name: value for name, value in arguments.given.items() if name != "id"}
    if not given:
        raise InvalidArguments([("arguments", "name at least one field to change beside id")])
    defaults = {name: field.default for name, field in StoredTask.model_fields.items()}
    return _changed(task, {name: defaults[name] if value is None else value for name, value in given.items()}, now)


def _changed(task: StoredTask, values: dict[str, object], now: datetime) -> StoredTask:
    if all(getattr(task, name) == value for name, value in values.items()):
        return task
    later = task.updated_at + min(_STEP, _LAST - task.updated_at)
    return task.changed(**values, updated_at=max(now, later))

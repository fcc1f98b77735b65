"""The operations on the tasks and the rules of a change, on plain values, without the protocol or files."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Container, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Annotated, Final

from pydantic import BaseModel, Field

from task_core.bounds import shorten_texts, take_fitting
from task_core.errors import InvalidArguments, InvalidTransition
from task_core.models import microseconds
from task_core.store import Selection, Store, Transaction
from task_core.store.statements import Key
from task_core.text import fold
from tasks_v1_mcp.arguments import (
    CreateTaskArguments,
    ListOrder,
    ListTasksArguments,
    MoveTaskArguments,
    UpdateTaskArguments,
)
from tasks_v1_mcp.models import TRANSITIONS, StoredTask, TaskItem

__all__ = ["TaskPage", "TaskService", "encode_cursor", "make_selection", "new_id"]


class TaskPage(BaseModel):
    """A page of tasks; ``total`` counts the tasks on all pages."""

    tasks: list[TaskItem]
    total: int
    next_cursor: Annotated[str | None, Field(exclude_if=lambda cursor: cursor is None)] = None


class TaskService:
    """The five operations on a person's tasks."""

    def __init__(self, store: Store[StoredTask], rng: Random) -> None:
        self._store = store
        self._rng = rng

    def create_task(self, arguments: CreateTaskArguments) -> StoredTask:
        """Add a task under a new id and return it (V1-1)."""
        given = {name: value for name, value in arguments.given.items() if value is not None}
        with self._store.transaction() as tasks:
            now = tasks.next_moment()
            values = {"id": new_id(now, tasks, self._rng), "created_at": now, "updated_at": now, **given}
            task = StoredTask.model_validate(values)
            tasks.add(task)
        return task

    def list_tasks(self, arguments: ListTasksArguments) -> TaskPage:
        """Return a page of the tasks that the arguments ask for (V1-2).

        Raises:
            InvalidArguments: the cursor belongs to another order, or there are too many words.
        """
        selection = make_selection(arguments)
        with self._store.read() as stored:
            tasks = stored.select(replace(selection, limit=arguments.limit + 1))
            total = stored.count(replace(selection, after=None))
        if not arguments.include_description:
            tasks = [task.changed(description=None) for task in tasks]
        shown = take_fitting([shorten_texts(task) for task in tasks[: arguments.limit]])
        cursor = encode_cursor(shown[-1], arguments.order_by) if len(tasks) > len(shown) else None
        return TaskPage(tasks=[*shown], total=total, next_cursor=cursor)

    def update_task_status(self, arguments: MoveTaskArguments) -> StoredTask:
        """Move a task to another status and return it; the same status again changes nothing (V1-3).

        Raises:
            TaskNotFound: no task has the id.
            InvalidTransition: the table of states does not allow it.
        """
        with self._store.transaction() as tasks:
            task, status = tasks.get(arguments.id), arguments.status
            allowed = TRANSITIONS[task.status]
            if status is not task.status and status not in allowed:
                advice = "" if allowed else f"'{task.status.value}' is final; create a new task to take it up again."
                raise InvalidTransition(task.status.value, status.value, [other.value for other in allowed], advice)
            return _change(tasks, task, {"status": status})

    def get_task(self, task_id: str) -> StoredTask:
        """Return the task with this id (V1-4).

        Raises:
            TaskNotFound: no task has the id; the error names near ids.
        """
        with self._store.read() as stored:
            return stored.get(task_id)

    def update_task(self, arguments: UpdateTaskArguments) -> StoredTask:
        """Change fields of a task, all or nothing, and return it; null resets a field to its default (V1-5).

        Raises:
            TaskNotFound: no task has the id.
            InvalidArguments: nothing to change is given.
        """
        given = {name: value for name, value in arguments.given.items() if name != "id"}
        defaults = {name: field.default for name, field in StoredTask.model_fields.items()}
        with self._store.transaction() as tasks:
            task = tasks.get(arguments.id)
            if not given:
                raise InvalidArguments([("arguments", "name at least one field to change beside id")])
            values = {name: defaults[name] if value is None else value for name, value in given.items()}
            return _change(tasks, task, values)


_PREFIX: Final = "task_"

_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base32: no I, L, O, U; it sorts like the numbers that it encodes."""

_LENGTH: Final = 12
"""Characters after the prefix: 60 bits, 52 for microseconds (until the year 2112) and 8 random ones."""


def new_id(now: datetime, taken: Container[str], rng: Random) -> str:
    """Return an id that is not ``taken`` and above those of earlier moments; the caller holds the lock."""
    number = microseconds(now) << 8 | rng.getrandbits(8)
    shifts = range(5 * (_LENGTH - 1), -1, -5)
    while (found := _PREFIX + "".join(_CROCKFORD[number >> shift & 31] for shift in shifts)) in taken:
        number += 1
    return found


_STEP: Final = timedelta(microseconds=1)
"""The smallest step of ``updated_at``, taken even if the clock stops or steps back."""

_LAST: Final = datetime.max.replace(tzinfo=UTC)
"""The last moment of the calendar; a task that has it keeps it."""


def _change(tasks: Transaction[StoredTask], task: StoredTask, values: dict[str, object]) -> StoredTask:
    """Give ``task`` the ``values``, unless it has them already, and return it (V1-6)."""
    if all(getattr(task, name) == value for name, value in values.items()):
        return task
    later = task.updated_at + min(_STEP, _LAST - task.updated_at)
    changed = task.changed(**values, updated_at=max(tasks.next_moment(), later))
    tasks.replace(changed)
    return changed


_MAX_WORDS: Final = 50
"""Maximum words in a query."""

_MAX_NUMBER: Final = 2**63
"""The upper limit of a number in a key."""


def make_selection(arguments: ListTasksArguments) -> Selection:
    """Return the selection that ``arguments`` ask for.

    Raises:
        InvalidArguments: the cursor is damaged or belongs to another order, or there are too many words.
    """
    words = tuple(dict.fromkeys(fold(arguments.query or "").split()))
    if len(words) > _MAX_WORDS:
        raise InvalidArguments([("query", f"Give at most {_MAX_WORDS} words; there are {len(words)}.")])
    return Selection(
        states=tuple(status.value for status in arguments.status or ()),
        facets=(arguments.category.value,) if arguments.category else (),
        ranks=(arguments.priority.rank,) if arguments.priority else (),
        topic=arguments.topic_id or "",
        tags=arguments.tags_any or (),
        words=words,
        order=arguments.order_by.order,
        descending=True,
        after=None if arguments.cursor is None else _decode_key(arguments.cursor, arguments.order_by),
        limit=arguments.limit,
    )


def encode_cursor(task: StoredTask, order: ListOrder) -> str:
    """Return the cursor for what comes after ``task``, as URL-safe text.

    It is a key, the values that the order compares and the id: tasks that are added, or changed by hand, between two
    pages neither appear twice nor cause others to be skipped.
    """
    return _encode((order.value, *order.order.key(task)))


def _encode(key: Sequence[object]) -> str:
    text = json.dumps(key, ensure_ascii=False, separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode_key(cursor: str, order: ListOrder) -> Key:
    try:
        name, *numbers, task_id = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        is_as_written = _encode((name, *numbers, task_id)) == cursor  # the readers are lenient
        is_whole = len(numbers) == len(order.order.value) and isinstance(task_id, str)
        if is_as_written and is_whole and name == order.value and all(map(_is_number, numbers)):
            return (*numbers, task_id)
    except (ValueError, TypeError, RecursionError):
        pass
    advice = "Give next_cursor of the previous page, unchanged, with the same order_by"
    raise InvalidArguments([("cursor", f"{advice}; or leave it out to start again.")])


def _is_number(value: object) -> bool:
    return type(value) is int and abs(value) < _MAX_NUMBER

"""How an update changes a task: pure rules, no store and no clock (HB-3)."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from heartbeat_mcp.arguments import Updates
from heartbeat_mcp.errors import ReadOnlyField, ReservedField
from heartbeat_mcp.fields import MAX_KEYS
from heartbeat_mcp.models import PREDEFINED_FIELDS, Task
from task_core.errors import DuplicateKey, InvalidArguments
from task_core.fields import MAX_LIST
from task_core.text import nearest

__all__ = ["merge_extra_fields", "updated"]

_READ_ONLY: Final = ("id", "created_at", "updated_at")

_NEAR_MISS: Final = 0.81
"""Likeness at which a name is a misspelt predefined one: ``stauts`` and ``raw_refrence`` are, ``uid`` is not."""


def updated(task: Task, updates: Updates, *, append_ideas: bool, now: datetime) -> Task:
    """Return ``task`` with all of ``updates``; ``now`` is in UTC.

    Raises:
        ReadOnlyField: it names a field that only the server sets.
        ReservedField: ``extra_fields`` holds a predefined name.
        DuplicateKey: an extra field is given both ways.
        InvalidArguments: nothing is given, a value is not allowed, or a name is a misspelt predefined one.
    """
    given, other = updates.given, updates.other
    if not given and not other:
        raise InvalidArguments([("updates", "name at least one field to change")])
    if read_only := [name for name in other if name in _READ_ONLY]:
        raise ReadOnlyField(read_only)
    extra = merge_extra_fields(task.extra_fields, updates.extra_fields or {}, other, path="updates.")
    given |= {
        "ideas": _ideas(task, updates, append_ideas=append_ideas),
        "extra_fields": extra,
        "completed_at": _completed_at(task, updates, now),
        "updated_at": now,
    }
    return task.changed(**given)


def merge_extra_fields(
    present: Mapping[str, JsonValue],
    grouped: Mapping[str, JsonValue],
    other: Mapping[str, JsonValue],
    *,
    path: str = "",
) -> dict[str, JsonValue]:
    """Return ``present`` with the fields of ``grouped`` (from ``extra_fields``) and ``other``; None removes a field.

    ``path`` precedes the names in an error.

    Raises:
        ReservedField: ``grouped`` holds a predefined name.
        DuplicateKey: a name is in both.
        InvalidArguments: a name of ``other`` is a misspelt predefined one, or there would be too many.
    """
    if reserved := [name for name in grouped if name in PREDEFINED_FIELDS]:
        raise ReservedField(reserved)
    if both := [name for name in grouped if name in other]:
        raise DuplicateKey(both)
    _refuse_slips(other, path)
    merged: dict[str, JsonValue] = {
        name: value for name, value in {**present, **grouped, **other}.items() if value is not None
    }
    if len(merged) > MAX_KEYS:
        raise InvalidArguments([(f"{path}extra_fields", f"a task holds at most {MAX_KEYS} extra fields")])
    return merged


def _ideas(task: Task, updates: Updates, *, append_ideas: bool) -> tuple[str, ...]:
    ideas = updates.ideas or ()
    if append_ideas:
        ideas = (*task.ideas, *ideas)
    elif "ideas" not in updates.model_fields_set:
        ideas = task.ideas
    if len(ideas) > max(MAX_LIST, len(task.ideas)):
        raise InvalidArguments([("updates.ideas", f"a task holds at most {MAX_LIST} ideas")])
    return ideas


def _refuse_slips(names: Iterable[str], path: str) -> None:
    for name in names:
        if near := nearest(name.casefold(), PREDEFINED_FIELDS, cutoff=_NEAR_MISS):
            advice = f"this name is too near to '{near[0]}': write that, or choose another name"
            raise InvalidArguments([(f"{path}{name}", advice)], near)


def _completed_at(task: Task, updates: Updates, now: datetime) -> datetime | None:
    status = updates.status or task.status
    wanted = updates.completed_at
    if wanted is not None and not status.is_finished:
        raise InvalidArguments([("updates.completed_at", "only a task that is Complete or Fail has one")])
    if wanted is not None and wanted > now:
        raise InvalidArguments([("updates.completed_at", "it must not lie in the future")])
    if not status.is_finished:
        return None
    return wanted or (now if updates.status else task.completed_at)

"""The rules by which a task is made and changed: its id, its fields, and its extra fields (HB-1, HB-3)."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Final

from pydantic import JsonValue, ValidationError

from heartbeat_mcp.archive import Archive
from heartbeat_mcp.arguments import MAX_KEYS, TaskCreate, Updates
from heartbeat_mcp.errors import ReadOnlyField, ReservedField
from heartbeat_mcp.id_words import ADJECTIVES, NOUNS
from heartbeat_mcp.mirror.items import FoundTask
from heartbeat_mcp.models import PREDEFINED_FIELDS, HeartbeatStatus, HeartbeatTask
from heartbeat_mcp.recurrence import SCHEDULE_FIELDS, Schedule, find_faults, parse_moment
from task_core.errors import DuplicateKey, InvalidArguments, TaskError
from task_core.fields import MAX_LIST
from task_core.models import Clock, format_timestamp
from task_core.store import Collection, Transaction
from task_core.text import nearest

__all__ = ["PAIRS", "TaskMaker", "apply_update", "merge_extra_fields", "plan_due", "readable_id", "update_stored"]

_READ_ONLY: Final = ("id", "created_at", "updated_at")

_LAST_COMPLETED: Final = "last_completed_at"
"""The extra field with the moment at which a recurring task was last finished."""

_NEAR_MISS: Final = 0.81
"""Likeness at which a name is a misspelt predefined one: ``stauts`` and ``raw_refrence`` are, ``uid`` is not."""


def apply_update(task: HeartbeatTask, updates: Updates, *, append_ideas: bool, now: datetime) -> HeartbeatTask:
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
    grouped = updates.extra_fields or {}
    extra = merge_extra_fields(task.extra_fields, grouped, other, path="updates.")
    given |= {
        "ideas": _ideas(task, updates, append_ideas=append_ideas),
        "extra_fields": plan_due(extra, {*grouped, *other}, now),
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
        InvalidArguments: a name of ``other`` is a misspelt predefined one, there would be too many, or the schedule is
            not well-formed.
    """
    if reserved := [name for name in grouped if name in PREDEFINED_FIELDS]:
        raise ReservedField(reserved)
    if both := [name for name in grouped if name in other]:
        raise DuplicateKey(both)
    for name in other:
        if near := nearest(name.casefold(), PREDEFINED_FIELDS, cutoff=_NEAR_MISS):
            advice = f"this name is too close to '{near[0]}': use that, or choose another name"
            raise InvalidArguments([(f"{path}{name}", advice)], near)
    merged: dict[str, JsonValue] = {
        name: value for name, value in {**present, **grouped, **other}.items() if value is not None
    }
    if len(merged) > max(MAX_KEYS, len(present)):
        raise InvalidArguments([(f"{path}extra_fields", f"a task holds at most {MAX_KEYS} extra fields")])
    if {*grouped, *other}.intersection(SCHEDULE_FIELDS) and (faults := find_faults(merged)):
        raise InvalidArguments([(f"{path}{name}", advice) for name, advice in faults.items()])
    return merged


def plan_due(extra: dict[str, JsonValue], given: AbstractSet[str], now: datetime) -> dict[str, JsonValue]:
    """Return extra fields with the next time as ``due`` if a rule is among those ``given``, and no ``due``.

    The first time of ``every`` is at once; later ones count from the last completion.
    """
    if "due" in given or given.isdisjoint(SCHEDULE_FIELDS):
        return extra
    schedule = Schedule.of(extra)
    start = now if schedule.cron else parse_moment(extra.get(_LAST_COMPLETED)) if schedule.every else None
    return {**extra, "due": schedule.after(start)} if start else extra


def update_stored(
    work: Transaction[HeartbeatTask], task: HeartbeatTask, updates: Updates, *, append_ideas: bool = False
) -> HeartbeatTask:
    """Replace ``task`` by what ``apply_update`` makes of it, and return that; a recurring one is Pending again."""
    now = work.next_moment()
    updated = apply_update(task, updates, append_ideas=append_ideas, now=now)
    renewed = _renew(updated, now) if task.is_active or updates.status else updated
    if renewed is not updated:
        work.ended.add(task.id)
    work.replace(renewed)
    return renewed


def _renew(task: HeartbeatTask, now: datetime) -> HeartbeatTask:
    """Return a recurring task that is finished as Pending at its next time, with how it ended; others as they are."""
    schedule, ended = task.schedule, task.completed_at
    if ended is None or schedule is None or not schedule.is_recurring:
        return task
    extra = {
        **task.extra_fields,
        "due": schedule.next_due(ended, now),
        _LAST_COMPLETED: format_timestamp(ended),
        "last_result": f"{task.status.value}: {task.result}" if task.result else task.status.value,
    }
    return task.changed(status=HeartbeatStatus.PENDING, completed_at=None, result=None, extra_fields=extra)


def _ideas(task: HeartbeatTask, updates: Updates, *, append_ideas: bool) -> tuple[str, ...]:
    ideas = updates.ideas or ()
    if append_ideas:
        ideas = (*task.ideas, *ideas)
    elif "ideas" not in updates.model_fields_set:
        ideas = task.ideas
    if len(ideas) > max(MAX_LIST, len(task.ideas)):
        raise InvalidArguments([("updates.ideas", f"a task holds at most {MAX_LIST} ideas")])
    return ideas


def _completed_at(task: HeartbeatTask, updates: Updates, now: datetime) -> datetime | None:
    status = updates.status or task.status
    wanted = updates.completed_at
    if wanted is not None and not status.is_finished:
        raise InvalidArguments([("updates.completed_at", "only a task that is Complete or Fail has one")])
    if wanted is not None and wanted > now:
        raise InvalidArguments([("updates.completed_at", "it must not be in the future")])
    if not status.is_finished:
        return None
    return wanted or (now if updates.status else task.completed_at)


PAIRS: Final = len(ADJECTIVES) * len(NOUNS)
"""The number of ids without a number."""

_TRIES: Final = 32
"""Random pairs that are tried without a number, and then with each number."""


def readable_id(is_taken: Callable[[str], bool], rng: Random, number_taken: int = 0) -> str:
    """Return a free id; the caller holds the lock of the store, so the id stays free.

    ``number_taken`` is how many ids are taken: it decides which number to try first, so that a free id is found as
    quickly among a million as among a thousand.
    """
    attempt = _TRIES * (number_taken // PAIRS)
    while True:
        adjective, noun = rng.choice(ADJECTIVES), rng.choice(NOUNS)
        number = attempt // _TRIES + 1
        found = f"{adjective}-{noun}" if number == 1 else f"{adjective}-{noun}-{number}"
        if not is_taken(found):
            return found
        attempt += 1


@dataclass(frozen=True)
class TaskMaker:
    """Makes tasks under ids that are free in the store and in the archive (HB-1, C4)."""

    archive: Archive
    clock: Clock
    rng: Random
    check_reference: Callable[[str, str], None]
    """Raises ``PathOutsideWorkspace`` for a field and a value that leads outside."""

    def new_id(self, tasks: Collection[HeartbeatTask], is_shown: Callable[[str], bool]) -> str:
        """Return an id that no task and no entry (``is_shown``) has; the caller holds the lock of the store."""
        return readable_id(lambda name: name in tasks or name in self.archive or is_shown(name), self.rng, len(tasks))

    def make_task(self, found: FoundTask, task_id: str, now: datetime) -> HeartbeatTask:
        """Return a new task from what was found in HEARTBEAT.md; a finished one gets the moment ``now`` as its end."""
        ended = now if found.status.is_finished else None
        times = {"created_at": now, "updated_at": now, "completed_at": ended}
        task = _renew(HeartbeatTask.model_validate({**vars(found), "id": task_id, **times}), now)
        return task.changed(extra_fields=plan_due(task.extra_fields, task.extra_fields.keys(), now))

    def find_fault(self, found: FoundTask) -> str:
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

"""Comparison of tasks with the files written for them, which says what a format cannot hold (MV-6)."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import datetime
from typing import Final

from task_formats.decoding import moment
from task_formats.fields import STATES, normalize
from task_formats.record import TIMES, ForeignTask, Remark

__all__ = ["find_differences"]

_FIELDS: Final = tuple(it.name for it in fields(ForeignTask) if it.name not in {"id", "rest", "place"})


def find_differences(tasks: Iterable[ForeignTask], back: Iterable[ForeignTask]) -> Iterator[Remark]:
    """Yield a problem for each field of ``tasks`` that ``back``, read from the files for them, does not have.

    A field that is blank loses nothing, whatever it comes back as, and neither does a status that says as much as the
    state.
    """
    found = {task.id: task for task in back}
    for task in tasks:
        other = found.get(task.id)
        if other is None:
            yield Remark(task.id, "The task cannot be written.")
            continue
        for name in _FIELDS:
            value, held = getattr(task, name), getattr(other, name)
            if name == "status" and STATES.get(normalize(task.status)) == other.state:
                continue
            if value and value != held and not (name in TIMES and held and _instant(value) == _instant(held)):
                yield Remark(task.id, f"{name}: {_short(value)} is written as {_short(held)}.")
        for name, value in task.rest.items():
            if value.strip() and other.rest.get(name) != value:
                yield Remark(task.id, f"{name}: {_short(value)} has no field of its own.")


def _instant(time: str) -> datetime | None:
    return datetime.fromisoformat(iso) if (iso := moment(time)) else None


def _short(value: object) -> str:
    text = "nothing" if value in (None, "", ()) else repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"

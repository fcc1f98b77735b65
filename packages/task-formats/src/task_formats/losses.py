"""Losses: the fields that a new home has no place for, as text (MV-3), and those that a format cannot hold (MV-6)."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Final

from task_formats.decoding import moment
from task_formats.fields import STATES, normalize
from task_formats.record import TIMES, ForeignTask, Remark

__all__ = ["describe_rest", "find_differences", "find_rest"]

_FIELDS: Final = tuple(it.name for it in fields(ForeignTask) if it.name not in {"id", "rest", "place"})


def find_rest(task: ForeignTask, held: Container[str]) -> dict[str, str]:
    """Return what a home without the fields ``held`` lacks, by name, those in ``rest`` last.

    ``held`` has names of fields of ``ForeignTask``; the title and the text always have a place. A status that is blank
    or disagrees with the state is given with the state.
    """
    status = task.status or task.state
    if STATES.get(normalize(status), task.state) != task.state:  # a folder says more than the status
        status = f"{status} ({task.state})"
    values = {
        "status": status,
        "priority": task.priority or "",
        "labels": ", ".join(task.labels),
        "parent": task.parent or "",
        "dependencies": ", ".join(task.dependencies),
        **{name: getattr(task, name) or "" for name in TIMES},
        "criteria": "\n".join(f"- {text}" for text in task.criteria),
        "notes": "\n\n".join(task.notes),
        "result": task.result,
    }
    found = {name: value for name, value in values.items() if value and name not in held}
    for name, value in task.rest.items():
        if value.strip():
            found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def describe_rest(rest: Mapping[str, str], title: str) -> str:
    """Return Markdown with the fields ``rest`` under the heading "From ``title``", or nothing if there are none."""
    lines = [f"- {name}: {value}" for name, value in rest.items() if "\n" not in value]
    parts = ["\n".join(lines)] if lines else []
    parts += [f"### {name}\n\n{value.strip()}" for name, value in rest.items() if "\n" in value]
    return "\n\n".join([f"## From {title}", *parts]) if parts else ""


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

"""The preview of an import, for a person and as JSON (MV-2)."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from task_core.cli.moving.plan import ForeignList, Plan
from task_core.moving import Home
from task_core.text import escape_invisible, pluralize, shorten
from task_formats.record import Remark

__all__ = ["as_json", "describe_plan", "describe_problems"]

_SHOWN = 20
"""Lines about tasks of one sort."""

_EXAMPLES = 3


def describe_plan(plan: Plan, source: ForeignList, home: Home, signs: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the preview."""
    reading = source.reading
    sure = f" (recognised by {', '.join(signs)})" if signs else ""
    yield f"{source.title}: {pluralize(len(reading.tasks), 'task')}{sure}"
    yield from (f"Warning: {text}" for text in reading.warnings)
    for (status, state), count in plan.statuses.items():
        remark = f" (unknown: --map '{status}=STATE')" if source.is_unknown(status) else ""
        yield f"  status {status} becomes {home.status(state)}: {count:,}{remark}"
    for priority, count in Counter(arrival.task.priority for arrival in plan.arrivals).items():
        if priority and home.priorities:
            yield f"  priority {priority} becomes {home.priorities[priority]}: {count:,}"
    if plan.rest:
        where = "are kept beside the text" if home.keeps_rest else f'are in the text, under "From {source.title}"'
        yield f"Fields without a place of their own, which {where}:"
        yield from (f"  {name}: {len(ids)}, such as {_list(ids)}" for name, ids in plan.rest.items())
    if plan.files:
        yield f"{pluralize(len(plan.files), 'text')} too long for a task, each in a file beside the store."
    if reading.left_out:
        counts = ", ".join(f"{kind} ({count:,})" for kind, count in reading.left_out.items())
        yield f"Left out, because it is not work: {counts}"
    yield from describe_problems("To know", [Remark("", text) for text in plan.notes])
    yield from describe_problems("Not read, or not as it stands", reading.problems)
    if plan.present:
        yield f"{pluralize(len(plan.present), 'task')} here already: nothing of that is changed."


def describe_problems(heading: str, problems: Sequence[Remark]) -> Iterator[str]:
    """Yield the first problems and the number of the others, or nothing if there are none."""
    if problems:
        yield f"{heading}: {len(problems):,}"
    for problem in problems[:_SHOWN]:
        yield "  " + shorten(": ".join(filter(None, (problem.place, problem.text))), 300)
    if len(problems) > _SHOWN:
        yield f"  … and {len(problems) - _SHOWN:,} more; --json shows all"


def as_json(plan: Plan, source: ForeignList, home: Home, signs: Sequence[str]) -> dict[str, JsonValue]:
    """Return the whole preview as JSON."""
    reading = source.reading
    return {
        "format": source.format,
        "signs": [*signs],
        "found": len(reading.tasks),
        "new": len(plan.arrivals),
        "present": len(plan.present),
        "statuses": [
            {"status": status, "state": state, "becomes": home.status(state), "tasks": count}
            for (status, state), count in plan.statuses.items()
        ],
        "without_place": {name: [*ids] for name, ids in plan.rest.items()},
        "files": [path.name for path in plan.files],
        "left_out": dict(reading.left_out),
        "warnings": [*reading.warnings],
        "changed": [*plan.notes],
        "problems": [{"place": problem.place, "text": problem.text} for problem in reading.problems],
    }


def _list(ids: Sequence[str]) -> str:
    return ", ".join(escape_invisible(shorten(name, 60)) for name in ids[:_EXAMPLES])

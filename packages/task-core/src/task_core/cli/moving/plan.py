"""The plan of an import: what each record becomes, and its preview for a person and as JSON (MV-2, MV-3)."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from task_core.errors import TaskError
from task_core.moving import Arrival, Home, Mover, WorkT
from task_core.text import escape_invisible, pluralize, shorten
from task_formats.arranging import arrange
from task_formats.losses import describe_rest, find_rest
from task_formats.record import Contents, ForeignTask, Remark, State

__all__ = ["ForeignList", "NoPlace", "Plan", "as_json", "describe_plan", "describe_problems", "make_plan"]

_ROOM: Final = 300
"""Characters at the end of a shortened text that are reserved for the path of the file with the whole text."""

_MAX_ORIGIN: Final = 100
"""Characters of an origin, which some servers keep in a short field."""

_SHOWN: Final = 20
"""Lines about tasks of one sort."""

_UNSAFE: Final = re.compile(r"[^\w.-]+")

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class NoPlace(TaskError):
    """A text is too long for a task, and a store in a database server has no folder to keep it in as a file."""

    def __init__(self, name: str, limit: int) -> None:
        what = f"The text of {name} has more than {limit:,} characters, and a database has no folder for it"
        super().__init__(f"{what}: shorten it there, or import into a JSON document or SQLite.", {"task": name})


@dataclass(frozen=True, slots=True)
class ForeignList:
    """The tasks of another tool, as they were read."""

    format: str
    """the name of the format"""
    title: str
    """the tool that has it"""
    reading: Contents
    mapping: Mapping[str, State]
    """states for statuses, in lower case, that the user gives"""
    name: str = ""
    """a name for the source, if several have the same ids"""

    def is_unknown(self, status: str) -> bool:
        """Return True for a status for which neither the reader nor the user has a state."""
        return status in self.reading.unknown_statuses and status.casefold() not in self.mapping

    def origin(self, task_id: str) -> str:
        """Return the origin of a task, on one line and in at most 100 characters (MV-4)."""
        start = f"{self.format}@{self.name}" if self.name else self.format
        plain = f"{start}:{_CONTROL.sub(' ', task_id)}"
        return plain if len(plain) <= _MAX_ORIGIN else f"{plain[: _MAX_ORIGIN - 9]}-{_mark(task_id)}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The effect of an import."""

    arrivals: Sequence[Arrival]
    """the new tasks, parents first"""
    present: Mapping[str, str]
    """the ids of the tasks that are there already, by their ids in the source"""
    notes: Sequence[str]
    """what is changed so that the tasks fit together"""
    statuses: Mapping[tuple[str, State], int]
    """new tasks by status and state"""
    rest: Mapping[str, Sequence[str]]
    """the ids in the source of the tasks that have each field for which the server has no place"""
    files: Mapping[Path, str]
    """texts that are too long for a task, by the path of their file"""


def make_plan(source: ForeignList, mover: Mover[WorkT], work: WorkT) -> Plan:
    """Return the plan for the tasks in ``work``, a transaction of the server; it raises ``NoPlace``."""
    mapping = source.mapping
    tasks, odd = arrange(
        [replace(it, state=mapping.get(it.status.casefold(), it.state)) for it in source.reading.tasks]
    )
    imported = mover.imported(work)
    present = {task.id: imported[it] for task in tasks if (it := source.origin(task.id)) in imported}
    renamed = [it for it in tasks if it.id in present and present[it.id].title != _title(it, mover.home)]
    new, changes = mover.settle(work, [task for task in tasks if task.id not in present])
    rest: dict[str, list[str]] = {}
    files: dict[Path, str] = {}
    arrivals: list[Arrival] = []
    for task in new:
        left = find_rest(task, _held(mover.home, task, source))
        for name in left:
            rest.setdefault(name, []).append(task.id)
        arrivals.append(_fit(task, left, source, mover, files))
    advice = "if it is another task, give the source a name with --source"
    return Plan(
        arrivals=arrivals,
        present={name: it.id for name, it in present.items()},
        notes=[
            *(f"{it.id} is here as {present[it.id].id}, under another title: {advice}" for it in renamed),
            *(text for task in new for text in odd.get(task.id, ())),
            *changes,
        ],
        statuses=Counter((task.status or task.state, task.state) for task in new),
        rest=rest,
        files=files,
    )


def _title(task: ForeignTask, home: Home) -> str:
    return shorten(task.title, home.max_title)


def _mark(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def _held(home: Home, task: ForeignTask, source: ForeignList) -> set[str]:
    """Return the names of the fields of ``task`` of which nothing is lost."""
    held = {*home.held}
    if home.keeps_status(task.state) and not source.is_unknown(task.status):
        held.add("status")
    return held | ({"priority"} if home.keeps_priority(task.priority) else set())


def _fit(
    task: ForeignTask, rest: Mapping[str, str], source: ForeignList, mover: Mover[Any], files: dict[Path, str]
) -> Arrival:
    """Return the task with a title and a text that the server can hold; a file in ``files`` takes what it cannot."""
    home, origin = mover.home, source.origin(task.id)
    title = _title(task, home)
    more = "" if home.keeps_rest else describe_rest(rest, source.title)
    text = "\n\n".join(filter(None, (task.title if title != task.title else "", task.text, more)))
    if len(text) > home.max_text:
        if mover.path is None:
            raise NoPlace(task.id, home.max_text)
        path = _name_file(mover.path, source.format, task.id)
        files[path] = f"# {task.title}\n\n{text}\n"
        where = f"…\n\nThe whole text is in {path.parent.name}/{path.name}, beside the store."
        text = text[: home.max_text - _ROOM] + where
    return Arrival(replace(task, title=title, text=text), origin, rest)


def _name_file(store: Path, name: str, task_id: str) -> Path:
    """Return the path of a file that no other id has, also where case does not matter."""
    return store.with_name(f"{store.name}.imported") / f"{name}-{_UNSAFE.sub('-', task_id)[:40]}-{_mark(task_id)}.md"


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
    return ", ".join(escape_invisible(shorten(name, 60)) for name in ids[:3])

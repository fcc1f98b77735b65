"""Writer of Backlog.md."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from task_formats.backlog.front_matter import dump_mapping
from task_formats.backlog.reader import read
from task_formats.backlog.sections import COMMENTS, DEFINITION_OF_DONE, Sections, compose_body
from task_formats.decoding import moment, parse_structure
from task_formats.fields import STATES, normalize, one_line
from task_formats.losses import find_differences
from task_formats.record import ForeignTask, Remark, SourceFile, State, Writing

__all__ = ["write"]

_WORDS: Final[Mapping[State, str]] = {
    "open": "To Do",
    "active": "In Progress",
    "blocked": "Blocked",
    "deferred": "Deferred",
    "review": "Review",
    "done": "Done",
    "cancelled": "Cancelled",
}
_LISTS: Final = ("assignee", "references", "documentation", "modified_files", "subtasks")
_KNOWN: Final = frozenset(
    {
        *("id", "title", "status", "assignee", "reporter", "created_date", "updated_date", "due_date", "labels"),
        *("milestone", "dependencies", "references", "documentation", "modified_files", "parent_task_id", "subtasks"),
        *("priority", "type", "project", "ordinal", "onStatusChange"),
    }
)
"""The keys that Backlog.md 1.52 keeps when it writes a task."""

_MAX_STEM: Final = 200
"""Bytes of the name of a file without its ending; most systems take 255, and a file being written has a longer name."""

_ID = re.compile(r"([A-Za-z]+)-\d+(?:\.\d+)*")


def write(tasks: Sequence[ForeignTask]) -> Writing:
    """Return the files of a folder of Backlog.md: the configuration, and one file for each task.

    Cancelled tasks go to ``archive/tasks``; finished ones whose status is not one of those that are done to
    ``completed``.
    """
    prefix = _choose_prefix(tasks)
    names: set[str] = set()
    own_keys: Counter[str] = Counter()
    statuses: dict[str, State] = {}
    files: list[SourceFile] = []
    for task in tasks:
        folder, status = _choose_status(task)
        if folder == "tasks":
            statuses.setdefault(status, task.state)
        name = f"{folder}/{_name_file(task, prefix, names)}"
        sections = Sections(task.text, [*task.criteria], [*task.notes], task.result)
        front = _fill(task, status, sections)
        own_keys.update(front.keys() - _KNOWN)
        files.append(SourceFile(name, f"---\n{dump_mapping(front)}---\n{compose_body(sections)}".encode()))
    files.insert(0, SourceFile("config.yml", _write_config(statuses, prefix).encode()))
    problems = [
        Remark("", f"{name} ({count:,}): Backlog.md does not know this field, and drops it when it changes the task.")
        for name, count in sorted(own_keys.items())
    ]
    return Writing(tuple(files), (*problems, *find_differences(tasks, read(files).tasks)))


def _choose_prefix(tasks: Sequence[ForeignTask]) -> str:
    """Return the prefix that all ids have, as Backlog.md writes it, else ``task``."""
    prefixes = {match[1].lower() if (match := _ID.fullmatch(task.id)) else "" for task in tasks}
    return prefixes.pop() or "task" if len(prefixes) == 1 else "task"


def _choose_status(task: ForeignTask) -> tuple[str, str]:
    """Return the folder and the status that are read as the state of ``task``."""
    status = one_line(task.status) or _WORDS[task.state]
    state = STATES.get(normalize(status))
    if task.state == "cancelled":
        return "archive/tasks", _WORDS["cancelled"] if state == "done" else status
    if state == task.state or (state is None and task.state == "open"):
        return "tasks", status
    return ("completed", status) if task.state == "done" else ("tasks", _WORDS[task.state])


def _name_file(task: ForeignTask, prefix: str, names: set[str]) -> str:
    """Return a name that Backlog.md finds, that every system accepts and that is not in ``names``, which gets it."""
    has_prefix = task.id.lower().startswith(f"{prefix}-")
    start = f"{prefix}-{task.id[len(prefix) + 1 :] if has_prefix else task.id}"  # the case counts
    words = (re.sub(r"[^\w.]+", "-", text).strip("-.")[:60] for text in (start, task.title))
    stem = " - ".join(filter(None, words)).encode()[:_MAX_STEM].decode(errors="ignore")
    name, number = stem, 2
    while name.casefold() in names:
        name, number = f"{stem}-{number}", number + 1
    names.add(name.casefold())
    return f"{name}.md"


def _write_config(statuses: Mapping[str, State], prefix: str) -> str:
    for state in ("open", "done"):
        if state not in statuses.values():
            statuses = {**statuses, _WORDS[state]: state}
    order = [*_WORDS]
    words = sorted(statuses, key=lambda status: order.index(statuses[status]))
    values: dict[str, object] = {
        "project_name": "Exported tasks",
        "default_status": words[0],
        "statuses": words,
        "labels": [],
        "date_format": "yyyy-mm-dd",
        "task_prefix": prefix,
    }
    return "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items())


def _fill(task: ForeignTask, status: str, sections: Sections) -> dict[str, object]:
    """Return the front matter of ``task``, and add to ``sections`` what belongs there."""
    front: dict[str, object] = {
        "id": task.id,
        "title": one_line(task.title),
        "status": status,
        "assignee": [],
        "created_date": task.created and _write_time(task.created),
        "updated_date": task.updated and _write_time(task.updated),
        "completed_date": task.closed and _write_time(task.closed),
        "due_date": task.due and _write_time(task.due),
        "labels": [*task.labels],
        "dependencies": [*task.dependencies],
        "parent_task_id": task.parent,
        "priority": task.priority,
    }
    front = {name: value for name, value in front.items() if value is not None}
    for name, value in task.rest.items():
        if name in (COMMENTS, DEFINITION_OF_DONE):
            sections.rest[name] = value
        elif value.strip() and not front.get(name):
            front[name] = _restore(name, value)
    return front


def _write_time(time: str) -> str:
    """Return a time in UTC as Backlog.md writes it, with seconds if it has any."""
    iso = moment(time)
    if iso is None or "T" not in iso:
        return iso or time
    value = datetime.fromisoformat(iso).astimezone(UTC).replace(tzinfo=None)
    return value.isoformat(" ", "minutes" if not value.second and not value.microsecond else "auto")


def _restore(name: str, value: str) -> object:
    """Return the structure that the reader made ``value`` of."""
    if value[:1] in ("[", "{"):
        return parse_structure(value) or value
    return value.split(", ") if name in _LISTS else value

"""Writer of Beads."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from task_formats.beads.reader import DESIGN, LOWEST, read
from task_formats.decoding import moment, parse_structure
from task_formats.fields import STATES, join_items, normalize, split_criteria
from task_formats.record import ForeignTask, Priority, Remark, SourceFile, State, Writing
from task_formats.round_trip import find_differences

__all__ = ["write"]

_MAX_TITLE: Final = 500
"""Bytes of a title, beyond which ``bd import`` refuses it."""

_WORDS: Final[Mapping[State, str]] = {
    "open": "open",
    "active": "in_progress",
    "blocked": "blocked",
    "deferred": "deferred",
    "review": "in_progress",
    "done": "closed",
    "cancelled": "closed",
}
_OWN_WORDS: Final = frozenset({*_WORDS.values(), "pinned", "hooked"})
_PRIORITIES: Final[Mapping[Priority, int]] = {"critical": 0, "high": 1, "medium": 2, "low": 3}
_TEXTS: Final = frozenset(
    {"assignee", "created_by", "defer_until", "external_ref", "issue_type", "owner", "spec_id", "started_at"}
)
"""Other fields of an issue that are text."""

_TYPES: Final[Mapping[str, type]] = {
    "comments": list,
    "dependencies": list,
    "estimated_minutes": int,
    "metadata": dict,
    "pinned": bool,
}
"""Those that are not."""


def write(tasks: Sequence[ForeignTask]) -> Writing:
    """Return one file with an issue on each line; a field that Beads does not have goes into ``metadata``."""
    lines = (json.dumps(_write_issue(task), ensure_ascii=False) + "\n" for task in tasks)
    file = SourceFile("", "".join(lines).encode("utf-8", "replace"))
    long = (task for task in tasks if len(task.title.encode("utf-8", "replace")) > _MAX_TITLE)
    problems = [
        Remark(task.id, f"The title has more than {_MAX_TITLE} bytes; shorten it for bd import.") for task in long
    ]
    return Writing((file,), (*problems, *find_differences(tasks, read([file]).tasks)))


def _write_issue(task: ForeignTask) -> dict[str, object]:
    design = next((note for note in task.notes if note.startswith(DESIGN)), "")
    notes = [note for note in task.notes if note != design]
    is_own = task.status in _OWN_WORDS and STATES[normalize(task.status)] == task.state
    status = task.status if is_own else _WORDS[task.state]
    closed = task.closed or task.updated or task.created if status == "closed" else None
    targets = [(task.parent, "parent-child")] if task.parent else []
    targets += [(name, "blocks") for name in task.dependencies]
    edges: list[object] = [{"issue_id": task.id, "depends_on_id": name, "type": kind} for name, kind in targets]
    criteria = task.criteria[0] if len(task.criteria) == 1 else ""
    issue: dict[str, object] = {
        "id": task.id,
        "title": task.title,
        "description": task.text,
        "design": design.removeprefix(DESIGN),
        "acceptance_criteria": criteria if task.criteria == split_criteria(criteria) else join_items(task.criteria),
        "notes": "\n\n".join(notes),
        "status": status,
        "priority": _PRIORITIES[task.priority or "medium"],
        "issue_type": "task",
        "created_at": task.created and _write_time(task.created),
        "updated_at": task.updated and _write_time(task.updated),
        "closed_at": closed and _write_time(closed),
        "close_reason": task.result,
        "due_at": task.due and _write_time(task.due),
        "labels": [*task.labels],
        "dependencies": edges,
    }
    others: dict[str, object] = {}
    for name, value in task.rest.items():
        held = parse_structure(value) if name in _TYPES else None
        if name == "priority" and value == LOWEST:
            issue[name] = int(value)
        elif name in _TEXTS:
            issue[name] = value
        elif name == "dependencies" and isinstance(held, list):
            edges += held
        elif name in _TYPES and isinstance(held, _TYPES[name]):
            issue[name] = held
        else:
            others[name] = value
    if others:
        issue["metadata"] = {**others, **held} if isinstance(held := issue.get("metadata"), dict) else others
    return {name: value for name, value in issue.items() if value not in ("", None, [])}


def _write_time(time: str) -> str | None:
    """Return a time as Beads reads it, which has no dates without a time of day; None if it is not readable."""
    iso = moment(time)
    return iso if iso is None or "T" in iso else f"{iso}T00:00:00Z"

"""Issues of GitHub, as ``gh issue list --json …`` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from task_formats.decoding import as_text, json_of, unique_ids
from task_formats.fields import PRIORITIES, Fields, normalize, one_line
from task_formats.objects import objects_in
from task_formats.record import ForeignTask, Problem, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from task_formats.record import Priority, SourceFile, State

__all__ = ["NAME", "find", "read", "signs"]

NAME: Final = "github"

_LIMIT: Final = 30
"""The issues that gh lists if nobody asks for more."""

_STATES: Final[dict[str, State]] = {"open": "open", "closed": "done"}


def find(path: Path) -> list[Path]:
    """Return the file; a folder has none."""
    return [path] if path.is_file() else []


def signs(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """Return what shows issues of GitHub."""
    value = json_of(files[0])[0] if files else None
    items = [it for it in value if isinstance(it, dict)] if isinstance(value, list) else []
    states = {str(it.get("state")).upper() for it in items if "state" in it}
    found = {
        "number and title in every item": bool(items) and all("number" in it and "title" in it for it in items),
        "the states OPEN and CLOSED": bool(states) and states <= {"OPEN", "CLOSED"},
        "an address at github": any("github" in str(it.get("url")) and "/issues/" in str(it["url"]) for it in items),
    }
    return tuple(name for name, holds in found.items() if holds)


def read(files: Sequence[SourceFile]) -> Reading:
    """Read the files; no input raises an error."""
    problems: list[Problem] = []
    tasks = [_task(Fields(item, place, problems), place) for item, place, _ in objects_in(files, problems)]
    warnings: list[str] = []
    if len(tasks) == _LIMIT:
        warnings.append("These are 30 issues, as many as gh lists if it is not asked for more: use --limit 1000.")
    if tasks and all(normalize(task.status) != "closed" for task in tasks):
        warnings.append("No issue is closed: gh lists those only with --state all.")
    unknown = {task.status for task in tasks if task.status and normalize(task.status) not in _STATES}
    unique, repeated = unique_ids(tasks)
    return Reading(unique, (*problems, *repeated), warnings=tuple(warnings), unknown_statuses=frozenset(unknown))


def _task(fields: Fields, place: str) -> ForeignTask:
    task_id = fields.text("number") or place
    title, status, reason = one_line(fields.text("title")), fields.text("state"), fields.text("stateReason")
    state = _STATES.get(normalize(status), "open")
    if state == "done" and normalize(reason) in {"not planned", "duplicate"}:
        state = "cancelled"
    labels = tuple(dict.fromkeys(_names(fields.take("labels"), "name")))
    comments = [_comment(it) for it in _objects(fields.take("comments"))]
    children = _names(fields.take("subIssues"), "number")
    if not title:
        fields.report("No title; the number is used.")
    people = {"assignees": ", ".join(_names(fields.take("assignees"), "login"))}
    people["author"] = ", ".join(_names([fields.take("author")], "login"))
    people["milestone"] = ", ".join(_names([fields.take("milestone")], "title"))
    people["comments"] = "\n\n".join(comments)
    people["subIssues"] = ", ".join(children)
    return ForeignTask(
        id=task_id,
        title=title or task_id,
        text=fields.text("body"),
        state=state,
        status=status,
        priority=_priority(labels),
        labels=labels,
        parent=next(iter(_names([fields.take("parent")], "number")), None),
        dependencies=tuple(dict.fromkeys(_names(fields.take("blockedBy"), "number"))),
        created=fields.time("createdAt"),
        updated=fields.time("updatedAt"),
        closed=fields.time("closedAt"),
        result=reason.replace("_", " ").lower(),
        rest={**fields.rest(), **{name: text for name, text in people.items() if text}},
        place=place,
    )


def _objects(value: object) -> list[dict[str, Any]]:
    value = value.get("nodes", [value]) if isinstance(value, dict) else value
    return [it for it in value if isinstance(it, dict)] if isinstance(value, list) else []


def _names(value: object, key: str) -> list[str]:
    """Return the member ``key`` of each object in a list, and what is text or a number as it is."""
    plain = [as_text(it) for it in value if isinstance(it, str | int)] if isinstance(value, list) else []
    return plain + [as_text(it[key]) for it in _objects(value) if it.get(key) not in (None, "")]


def _comment(comment: dict[str, Any]) -> str:
    author = ", ".join(_names([comment.get("author")], "login"))
    head = " ".join(filter(None, (author, as_text(comment.get("createdAt") or ""))))
    return "\n".join(filter(None, (head, as_text(comment.get("body") or ""))))


def _priority(labels: Sequence[str]) -> Priority | None:
    """Return the priority that a label such as ``priority: high`` or ``P1`` says."""
    words = (label.rpartition(":")[2].rpartition("/")[2] for label in labels if _speaks_of_priority(label))
    return next((PRIORITIES[it] for word in words if (it := normalize(word)) in PRIORITIES), None)


def _speaks_of_priority(label: str) -> bool:
    return "prio" in label.casefold() or label.casefold() in {"p0", "p1", "p2", "p3"}

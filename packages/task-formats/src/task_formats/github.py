"""Issues of GitHub, as ``gh issue list --json …`` writes them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from task_formats.arranging import add_reverse
from task_formats.decoding import as_text, json_of, objects_in
from task_formats.fields import PRIORITIES, Fields, IdRegister, find_unknown, normalize, state_of
from task_formats.record import Contents, ForeignTask, Priority, Remark, SourceFile

__all__ = ["find", "read", "signs"]

_LIMIT: Final = 30
"""The issues that gh lists if nobody asks for more."""


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
    is_of_pulls = any("/pull/" in str(it.get("url")) for it in items)
    return () if is_of_pulls else tuple(name for name, holds in found.items() if holds)


def read(files: Sequence[SourceFile]) -> Contents:
    """Read the files; no input raises an error."""
    problems: list[Remark] = []
    tasks: list[ForeignTask] = []
    ids = IdRegister(problems)
    children: dict[str, list[str]] = {}
    waiting: dict[str, list[str]] = {}
    for item, place, _ in objects_in(files, problems):
        fields = _Issue(item, place, problems)
        if not (named := fields.identify("number", "title", place)):
            continue
        task_id = ids.claim(named[0], place)
        children[task_id] = fields.listed("subIssues", "number")
        waiting[task_id] = fields.listed("blocking", "number")
        tasks.append(_task(fields, task_id, named[1], place))
    warnings: list[str] = []
    if len(tasks) == _LIMIT:
        warnings.append("These are 30 issues, as many as gh lists if it is not asked for more: use --limit 1000.")
    if tasks and all(normalize(task.status) != "closed" for task in tasks):
        warnings.append("No issue is closed: gh lists those only with --state all.")
    related = add_reverse(add_reverse(tasks, waiting, "blocking"), children, "subIssues", is_parent=True)
    return Contents(related, tuple(problems), warnings=tuple(warnings), unknown_statuses=find_unknown(tasks))


class _Issue(Fields):
    """Takes lists of objects as names."""

    def listed(self, name: str, key: str) -> list[str]:
        """Take the member ``key`` of each object; an issue of another repository is its address."""
        home = _repository(self.get("url"))

        def pick(it: Mapping[str, Any]) -> object:
            is_away = home and _repository(it.get("url")) not in {"", home}
            return it.get("url" if is_away else key)

        return self.members(name, pick)

    def comments(self) -> str:
        """Take the comments as text."""
        value = self.get("comments")
        if not isinstance(value, list) or not all(isinstance(it, dict) and it.get("body") for it in value):
            return ""
        self.take("comments")
        parts: list[str] = []
        for comment in value:
            author = comment.get("author")
            name = author.get("login") if isinstance(author, dict) else author
            head = " ".join(as_text(it) for it in (name, comment.get("createdAt")) if it)
            parts.append("\n".join(filter(None, (head, as_text(comment["body"])))))
        return "\n\n".join(parts)


def _repository(address: object) -> str:
    return address.rpartition("/issues/")[0] if isinstance(address, str) else ""


def _task(fields: _Issue, task_id: str, title: str, place: str) -> ForeignTask:
    status, reason = fields.text("state"), fields.text("stateReason")
    state = state_of(status)
    if state == "done" and normalize(reason) in {"not planned", "duplicate"}:
        state = "cancelled"
    labels = tuple(fields.listed("labels", "name"))
    milestone = fields.get("milestone")
    texts = {
        "assignees": ", ".join(fields.listed("assignees", "login")),
        "author": ", ".join(fields.listed("author", "login")),
        "milestone": ", ".join(fields.listed("milestone", "title")),
        "milestone.dueOn": as_text(milestone.get("dueOn") or "") if isinstance(milestone, dict) else "",
        "comments": fields.comments(),
    }
    return ForeignTask(
        id=task_id,
        title=title,
        text=fields.text("body"),
        state=state,
        status=status,
        priority=_priority(labels),
        labels=labels,
        parent=next(iter(fields.listed("parent", "number")), None),
        dependencies=tuple(fields.listed("blockedBy", "number")),
        created=fields.time("createdAt"),
        updated=fields.time("updatedAt"),
        closed=fields.time("closedAt"),
        result=reason.replace("_", " ").lower(),
        rest={**fields.rest(), **{name: text for name, text in texts.items() if text}},
        place=place,
    )


def _priority(labels: Sequence[str]) -> Priority | None:
    """Return the priority that a label such as ``priority: high`` or ``P1`` says."""
    said = (label for label in labels if "prio" in label.casefold() or label.casefold() in {"p0", "p1", "p2", "p3"})
    words = (normalize(re.split("[:/]", label)[-1]) for label in said)
    return next((PRIORITIES[word] for word in words if word in PRIORITIES), None)

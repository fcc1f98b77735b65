"""Beads: a file with one issue as JSON on each line, which ``bd export`` writes."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from task_formats.decoding import as_text, json_of, moment, parse_json, parse_structure, text_of
from task_formats.fields import (
    STATES,
    Fields,
    IdRegister,
    find_unknown,
    join_items,
    normalize,
    one_line,
    split_criteria,
    state_of,
)
from task_formats.losses import find_differences
from task_formats.record import Contents, ForeignTask, Priority, Remark, SourceFile, State, Writing

__all__ = ["find", "read", "signs", "write"]

_DESIGN: Final = "**Design**\n\n"
"""The beginning of a note that is the design of its issue."""

_LOWEST: Final = "4"
"""The lowest priority of Beads, which is kept beside ``low``."""

_ID: Final = re.compile(r"[A-Za-z][\w.-]*-[\w.-]+")
_LISTS: Final = ("issues.jsonl", "beads.jsonl")
_DATABASES: Final = ("metadata.json", "*/.dolt/repo_state.json", "*/*/.dolt/repo_state.json")
"""Small files that are there where issues are in a database."""

_MACHINERY: Final = frozenset(
    {
        *("agent", "convoy", "event", "gate", "merge-request", "message", "molecule", "queue", "rig", "role", "slot"),
        *("wisp", "tombstone", "template"),
    }
)
"""Kinds of issues that are not work."""

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


def find(path: Path) -> list[Path]:
    """Return the list of issues at ``path``: a file, ``.beads`` or a project; with one file of a database."""
    lists = [path] if path.is_file() else [folder / name for folder in (path, path / ".beads") for name in _LISTS]
    file = next((each for each in lists if each.is_file()), path)
    if file.name in _LISTS and file.is_file():
        databases = (each for pattern in _DATABASES for each in sorted(file.parent.glob(pattern)) if each.is_file())
        return [file, *islice(databases, 1)]
    return [file] if file.is_file() else []


def signs(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """Return the signs that ``files`` are of Beads."""
    found: list[str] = []
    lists = [file for file in files if not _is_of_database(file)]
    if any(file.name.rpartition("/")[2] in _LISTS for file in lists):
        found.append("the name of its list of issues")
    lines = (value for file in lists for _, value in _read_lines(file, []))
    values = [value for value in lines if not (isinstance(value, dict) and "_type" in value)]
    issues = [value for value in values if isinstance(value, dict)]
    if not issues or len(issues) < len(values):
        return tuple(found)
    if all("title" in it and "status" in it and _ID.fullmatch(as_text(it.get("id"))) for it in issues):
        found.append("issues with title, status and an id such as bd-a1b")
    if all("issue_type" in it or "created_at" in it for it in issues):
        found.append("issues with issue_type or created_at")
    return tuple(found)


def read(files: Sequence[SourceFile]) -> Contents:
    """Read the issues of ``files``: one on each line, or a JSON list of them.

    Tombstones, templates, memories and the records of agents are counted, not read.
    """
    problems: list[Remark] = []
    left_out: Counter[str] = Counter()
    ids = IdRegister(problems)
    tasks: list[ForeignTask] = []
    lists = [file for file in files if not _is_of_database(file)]
    for file in lists:
        for place, issue in _read_lines(file, problems):
            if not isinstance(issue, dict):
                problems.append(Remark(place, f"{as_text(issue)[:80]} is not an issue."))
            elif kind := _find_machinery(issue):
                left_out[kind] += 1
            elif task := _read_issue(Fields(issue, place, problems), place, ids):
                tasks.append(task)
    warnings: list[str] = []
    if lists and len(lists) < len(files):
        name = lists[0].name
        warnings.append(f"{name} comes from a database and may be out of date: `bd export -o {name}` updates it.")
    return Contents(tuple(tasks), tuple(problems), dict(left_out), tuple(warnings), find_unknown(tasks))


def _is_of_database(file: SourceFile) -> bool:
    return file.name.rpartition("/")[2] in ("metadata.json", "repo_state.json")


def _read_lines(file: SourceFile, problems: list[Remark]) -> Iterator[tuple[str, object]]:
    """Yield the places and the values of a file: one JSON document, or one value on each line."""
    text, wrong = text_of(file)
    if text.lstrip().partition("\n")[0].rstrip() == "{" or text.lstrip().startswith("["):
        value, wrong = json_of(file)
        problems += wrong
        values = value if isinstance(value, list) else [value] * (not wrong)
        yield from ((f"{file.name}[{number}]", each) for number, each in enumerate(values))
        return
    problems += wrong
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{file.name}:{number}"
            value, wrong = parse_json(line, lambda _, place=place: place)
            problems += wrong
            if value is not None or not wrong:
                yield place, value


def _find_machinery(issue: dict[str, object]) -> str:
    """Return the kind of an issue that is not work, blank for one that is."""
    record = as_text(issue.get("_type") or "issue")
    if record != "issue":
        return record
    template = "template" if issue.get("is_template") is True else ""
    kinds = (as_text(issue.get("status")), as_text(issue.get("issue_type")), template)
    return next((kind for kind in kinds if kind in _MACHINERY), "")


def _read_issue(fields: Fields, place: str, ids: IdRegister) -> ForeignTask | None:
    """Read one issue; None, with a problem, if it has neither an id nor a title."""
    found = fields.identify("id", "title", place.rpartition("/")[2])
    if not found:
        return None
    name, title = found
    fields.take("_type")
    if fields.get("issue_type") == "task":
        fields.take("issue_type")
    status = one_line(fields.text("status"))
    design, notes = fields.text("design"), fields.text("notes")
    parent, dependencies, others = _read_edges(fields, name)
    task = ForeignTask(
        ids.claim(name, place),
        title,
        fields.text("description"),
        state_of(status),
        status,
        fields.priority("priority"),
        fields.names("labels"),
        parent,
        dependencies,
        fields.time("created_at"),
        fields.time("updated_at"),
        fields.time("closed_at"),
        fields.time("due_at"),
        split_criteria(fields.text("acceptance_criteria")),
        tuple(filter(None, (design and _DESIGN + design, notes))),
        fields.text("close_reason"),
        fields.rest() | others,
        place,
    )
    return replace(task, priority="low") if task.rest.get("priority") == _LOWEST else task


def _read_edges(fields: Fields, name: str) -> tuple[str | None, tuple[str, ...], dict[str, str]]:
    """Take the edges of an issue; return its parent, the issues that it waits for, and all other edges as a field."""
    edges = fields.take("dependencies")
    parents = [*filter(None, (one_line(fields.text("parent")),))]
    needs = [*fields.names("blocked_by")]
    others: list[object] = []
    for edge in edges if isinstance(edges, list) else [edges]:
        target, kind = _read_edge(edge, name)
        if kind == "blocks":
            needs.append(target)
        elif kind == "parent-child" and (not parents or target == parents[0]):
            parents[:] = [target]
        elif edge and as_text(edge).strip():
            if kind == "parent-child":
                fields.report(f"{name} has a second parent, {target}; the first one counts.")
            others.append(edge)
    rest = {"dependencies": as_text(others)} if others else {}
    return next(iter(parents), None), tuple(dict.fromkeys(needs)), rest


def _read_edge(edge: object, name: str) -> tuple[str, str]:
    """Return the target and the kind of an edge that begins at the issue ``name``; blank if it does not."""
    if isinstance(edge, str):
        return one_line(edge), "blocks" if edge.strip() else ""
    if not isinstance(edge, dict) or edge.get("issue_id", name) != name:
        return "", ""
    target = edge.get("depends_on_id") or edge.get("id")
    kind = edge.get("type") or edge.get("dependency_type") or "blocks"
    return (target, kind) if isinstance(target, str) and isinstance(kind, str) else ("", "")


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
    design = next((note for note in task.notes if note.startswith(_DESIGN)), "")
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
        "design": design.removeprefix(_DESIGN),
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
        if name == "priority" and value == _LOWEST:
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

"""A tasks file at two moments: its places, and the differences between them that no call was about."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.corpus.outcomes import Outcome

__all__ = ["Snapshot", "compare", "family_of", "judge_repair", "list_changed", "read_files", "read_project"]

_COUNTED: Final = frozenset({"created", "updated", "description", "lastModified", "taskCount", "completedCount"})
"""The metadata of a tag that a save sets or adds (TM-24)."""

_ID: Final = re.compile(r"[\w.-]+")


class Snapshot(NamedTuple):
    """The tasks file at one moment."""

    values: dict[str, Any]
    """Every task and subtask without its subtasks, and every other member, by its place"""
    layout: tuple[bool, bool, bool, str]
    """BOM, CRLF, final newline, and indentation of the second line"""
    others: dict[str, bytes]
    """The other files of the project"""


def compare(
    outcome: Outcome,
    tool: str,
    before: Snapshot,
    after: Snapshot,
    allowed: Mapping[str, Collection[str]],
    removes: str = "",
) -> None:
    """Note what a call changed besides the ``allowed`` fields by place, and what is gone but items that it removes."""
    if before.values and before.layout != after.layout:
        outcome.outside.append(f"{tool}: the layout of the file")
    outcome.outside += [f"{tool}: {name}" for name in list_changed(before.others, after.others)]
    for place, old in before.values.items():
        new = after.values.get(place)
        if place not in after.values:
            if not (removes and removes in repr(old)):
                outcome.lost.append(f"{tool}: {place}")
        elif repr(old) != repr(new) and not (place in allowed and isinstance(new, dict)):
            outcome.outside.append(f"{tool}: {place}")
        elif isinstance(new, dict) and repr(old) != repr(new):
            _compare_item(outcome, f"{tool}: {place}:", old, new, allowed[place])


def _compare_item(
    outcome: Outcome, head: str, old: dict[str, Any], new: dict[str, Any], allowed: Collection[str]
) -> None:
    outcome.lost += [f"{head} {name}" for name in old if name not in new]
    if "details" in allowed and not _continues(old.get("details"), new.get("details")):
        outcome.lost.append(f"{head} details")
    for name, value in new.items():
        is_free = name in allowed or name == "updatedAt"
        if not is_free and (name not in old or repr(old[name]) != repr(value)):
            outcome.outside.append(f"{head} {name}")


def judge_repair(outcome: Outcome, tag: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Note each removed dependency that an item of the tag or a sibling has as its stored id, or that is no id."""
    places = [place for place in before if place.startswith(f"{tag} task ")]
    for place in places:
        gone = [*_dependencies(before[place])]
        for kept in _dependencies(after.get(place, {})):
            gone.remove(kept)
        family = family_of(place)
        others = [it for it in places if it not in (place, family) and (it == family_of(it) or family_of(it) == family)]
        for stored in gone:
            target = [it for it in others if _text(before[it]["id"]) == stored] if place != family else []
            target += [it for it in others if it == family_of(it) and _text(before[it]["id"]) == stored]
            kept = [*_dependencies(after.get(place, {}))]
            is_known = bool(target) and stored not in kept and not _is_cycle(before, target, place)
            if is_known or not _ID.fullmatch(stored) or stored in ("None", "True"):
                outcome.lost.append(f"fix_dependencies: {stored} of {place}")


def _is_cycle(before: Mapping[str, Any], targets: list[str], place: str) -> bool:
    """Return whether every reading of a dependency, which is one of the ``targets``, leads back to the item."""
    by_id = {_text(value["id"]): it for it, value in before.items() if it == family_of(it) and "id" in value}

    def leads_back(start: str) -> bool:
        waiting = [start]
        for it in waiting:
            near = [other for other in before if family_of(other) == family_of(it)]
            own = {_text(before[other].get("id")): other for other in near if other != family_of(other)}
            names = [*_dependencies(before[it])]
            found = [own.get(name) if it != family_of(it) else None for name in names]
            found = [one or by_id.get(name) for one, name in zip(found, names, strict=True)]
            found += near if it == family_of(it) else []
            waiting += [one for one in found if one and one not in waiting]
        return place in waiting

    return all(map(leads_back, targets))


def family_of(place: str) -> str:
    """Return the place of the task that an item is or belongs to."""
    return place.partition(" subtask ")[0]


def _continues(old: object, new: object) -> bool:
    """Return whether a note was added behind text or behind the steps of a list."""
    if isinstance(old, list):
        return isinstance(new, list) and new[: len(old)] == old
    return isinstance(new, str) and new.startswith(str(old or ""))


def _dependencies(item: object) -> Iterator[str]:
    stored = item.get("dependencies") if isinstance(item, dict) else None
    yield from map(_text, stored if isinstance(stored, list) else [])


def _text(stored: object) -> str:
    return str(stored).strip()


def list_changed(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """Return the files that are gone or differ, but the history; new ones are what a call was about."""
    others = {name: data for name, data in before.items() if not name.endswith(".history.jsonl")}
    return [name for name, data in others.items() if after.get(name) != data]


def read_files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def read_project(path: Path, root: Path | None = None) -> Snapshot:
    """Return the tasks file at ``path`` as it is now, and the other files in ``root``."""
    data = path.read_bytes() if path.exists() else b""
    text = data.decode("utf-8-sig", "replace")
    try:
        document = json.loads(text, parse_float=Decimal)
    except ValueError:
        document = None
    lines = text.splitlines() or [""]
    second = lines[1] if len(lines) > 1 else ""
    indent = second[: len(second) - len(second.lstrip())]
    others: dict[str, bytes] = {} if root is None else read_files(root)
    mine = [name for name in others if (root and root / name == path) or Path(name).stem.startswith("task_")]
    kept = {name: data for name, data in others.items() if name not in mine and ".bak" not in name}
    return Snapshot(
        dict(_places(document)), (data.startswith(b"\xef\xbb\xbf"), "\r\n" in text, text.endswith("\n"), indent), kept
    )


def _places(document: object) -> Iterator[tuple[str, Any]]:
    """Yield every item and every other member of a document with its place; one without tags is ``master``."""
    members: dict[str, Any] = document if isinstance(document, dict) else {}
    if isinstance(members.get("tasks"), list):
        own = {name: members[name] for name in ("tasks", "metadata") if name in members}
        members = {"master": own} | {name: value for name, value in members.items() if name not in own}
    for tag, value in members.items():
        if isinstance(value, dict) and isinstance(value.get("tasks"), list):
            yield from _places_in(tag, value)
        else:
            yield f"member {tag}", value


def _places_in(tag: str, members: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, member in members.items():
        if name == "metadata" and isinstance(member, dict):
            yield f"{tag} metadata", {key: it for key, it in member.items() if key not in _COUNTED}
        elif name != "tasks":
            yield f"{tag} member {name}", member
    for place, task in _numbered(f"{tag} task", members["tasks"]):
        yield place, {name: it for name, it in task.items() if name != "subtasks"}
        subtasks = task.get("subtasks")
        if isinstance(subtasks, list):
            yield from _numbered(f"{place} subtask", subtasks)


def _numbered(head: str, items: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a list by their ids; one with a repeated id also has its number."""
    seen: list[str] = []
    for item in items:
        if isinstance(item, dict):
            name = repr(item.get("id"))
            seen.append(name)
            count = seen.count(name)
            yield f"{head} {name}" + (f" ({count})" if count > 1 else ""), item

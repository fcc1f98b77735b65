"""The history of a project's tags: what a change did to which task, and how to put it back (AG-3, AG-6).

The id of a step is ``TAG:ID`` for a task or a subtask, and ``TAG:`` for the tag itself, without its tasks.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple, TypeVar

from pydantic import JsonValue

from task_core.history.changes import Change, Step, TreePlace, needle_of
from task_core.store.base import ROOTS
from task_core.store.codec import find_rising
from task_core.store.undo import NotUndone, check_kept
from taskmaster_mcp.codec import TagDocument
from taskmaster_mcp.core.items import JsonObject
from taskmaster_mcp.core.stored_words import read_text

__all__ = ["compare", "find_needles", "undo"]

_ItemT = TypeVar("_ItemT")

_Items = Mapping[str, JsonObject]

_Conflicts = Iterator[dict[str, JsonValue]]

_GONE: Final = "it is gone"

_STAMP: Final = "updatedAt"
"""The field with the time of a task's last change, which an undo sets to the present."""

_AFTER_ID: Final = '","what":'
"""The text after the id of a step, as it is kept."""

_ORDERED: Final = "tasks"
"""The field with all tasks of a tag whose ids are not unique, so that they can only be kept together."""

_DERIVED: Final = frozenset({"updated", "lastModified", "taskCount", "completedCount"})
"""Metadata that follow from every change of a tag."""


class _Tag(NamedTuple):
    """A tag, taken apart."""

    own: JsonObject
    """all but its tasks, and but the derived metadata"""
    tasks: dict[str, JsonObject]
    """the tasks by their ids, in order"""
    derived: JsonObject
    """the derived metadata"""

    @property
    def whole(self) -> JsonObject:
        """All but its tasks."""
        metadata = self.own.get("metadata")
        return {**self.own, "metadata": {**metadata, **self.derived}} if isinstance(metadata, dict) else self.own


def find_needles(tag: str, typed: str) -> list[str]:
    """Return texts of which every change of a task has one, given its id as a person types it, perhaps with a tag.

    That of a task includes its subtasks, and that of a subtask when its task was created or removed with it.
    """
    found: list[str] = []
    for name in [typed, f"{tag}:{typed}"] if ":" in typed else [f"{tag}:{typed}"]:
        parent = name.rpartition(".")[0]
        found += [needle_of(name), needle_of(f"{name}.").removesuffix(_AFTER_ID)]
        found += [f'{needle_of(parent)}"{what}"' for what in ("created", "removed") if parent]
    return found


def compare(old: TagDocument, new: TagDocument) -> list[Step]:
    """Return the steps from one state of the file to another; other members than tags are not in the history."""
    keys = [key for key in dict.fromkeys((*old.tags, *new.tags)) if old.members.get(key) != new.members.get(key)]
    before, after = ({key: _split(it.members[key].value) for key in keys if key in it.tags} for it in (old, new))
    following = dict(pairwise([*old.tags, ""]))
    return [
        step
        for key in keys
        for step in _compare_tags(key, before.get(key), after.get(key), TreePlace(ROOTS, following.get(key, "")))
    ]


def _compare_tags(key: str, before: _Tag | None, after: _Tag | None, left: TreePlace) -> Iterator[Step]:
    tasks = _compare_items(f"{key}:", before.tasks if before else {}, after.tasks if after else {}, are_tasks=True)
    if not after:  # a tag is empty before it goes
        yield from tasks
        yield from _make_step(f"{key}:", "removed", before.whole if before else {}, {}, left)
    elif before:
        yield from _make_step(f"{key}:", "changed", before.own, after.own)
        yield from tasks
    else:
        yield from _make_step(f"{key}:", "created", {}, after.whole)
        yield from tasks


def _compare_items(start: str, old: _Items, new: _Items, *, are_tasks: bool = False) -> Iterator[Step]:
    """Compare the tasks of a tag, or the subtasks of a task; their ids begin with ``start``."""
    yield from _compare_places(start, old, new)
    for name in new:
        if name in old and old[name] != new[name]:
            yield from _compare_fields(f"{start}{name}", name, old[name], new[name], are_tasks=are_tasks)


def _compare_places(start: str, old: _Items, new: _Items) -> Iterator[Step]:
    present = [*old]
    for index in reversed(range(len(present))):
        if (name := present[index]) not in new:
            del present[index]
            yield from _make_step(f"{start}{name}", "removed", old[name], {}, _place_at(start, present, index))
    staying = find_rising({name: index for index, name in enumerate(present)}, [*new])
    index = 0
    for name in new:
        if name in staying:
            index = present.index(name, index) + 1
            continue
        left = None
        if name in old:
            was = present.index(name)
            del present[was]
            left = _place_at(start, present, was)
            index -= was < index
        reached = _place_at(start, present, index)
        present.insert(index, name)
        index += 1
        what, after = ("moved", {}) if left else ("created", new[name])
        yield from _make_step(f"{start}{name}", what, {}, after, left, reached)


def _make_step(step_id: str, what: str, before: JsonObject, after: JsonObject, *places: TreePlace | None) -> list[Step]:
    step = Step(step_id, what, {}, {}, *places).replacing(before, after)
    return [step] if step else []


def _place_at(start: str, names: list[str], index: int) -> TreePlace:
    return TreePlace(start[:-1], names[index] if index < len(names) else "")


def _compare_fields(item_id: str, name: str, old: JsonObject, new: JsonObject, *, are_tasks: bool) -> Iterator[Step]:
    before, after = [_by_id(it.get("subtasks"), name) if are_tasks else None for it in (old, new)]
    subtasks: Iterable[Step] = ()
    if before is not None and after is not None:
        subtasks = _compare_items(f"{item_id}.", before, after)
        old, new = [{field: value for field, value in it.items() if field != "subtasks"} for it in (old, new)]
    yield from _make_step(item_id, "changed", old, new)
    yield from subtasks


def _split(value: JsonObject) -> _Tag:
    own = {name: it for name, it in value.items() if name != "tasks"}
    derived: JsonObject = {}
    if isinstance(metadata := own.get("metadata"), dict):
        derived = {name: it for name, it in metadata.items() if name in _DERIVED}
        own["metadata"] = {name: it for name, it in metadata.items() if name not in _DERIVED}
    tasks = _by_id(value["tasks"])
    return _Tag({**own, _ORDERED: value["tasks"]}, {}, derived) if tasks is None else _Tag(own, tasks, derived)


def _by_id(items: JsonValue, parent: str = "") -> dict[str, JsonObject] | None:
    """Return tasks, or the subtasks of ``parent``, by their own ids, or None if these are not unique."""
    if not isinstance(items, list):
        return None
    start = f"{parent}."
    found = {read_text(it.get("id")).removeprefix(start): it for it in items if isinstance(it, dict)}
    return found if "" not in found and len(found) == len(items) else None


# Undoing


def undo(
    work: TagDocument,
    change: Change,
    save: Callable[[TagDocument, str, JsonObject], None],
    moment: str,
    show: Callable[[str], str] = str,
) -> list[str]:
    """Put back what ``change`` replaced, and return the tags that it touched and that exist.

    ``save`` puts a tag into the document, and ``moment`` is that of the last change of its tasks. ``show`` turns the
    id of a step into what an error calls it.

    Raises:
        NotUndone: something there has changed since, or not all that was replaced was kept.
    """
    check_kept(change)
    tags = {key: _split(json.loads(work.members[key].text)) for key in work.tags}
    touched: dict[str, None] = {}
    conflicts: list[dict[str, JsonValue]] = []
    for step in reversed(change.steps):
        key = step.id[:-1] if step.id.endswith(":") else _find_start(tags, step.id, ":")
        touched[key] = None
        is_taken = step.what == "removed" and key in work.members and step.id.endswith(":")
        found = iter([{"now": "there is a new tag with this name"}]) if is_taken else _put_back(tags, step, key, moment)
        conflicts += [{"id": show(step.id), **conflict} for conflict in found]
    if conflicts:
        raise NotUndone(change, conflicts=conflicts)
    for key in touched:
        if key in tags:
            save(work, key, {"tasks": [*tags[key].tasks.values()], **tags[key].whole})
        else:
            del work.members[key]
    for step in reversed(change.steps):
        if step.left and step.left.parent == ROOTS:
            _place(work.members, step.id[:-1], step.left)
    return [key for key in touched if key in tags]


def _find_start(names: Iterable[str], text: str, separator: str) -> str:
    """Return the longest of ``names`` with which an id begins, or else what is before the separator."""
    found = [name for name in names if text.startswith(f"{name}{separator}")]
    return max(found, key=len, default=text.partition(separator)[0])


def _put_back(tags: dict[str, _Tag], step: Step, key: str, moment: str) -> _Conflicts:
    name = step.id[len(key) + 1 :]
    if not name and step.what == "removed":
        tags[key] = _split({"tasks": [], **step.before})
    elif key not in tags:
        yield {"now": _GONE}
    elif name:
        yield from _put_task_back(tags[key].tasks, step, key, name, moment)
    elif step.what == "created" and tags[key].tasks:
        yield {"now": "it has tasks that were added since"}
    else:
        step = replace(step, after=_split({"tasks": [], **step.after}).own)
        yield from step.put_back(tags[key].own, _STAMP)
        if step.what == "created":
            del tags[key]


def _put_task_back(tasks: dict[str, JsonObject], step: Step, key: str, name: str, moment: str) -> _Conflicts:
    place = step.left or step.reached
    if place.parent == key if place else name in tasks:
        yield from _put_item_back(tasks, step, name, moment)
        return
    parent = _find_start(tasks, name, ".")
    subtasks = _by_id(tasks[parent].get("subtasks"), parent) if parent in tasks else None
    if subtasks is None:
        yield {"now": _GONE}
    else:
        yield from _put_item_back(subtasks, step, name[len(parent) + 1 :], moment)
        tasks[parent]["subtasks"] = [*subtasks.values()]


def _put_item_back(items: dict[str, JsonObject], step: Step, name: str, moment: str) -> _Conflicts:
    if step.what == "removed" and name in items:
        yield {"now": "there is a new task with this id"}
    elif step.what == "removed":
        items[name] = dict(step.before)
        _place(items, name, step.left)
    elif name not in items:
        yield {"now": _GONE}
    elif step.what == "moved":
        _place(items, name, step.left)
    else:
        if _STAMP in step.after:
            items[name][_STAMP] = moment
        yield from step.put_back(items[name], _STAMP)
        if step.what == "created":
            del items[name]


def _place(items: dict[str, _ItemT], name: str, place: TreePlace | None) -> None:
    """Put a task, or a tag, before the one that followed it, or last."""
    order = [other for other in items if other != name]
    order.insert(order.index(place.next) if place and place.next in order else len(order), name)
    found = {other: items[other] for other in order}
    items.clear()
    items.update(found)

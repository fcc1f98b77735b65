"""The history of a project's tags: what a change did to which task, and how to put it back (AG-3, AG-6).

The id of a step is ``TAG:ID`` for a task with its subtasks, and ``TAG:`` for the tag itself, without its tasks.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from pydantic import JsonValue

from task_core.history.changes import Change, Step, TreePlace, find_rising
from task_core.store.base import ROOTS
from task_core.store.undo import NotUndone
from taskmaster_mcp.codec import TagDocument
from taskmaster_mcp.core.items import JsonObject
from taskmaster_mcp.core.stored_words import read_text

__all__ = ["compare", "join_id", "undo"]

_GONE: Final = "it is gone"

_STAMP: Final = "updatedAt"
"""The moment of the last change of a task, which an undo sets anew."""

_ORDERED: Final = "tasks"
"""The field with all tasks of a tag whose ids are not unique, so that they can only be kept together."""


class _Tag(NamedTuple):
    """A tag, taken apart."""

    own: JsonObject
    """all but its tasks, and but the moment of its last change"""
    tasks: dict[str, JsonObject]
    """the tasks by their ids, in order"""


def join_id(tag: str, task_id: str) -> str:
    """Return the id under which the history has a task, or the task of a subtask."""
    return task_id if ":" in task_id else f"{tag}:{task_id.partition('.')[0]}"


def compare(old: TagDocument, new: TagDocument) -> list[Step]:
    """Return the steps from one state of the file to another; other members than tags are not in the history."""
    keys = [key for key in dict.fromkeys((*old.tags, *new.tags)) if old.members.get(key) != new.members.get(key)]
    before, after = _take_apart(old, keys), _take_apart(new, keys)
    return [step for key in keys for step in _compare_tags(key, before.get(key), after.get(key), old.tags, new.tags)]


def _compare_tags(
    key: str, before: _Tag | None, after: _Tag | None, old_order: list[str], new_order: list[str]
) -> Iterator[Step]:
    old, new = before or _Tag({}, {}), after or _Tag({}, {})
    tasks = _compare_tasks(key, old.tasks, new.tasks)
    if after is None:  # a tag is empty before it goes, and there before its tasks
        yield from tasks
        following = (name for name in old_order[old_order.index(key) + 1 :] if name in new_order)
        left = TreePlace(ROOTS, next(following, ""))
        yield from filter(None, [Step(f"{key}:", "removed", left=left).replacing(old.own, {})])
        return
    yield from filter(None, [Step(f"{key}:", "created" if before is None else "changed").replacing(old.own, new.own)])
    yield from tasks


def _compare_tasks(tag: str, old: Mapping[str, JsonObject], new: Mapping[str, JsonObject]) -> Iterator[Step]:
    present = [*old]
    for name in [name for name in reversed(present) if name not in new]:
        place = present.index(name)
        del present[place]
        yield _step(tag, name, "removed", (old[name], {}), _next(tag, present, place))
    staying = find_rising({name: place for place, name in enumerate(present)}, [*new])
    place = 0
    for name in new:
        if name in staying:
            place = present.index(name) + 1
            continue
        left = None
        if name in old:
            was = present.index(name)
            del present[was]
            left = _next(tag, present, was)
            place -= was < place
        present.insert(place, name)
        place += 1
        reached = _next(tag, present, place)
        yield _step(tag, name, "moved" if left else "created", ({}, {} if left else new[name]), left, reached)
    for name in new:
        if name in old and old[name] != new[name]:
            yield _step(tag, name, "changed", (old[name], new[name]))


def _step(tag: str, name: str, what: str, values: tuple[JsonObject, JsonObject], *places: TreePlace | None) -> Step:
    step = Step(f"{tag}:{name}", what, {}, {}, *places)
    return step.replacing(*values) or step


def _next(tag: str, names: list[str], place: int) -> TreePlace:
    return TreePlace(tag, names[place] if place < len(names) else "")


def _take_apart(document: TagDocument, keys: Iterable[str]) -> dict[str, _Tag]:
    members = ((key, document.members[key]) for key in keys if key in document.members)
    return {key: _split(member.value) for key, member in members if member.is_tag}


def _split(value: JsonObject) -> _Tag:
    tasks, own = value.pop("tasks"), value
    if isinstance(metadata := own.get("metadata"), dict):
        metadata.pop("updated", None)
    assert isinstance(tasks, list)  # noqa: S101 - for the type checker: a tag has a list of tasks
    ids = Counter(read_text(task.get("id")) if isinstance(task, dict) else "" for task in tasks)
    if "" in ids or len(ids) < len(tasks):
        return _Tag({**own, _ORDERED: tasks}, {})
    return _Tag(own, dict(zip(ids, (task for task in tasks if isinstance(task, dict)), strict=True)))


# Undoing


def undo(
    work: TagDocument, change: Change, put_tag: Callable[[TagDocument, str, JsonValue], None], moment: str
) -> list[str]:
    """Put back what ``change`` replaced, and return the tags that it touched; ``moment`` is that of their last change.

    Raises:
        NotUndone: something there has changed since, or not all that was replaced was kept.
    """
    if not change.is_whole:
        raise NotUndone(change, "not all that it replaced was kept")
    conflicts: list[dict[str, JsonValue]] = []
    tags = _take_apart(work, work.tags)
    touched: dict[str, None] = {}
    places: dict[str, str] = {}
    for step in reversed(change.steps):
        key, _, name = step.id.partition(":")
        touched[key] = None
        if _STAMP in step.after and key in tags and name in tags[key].tasks:
            tags[key].tasks[name][_STAMP] = moment
        found = _put_tag_back(tags, step, key, places) if not name else _put_task_back(tags, step, key, name)
        conflicts += [{"id": step.id, **conflict} for conflict in found]
    if conflicts:
        raise NotUndone(change, conflicts=conflicts)
    for key in touched:
        if key in tags:
            own, tasks = tags[key]
            value: JsonObject = {"tasks": [*tasks.values()], **own}
            if isinstance(metadata := value.get("metadata"), dict):
                value["metadata"] = {**metadata, "updated": moment}
            put_tag(work, key, value)
        else:
            work.members.pop(key, None)
    _arrange(work, places)
    return [key for key in touched if key in tags]


def _put_tag_back(
    tags: dict[str, _Tag], step: Step, key: str, places: dict[str, str]
) -> Iterator[dict[str, JsonValue]]:
    if step.what == "removed":
        if key in tags:
            yield {"now": "there is a new tag with this name"}
        else:
            tags[key] = _Tag(dict(step.before), {})
            places[key] = step.left.next if step.left else ""
    elif key not in tags:
        yield {"now": _GONE}
    elif step.what == "created" and tags[key].tasks:
        yield {"now": "it has tasks that were added since"}
    else:
        yield from _put_fields_back(tags[key].own, step)
        if step.what == "created":
            del tags[key]


def _put_task_back(tags: dict[str, _Tag], step: Step, key: str, name: str) -> Iterator[dict[str, JsonValue]]:
    if key not in tags:
        yield {"now": _GONE}
        return
    tasks = tags[key].tasks
    if step.what == "removed" and name in tasks:
        yield {"now": "there is a new task with this id"}
    elif step.what == "removed":
        tasks[name] = dict(step.before)
        _place(tasks, name, step.left)
    elif name not in tasks:
        yield {"now": _GONE}
    elif step.what == "moved":
        _place(tasks, name, step.left)
    else:
        yield from _put_fields_back(tasks[name], step)
        if step.what == "created":
            del tasks[name]


def _put_fields_back(values: JsonObject, step: Step) -> Iterator[dict[str, JsonValue]]:
    for field in dict.fromkeys([*step.before, *step.after]):
        if field == _STAMP:
            continue
        if (field in values) != (field in step.after) or values.get(field) != step.after.get(field):
            yield {"field": field, "now": values.get(field)}
        elif field in step.before:
            values[field] = step.before[field]
        else:
            del values[field]


def _place(tasks: dict[str, JsonObject], name: str, place: TreePlace | None) -> None:
    """Put a task before the one that followed it, or last."""
    order = [other for other in tasks if other != name]
    order.insert(order.index(place.next) if place and place.next in order else len(order), name)
    found = {other: tasks[other] for other in order}
    tasks.clear()
    tasks.update(found)


def _arrange(work: TagDocument, places: Mapping[str, str]) -> None:
    for key, following in places.items():
        order = [other for other in work.members if other != key]
        order.insert(order.index(following) if following in order else len(order), key)
        work.members = {other: work.members[other] for other in order}

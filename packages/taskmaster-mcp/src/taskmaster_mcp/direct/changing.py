"""The tools that make and change items (TM-43 to TM-50)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from task_core.bounds import fit
from task_core.text import pluralize
from taskmaster_mcp.core.creating import add_note, add_subtask, add_task, merge_metadata, set_fields
from taskmaster_mcp.core.items import PRIORITIES, JsonObject, ProjectItem, TagTasks
from taskmaster_mcp.core.moving import convert_to_subtask
from taskmaster_mcp.core.plans import Ask, check_revision, find_open
from taskmaster_mcp.core.status import StatusChange, choose_next, set_status
from taskmaster_mcp.core.views import render_whole
from taskmaster_mcp.direct.asking import ask_about_items, ask_for_task
from taskmaster_mcp.direct.reading import list_dropped
from taskmaster_mcp.direct.registry import Target, direct
from taskmaster_mcp.errors import BadValue
from taskmaster_mcp.project.project import Project

__all__ = [
    "ItemEdit",
    "add_subtask_direct",
    "add_task_direct",
    "default_priority",
    "find_task",
    "set_task_status_direct",
    "update_direct",
    "update_subtask_direct",
    "update_task_direct",
]


class ItemEdit(NamedTuple):
    """The changes to one item."""

    id: str
    fields: Mapping[str, JsonValue]
    """new values by the names that the document has"""
    metadata: Mapping[str, JsonValue] | None = None
    append: bool = False
    """true if ``details`` are added as a note"""


@direct
def add_task_direct(
    target: Target, *, fields: Mapping[str, JsonValue], dependencies: Sequence[str] = (), ask: Ask
) -> JsonObject:
    """Add a task, or say what a new one needs."""
    if not fields.get("title"):
        return ask_for_task(target, ask)
    priority = fields.get("priority") or default_priority(target.project)
    with target.change() as tasks:
        item = add_task(tasks, {**fields, "priority": priority}, dependencies)
        data: JsonObject = {"taskId": item.id, "task": render_whole(item, {})}
    return {**data, "message": f"Added task {item.id}.", "telemetryData": ask.telemetry, "tag": target.tag}


@direct
def add_subtask_direct(
    target: Target,
    *,
    task_id: str,
    convert: str | None = None,
    fields: Mapping[str, JsonValue],
    dependencies: Sequence[str] = (),
) -> JsonObject:
    """Add a subtask, new or made of the task ``convert``."""
    if convert is None and not fields.get("title"):
        raise BadValue("title", "give the title of a new subtask, or taskId")
    with target.change() as tasks:
        task = find_task(tasks, "id", task_id)
        data: JsonObject = {}
        if convert is None:
            item = add_subtask(tasks, task, fields, dependencies)
        else:
            new_id, dropped = convert_to_subtask(tasks, find_task(tasks, "taskId", convert), task)
            item = tasks.get(new_id)
            data = list_dropped(dropped)
        shown = render_whole(tasks.get(item.id), {})
    return {"subtask": shown, **data, "message": f"Added subtask {item.id}.", "tag": target.tag}


@direct
def update_task_direct(target: Target, *, changes: ItemEdit, ask: Ask, revision: str | None = None) -> JsonObject:
    """Set fields of an item, if it is as it was at ``revision``, or say what a change needs."""
    has_prompt = bool(ask.prompt) or changes.metadata is None
    if not changes.fields and not changes.metadata and has_prompt:
        return ask_about_items(target, ask, item_id=changes.id)
    with target.change() as tasks:
        check_revision(revision, [tasks.get(changes.id).fields])
        [item] = _edit_items(tasks, [changes], target.project.now)
        shown = fit(render_whole(item, {}))
        message = f"Updated {item.id}." if tasks.is_changed else f"{item.id} was so already; nothing changed."
    return {"task": shown, "message": message, "telemetryData": ask.telemetry, "tag": target.tag}


@direct
def update_direct(
    target: Target, *, start: str, plan: Sequence[ItemEdit] | None, ask: Ask, revision: str | None = None
) -> JsonObject:
    """Set fields of several items, all or nothing, if the open tasks from ``start`` on are as at ``revision``.

    Without a ``plan``, say what a change of these tasks needs.
    """
    if plan is None:
        return ask_about_items(target, ask, start=start)
    with target.change() as tasks:
        check_revision(revision, [task.fields for task in find_open(tasks, start)])
        ids: list[JsonValue] = [item.id for item in _edit_items(tasks, plan, target.project.now)]
    message = f"Updated {pluralize(len(ids), 'item')}."
    return {"updated": ids, "message": message, "telemetryData": ask.telemetry, "tag": target.tag}


@direct
def update_subtask_direct(
    target: Target, *, item_id: str, note: str | None, metadata: Mapping[str, JsonValue] | None
) -> JsonObject:
    """Append a note to the details of an item, merge metadata into it, or both."""
    if note is None and metadata is None:
        raise BadValue("prompt", "give the text to append, or metadata")
    with target.change() as tasks:
        item = tasks.get(item_id)
        if note is not None:
            add_note(tasks, item, note, target.project.now)
        if metadata is not None:
            merge_metadata(tasks, item, metadata)
        shown = render_whole(item, {})
    return {"subtask": shown, "message": f"Updated {item_id}.", "tag": target.tag}


@direct
def set_task_status_direct(target: Target, *, ids: Sequence[str], status: str) -> JsonObject:
    """Set the status of items; subtasks and tasks follow."""
    with target.change() as tasks:
        changes = set_status(tasks, tasks.get_all(ids), status)
        data: JsonObject = {"tasks": [_status_change(change) for change in changes.asked]}
        if changes.closed:
            data["closedSubtasks"] = [item.id for item in changes.closed]
        if changes.parents:
            data["parents"] = [_status_change(change) for change in changes.parents]
        if changes.has_finished:
            item = choose_next(tasks)
            data["nextTask"] = {"id": item.id, "title": item.title} if item else None
        changed = sum(change.old != change.new for change in changes.asked)
    message = f"Set {', '.join(ids)} to '{status}'." if changed else f"The status was '{status}' already."
    return {"message": message, **data, "tag": target.tag}


def default_priority(project: Project) -> str:
    """Return the priority of a task that was given none."""
    found = project.config().get("defaultPriority")
    return found if isinstance(found, str) and found in PRIORITIES else "medium"


def _edit_items(tasks: TagTasks, changes: Sequence[ItemEdit], now: str) -> list[ProjectItem]:
    """Change items, and return them in order."""
    items = []
    for change in changes:
        item = tasks.get(change.id)
        fields = dict(change.fields)
        if change.append and (note := fields.pop("details", None)):
            add_note(tasks, item, str(note), now)
        set_fields(tasks, item, fields)
        if change.metadata is not None:
            merge_metadata(tasks, item, change.metadata)
        items.append(item)
    return items


def find_task(tasks: TagTasks, field: str, item_id: str) -> ProjectItem:
    """Return the task with this id, which the argument ``field`` gives; a subtask raises ``BadValue``."""
    item = tasks.get(item_id)
    if item.is_subtask:
        raise BadValue(field, "give the id of a task, not of a subtask")
    return item


def _status_change(change: StatusChange) -> JsonObject:
    return {"taskId": change.item.id, "oldStatus": change.old, "newStatus": change.new}

"""Tasks that move to another tag (TM-56)."""

from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from taskmaster_mcp.core.creating import check_room
from taskmaster_mcp.core.graph import drop_dependencies
from taskmaster_mcp.core.items import ProjectItem, TagTasks
from taskmaster_mcp.core.moving import Dropped, insert_task, take_out
from taskmaster_mcp.errors import CannotMoveSubtask, CrossTagConflicts, OddValue, TaskExists

__all__ = ["move_to_tag"]


def move_to_tag(
    source: TagTasks,
    target: TagTasks,
    items: Sequence[ProjectItem],
    now: str,
    *,
    with_dependencies: bool = False,
    ignore_dependencies: bool = False,
) -> tuple[list[ProjectItem], Dropped]:
    """Move tasks with their ids to ``target``, and return them with the dependencies that were dropped.

    Raises:
        CannotMoveSubtask: one of them is a subtask.
        TaskExists: the target has a task with one of the ids.
        CrossTagConflicts: dependencies would lead from one tag into the other.
    """
    for item in items:
        if item.is_subtask:
            raise CannotMoveSubtask(item.id)
    moved = _closure(source, items) if with_dependencies else [*dict.fromkeys(items)]
    there = target.index()
    for item in moved:
        if item.id in there:
            raise TaskExists(item.id, target.tag)
    ids = {item.id for item in moved}

    def is_between(item: ProjectItem, found: str) -> bool:
        return (_task_of(item.id) in ids) != (_task_of(found) in ids) and found in known

    known = source.index()
    conflicts = [(item.id, found) for item in source.items for found in item.targets if is_between(item, found)]
    if conflicts and not ignore_dependencies:
        raise CrossTagConflicts(conflicts)
    dropped = drop_dependencies(source, is_between)
    # A dependency on a missing task must not lead to a task of the other tag by chance.
    dropped += drop_dependencies(source, lambda item, found: _task_of(item.id) in ids and found in there)
    for item in sorted(moved, key=lambda item: item.number or 0):
        check_room(target)
        take_out(source, item)
        source.touched.pop(item, None)
        _note_move(item, source.tag, target.tag, now)
        insert_task(target, item)
    return moved, dropped


def _closure(source: TagTasks, items: Iterable[ProjectItem]) -> list[ProjectItem]:
    index = source.index()
    found = dict.fromkeys(items)
    waiting = [*found]
    for item in waiting:
        names = [name for it in (item, *item.subtasks) for name in it.targets]
        for task in [index[name] for name in map(_task_of, names) if name in index]:
            if task not in found:
                found[task] = None
                waiting.append(task)
    return [*found]


def _task_of(item_id: str) -> str:
    return item_id.partition(".")[0]


def _note_move(item: ProjectItem, from_tag: str, to_tag: str, now: str) -> None:
    metadata = item.stored("metadata", dict)
    history = metadata.get("moveHistory", [])
    if not isinstance(history, list):
        raise OddValue(item.id, "metadata.moveHistory", "a list")
    entry: dict[str, JsonValue] = {"fromTag": from_tag, "toTag": to_tag, "timestamp": now}
    item.fields["metadata"] = {**metadata, "moveHistory": [*history, entry]}

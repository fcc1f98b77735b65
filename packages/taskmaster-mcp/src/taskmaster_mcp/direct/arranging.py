"""The tools that move and remove items, and change what they depend on (TM-51 to TM-61)."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from task_core.text import pluralize
from taskmaster_mcp.core.graph import add_dependency, drop_dependencies, fix_dependencies
from taskmaster_mcp.core.items import JsonObject, TagTasks
from taskmaster_mcp.core.moving import Dropped, clear_subtasks, convert_to_task, move, remove_items
from taskmaster_mcp.core.tags import check_new_name, make_tag, move_to_tag
from taskmaster_mcp.core.views import render_whole
from taskmaster_mcp.direct.reading import limit_rows, list_dropped
from taskmaster_mcp.direct.registry import Target, direct
from taskmaster_mcp.errors import BadValue
from taskmaster_mcp.project.files import remove_task_files
from taskmaster_mcp.project.project import Project, check_tag_count

__all__ = [
    "add_dependency_direct",
    "clear_subtasks_direct",
    "fix_dependencies_direct",
    "move_task_direct",
    "remove_dependency_direct",
    "remove_subtask_direct",
    "remove_task_direct",
]


@direct
def move_task_direct(
    target: Target,
    *,
    sources: Sequence[str],
    targets: Sequence[str] | None = None,
    from_tag: str | None = None,
    to_tag: str | None = None,
    with_dependencies: bool = False,
    ignore_dependencies: bool = False,
) -> JsonObject:
    """Move items within a tag, each to its new id, in order, all or nothing; or tasks to another tag."""
    project, tag = target.project, from_tag or target.tag
    if not to_tag or to_tag == from_tag:
        return _move_within(project, tag, sources, targets)
    if targets is not None:
        raise BadValue("to", "leave it out with toTag: tasks keep their ids in another tag")
    with project.transaction() as work:
        source = project.tag(work, tag)
        if to_tag not in work.tags:  # it is made
            check_tag_count(work)
            check_new_name("toTag", to_tag, work.members)
            other = TagTasks(to_tag, make_tag(None, project.now, f"Tasks for {to_tag} context"))
        else:
            other = project.tag(work, to_tag)
        moved, dropped = move_to_tag(
            source,
            other,
            source.get_all(sources),
            project.now,
            with_dependencies=with_dependencies,
            ignore_dependencies=ignore_dependencies,
        )
        project.save(work, source)
        project.save(work, other)
        rows: list[JsonObject] = [{"from": item.id, "to": item.id, "item": render_whole(item, {})} for item in moved]
    message = f"Moved {', '.join(item.id for item in moved)} from tag '{tag}' to '{to_tag}'."
    return {"message": message, **limit_rows("moves", rows), **list_dropped(dropped), "tag": to_tag}


def _move_within(project: Project, tag: str, sources: Sequence[str], targets: Sequence[str] | None) -> JsonObject:
    if targets is None or len(targets) != len(sources):
        raise BadValue("to", f"give as many new ids as there are in 'from', {len(sources)}, or toTag")
    moves = [*zip(sources, targets, strict=True)]
    with project.change(tag) as tasks:
        dropped: Dropped = []
        moved: list[JsonObject] = []
        for source, target in moves:
            moved.append(tasks.get(source).fields)
            dropped += move(tasks, source, target)
        items = {id(item.fields): render_whole(item, {}) for item in tasks.items}  # by their new ids
        rows: list[JsonObject] = [
            {"from": old, "to": new, "item": items[id(fields)]} for (old, new), fields in zip(moves, moved, strict=True)
        ]
        data: JsonObject = {"movedItem": rows[0]["item"]} if len(rows) == 1 else {}
    message = "Moved " + ", ".join(f"{old} to {new}" for old, new in moves) + "."
    return {"message": message, **limit_rows("moves", rows), **data, **list_dropped(dropped), "tag": tag}


@direct
def remove_task_direct(target: Target, *, ids: Sequence[str]) -> JsonObject:
    """Remove items with all below them, and the files that were generated for tasks."""
    project, tag = target.project, target.tag
    with target.change() as tasks:
        items = tasks.get_all(ids)
        rows = [render_whole(item, {}) for item in items]
        dropped = remove_items(tasks, items)
    ids_gone = {item.id for item in items if not item.is_subtask}
    with suppress(OSError):  # the tasks are gone, whatever may be in the folder
        remove_task_files(project.files, project.path.parent, tag, ids_gone.__contains__)
    message = f"Removed {', '.join(ids)} from tag '{tag}'."
    return {**limit_rows("removedTasks", rows), "message": message, **list_dropped(dropped), "tag": tag}


@direct
def remove_subtask_direct(target: Target, *, ids: Sequence[str], convert: bool = False) -> JsonObject:
    """Remove subtasks, or make tasks of them."""
    with target.change() as tasks:
        items = tasks.get_all(ids)
        if not all(item.is_subtask for item in items):
            raise BadValue("id", "give the id of a subtask, such as '5.2'")
        dropped: Dropped = []
        if convert:
            rows = []
            for item in items:
                new_id, lost = convert_to_task(tasks, item)
                dropped += lost
                rows.append(render_whole(tasks.get(new_id), {}))
        else:
            rows = [render_whole(item, {}) for item in items]
            dropped = remove_items(tasks, items)
    shown: JsonObject = {"task": rows[0]} if convert and len(rows) == 1 else {}
    name = "tasks" if convert else "removedTasks"
    message = f"Made tasks of {', '.join(ids)}." if convert else f"Removed {', '.join(ids)}."
    return {"message": message, **shown, **limit_rows(name, rows), **list_dropped(dropped), "tag": target.tag}


@direct
def clear_subtasks_direct(target: Target, *, ids: Sequence[str] | None, every: bool = False) -> JsonObject:
    """Remove all subtasks of the tasks with these ids, or of ``every`` task."""
    if (ids is None) is not every:
        raise BadValue("id", "give ids, or all")
    with target.change() as tasks:
        items = tasks.tasks if ids is None else tasks.get_all(ids)
        if any(item.is_subtask for item in items):
            raise BadValue("id", "give ids of tasks, not of subtasks")
        cleared = [item for item in items if item.subtasks]
        rows: list[JsonObject] = [{"id": item.id, "title": item.title, "count": len(item.subtasks)} for item in cleared]
        dropped = clear_subtasks(tasks, cleared)
    message = f"Cleared the subtasks of {pluralize(len(rows), 'task')}."
    return {"message": message, **limit_rows("tasksCleared", rows), **list_dropped(dropped), "tag": target.tag}


@direct
def add_dependency_direct(target: Target, *, item_id: str, depends_on: str) -> JsonObject:
    """Make one item depend on another."""
    with target.change() as tasks:
        added = add_dependency(tasks, tasks.get(item_id), tasks.get(depends_on).id)
    message = f"{item_id} depends on {depends_on} now." if added else f"{item_id} depended on {depends_on} already."
    return {"taskId": item_id, "dependencyId": depends_on, "added": added, "message": message, "tag": target.tag}


@direct
def remove_dependency_direct(target: Target, *, item_id: str, depends_on: str) -> JsonObject:
    """Remove a dependency; its target need not exist."""
    with target.change() as tasks:
        item = tasks.get(item_id)
        wanted = depends_on if depends_on in item.targets else item.resolve(depends_on)
        removed = bool(drop_dependencies(tasks, lambda it, found: it == item and found == wanted))
    message = f"{item_id} no longer depends on {wanted}."
    if not removed:
        message = f"{item_id} does not depend on {depends_on}; nothing changed."
    return {"taskId": item_id, "dependencyId": wanted, "removed": removed, "message": message, "tag": target.tag}


@direct
def fix_dependencies_direct(target: Target) -> JsonObject:
    """Remove the dependencies of a tag that are wrong."""
    with target.change() as tasks:
        removed = fix_dependencies(tasks)
    rows: list[JsonObject] = [{"taskId": it.id, "dependencyId": it.target, "type": it.type} for it in removed]
    counts: JsonObject = {**Counter(issue.type for issue in removed)}
    message = f"Wrong dependencies removed: {len(rows)}." if rows else "There was nothing to fix."
    return {**limit_rows("removed", rows), "counts": counts, "message": message, "tag": target.tag}

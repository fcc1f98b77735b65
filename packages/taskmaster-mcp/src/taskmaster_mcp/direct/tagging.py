"""The tools that make, choose, rename, copy and delete tags (TM-62, TM-63)."""

from contextlib import suppress
from typing import Final

from pydantic import JsonValue

from task_core.errors import StoreUnreadable, TaskError
from taskmaster_mcp.codec import MASTER
from taskmaster_mcp.core.items import JsonObject
from taskmaster_mcp.core.tags import check_new_name, make_tag, name_tag_after, note_new_name
from taskmaster_mcp.direct.registry import Target, direct
from taskmaster_mcp.errors import BadValue, Refused
from taskmaster_mcp.project.project import Project, check_tag_count, put_tag, rename_tag

__all__ = [
    "add_tag_direct",
    "copy_tag_direct",
    "delete_tag_direct",
    "rename_tag_direct",
    "switch_tag",
    "use_tag_direct",
]

_NOT_SWITCHED: Final = "current tag"
"""Cause of the warning that the current tag could not follow."""


@direct
def add_tag_direct(
    target: Target,
    *,
    name: str | None,
    copy_from_tag: str | None = None,
    copy_from_current: bool = False,
    from_branch: bool = False,
    description: str | None = None,
) -> JsonObject:
    """Make a tag, empty or with copies of the tasks of another; its name may come from the branch of git."""
    if name is None and not from_branch:
        raise BadValue("name", "give the name of the new tag, or fromBranch")
    name = name or _branch_tag(target.project)
    source = copy_from_tag or (target.tag if copy_from_current else None)
    data = _make(target.project, name, source, description or f"Tag '{name}'")
    return {"tagName": name, "created": True, **data, "sourceTag": source, "message": f"Made tag '{name}'."}


@direct
def copy_tag_direct(
    target: Target, *, source_name: str, target_name: str, description: str | None = None
) -> JsonObject:
    """Make a tag with copies of the tasks of another."""
    data = _make(target.project, target_name, source_name, description or f"Copy of '{source_name}'")
    names: JsonObject = {"sourceName": source_name, "targetName": target_name}
    message = f"Copied tag '{source_name}' to '{target_name}'."
    return {**names, "copied": True, **data, "message": message}


@direct
def use_tag_direct(target: Target, *, name: str) -> JsonObject:
    """Switch to a tag."""
    project = target.project
    with project.transaction() as work:
        count = len(project.tag(work, name).tasks)
        previous = project.current_tag()
        if previous != name:
            project.set_current_tag(name)
    message = f"'{name}' is the current tag."
    if kept := target.registry.settings.taskmaster_tag:
        message += f" But TASKMASTER_TAG is set: calls that name no tag still use '{kept}'."
    data: JsonObject = {"tagName": name, "switched": previous != name, "previousTag": previous, "taskCount": count}
    return {**data, "message": message}


@direct
def rename_tag_direct(target: Target, *, old_name: str, new_name: str) -> JsonObject:
    """Rename a tag; the current one stays current."""
    if old_name == MASTER:
        raise Refused("TAG_RENAMED", tag=MASTER)
    project = target.project
    with project.transaction() as work:
        tasks = project.tag(work, old_name)
        check_new_name("newName", new_name, work.members)
        was_current = project.current_tag() == old_name
        rename_tag(work, old_name, new_name, note_new_name(tasks.value, old_name, project.now))
    if was_current:
        switch_tag(target, new_name)
    data: JsonObject = {"oldName": old_name, "newName": new_name, "renamed": True}
    further: JsonObject = {"taskCount": len(tasks.tasks), "wasCurrentTag": was_current}
    return {**data, **further, "message": f"Renamed tag '{old_name}' to '{new_name}'."}


@direct
def delete_tag_direct(target: Target, *, name: str) -> JsonObject:
    """Delete a tag with its tasks; after the current one, ``master`` is current, or the first tag if there is none."""
    if name == MASTER:
        raise Refused("TAG_DELETED", tag=MASTER)
    project = target.project
    with project.transaction() as work:
        tasks = project.tag(work, name)
        was_current = project.current_tag() == name
        others = [tag for tag in work.tags if tag != name]
        if not others:  # Task Master reads no document without tags
            put_tag(work, MASTER, make_tag(None, project.now, f"Tasks for {MASTER} context"))
        del work.members[name]
    following = MASTER if MASTER in others else [*others, MASTER][0]
    if was_current:
        switch_tag(target, following)
    data: JsonObject = {"tagName": name, "deleted": True, "tasksDeleted": len(tasks.tasks)}
    switched: JsonObject = {"wasCurrentTag": was_current, "switchedToMaster": was_current and following == MASTER}
    message = f"Deleted tag '{name}'." + (f" The current tag is '{following}' now." if was_current else "")
    return {**data, **switched, "message": message}


def _make(project: Project, name: str, source: str | None, description: str) -> dict[str, JsonValue]:
    with project.transaction() as work:
        check_tag_count(work)
        check_new_name("name", name, work.members)
        copied = project.tag(work, source).value if source else None
        value = make_tag(copied, project.now, description, source or "")
        put_tag(work, name, value)
    tasks = value["tasks"]
    return {"tasksCopied": len(tasks) if isinstance(tasks, list) else 0, "description": description}


def switch_tag(target: Target, name: str) -> None:
    """Make ``name`` the current tag, after the tasks are saved; a failure becomes a warning, as they are."""
    try:
        with target.project.transaction():
            target.project.set_current_tag(name)
    except TaskError as error:
        target.registry.warnings.add(
            _NOT_SWITCHED, f"The tags were changed, but the current tag was not: {error.message}"
        )
    else:
        target.registry.warnings.settle(_NOT_SWITCHED)


def _branch_tag(project: Project) -> str:
    """Return the tag for the branch that the repository of the project is on; no program is run for it."""
    head = ""
    with suppress(OSError, StoreUnreadable):
        head = project.files.read(project.root / ".git" / "HEAD").decode("utf-8", "replace").strip()
    name = name_tag_after(head.removeprefix("ref: refs/heads/")) if head.startswith("ref: refs/heads/") else ""
    if not name:
        raise BadValue("fromBranch", "the project is on no branch of git: give a name")
    return name

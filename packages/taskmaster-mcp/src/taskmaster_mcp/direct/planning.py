"""The tools for which the caller thinks: without a result they ask for one, with a result they save it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from task_core.bounds import fit
from task_core.errors import echo
from task_core.text import pluralize
from taskmaster_mcp.core.items import JsonObject, TagTasks
from taskmaster_mcp.core.plans import (
    Ask,
    Planned,
    add_subtasks,
    add_tasks,
    check_expandable,
    check_revision,
    hash_values,
)
from taskmaster_mcp.core.views import render_short, render_whole
from taskmaster_mcp.direct.asking import SUBTASK_FIELDS, TASK_FIELDS, ask_host, count_subtasks, list_whole
from taskmaster_mcp.direct.changing import default_priority
from taskmaster_mcp.direct.reading import list_dropped
from taskmaster_mcp.direct.registry import Target, direct
from taskmaster_mcp.errors import BadValue, FileMissing, Refused
from taskmaster_mcp.project.project import Project
from taskmaster_mcp.project.root import resolve_inside

__all__ = ["expand_all_direct", "expand_task_direct", "parse_prd_direct"]

_MAX_PRD: Final = 200_000
"""Bytes of a document that is parsed (TM-70)."""

_MAX_EXPANDED: Final = 10
"""Tasks that one call proposes to expand (TM-69)."""


@direct
def expand_task_direct(
    target: Target,
    *,
    task_id: str,
    plan: Sequence[Planned] | None,
    ask: Ask,
    force: bool = False,
    revision: str | None = None,
) -> JsonObject:
    """Split a task into the subtasks of a plan, or say what to plan (TM-68)."""
    if plan is None:
        return _ask_for_subtasks(target, task_id, ask, force=force)
    with target.change() as tasks:
        task = tasks.get(task_id)
        check_revision(revision, task.fields)
        had = len(task.subtasks)
        dropped = add_subtasks(tasks, [(task, plan)], force=force)
        shown = fit(render_short(task, {}, with_subtasks=True))
    data: JsonObject = {"task": shown, "subtasksAdded": len(plan), "hasExistingSubtasks": had > 0}
    return {**data, **list_dropped(dropped), "telemetryData": ask.telemetry, "tag": target.tag}


def _ask_for_subtasks(target: Target, task_id: str, ask: Ask, *, force: bool) -> JsonObject:
    task = target.tasks().get(task_id)
    check_expandable(task)
    entry = target.project.entries(target.tag).get(task.id, {})
    context: JsonObject = {"task": render_whole(task, {}), "revision": hash_values(task.fields)}
    if text := entry.get("expansionPrompt"):
        context["expansionPrompt"] = text
    count = count_subtasks(target.project, ask.num, entry)
    words = [
        f"Split the task into about {count} subtasks, in the order of the work.",
        "Each can be finished in one go.",
        "They replace the present ones." if force else "Present subtasks stay; do not repeat them.",
        "Then make the call.",
    ]
    return ask_host(target, words, context, "expand_task", ask, {"subtasks": [SUBTASK_FIELDS]})


@direct
def expand_all_direct(
    target: Target,
    *,
    plan: Sequence[tuple[str, Sequence[Planned]]] | None,
    ask: Ask,
    force: bool = False,
    after: str | None = None,
    revision: str | None = None,
) -> JsonObject:
    """Split several tasks by their plans, all or nothing, or say which could be split behind ``after`` (TM-69)."""
    if plan is None:
        return _ask_for_expansions(target, ask, force=force, after=after)
    with target.change() as tasks:
        check_revision(revision, tasks.stored)
        dropped = add_subtasks(tasks, [(tasks.get(task_id), parts) for task_id, parts in plan], force=force)
    expanded: list[JsonObject] = [{"id": task_id, "subtasksAdded": len(parts)} for task_id, parts in plan]
    data: JsonObject = {"expanded": [*expanded], "message": f"Expanded {pluralize(len(expanded), 'task')}."}
    return {**data, **list_dropped(dropped), "telemetryData": ask.telemetry, "tag": target.tag}


def _ask_for_expansions(target: Target, ask: Ask, *, force: bool, after: str | None) -> JsonObject:
    tasks = target.tasks()
    rest = tasks.tasks
    if after is not None:
        rest = rest[rest.index(tasks.get(after)) + 1 :]
    found = [task for task in rest if not task.is_settled and (force or not task.subtasks)]
    rows: list[tuple[str, JsonObject]] = []
    entries = target.project.entries(target.tag)
    for task in found[:_MAX_EXPANDED]:
        entry = entries.get(task.id, {})
        hint: JsonObject = {"expansionPrompt": entry["expansionPrompt"]} if entry.get("expansionPrompt") else {}
        num = count_subtasks(target.project, ask.num, entry)
        rows.append((task.id, {"task": render_whole(task, {}), "num": num, **hint}))
    context = list_whole("tasks", rows, len(found))
    if force:
        context["revision"] = hash_values(tasks.stored)
    words = [
        "Split each of these tasks into about num subtasks, in the order in which they are done.",
        "Leave out tasks that one step finishes. Then make the call.",
        "If left_out is not 0, then ask again with after, the id of the last task here.",
        "Split those in tooLarge with expand_task.",
    ]
    fields: JsonObject = {"expansions": [{"id": "id of the task", "subtasks": [SUBTASK_FIELDS]}]}
    return ask_host(target, words, context, "expand_all", ask, fields)


@direct
def parse_prd_direct(
    target: Target,
    *,
    document: str | None,
    plan: Sequence[Planned] | None,
    ask: Ask,
    append: bool = False,
    force: bool = False,
    revision: str | None = None,
) -> JsonObject:
    """Make tasks of a plan, or show the document that they are to be made of (TM-70)."""
    if plan is None:
        return _ask_for_tasks(target, document, ask, append=append, force=force)
    with target.change() as tasks:
        check_revision(revision, tasks.stored)
        _check_empty(tasks, append=append, force=force)
        replaced = 0 if append else len(tasks.stored)
        if replaced:
            tasks.stored.clear()
            tasks.is_changed = True
        priority = default_priority(target.project)
        added = add_tasks(tasks, [Planned({"priority": priority, **it.fields}, it.dependencies) for it in plan])
        ids: list[JsonValue] = [item.id for item in added]
    data: JsonObject = {"tasksAdded": len(ids), "ids": ids, **({"replaced": replaced} if replaced else {})}
    advice = target.advise("Call expand_task to split those that are large.")
    message = f"Added {pluralize(len(ids), 'task')} to tag '{target.tag}'. {advice}"
    return {**data, "message": message, "telemetryData": ask.telemetry, "tag": target.tag}


def _ask_for_tasks(target: Target, document: str | None, ask: Ask, *, append: bool, force: bool) -> JsonObject:
    target.project.check_exists()
    text, path = _document(target.project, document)
    tasks = target.tasks()
    _check_empty(tasks, append=append, force=force)
    stored = target.project.config().get("defaultNumTasks")
    wanted = ask.num if ask.num is not None else stored if isinstance(stored, int) else 10
    count = f"about {wanted} tasks" if wanted else "as many tasks as it needs"
    words = [
        f"Turn the document into {count}, in the order in which they are done, each worth some hours of work.",
        "Leave nothing out that it asks for, and add nothing that it does not.",
        "Then make the call.",
    ]
    context: JsonObject = {"document": text, "path": str(path.relative_to(target.project.root.resolve()))}
    if force:
        context["revision"] = hash_values(tasks.stored)
    return ask_host(target, words, context, "parse_prd", ask, {"tasks": [TASK_FIELDS]})


def _check_empty(tasks: TagTasks, *, append: bool, force: bool) -> None:
    if tasks.stored and not (append or force):
        raise Refused("TAG_HAS_TASKS", tag=tasks.tag, count=len(tasks.stored))


def _document(project: Project, file: str | None) -> tuple[str, Path]:
    folder = project.folder / "docs"
    found = {path.name.casefold(): path for path in (folder.iterdir() if not file and folder.is_dir() else ())}
    usual = found.get("prd.txt") or found.get("prd.md") or folder / "prd.txt"
    path = resolve_inside(project.root, "input", file or usual)
    try:
        size = path.stat().st_size
        data = project.files.read(path) if size <= _MAX_PRD else b""
    except OSError:
        raise FileMissing(f"There is no document '{echo(path.name)}'. Give its path in the project as input.") from None
    if size > _MAX_PRD:
        raise BadValue("input", f"the document has {size:,} bytes; give one of at most {_MAX_PRD:,}")
    try:
        return data.decode(), path
    except UnicodeDecodeError:
        raise BadValue("input", "the document is not UTF-8 text") from None

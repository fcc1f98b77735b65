"""The tools that change nothing; their answers are kept while the files stay the same (TM-37 to TM-42, TM-75)."""

from collections.abc import Collection, Sequence
from typing import Final

from pydantic import JsonValue

from task_core.bounds import take_fitting
from task_core.errors import echo
from taskmaster_mcp.core.graph import count_checked, find_issues
from taskmaster_mcp.core.items import JsonObject, ProjectItem, TagTasks
from taskmaster_mcp.core.moving import Dropped
from taskmaster_mcp.core.status import choose_next, describe_next_step, find_blocked
from taskmaster_mcp.core.tags import describe_tag
from taskmaster_mcp.core.views import count_statuses, render_short, render_whole
from taskmaster_mcp.direct.registry import Target, cached, direct
from taskmaster_mcp.errors import BadValue, FileMissing
from taskmaster_mcp.project.project import list_entries

__all__ = [
    "MAX_LISTED",
    "cache_stats_direct",
    "complexity_report_direct",
    "get_operation_status_direct",
    "get_task_direct",
    "get_tasks_direct",
    "limit_rows",
    "list_dropped",
    "list_tags_direct",
    "next_task_direct",
    "validate_dependencies_direct",
]

MAX_LISTED: Final = 100
"""Things that an answer lists besides tasks; the others are counted."""


def limit_rows(name: str, rows: Sequence[JsonObject]) -> JsonObject:
    """Return the first of ``rows`` that fit an answer under ``name``, and how many were left out, if any."""
    shown = take_fitting(rows[:MAX_LISTED])
    left_out: JsonObject = {"left_out": len(rows) - len(shown)} if len(shown) < len(rows) else {}
    return {name: [*shown], **left_out}


def list_dropped(dropped: Dropped) -> JsonObject:
    """Return the dependencies that were dropped, if any, for an answer: a hundred, and the number of others."""
    if not dropped:
        return {}
    shown: list[JsonValue] = [{**row} for row in dropped[:MAX_LISTED]]
    return {"dropped": shown, **({"droppedLeftOut": len(dropped) - len(shown)} if len(dropped) > len(shown) else {})}


@direct
@cached
def get_tasks_direct(
    target: Target, *, status: Collection[str] = (), with_subtasks: bool = False, limit: int, after: str | None = None
) -> JsonObject:
    """Return the tasks of a tag in short, those with one of the words in ``status`` if there are any."""
    tasks = target.tasks()
    scores = target.project.scores(target.tag)
    found = [task for task in tasks.tasks if not status or task.status in status]
    rest = _continue_after(tasks, after, found) if after else found
    shown = take_fitting([render_short(task, scores, with_subtasks=with_subtasks) for task in rest[:limit]])
    left_out: JsonObject = {"left_out": len(rest) - len(shown)} if len(shown) < len(rest) else {}
    data: JsonObject = {"tasks": [*shown], "filter": ",".join(status) or "all", "tag": target.tag, "total": len(found)}
    return {**data, **left_out, "stats": count_statuses(tasks)}


def _continue_after(tasks: TagTasks, after: str, found: Sequence[ProjectItem]) -> list[ProjectItem]:
    last = tasks.get(after)
    if last.is_subtask:
        raise BadValue("after", "give the id of the last task that was listed")
    places = {task: place for place, task in enumerate(tasks.tasks)}
    return [task for task in found if places[task] > places[last]]


@direct
@cached
def get_task_direct(target: Target, *, ids: Sequence[str], status: str | None = None) -> JsonObject:
    """Return items whole: one by itself, several as a list."""
    tasks = target.tasks()
    scores = target.project.scores(target.tag)
    items = [render_whole(item, scores, status) for item in tasks.get_all(ids)]
    return items[0] if len(items) == 1 else limit_rows("tasks", items)


@direct
@cached
def next_task_direct(target: Target) -> JsonObject:
    """Return the item to work on next, or what is in the way."""
    tasks = target.tasks()
    item = choose_next(tasks)
    further: JsonObject = {"tag": target.tag, "nextSteps": target.advise(describe_next_step(item))}
    if item is None:
        return {"nextTask": None, "isSubtask": False, **further, "blocked": [*find_blocked(tasks)]}
    found = render_whole(item, target.project.scores(target.tag))
    if item.parent:
        found["parentId"] = item.parent.id
    return {"nextTask": found, "isSubtask": item.is_subtask, **further}


@direct
@cached
def complexity_report_direct(target: Target) -> JsonObject:
    """Return the complexity report of a tag."""
    target.tasks()  # so that a tag that does not exist is named as such
    report = target.project.report(target.tag)
    if not report:
        raise FileMissing(
            f"There is no complexity report of tag '{echo(target.tag)}'. Make one with analyze_project_complexity."
        )
    rows = limit_rows("complexityAnalysis", list_entries(report))
    return {"report": {**report, **rows}, "reportPath": str(target.project.report_path(target.tag))}


@direct
@cached
def validate_dependencies_direct(target: Target) -> JsonObject:
    """Return everything that is wrong with the dependencies and words of a tag."""
    tasks = target.tasks()
    issues = [issue.as_json for issue in find_issues(tasks)]
    return {"valid": not issues, **limit_rows("issues", issues), **count_checked(tasks), "tag": target.tag}


@direct
@cached
def list_tags_direct(target: Target) -> JsonObject:
    """Return the tags, the current one first, then by name."""
    project, current = target.project, target.tag
    with project.read() as members:
        names = sorted(members.tags, key=lambda name: (name != current, name))
        rows = [describe_tag(project.tag(members, name), is_current=name == current) for name in names]
    return {**limit_rows("tags", rows), "currentTag": current, "totalTags": len(rows)}


@direct
def cache_stats_direct(target: Target) -> JsonObject:
    """Return how the cache was used."""
    return target.registry.cache.statistics()


@direct
def get_operation_status_direct(target: Target, *, operation_id: str) -> JsonObject:
    """Return the state of an operation."""
    return target.registry.operations.status(operation_id)

"""The tools that write other files than the tasks: a new project, task files, the report (TM-71, TM-81 to TM-83)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from task_core.bounds import take_fitting
from task_core.errors import StoreWriteFailed
from task_core.files import describe
from task_core.text import escape_invisible, pluralize
from taskmaster_mcp.codec import MASTER
from taskmaster_mcp.core.items import JsonObject, ProjectItem, TagTasks
from taskmaster_mcp.core.plans import Ask
from taskmaster_mcp.core.tags import make_tag
from taskmaster_mcp.core.views import render_short
from taskmaster_mcp.direct.asking import ask_host
from taskmaster_mcp.direct.changing import find_task
from taskmaster_mcp.direct.operations import Progress
from taskmaster_mcp.direct.reading import MAX_LISTED
from taskmaster_mcp.direct.registry import Target, direct
from taskmaster_mcp.errors import BadValue, Refused
from taskmaster_mcp.project.files import detect_ending, generate_files
from taskmaster_mcp.project.json_text import DEFAULT, Layout
from taskmaster_mcp.project.project import Project, put_tag
from taskmaster_mcp.project.root import resolve_inside

__all__ = ["analyze_project_complexity_direct", "generate_direct", "initialize_project_direct"]

_FOLDERS: Final = ("tasks", "docs", "reports", "templates")

_IGNORED: Final = ".taskmaster/tasks/"
"""The line of a .gitignore that keeps the tasks out of git."""

_THRESHOLD: Final = 5

_ENTRY: Final[JsonObject] = {
    "taskId": "id of the task",
    "complexityScore": "1 (trivial) to 10",
    "recommendedSubtasks": "how many it should be split into; 0 if not at all",
    "expansionPrompt": "what to mind when it is split",
    "reasoning": "why",
}


@direct
def initialize_project_direct(
    target: Target, *, names: Mapping[str, str], store_tasks_in_git: bool = True
) -> JsonObject:
    """Make the folders and files of a project; those that exist stay as they are."""
    project = target.project
    root = project.root
    if root in (Path.home().resolve(), Path(root.anchor)):
        raise BadValue("projectRoot", "give the folder of a project, not the home folder or the root of the disk")
    created = [path for name in _FOLDERS for path in project.files.make_folder(project.folder / name)]
    settings: JsonObject = {
        "logLevel": "info",
        "debug": False,
        "defaultNumTasks": 10,
        "defaultSubtasks": 5,
        "defaultPriority": "medium",
        "defaultTag": MASTER,
        **names,
        "anonymousTelemetry": False,
    }
    changed: list[str] = []
    with project.transaction() as work:
        if not (project.folder / "config.json").exists():
            created.append(_write(project, "config.json", {"global": settings}))
        if not (project.folder / "state.json").exists():
            state: JsonObject = {"currentTag": MASTER, "lastSwitched": project.now, "branchTagMapping": {}}
            created.append(_write(project, "state.json", state))
        if not project.path.exists() and not work.tags:
            put_tag(work, MASTER, make_tag(None, project.now, f"Tasks for {MASTER} context"))
            created.append(project.path)
        if not store_tasks_in_git:
            changed = _ignore_tasks(project)
    done = target.advise("Made the project. Call parse_prd or add_task.")
    if created and project.above:
        done += (
            f" There is another one above it, which is used with projectRoot='{escape_invisible(str(project.above))}'."
        )
    message = done if created or changed else "ALREADY_INITIALIZED: everything is there; nothing was changed."
    shown: list[JsonValue] = [str(path.relative_to(root)) for path in created]
    return {"message": message, "projectRoot": str(root), "created": shown, "changed": [*changed]}


@direct
def generate_direct(target: Target, *, output: str | None, ending: str | None, progress: Progress) -> JsonObject:
    """Write a text file for each task."""
    project, tag = target.project, target.tag
    folder = resolve_inside(project.root, "output", output) if output else project.path.parent
    with project.generating:
        tasks = target.tasks()
        try:
            made = generate_files(project.files, tasks, folder, ending or detect_ending(folder, tag), progress)
        except OSError as error:
            raise StoreWriteFailed(folder.name, describe(error)) from error
    message = f"{made.count} tasks have a file; {made.written} were written."
    data: JsonObject = {"message": message, "count": made.count, "written": made.written, "directory": str(folder)}
    if made.skipped:
        rows: list[JsonValue] = [*made.skipped[:MAX_LISTED]]
        data |= {"skipped": rows, "skippedMessage": f"{len(made.skipped)} files were not generated, so they stay."}
    return {**data, "orphanedFilesRemoved": made.removed}


@direct
def analyze_project_complexity_direct(
    target: Target,
    *,
    ids: Sequence[str] | None,
    first: int | None,
    last: int | None,
    plan: Sequence[JsonObject] | None,
    ask: Ask,
) -> JsonObject:
    """Merge an analysis into the complexity report, or ask for one of some tasks (TM-71)."""
    project, tag = target.project, target.tag
    if plan is None:
        rows = [render_short(task, {}) for task in _choose(target.tasks(), ids, first, last)]
        shown = take_fitting(rows)
        context: JsonObject = {"tasks": [*shown], "left_out": len(rows) - len(shown)}
        words = [
            "Judge how complex each task is, and into how many subtasks it should be split.",
            "Then make the call; if some were left out, ask again for them by id.",
        ]
        fields: JsonObject = {"analysis": [_ENTRY]}
        return ask_host(target, words, context, "analyze_project_complexity", ask, fields)
    with project.transaction() as work:
        tasks = project.tag(work, tag)
        entries: list[JsonObject] = []
        for row in plan:
            task = find_task(tasks, "taskId", str(row["taskId"]))
            task_id = task.id if task.number is None else task.number
            said = {name: row.get(name, "") for name in _ENTRY if name != "taskId"}
            entries.append({"taskId": task_id, "taskTitle": task.title, **said})
        path = project.report_path(tag)
        report = _merge(project, project.report(tag), entries, len(tasks.tasks))
        project.files.write(path, Layout("\t").text(report).encode())
    data: JsonObject = {"message": f"Reported on {pluralize(len(entries), 'task')}.", "reportPath": str(path)}
    scores: list[int] = [score for row in plan if isinstance(score := row["complexityScore"], int)]
    summary: JsonObject = {
        "taskCount": len(entries),
        "highComplexityTasks": sum(score >= 8 for score in scores),
        "mediumComplexityTasks": sum(5 <= score < 8 for score in scores),
        "lowComplexityTasks": sum(score < 5 for score in scores),
    }
    return {**data, "reportSummary": summary, "telemetryData": ask.telemetry, "tag": tag}


def _write(project: Project, name: str, value: JsonObject) -> Path:
    path = project.folder / name
    project.files.write(path, DEFAULT.text(value).encode())
    return path


def _ignore_tasks(project: Project) -> list[str]:
    """Add a line to an existing .gitignore that lacks it, and return the names of the changed files."""
    path = project.root / ".gitignore"
    try:
        data = project.files.read(path)
    except FileNotFoundError:
        return []
    if _IGNORED.encode() in data.split():
        return []
    end = b"" if data.endswith(b"\n") or not data else b"\n"
    project.files.write(path, data + end + f"{_IGNORED}\n".encode())
    return [path.name]


def _choose(tasks: TagTasks, ids: Sequence[str] | None, first: int | None, last: int | None) -> list[ProjectItem]:
    if ids is not None:
        return [find_task(tasks, "ids", item_id) for item_id in ids]
    numbers = range(first or 0, (last if last is not None else 10**15) + 1)
    return [task for task in tasks.tasks if not task.is_settled and (task.number or 0) in numbers]


def _merge(project: Project, old: JsonObject, entries: Sequence[JsonObject], total: int) -> JsonObject:
    new = {str(entry["taskId"]): entry for entry in entries}
    rows = old.get("complexityAnalysis", [])
    if not isinstance(rows, list):
        raise Refused("ODD_VALUE", id="report", field="complexityAnalysis", expected="a list")
    kept = [{**row, **new.pop(str(row.get("taskId")), {})} if isinstance(row, dict) else row for row in rows]
    merged: list[JsonValue] = [*kept, *new.values()]
    stored = old.get("meta")
    meta: JsonObject = {
        **(stored if isinstance(stored, dict) else {}),
        "generatedAt": project.now,
        "tasksAnalyzed": len(entries),
        "totalTasks": total,
        "analysisCount": len(merged),
        "thresholdScore": _THRESHOLD,
        "projectName": project.config().get("projectName") or project.root.name,
        "usedResearch": False,
    }
    return {**old, "meta": meta, "complexityAnalysis": merged}

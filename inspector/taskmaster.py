"""Run the tools of the specification against the installed ``taskmaster-mcp`` through the MCP Inspector.

Each group of cases has a server of its own. The project has the layout in which Task
Master writes it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from inspector.inspector_cli import Answer, Inspector, member
from inspector.pinned import server_command
from inspector.report import Part, Report, run

__all__ = ["PARTS"]

STEPS: Final = [{"title": "Read it"}, {"title": "Write it", "dependencies": [1]}]


class Workspace(Inspector):
    """A project of two tags in a fresh folder, and calls of the server over it in one era of the protocol."""

    def __init__(self, folder: Path, era: str) -> None:
        self.file = folder / ".taskmaster" / "tasks" / "tasks.json"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        settings = {"TASK_MASTER_PROJECT_ROOT": str(folder), "TASK_MASTER_TOOLS": "all"}
        super().__init__([server_command("taskmaster-mcp")], settings, era)

    def write(self) -> None:
        """Make the project anew."""
        tasks = [_task(1, status="done"), _task(2, 1, subtasks=[_task(1), _task(2, 1)]), _task(3, "2")]
        document = {"master": {"tasks": tasks, "$kept": 1.0}, "beta": {"tasks": [_task(1)]}, "other": ["kept"]}
        self.file.write_text(json.dumps(document, indent=2, ensure_ascii=False), "utf-8")

    @property
    def text(self) -> str:
        """The document."""
        return self.file.read_text("utf-8")


def _task(number: int, *dependencies: int | str, **fields: object) -> dict[str, object]:
    title = {"id": number, "title": f"Aufgabe {number}", "description": "", "status": "pending"}
    return {**title, "dependencies": [*dependencies], **fields}


def data_of(answer: Answer, *names: str | int) -> object:
    """Return a part of the data of an answer."""
    return member(answer.result, "data", *names)


def read(report: Report, workspace: Workspace) -> None:
    """[TM-37] to [TM-41] and [TM-20] Reading leaves every byte as it is."""
    before = workspace.text
    listed = workspace.call("get_tasks", "status=pending", "withSubtasks=true")
    report.case(
        "get_tasks, pending",
        "exit 0",
        listed,
        in_order=[member(task, "id") for task in _list(data_of(listed, "tasks"))] == ["2", "3"],
        complete=data_of(listed, "stats", "completionPercentage") == 33.3,
        nothing_changed=workspace.text == before,
    )
    several = workspace.call("get_task", "id=2,2.2")
    report.case(
        "get_task, two ids",
        "exit 0",
        several,
        dependency_is_whole=data_of(several, "tasks", 1, "dependencies") == ["2.1"],
        shows_its_parent=data_of(several, "tasks", 1, "parent", "id") == "2",
    )
    next_one = workspace.call("next_task")
    report.case("next_task", "exit 0", next_one, ready=data_of(next_one, "nextTask", "id") == "2")


def change(report: Report, workspace: Workspace) -> None:
    """[TM-18] and [TM-48] to [TM-61] Only what is asked for changes, and the rest keeps its bytes."""
    before = workspace.text
    closed = workspace.call("set_task_status", "id=2.1,2.2", "status=done")
    report.case(
        "set_task_status of all subtasks",
        "exit 0",
        closed,
        task_follows=data_of(closed, "parents", 0, "newStatus") == "done",
        next_is_named=data_of(closed, "nextTask", "id") == "3",
        other_members_kept=workspace.text.partition('"beta"')[2] == before.partition('"beta"')[2],
        unknown_member_kept='"$kept": 1.0' in workspace.text,
    )
    moved = workspace.call("move_task", "from=3", "to=7")
    report.case("move_task to a free id", "exit 0", moved, has_it=data_of(moved, "movedItem", "id") == "7")
    crossed = workspace.call("move_task", "from=7", "toTag=beta", "ignoreDependencies=true")
    dropped = [{"id": "7", "dependsOn": "2"}]
    report.case("move_task to another tag", "exit 0", crossed, said=data_of(crossed, "dropped") == dropped)
    for added in (True, False):
        answer = workspace.call("add_dependency", "id=2", "dependsOn=1", "tag=master")
        report.case("add_dependency that exists", "exit 0", answer, not_added=data_of(answer, "added") is False)
        answer = workspace.call("add_dependency", "id=7", "dependsOn=1", "tag=beta")
        report.case("add_dependency in a tag", "exit 0", answer, as_expected=data_of(answer, "added") is added)


def plan(report: Report, workspace: Workspace) -> None:
    """[TM-64] to [TM-68] The caller plans: asked first, refused when the task has changed, then saved."""
    before = workspace.text
    asked = workspace.call("expand_task", "id=3", "num=2")
    report.case(
        "expand_task without a plan",
        "exit 0",
        asked,
        asks=data_of(asked, "action") == "HOST_INPUT_REQUIRED",
        nothing_changed=workspace.text == before,
    )
    given = data_of(asked, "call", "arguments")
    call = {**(given if isinstance(given, Mapping) else {}), "subtasks": STEPS}
    workspace.call("update_task", "id=3", "title=Anders")
    _refuse(report, workspace, "expand_task after a change", "STALE", "expand_task", **call)
    saved = workspace.call_exactly("expand_task", {"id": "3", "subtasks": STEPS})
    subtasks = _list(data_of(saved, "task", "subtasks"))
    report.case(
        "expand_task with a plan",
        "exit 0",
        saved,
        positions_are_ids=[member(it, "dependencies") for it in subtasks] == [[], ["3.1"]],
    )


def refuse(report: Report, workspace: Workspace) -> None:
    """[TM-9] to [TM-11] What is refused, with its reason; the document stays as it is."""
    wrong: list[tuple[str, str, dict[str, object]]] = [
        ("TASK_NOT_FOUND", "get_task", {"id": "9"}),
        ("SUBTASK_NOT_FOUND", "get_task", {"id": "2.9"}),
        ("TAG_NOT_FOUND", "get_tasks", {"tag": "gamma"}),
        ("SELF_DEPENDENCY", "add_dependency", {"id": "3", "dependsOn": "3"}),
        ("CIRCULAR_DEPENDENCY", "add_dependency", {"id": "1", "dependsOn": "3"}),
        ("TASK_ALREADY_EXISTS", "move_task", {"from": "3", "to": "2"}),
        ("TASK_ALREADY_EXISTS", "parse_prd", {"tasks": STEPS}),
        ("RESERVED_TAG", "delete_tag", {"name": "master"}),
        ("OUTSIDE_PROJECT", "generate", {"output": "../elsewhere"}),
        ("TASK_COMPLETED", "expand_task", {"id": "1", "subtasks": STEPS}),
        ("", "set_task_status", {"id": "1", "status": "finished"}),
        ("", "add_task", {"titel": "x"}),
        ("", "complexity_report", {}),
    ]
    for reason, tool, arguments in wrong:
        _refuse(report, workspace, f"{tool} {reason or 'with a bad argument'}", reason, tool, **arguments)
    workspace.file.write_text("{", "utf-8")
    _refuse(report, workspace, "a damaged file", "INVALID_TASKS_FILE", "add_task", title="x")


def _refuse(report: Report, workspace: Workspace, name: str, reason: str, tool: str, /, **arguments: object) -> None:
    before = workspace.text
    answer = workspace.call_exactly(tool, arguments)
    code = str(member(answer.result, "error", "code"))
    report.case(
        name,
        f"exit 5 {code}",
        answer,
        its_reason=(member(answer.result, "error", "details", "reason") or "") == reason,
        not_from_the_cache=member(answer.result, "fromCache") is False,
        nothing_changed=workspace.text == before,
    )


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _add_cases(report: Report) -> None:
    with tempfile.TemporaryDirectory() as name:
        workspace = Workspace(Path(name).resolve(), "modern")
        for step in (read, change, plan, refuse):
            workspace.write()
            with workspace.connected():
                step(report, workspace)


PARTS: Final = [Part("taskmaster-mcp by the specification", _add_cases)]

if __name__ == "__main__":
    sys.exit(run(PARTS))

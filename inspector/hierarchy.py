"""Work a whole project through with the installed ``hierarchy-mcp``, called through the MCP Inspector.

Each group of cases has a server of its own, and each step of the work a new one. Prints one table and returns a
non-zero exit code when a case fails.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from inspector.inspector_cli import Answer, Inspector, member
from inspector.pinned import server_command
from inspector.report import Part, Report, run

MISSING: Final = "nobody"
PROJECT: Final = {
    "name": "バージョン1.0のリリース",
    "id": "release",
    "constraints": ["新しい依存関係を追加しない"],
    "tasks": [
        {
            "name": "ビルド",
            "id": "build",
            "completion_criteria": ["警告なし"],
            "tasks": [{"name": "コンパイル", "id": "compile"}, {"name": "テスト", "id": "test"}],
        },
        {"name": "公開", "id": "publish", "tasks": [{"name": "署名", "id": "sign"}, {"name": "アップロード"}]},
    ],
}
"""Seven tasks on three levels, four of them leaves; the last has no id of its own."""


class Board(Inspector):
    """A file of tasks in a fresh folder, and calls of the server over it in one era of the protocol."""

    def __init__(self, folder: Path, era: str, **variables: str) -> None:
        self.file = folder / "tasks.json"
        super().__init__([server_command("hierarchy-mcp")], {"FILE_PATH": str(self.file), **variables}, era)

    @property
    def stored(self) -> object:
        """The root tasks of the file."""
        return json.loads(self.file.read_bytes())


def ids(tasks: object) -> list[object]:
    """Return the ids of tasks, in order."""
    return [member(task, "id") for task in tasks] if isinstance(tasks, list) else []


def found(answer: Answer, *keys: str | int) -> object:
    """Return the value under ``keys`` in the result."""
    return member(answer.result, *keys)


def rows(table: object) -> list[list[str]]:
    """Return the cells of the table, row by row, below its head."""
    return [line.strip("| ").split(" | ") for line in str(table).splitlines()[2:]]


def changed(table: object) -> list[str]:
    """Return the names of the tasks that the table marks as changed."""
    return [row[0] for row in rows(table) if row[3] == "✓"]


def create(report: Report, board: Board) -> None:
    """[HI-1] A whole project in one call, and a create that fails and leaves nothing."""
    answer = board.call_exactly("createTask", PROJECT)
    last = str(found(answer, "task", "tasks", 1, "tasks", 1, "id"))
    report.case(
        "createTask, the whole project",
        "exit 0",
        answer,
        given_ids_kept=ids(found(answer, "task", "tasks")) == ["build", "publish"],
        missing_id_made=re.fullmatch("[a-z2-7]{8}", last) is not None,
        all_todo=answer.printed.count('"todo"') % 7 == 0,
        next_steps_named="startTask" in str(found(answer, "message")),
        stored_as_answered=board.stored == [found(answer, "task")],
        a_task_a_line=len(board.file.read_text("utf-8").splitlines()) == 7 + 3 + 2,
    )
    for name, arguments in {
        "taken id": {"name": "x", "tasks": [{"name": "y"}, {"name": "z", "id": "sign"}]},
        "id twice": {"name": "x", "tasks": [{"name": "y", "id": "y"}, {"name": "z", "id": "y"}]},
    }.items():
        _refused(report, board, f"createTask, {name}", "DuplicateId", "createTask", arguments)
    answer = board.call("createTask", "name=準備", "id=prepare", "parentId=release", "insertIndex=0")
    report.case(
        "createTask, in front of the others",
        "exit 0",
        answer,
        no_message="message" not in str(answer.result),
        in_its_place=ids(member(board.stored, 0, "tasks")) == ["prepare", "build", "publish"],
    )


def read(report: Report, board: Board) -> None:
    """[HI-2] Whole tasks, and lists of limited depth."""
    answer = board.call("getTask", "id=build")
    report.case("getTask", "exit 0", answer, with_subtasks=ids(found(answer, "task", "tasks")) == ["compile", "test"])
    answer = board.call("listTasks", "depth=0")
    report.case(
        "listTasks depth=0",
        "exit 0",
        answer,
        counted=found(answer, "tasks", 0, "subtask_count") == 3,
        not_nested=found(answer, "tasks", 0, "tasks") is None,
    )
    answer = board.call("listTasks", "parentId=release", "depth=1")
    report.case(
        "listTasks of a parent",
        "exit 0",
        answer,
        its_subtasks=ids(found(answer, "tasks")) == ["prepare", "build", "publish"],
        nested_once=found(answer, "tasks", 1, "tasks", 0, "subtask_count") == 0,
    )


def read_again(report: Report, board: Board) -> None:
    """[HI-2] A restart changes nothing."""
    before = board.file.read_bytes()
    again = board.call("listTasks")
    report.case("listTasks after a restart", "exit 0", again, unchanged=board.file.read_bytes() == before)


def order(report: Report, board: Board) -> None:
    """[HI-3] [HI-5] [HI-6] What the order forbids, and the first start."""
    answer = _refused(report, board, "startTask too early", "ExecutionOrder", "startTask", {"id": "test"})
    blocking = ids(found(answer, "error", "details", "blocking"))
    report.case(
        "startTask too early, advice", "exit 5 ExecutionOrder", answer, named=blocking == ["prepare", "compile"]
    )
    _refused(
        report, board, "completeTask too early", "ExecutionOrder", "completeTask", {"id": "sign", "resolution": "x"}
    )
    for status in ("in_progress", "done"):
        _refused(
            report,
            board,
            f"updateTask status={status}",
            "InvalidTransition",
            "updateTask",
            {"id": "test", "status": status},
        )
    answer = board.call("startTask", "id=release")
    report.case(
        "startTask of the root",
        "exit 0",
        answer,
        goes_to_the_first_leaf=found(answer, "active_task", "id") == "prepare",
        started_outermost_first=ids(found(answer, "started_tasks")) == ["release", "prepare"],
        criteria_of_all_above=found(answer, "aggregated_criteria", "constraints") == PROJECT["constraints"],
        changes_marked=changed(found(answer, "hierarchy_summary")) == [PROJECT["name"], "準備"],
    )
    again = board.call("startTask", "id=release")
    report.case("startTask again", "exit 0", again, nothing_started=ids(found(again, "started_tasks")) == [])
    answer = _refused(
        report,
        board,
        "completeTask of a parent",
        "IncompleteSubtasks",
        "completeTask",
        {"id": "build", "resolution": "x"},
    )
    incomplete = ids(found(answer, "error", "details", "incomplete"))
    report.case(
        "completeTask of a parent, advice",
        "exit 5 IncompleteSubtasks",
        answer,
        named=incomplete == ["compile", "test"],
    )


def work_through(report: Report, board: Board) -> None:
    """[HI-5] [HI-6] [HI-7] Follow ``next_task_id`` to the end, with a restart before every call."""
    following: object = "prepare"
    for step, parents in enumerate(("", "", "build", "", "publish release"), start=1):
        started = board.call("startTask", f"id={following}")
        answer = board.call("completeTask", f"id={found(started, 'active_task', 'id')}", f"resolution=手順 {step}")
        following = found(answer, "next_task_id")
        summary = found(answer, "progress_summary")
        report.case(
            f"completeTask, leaf {step} of 5",
            "exit 0",
            answer,
            parents_followed=ids(found(answer, "auto_completed_parents")) == parents.split(),
            every_task_in_the_table=len(rows(member(summary, "table"))) == member(summary, "total_tasks") == 8,
            stored=f'"resolution":"手順 {step}"' in board.file.read_text("utf-8"),
            next_named=(following is None) == (step == 5),
        )
    report.case(
        "the end",
        "exit 0",
        answer,
        all_done="All tasks are done" in str(found(answer, "message")),
        whole=member(summary, "completion_percentage") == 100,
        stored_done=board.file.read_text("utf-8").count('"status":"done"') == 8,
    )
    _refused(report, board, "startTask of a done task", "InvalidTransition", "startTask", {"id": "release"})


def change(report: Report, board: Board) -> None:
    """[HI-3] [HI-4] Open again, change, delete."""
    answer = board.call("updateTask", "id=build", "status=todo", "description=もう一度")
    report.case(
        "updateTask status=todo",
        "exit 0",
        answer,
        leaves_opened=[member(task, "status") for task in _subtasks(answer)] == ["todo", "todo"],
        resolutions_kept=None not in [member(task, "resolution") for task in _subtasks(answer)],
        ancestors_follow=member(board.stored, 0, "status") == "todo",
    )
    answer = board.call("deleteTask", "id=build")
    report.case(
        "deleteTask",
        "exit 0",
        answer,
        counted=answer.result == {"id": "build", "deleted": 3},
        done_again=member(board.stored, 0, "status") == "done",
    )


def _subtasks(answer: Answer) -> list[object]:
    tasks = found(answer, "task", "tasks")
    return tasks if isinstance(tasks, list) else []


def errors(report: Report, board: Board) -> None:
    """What the tools refuse, and how."""
    wrong: list[tuple[str, str, dict[str, object]]] = [
        ("no name", "createTask", {}),
        ("blank name", "createTask", {"name": " "}),
        ("bad id", "createTask", {"name": "x", "id": "a b"}),
        ("misspelt argument", "createTask", {"name": "x", "parentID": "release"}),
        ("index out of range", "createTask", {"name": "x", "parentId": "release", "insertIndex": 9}),
        ("91 levels", "createTask", _chain(91)),
        ("no field to update", "updateTask", {"id": "release"}),
        ("no resolution", "completeTask", {"id": "release", "resolution": ""}),
        ("negative depth", "listTasks", {"depth": -1}),
    ]
    for name, tool, arguments in wrong:
        _refused(report, board, name, "InvalidArguments", tool, arguments)
    needed = {"updateTask": {"name": "x"}, "completeTask": {"resolution": "x"}}
    for tool in ("getTask", "updateTask", "deleteTask", "startTask", "completeTask"):
        _refused(report, board, f"{tool}, unknown id", "TaskNotFound", tool, {"id": MISSING, **needed.get(tool, {})})
    _refused(
        report, board, "createTask, unknown parent", "TaskNotFound", "createTask", {"name": "x", "parentId": MISSING}
    )
    # The Inspector looks tools up itself, so that its own exit code is all there is to see.
    report.case("unknown tool", "exit 5", board.call("create_task"))


def _chain(levels: int) -> dict[str, object]:
    task: dict[str, object] = {"name": "x"}
    for _ in range(levels - 1):
        task = {"name": "x", "tasks": [task]}
    return task


def deep(report: Report, board: Board) -> None:
    """[HI-1] Ninety levels: created, started, completed, listed."""
    created = board.call_exactly("createTask", _chain(90))
    top = found(created, "task", "id")
    report.case("90 levels, createTask", "exit 0", created)
    started = board.call("startTask", f"id={top}")
    path = found(started, "started_tasks")
    report.case("90 levels, startTask", "exit 0", started, all_started=isinstance(path, list) and len(path) == 90)
    answer = board.call("completeTask", f"id={found(started, 'active_task', 'id')}", "resolution=x")
    parents = found(answer, "auto_completed_parents")
    report.case(
        "90 levels, completeTask", "exit 0", answer, all_followed=isinstance(parents, list) and len(parents) == 89
    )
    listed = board.call("listTasks", f"parentId={top}")
    report.case("90 levels, listTasks", "exit 0", listed, whole=_levels(found(listed, "tasks", 0)) == 89)


def _levels(task: object) -> int:
    levels = 0
    while task is not None:
        levels, task = levels + 1, member(task, "tasks", 0)
    return levels


def settings(report: Report, folder: Path, era: str) -> None:
    """Strict roots, memory without a file, and a setting that cannot be."""
    board = Board(folder, era, ROOT_ORDER="strict")
    with board.connected():
        for name in ("first", "second"):
            board.call("createTask", f"name={name}", f"id={name}")
        _refused(report, board, "strict roots", "ExecutionOrder", "startTask", {"id": "second"})
    memory = Inspector([server_command("hierarchy-mcp")], {})
    answer = memory.run("tools/call", "--tool-name", "createTask", "--tool-arg", "name=x")
    report.case("memory, createTask", "exit 0", answer)
    answer = memory.run("tools/call", "--tool-name", "listTasks")
    report.case("memory, after a restart", "exit 0", answer, empty=answer.result == {"tasks": ids(None)})
    server = Inspector([server_command("hierarchy-mcp")], {"ROOT_ORDER": "loose"})
    answer = server.run("tools/list")
    report.case("a setting that cannot be", "exit 1", answer, says_so="ROOT_ORDER" in answer.log)


def _refused(report: Report, board: Board, name: str, code: str, tool: str, arguments: Mapping[str, object]) -> Answer:
    before = board.file.read_bytes()
    answer = board.call_exactly(tool, arguments)
    report.case(name, f"exit 5 {code}", answer, unchanged=board.file.read_bytes() == before)
    return answer


def conformance(report: Report) -> None:
    """Run every case in the newer era, in folders of its own; every_server.py calls each tool in both."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        board = Board(Path(one).resolve(), "modern")
        with board.connected():
            create(report, board)
            read(report, board)
        read_again(report, board)
        with board.connected():
            order(report, board)
        work_through(report, board)
        with board.connected():
            change(report, board)
            errors(report, board)
            deep(report, board)
        settings(report, Path(two).resolve(), "modern")


PARTS: Final = [Part("hierarchy-mcp", conformance)]
"""All that this script runs."""


if __name__ == "__main__":
    sys.exit(run(PARTS))

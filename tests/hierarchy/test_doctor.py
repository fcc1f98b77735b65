"""``hierarchy-mcp doctor``: the file of nested tasks as the server sees it (DOC-1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hierarchy_mcp.server import build_server
from hierarchy_mcp.settings import HierarchySettings
from tests.doctor_report import Report, report
from tests.tool_client import ToolFailed, call_tool


def look(folder: Path, **environment: str) -> Report:
    return report("hierarchy_mcp", folder, environment)


@pytest.mark.requirement("DOC-1")
def test_without_a_file_there_is_none_to_look_at(tmp_path: Path) -> None:
    found = look(tmp_path)
    assert (found.code, found.of("store", "ok")) == (
        0,
        ["the tasks are in memory only, and lost when the server ends"],
    )


@pytest.mark.requirement("DOC-1")
async def test_every_task_that_a_server_left_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    server = build_server(HierarchySettings(file_path=path))
    await call_tool(server, "createTask", {"name": "a", "tasks": [{"name": "b"}, {"name": "c"}]})
    found = look(tmp_path, FILE_PATH=str(path))
    assert (found.code, found.faults) == (0, [])
    size = f"tasks.json holds 3 tasks in {path.stat().st_size} bytes"
    history = path.with_name(path.name + ".history.jsonl")
    kept = f"{history.name} keeps what changes replaced, in {history.stat().st_size} bytes"
    assert found.of("store", "ok") == [size, "no older document is kept yet", kept]


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(
    ("document", "level", "said"),
    [
        ({}, "WRONG", "every tool answers StoreDamaged: The store 'tasks.json' is damaged at line 1, column 1 "),
        ({"version": 2}, "WRONG", "every tool answers StoreNewer: The store 'tasks.json' has format version 2, newer "),
        (
            [{"id": "a", "name": "a"}, {"id": "a", "name": "b"}],
            "WRONG",
            "every tool answers StoreDamaged: The store 'tasks.json' is damaged at line 1, column 35 ",
        ),
        (
            [{"id": "a", "name": "a", "status": "in_progress"}, {"id": "b", "name": "b", "status": "in_progress"}],
            "WRONG",
            "tasks.json: Task 'b' is read as 'todo', not 'in_progress': only one task may be in progress.",
        ),
        (
            [{"id": "a", "name": "a", "tasks": [{"id": "b", "name": "b", "mood": 1}]}],
            "note",
            "tasks.json has fields that this server does not know; they are kept: mood",
        ),
    ],
    ids=["no array", "newer", "an id twice", "two active tasks", "unknown field below"],
)
def test_doctor_reports_what_a_person_wrote_as_the_server_reads_it(
    tmp_path: Path, document: object, level: str, said: str
) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    found = look(tmp_path, FILE_PATH=str(path))
    (line,) = found.of("store", level)
    assert (found.code, line[: len(said)]) == (int(level == "WRONG"), said)


@pytest.mark.requirement("DOC-1")
async def test_a_link_into_a_folder_that_is_not_there_is_wrong_as_every_change_fails(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.symlink_to("nowhere/tasks.json")
    found = look(tmp_path, FILE_PATH=str(path))
    assert (found.code, found.faults) == (1, [f"folder {tmp_path / 'nowhere'} does not exist"])
    with pytest.raises(ToolFailed, match=r"^StoreWriteFailed: "):
        await call_tool(build_server(HierarchySettings(file_path=path)), "createTask", {"name": "a"})

"""A project as Task Master writes one goes through every tool, and then has only what was asked for (TM-24)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from taskmaster_mcp.settings import SETS
from tests.taskmaster.conftest import LARGE, STAMP, Object, ServedProject

PLAN: Final = [{"title": "First"}, {"title": "Second", "dependencies": [1]}]

CALLS: Final[list[tuple[str, Object]]] = [
    ("initialize_project", {}),
    ("get_tasks", {"withSubtasks": True}),
    ("get_task", {"id": "1,2.1"}),
    ("next_task", {}),
    ("add_task", {"title": "New", "dependencies": "1"}),
    ("update_task", {"id": "91", "title": "Newer"}),
    ("update", {"from": "91", "updates": [{"id": "91", "priority": "high"}]}),
    ("add_subtask", {"id": "91", "title": "Part"}),
    ("update_subtask", {"id": "91.1", "prompt": "Noted."}),
    ("expand_task", {"id": "91", "subtasks": PLAN}),
    ("set_task_status", {"id": "91.1", "status": "done"}),
    ("remove_subtask", {"id": "91.2,91.3"}),
    ("parse_prd", {"tasks": PLAN, "append": True}),
    ("expand_all", {"expansions": [{"id": "92", "subtasks": PLAN}]}),
    ("add_dependency", {"id": "92", "dependsOn": "90.5"}),
    ("remove_dependency", {"id": "92", "dependsOn": "90.5"}),
    ("validate_dependencies", {}),
    ("fix_dependencies", {}),
    ("clear_subtasks", {"id": "92"}),
    ("move_task", {"from": "92", "to": "99"}),
    ("analyze_project_complexity", {"analysis": [{"taskId": "1", "complexityScore": 3, "recommendedSubtasks": 2}]}),
    ("complexity_report", {}),
    ("add_tag", {"name": "draft", "copyFromTag": "tdd"}),
    ("copy_tag", {"sourceName": "draft", "targetName": "copy"}),
    ("rename_tag", {"oldName": "copy", "newName": "second"}),
    ("use_tag", {"name": "second"}),
    ("list_tags", {}),
    ("delete_tag", {"name": "second"}),
    ("delete_tag", {"name": "draft"}),
    ("generate", {}),
    ("cache_stats", {}),
    ("remove_task", {"id": "91,93,99"}),
]


@pytest.mark.requirement("TM-20", "TM-24")
async def test_every_tool_works_on_a_large_project_and_what_they_did_can_be_undone(tmp_path: Path) -> None:
    project = ServedProject(tmp_path)
    project.write(LARGE)
    before = project.path.read_bytes()
    for tool, arguments in CALLS:
        await project.answer(tool, **arguments)
    operation = await project.call("generate", background=True)
    await project.answer("get_operation_status", operationId=operation["operationId"])
    assert {tool for tool, _ in CALLS} | {"get_operation_status"} == {*SETS["all"]}
    old = json.dumps(LARGE["master"]["metadata"]["updated"]).encode()
    start = before.index(b'"loop"')
    changed = before[:start].replace(b'"updated": ' + old, b'"updated": "%s"' % STAMP.encode())
    assert project.path.read_bytes() == changed + before[start:]

"""The tools as clients meet them: sets, sizes, the shape of answers and errors, and what each tool answers."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from mcp.client import Client

import task_core.errors
import taskmaster_mcp.errors
from task_core.claims.claim import ClaimLost, NotClaimed, TaskClaimed
from task_core.errors import TaskError
from task_core.store.undo import ChangeNotFound, NotUndone
from taskmaster_mcp.direct import arranging, changing, planning, reading, setup, tagging
from taskmaster_mcp.errors import RULES, SubtaskNotFound, TaskmasterError
from taskmaster_mcp.settings import ALIASES, SETS, TaskmasterSettings
from taskmaster_mcp.tools.toolbox import REASONS
from tests.taskmaster.conftest import STAMP, Object, ServedProject, item, tag

REASON_LIST = {
    *("TASK_NOT_FOUND", "SUBTASK_NOT_FOUND", "TAG_NOT_FOUND", "TAG_EXISTS", "RESERVED_TAG", "TASK_ALREADY_EXISTS"),
    *("HAS_SUBTASKS", "CANNOT_MOVE_SUBTASK", "SELF_DEPENDENCY", "CIRCULAR_DEPENDENCY", "AMBIGUOUS_DEPENDENCY"),
    *("CROSS_TAG_DEPENDENCY_CONFLICTS", "TASK_COMPLETED", "STALE", "INVALID_TASKS_FILE", "LIMIT_EXCEEDED"),
    *("OPERATION_NOT_FOUND", "STORE_LOCKED", "STORE_WRITE_FAILED", "STORE_UNREADABLE", "OUTSIDE_PROJECT"),
    *("DUPLICATE_KEY", "UNKNOWN_TOOL", "CHANGE_NOT_FOUND", "NOT_UNDONE", "TASK_CLAIMED", "CLAIM_LOST", "NOT_CLAIMED"),
}
"""All but ``ALREADY_INITIALIZED``, which is no error (TM-81)."""
CODES = {"INPUT_VALIDATION_ERROR", "FILE_NOT_FOUND_ERROR", "CORE_FUNCTION_ERROR", "AI_CLIENT_ERROR", "UNEXPECTED_ERROR"}
READERS = {
    *("get_tasks", "get_task", "next_task", "complexity_report", "validate_dependencies", "list_tags"),
    *("get_operation_status", "cache_stats"),
}


def classes_in(module: object, base: type[TaskError]) -> set[type[TaskError]]:
    found = {value for value in vars(module).values() if isinstance(value, type) and issubclass(value, base)}
    return found - {TaskError, TaskmasterError}


@pytest.mark.requirement("TM-4", "TM-6", "TOOL-8")
@pytest.mark.parametrize(("name", "limit"), [("core", 8_192), ("standard", 13 * 1_024), ("all", 24 * 1_024)])
async def test_a_set_has_its_tools_and_costs_no_more_than_its_limit(
    project: ServedProject, name: str, limit: int
) -> None:
    async with Client(project.another(task_master_tools=name).sdk) as client:
        tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == set(SETS[name])
    assert [tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint] == [
        tool.name for tool in tools if tool.name in READERS
    ]
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    assert len(json.dumps(listed, separators=(",", ":"), ensure_ascii=False).encode()) <= limit
    assert len({json.dumps(tool["outputSchema"]) for tool in listed}) == 1
    for tool in listed:
        assert tool["description"]
        assert tool["inputSchema"]["additionalProperties"] is False
        for schema in tool["inputSchema"]["properties"].values():
            assert schema["description"]
            assert isinstance(schema["type"], str)


@pytest.mark.requirement("TM-1", "TM-2", "TM-3")
def test_each_tool_has_a_direct_function_and_none_is_left_over() -> None:
    found = {
        name.removesuffix("_direct")
        for module in (arranging, changing, planning, reading, setup, tagging)
        for name, value in vars(module).items()
        if name.endswith("_direct") and inspect.isfunction(value) and value.__module__ == module.__name__
    }
    assert found == set(SETS["all"])


@pytest.mark.requirement("TM-1")
def test_tools_take_only_words_and_plans_from_the_rules() -> None:
    root = Path(taskmaster_mcp.errors.__file__).parent
    text = "\n".join(path.read_text("utf-8") for path in (root / "tools").glob("*.py"))
    taken: list[str] = re.findall(r"from taskmaster_mcp\.core\.\w+ import ([^\n]+)", text)
    assert {*", ".join(taken).split(", ")} <= {"Ask", "Planned", "PRIORITIES", "STATUSES"}


@pytest.mark.requirement("TM-10", "TM-11", "TM-12")
def test_each_error_has_a_code_and_a_reason_from_the_lists() -> None:
    others = {ChangeNotFound, ClaimLost, NotClaimed, NotUndone, SubtaskNotFound, TaskClaimed}
    assert set(REASONS) == classes_in(task_core.errors, TaskError) | others
    own = {it for it in classes_in(taskmaster_mcp.errors, TaskError) if issubclass(it, TaskmasterError)}
    assert {it.kind for it in own} | {code for code, _ in REASONS.values()} <= CODES
    reasons = {it.reason for it in own} | {reason for reason, _ in RULES.values()}
    reasons |= {reason for _, reason in REASONS.values()}
    assert reasons - {""} == REASON_LIST


@pytest.mark.requirement("TM-4")
@pytest.mark.parametrize(
    ("setting", "tools"),
    [
        ("Core", SETS["core"]),
        ("lean", SETS["core"]),
        ("ALL", SETS["all"]),
        ("get-tasks, NextTask", ("get_tasks", "next_task")),
        ("core,move_task", (*SETS["core"], "move_task")),
    ],
)
def test_a_setting_names_sets_and_tools_in_any_spelling(setting: str, tools: tuple[str, ...]) -> None:
    settings = TaskmasterSettings(task_master_tools=setting)
    assert settings.offered_tools - {"initialize_project"} == {*tools} - {"initialize_project"}


@pytest.mark.requirement("TM-4")
@pytest.mark.parametrize(
    ("setting", "said"), [("core,get_taskz", "get_tasks"), ("xyz", "neither a set"), (",", "at least")]
)
def test_a_setting_that_names_nothing_is_refused_with_what_is_near(setting: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TaskmasterSettings(task_master_tools=setting)


@pytest.mark.requirement("TM-5")
async def test_the_words_of_the_document_work_where_their_tool_is_offered(project: ServedProject) -> None:
    assert (await project.call("list_tasks"))["total"] == 3
    assert (await project.call("show_task", id="1"))["id"] == "1"
    assert (await project.call("set_status", id="3", status="review"))["tasks"][0]["newStatus"] == "review"
    assert (await project.call("cacheStats"))["maxSize"] == 200
    assert set(ALIASES.values()) <= set(SETS["all"])
    project.server = project.another(task_master_tools="core")
    assert (await project.failed("cacheStats"))[0] == "UNKNOWN_TOOL"


@pytest.mark.requirement("TM-8", "TM-9")
async def test_an_answer_has_data_and_an_error_has_a_code(project: ServedProject) -> None:
    assert (await project.answer("next_task")).keys() == {"fromCache", "data"}
    async with Client(project.server.sdk) as client:
        result = await client.call_tool("get_task", {"id": "99"})
    content = result.structured_content
    assert content.keys() == {"fromCache", "error"}
    error = content["error"]
    assert (error["code"], error["details"]["reason"]) == ("CORE_FUNCTION_ERROR", "TASK_NOT_FOUND")
    assert result.content[0].text == f"{error['code']}: {error['message']}"  # pyrefly: ignore  # it is text


BAD_ARGUMENTS: Final[list[tuple[str, Object, str | None]]] = [
    ("get_task", {}, "id"),
    ("get_task", {"id": " "}, "id"),
    ("get_task", {"id": "x" * 201}, "id"),
    ("get_task", {"id": 1.5}, "id"),
    ("get_task", {"id": True}, "id"),
    ("get_task", {"id": ",".join(map(str, range(1, 102)))}, "id"),
    ("get_tasks", {"status": "pendin"}, "status"),
    ("get_tasks", {"limit": 0}, "limit"),
    ("get_tasks", {"withSubtasks": "yes"}, "withSubtasks"),
    ("get_tasks", {"after": "2.1"}, "after"),
    ("get_tasks", {"nope": 1}, "nope"),
    ("set_task_status", {"id": "1", "status": "finished"}, "status"),
    ("add_task", {}, "title"),
    ("add_task", {"title": "x" * 501}, "title"),
    ("add_task", {"title": "x", "priority": "urgent"}, "priority"),
    ("add_task", {"title": "x", "description": "y" * 10_001}, "description"),
    ("add_task", {"title": "x", "testStrategy": "y" * 20_001}, "testStrategy"),
    ("update_subtask", {"id": "2.1"}, "prompt"),
    ("update_subtask", {"id": "2.1", "metadata": "[]"}, "metadata"),
    ("update_subtask", {"id": "2.1", "metadata": "{"}, "metadata"),
    ("update_subtask", {"id": "2.1", "metadata": json.loads("[" * 40 + "]" * 40)}, "metadata"),
    ("update_subtask", {"id": "2.1", "metadata": {"a": json.loads("[" * 40 + "]" * 40)}}, "metadata"),
    ("update_subtask", {"id": "2.1", "metadata": {"a": "x" * 100_001}}, "metadata"),
    ("expand_task", {"id": "3", "num": 201}, "num"),
    ("expand_task", {"id": "3", "num": "many"}, "num"),
    ("expand_task", {"id": "2.1"}, "id"),
    ("expand_task", {"id": "3", "subtasks": "no list"}, "subtasks"),
    ("expand_task", {"id": "3", "subtasks": [{"title": "x"}] * 201}, "subtasks"),
    ("expand_task", {"id": "3", "subtasks": [{"title": "x", "dependencies": [2]}]}, "1.dependencies"),
    ("add_subtask", {"id": "2"}, "title"),
    ("add_subtask", {"id": "2.1", "title": "x"}, "id"),
    ("add_subtask", {"id": "2", "taskId": "2.1"}, "taskId"),
    ("remove_subtask", {"id": "1"}, "id"),
    ("clear_subtasks", {}, "id"),
    ("clear_subtasks", {"id": "2", "all": True}, "id"),
    ("clear_subtasks", {"id": "2.1"}, "id"),
    ("move_task", {"from": "1,2", "to": "9"}, "to"),
    ("move_task", {"from": "1"}, "to"),
    ("update_task", {"id": "1"}, "prompt"),
    ("update", {"from": "1"}, "prompt"),
    ("add_tag", {}, "name"),
    ("add_tag", {"name": "a b"}, "name"),
    ("add_tag", {"fromBranch": True}, "fromBranch"),
    ("rename_tag", {"oldName": "master2", "newName": ""}, None),
]
"""Calls that are refused, each with the argument that is named."""


@pytest.mark.requirement("TM-10", "TM-25", "TM-33", "TM-87")
async def test_a_bad_argument_is_named_and_changes_nothing(project: ServedProject) -> None:
    for tool, arguments, path in BAD_ARGUMENTS:
        code, error = await project.failed(tool, **arguments)
        if path is not None:
            assert code == "INPUT_VALIDATION_ERROR", (tool, arguments)
            assert [it["path"] for it in error["fields"]] == [path], (tool, arguments)


@pytest.mark.requirement("TM-33")
async def test_an_id_is_taken_in_every_form(project: ServedProject) -> None:
    for given in (2, "2", " #2 ", "02", '["2"]', [2]):
        assert (await project.call("get_task", id=given))["id"] == "2", given


@pytest.mark.requirement("TM-33")
async def test_all_ids_of_a_call_must_exist_or_nothing_happens(project: ServedProject) -> None:
    assert (await project.failed("set_task_status", id="1,99", status="review"))[0] == "TASK_NOT_FOUND"
    assert (await project.failed("remove_task", id="3,2.9"))[0] == "SUBTASK_NOT_FOUND"


async def test_what_task_master_takes_and_means_nothing_here_is_ignored(project: ServedProject) -> None:
    given: Any = {"skipGenerate": True, "research": False, "confirm": True, "yes": True, "complexityReport": "x"}
    assert (await project.call("get_tasks", **given))["total"] == 3


@pytest.mark.requirement("TM-37")
async def test_a_list_is_short_filtered_and_counted(project: ServedProject) -> None:
    project.put(
        ".taskmaster/reports/task-complexity-report.json",
        {"complexityAnalysis": [{"taskId": 3, "complexityScore": 7}, {"taskId": 1}, "odd"]},
    )
    found = await project.call("get_tasks", withSubtasks=True)
    assert found["tasks"][1] == {
        "id": "2",
        "title": "Title 2",
        "description": "Description 2",
        "status": "in-progress",
        "priority": "medium",
        "dependencies": ["1"],
        "subtaskCount": 2,
        "subtasks": [
            {"id": "2.1", "title": "Title 1", "status": "done", "dependencies": []},
            {"id": "2.2", "title": "Title 2", "status": "pending", "dependencies": ["2.1"]},
        ],
    }
    assert found["tasks"][2]["complexityScore"] == 7
    assert (found["filter"], found["tag"], found["total"]) == ("all", "master", 3)
    counts = {"completed": 1, "inProgress": 1, "pending": 1, "blocked": 0, "deferred": 0, "cancelled": 0, "review": 0}
    sub = {**counts, "inProgress": 0, "total": 2, "completionPercentage": 50.0}
    assert found["stats"] == {"total": 3, **counts, "completionPercentage": 33.3, "subtasks": sub}
    some = await project.call("get_tasks", status="pending, completed", limit=1)
    assert ([it["id"] for it in some["tasks"]], some["filter"], some["total"], some["left_out"]) == (
        ["1"],
        "pending,done",
        2,
        1,
    )
    assert [it["id"] for it in (await project.call("get_tasks", status="pending", after="1"))["tasks"]] == ["3"]
    assert (await project.call("get_tasks", status="all", after="3"))["tasks"] == []


@pytest.mark.requirement("TM-38", "TOOL-9")
async def test_a_long_list_fits_an_answer_and_goes_on_behind_an_id(project: ServedProject) -> None:
    project.write({"master": tag(*(item(number, description="ü" * 500) for number in range(1, 131)))})
    seen: list[str] = []
    while len(seen) < 130:
        arguments: Object = {"after": seen[-1]} if seen else {}
        answer = await project.answer("get_tasks", limit=1000, **arguments)
        assert len(json.dumps(answer, ensure_ascii=False).encode()) <= 40_960
        seen += [it["id"] for it in answer["data"]["tasks"]]
        assert answer["data"].get("left_out", 0) == 130 - len(seen)
    assert seen == [str(number) for number in range(1, 131)]
    whole = await project.answer("get_task", id=",".join(map(str, range(1, 101))))
    assert whole["data"]["left_out"] == 100 - len(whole["data"]["tasks"]) > 0


@pytest.mark.requirement("TM-39")
async def test_a_task_is_shown_whole(project: ServedProject) -> None:
    found = await project.call("get_task", id="2", status="done")
    assert found["dependencies"] == ["1"]
    assert [(it["id"], it["dependencies"]) for it in found["subtasks"]] == [("2.1", [])]
    sub = await project.call("get_task", id="2.2")
    assert (sub["id"], sub["dependencies"]) == ("2.2", ["2.1"])
    assert sub["parent"] == {"id": "2", "title": "Title 2", "status": "in-progress"}
    assert [it["id"] for it in (await project.call("get_task", id="3,2.1,3"))["tasks"]] == ["3", "2.1"]


@pytest.mark.requirement("TM-41")
async def test_the_next_task_comes_whole_or_with_what_is_in_the_way(project: ServedProject) -> None:
    found = await project.call("next_task")
    assert (found["nextTask"]["id"], found["nextTask"]["parentId"], found["isSubtask"]) == ("2.2", "2", True)
    project.write({"master": tag(item(1, 2), item(2, 1))})
    found = await project.call("next_task")
    assert (found["nextTask"], found["isSubtask"]) == (None, False)
    assert found["blocked"] == [{"id": "1", "waitsFor": ["2"]}, {"id": "2", "waitsFor": ["1"]}]


@pytest.mark.requirement("TM-42")
@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("master", ".taskmaster/reports/task-complexity-report.json"),
        ("master", "scripts/task-complexity-report.json"),
        ("A_b", ".taskmaster/reports/task-complexity-report_a-b.json"),
        ("A_b", ".taskmaster/reports/task-complexity-report_A_b.json"),
    ],
)
async def test_the_report_of_a_tag_is_found_in_its_places(project: ServedProject, name: str, where: str) -> None:
    assert (await project.failed("complexity_report"))[0] == "FILE_NOT_FOUND_ERROR"
    project.write({"master": tag(), "A_b": tag()})
    report = {"meta": {"x": 1}, "complexityAnalysis": [{"taskId": 1, "complexityScore": 2}]}
    path = project.put(where, report)
    assert await project.call("complexity_report", tag=name) == {"report": report, "reportPath": str(path)}
    path.write_text("[")
    assert (await project.failed("complexity_report", tag=name))[0] == "INVALID_TASKS_FILE"


@pytest.mark.requirement("TM-43")
async def test_a_new_task_has_the_next_id_and_the_fields_of_task_master(project: ServedProject) -> None:
    project.put(".taskmaster/config.json", {"global": {"defaultPriority": "low"}})
    found = await project.call("add_task", title="New", dependencies=[3, "2.1"], details="d")
    assert (found["taskId"], found["tag"], found["telemetryData"]) == ("4", "master", None)
    assert project.document["master"]["tasks"][-1] == {
        "id": 4,
        "title": "New",
        "description": "New",
        "details": "d",
        "testStrategy": "",
        "status": "pending",
        "dependencies": [3, "2.1"],
        "priority": "low",
        "subtasks": [],
    }
    assert (await project.failed("add_task", title="x", dependencies="77"))[0] == "TASK_NOT_FOUND"
    assert (await project.call("add_task", title="y", dependencies="", priority="critical"))["task"]["id"] == "5"


@pytest.mark.requirement("TM-44")
async def test_a_subtask_is_new_or_made_of_a_task(project: ServedProject) -> None:
    found = await project.call("add_subtask", id="3", title="New", testStrategy="t", dependencies="2.2")
    assert found["subtask"]["id"] == "3.1"
    assert project.document["master"]["tasks"][2]["subtasks"] == [
        {
            "id": 1,
            "title": "New",
            "description": "",
            "details": "",
            "status": "pending",
            "dependencies": ["2.2"],
            "parentTaskId": 3,
            "testStrategy": "t",
        }
    ]
    made = await project.call("add_subtask", id="3", taskId="1")
    assert (made["subtask"]["id"], made["subtask"]["title"]) == ("3.2", "Title 1")
    assert (await project.failed("add_subtask", id="1", title="x"))[0] == "TASK_NOT_FOUND"
    assert (await project.call("get_task", id="2"))["dependencies"] == ["3.2"]


@pytest.mark.requirement("TM-45", "TM-46")
async def test_fields_metadata_and_notes_of_an_item_change(project: ServedProject) -> None:
    await project.call("update_task", id="2.1", title="T", details="one", metadata={"a": 1, "b": {"c": 1}})
    await project.call("update_task", id="2.1", details="two", append=True, metadata={"a": None, "d": 2})
    await project.call("update_subtask", id="2.1", prompt="three", metadata='{"e": []}')
    stored = project.document["master"]["tasks"][1]["subtasks"][0]
    note = f"<info added on {STAMP}>\n%s\n</info added on {STAMP}>"
    assert stored["details"] == f"one\n{note % 'two'}\n{note % 'three'}"
    assert (stored["title"], stored["metadata"]) == ("T", {"b": {"c": 1}, "d": 2, "e": []})
    before = project.path.read_bytes()
    same = await project.call("update_task", id="2.1", title="T")
    assert "nothing changed" in same["message"]
    assert project.path.read_bytes() == before
    await project.call("update_subtask", id="3", prompt="first")
    assert (await project.call("get_task", id="3"))["details"] == note % "first"
    await project.call("update_subtask", id="3", metadata={"x": 1})


@pytest.mark.requirement("TM-47")
async def test_several_items_change_together_or_not_at_all(project: ServedProject) -> None:
    updates = [{"id": "1", "title": "A"}, {"id": "2.2", "priority": "high"}]
    assert (await project.call("update", from_="1", updates=updates))["updated"] == ["1", "2.2"]
    assert (await project.call("get_task", id="2.2"))["priority"] == "high"
    bad = [{"id": "1", "title": "B"}, {"id": "9", "title": "C"}]
    assert (await project.failed("update", from_="1", updates=bad))[0] == "TASK_NOT_FOUND"
    assert (await project.call("update", from_="9", updates=updates))["updated"] == ["1", "2.2"]
    asked = await project.call("update", from_="2.7", prompt="x")
    assert [task["id"] for task in asked["context"]["items"]] == ["2", "3"]


@pytest.mark.requirement("TM-50")
async def test_a_new_status_says_what_followed_and_what_comes_next(project: ServedProject) -> None:
    found = await project.call("set_task_status", id="2.2", status="done")
    assert found["tasks"] == [{"taskId": "2.2", "oldStatus": "pending", "newStatus": "done"}]
    assert found["parents"] == [{"taskId": "2", "oldStatus": "in-progress", "newStatus": "done"}]
    assert found["nextTask"] == {"id": "3", "title": "Title 3"}
    assert "closedSubtasks" not in found
    before = project.path.read_bytes()
    same = await project.call("set_task_status", id="2.2", status="done")
    assert (same["tasks"][0]["oldStatus"], "nextTask" in same, "already" in same["message"]) == ("done", False, True)
    assert project.path.read_bytes() == before
    await project.call("set_task_status", id="2,2.2", status="pending")
    closed = await project.call("set_task_status", id="2", status="done")
    assert closed["closedSubtasks"] == ["2.2"]
    assert (await project.call("set_task_status", id="3", status="done"))["nextTask"] is None
    project.write({"master": tag(item(1, subtasks=[item(1)]))})
    found = await project.call("set_task_status", id="1,1.1", status="done")
    assert [(it["taskId"], it["oldStatus"]) for it in found["tasks"]] == [("1", "pending"), ("1.1", "pending")]


@pytest.mark.requirement("TM-51", "TM-55")
async def test_moves_are_all_or_nothing_and_in_order(project: ServedProject) -> None:
    found = await project.call("move_task", from_="3,1", to="9,3")
    assert [(it["from"], it["to"], it["item"]["id"]) for it in found["moves"]] == [("3", "9", "9"), ("1", "3", "3")]
    assert "movedItem" not in found
    assert (await project.call("move_task", from_="9", to="9"))["movedItem"]["id"] == "9"
    assert (await project.failed("move_task", from_="3,9", to="1,2"))[0] == "TASK_ALREADY_EXISTS"
    found = await project.call("move_task", from_="9", to="2.3")
    assert found["dropped"] == [{"id": "2.3", "dependsOn": "2"}]
    for arguments in ({"to": "9", "toTag": "b"}, {"to": "0"}, {"to": "2.0"}):
        code, error = await project.failed("move_task", from_="3", **arguments)
        assert (code, error["fields"][0]["path"]) == ("INPUT_VALIDATION_ERROR", "to")


@pytest.mark.requirement("TM-57", "TM-58")
async def test_removed_items_come_back_whole(project: ServedProject) -> None:
    found = await project.call("remove_task", id="2.1,1")
    assert [it["id"] for it in found["removedTasks"]] == ["2.1", "1"]
    assert found["dropped"] == [{"id": "2", "dependsOn": "1"}, {"id": "2.2", "dependsOn": "2.1"}]
    made = await project.call("remove_subtask", id="2.2", convert=True)
    assert (made["task"]["id"], made["task"]["dependencies"]) == ("4", [])
    await project.call("add_subtask", id="4", title="x")
    assert (await project.call("remove_subtask", id="4.1"))["removedTasks"][0]["title"] == "x"
    await project.call("add_subtask", id="4", title="y")
    cleared = await project.call("clear_subtasks", all=True)
    assert cleared["tasksCleared"] == [{"id": "4", "title": "Title 2", "count": 1}]
    before = project.path.read_bytes()
    assert (await project.call("clear_subtasks", id="4"))["tasksCleared"] == []
    assert project.path.read_bytes() == before


@pytest.mark.requirement("TM-59", "TM-61")
async def test_dependencies_are_added_removed_and_fixed(project: ServedProject) -> None:
    assert (await project.call("add_dependency", id="3", dependsOn="1"))["added"] is True
    assert (await project.call("add_dependency", id="3", dependsOn="1"))["added"] is False
    assert project.document["master"]["tasks"][2]["dependencies"] == [2, 1]
    assert (await project.failed("add_dependency", id="1", dependsOn="3"))[0] == "CIRCULAR_DEPENDENCY"
    assert (await project.call("remove_dependency", id="3", dependsOn="1"))["removed"] is True
    gone = await project.call("remove_dependency", id="3", dependsOn="1")
    assert (gone["removed"], "does not depend" in gone["message"]) == (False, True)
    sibling = await project.call("remove_dependency", id="2.2", dependsOn="1")
    assert (sibling["dependencyId"], sibling["removed"]) == ("2.1", True)
    project.write({"master": tag(item(1, 9, 1)), "other": tag(item(1, 9))})
    fixed = await project.call("fix_dependencies")
    assert fixed["counts"] == {"missing": 1, "self": 1}
    assert project.document["other"]["tasks"][0]["dependencies"] == [9]
    assert "nothing" in (await project.call("fix_dependencies"))["message"]

"""Shapes of tasks files that real projects have, and what tools make of them (TM-18 to TM-25, TM-31)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.doctor_report import report
from tests.taskmaster.conftest import STAMP, Object, ServedProject, item, tag


@pytest.fixture
def served(tmp_path: Path) -> ServedProject:
    return ServedProject(tmp_path)


@pytest.mark.requirement("TM-21")
@pytest.mark.parametrize("name", ["master", "work"])
async def test_a_tag_that_is_a_list_is_refused_with_its_cure(served: ServedProject, name: str) -> None:
    served.write({name: [item(1)]})
    reason, error = await served.failed("get_tasks")
    assert (reason, 'write {"tasks": […]} around this list' in error["message"]) == ("INVALID_TASKS_FILE", True)
    assert error["found"].startswith("'[")


@pytest.mark.requirement("TM-31")
async def test_the_only_tag_is_used_whatever_its_name(served: ServedProject) -> None:
    served.write({"work": tag(item(1)), "note": 1})
    assert (await served.call("get_tasks"))["tag"] == "work"
    assert (await served.call("add_task", title="x"))["tag"] == "work"
    assert (await served.call("list_tags"))["currentTag"] == "work"
    served.put(".taskmaster/config.json", {"global": {"defaultTag": "master"}})
    served.put(".taskmaster/state.json", {"currentTag": "master"})
    assert (await served.call("get_tasks"))["tag"] == "work"
    served.write({"work": tag(item(1)), "home": tag()})
    assert (await served.failed("get_tasks"))[0] == "TAG_NOT_FOUND"


@pytest.mark.requirement("TM-22", "TM-25")
async def test_a_status_is_understood_in_other_spellings_and_stays_as_it_is_written(served: ServedProject) -> None:
    words = ["todo", "In Progress", "Done", "completed", "to_do", "CANCELED", "in review", "half"]
    served.write({"master": tag(*(item(number, status=word) for number, word in enumerate(words, 1)))})
    before = served.path.read_bytes()
    listed = (await served.call("get_tasks"))["tasks"]
    assert [it["status"] for it in listed] == [
        *("pending", "in-progress", "done", "done", "pending", "cancelled", "review", "half")
    ]
    assert [it["taskId"] for it in (await served.call("validate_dependencies"))["issues"]] == ["8"]
    assert (await served.call("set_task_status", id="3", status="done"))["tasks"][0]["oldStatus"] == "done"
    assert served.path.read_bytes() == before


@pytest.mark.requirement("TM-46")
async def test_a_note_goes_behind_the_steps_of_a_list(served: ServedProject) -> None:
    served.write({"master": tag(item(1, details=["step 1", "step 2"]))})
    await served.call("update_subtask", id="1", prompt="noted")
    note = f"<info added on {STAMP}>\nnoted\n</info added on {STAMP}>"
    assert served.document["master"]["tasks"][0]["details"] == ["step 1", "step 2", note]


@pytest.mark.requirement("TM-62")
async def test_a_renamed_tag_keeps_its_place(served: ServedProject) -> None:
    served.write({"a": tag(item(1)), "note": 1, "b": tag(), "master": tag()})
    await served.call("rename_tag", oldName="a", newName="c")
    assert [*served.document] == ["c", "note", "b", "master"]


@pytest.mark.requirement("TM-56")
async def test_a_move_to_a_tag_with_the_same_id_names_a_way_that_works(served: ServedProject) -> None:
    served.write({"master": tag(item(1), item(2)), "other": tag(item(2), item(7))})
    reason, error = await served.failed("move_task", from_="2", fromTag="master", toTag="other")
    assert (reason, error["freeId"]) == ("TASK_ALREADY_EXISTS", "8")
    assert "move_task from='2' to='8'" in error["message"]
    await served.call("move_task", from_="2", to="8")
    await served.call("move_task", from_="8", fromTag="master", toTag="other")
    assert [it["id"] for it in served.document["other"]["tasks"]] == [2, 7, 8]


@pytest.mark.requirement("TM-36")
async def test_a_subtask_also_waits_for_what_its_task_waits_for(served: ServedProject) -> None:
    served.write({"master": tag(item(1), item(2), item(3, subtasks=[item(1), item(4)]))})
    await served.call("add_dependency", id="3", dependsOn="2")
    assert (await served.failed("add_dependency", id="2", dependsOn="3.4"))[0] == "CIRCULAR_DEPENDENCY"
    assert (await served.call("add_dependency", id="2", dependsOn="1"))["added"]
    plan = [{"title": "a", "dependencies": ["3.4"]}]
    assert (await served.failed("expand_task", id="2", subtasks=plan))[0] == "CIRCULAR_DEPENDENCY"


OTHER_PROGRAM = {
    "version": 2,
    "tasks": [{"id": "job-nightly", "name": "Nightly report", "enabled": True, "status": "completed"}],
    "taskTypes": ["report", "sync"],
}


@pytest.mark.requirement("TM-16", "TM-17", "TM-21")
@pytest.mark.parametrize(
    "document",
    [
        OTHER_PROGRAM,
        {"tasks": [{"id": 1, "title": "t", "done": False}]},
        {"jobs": {"tasks": [{"name": "t"}]}},
        {"version": 1, "tasks": []},
        [{"title": "t", "dependencies": []}],
    ],
    ids=["jobs", "to-do", "tag", "empty", "list"],
)
async def test_the_tasks_of_another_program_are_not_taken_over(served: ServedProject, document: object) -> None:
    path = served.put("tasks/tasks.json", document)
    before = path.read_bytes()
    assert (await served.failed("add_task", title="x"))[0] == "FILE_NOT_FOUND_ERROR"
    await served.call("initialize_project")
    assert (await served.call("add_task", title="x"))["taskId"] == "1"
    assert (path.read_bytes(), len(served.document["master"]["tasks"])) == (before, 1)


@pytest.mark.requirement("TM-16", "TM-19", "TM-20")
async def test_an_old_file_is_taken_over_with_its_indentation_and_a_copy_is_kept(served: ServedProject) -> None:
    path = served.root / "tasks" / "tasks.json"
    path.parent.mkdir()
    before = json.dumps({"tasks": [item(1)], "metadata": {"projectName": "P"}}, indent=4).encode()
    path.write_bytes(before)
    await served.call("set_task_status", id="1", status="done")
    assert path.read_text().startswith(
        '{\n    "master": {\n        "tasks": [\n            {\n                "id": 1,'
    )
    assert path.with_name("tasks.json.bak").read_bytes() == before


@pytest.mark.requirement("TM-13", "TM-17")
async def test_a_project_above_a_nested_repository_is_named_with_its_whole_path(tmp_path: Path) -> None:
    served = ServedProject(tmp_path / ("long-" * 20))
    nested = served.root / "vendor" / "lib"
    (nested / ".git").mkdir(parents=True)
    served.write({"master": tag(item(1))})
    reason, error = await served.failed("get_tasks", projectRoot=str(nested))
    root = str(served.root.resolve())
    assert (reason, f"above it: '{root}'. " in error["message"]) == ("FILE_NOT_FOUND_ERROR", True)
    assert (await served.call("get_tasks", projectRoot=root))["total"] == 1
    reported = report("taskmaster_mcp", served.root, {"TASK_MASTER_PROJECT_ROOT": str(nested)})
    assert [line.partition("; ")[2] for line in reported.of("project", "note")] == [f"there is one above it, {root}"]
    made = await served.call("initialize_project", projectRoot=str(nested))
    assert made["message"].endswith(f"projectRoot='{root}'.")
    assert "above" not in (await served.call("initialize_project", projectRoot=str(nested)))["message"]


@pytest.mark.requirement("TM-21")
async def test_a_list_of_tasks_is_refused_with_its_cure(served: ServedProject) -> None:
    served.write("[]")
    assert 'write {"master": {"tasks": …}} around this list' in (await served.failed("get_tasks"))[1]["message"]


@pytest.mark.requirement("TM-86")
def test_doctor_finds_nothing_wrong_in_a_document_without_tags(served: ServedProject) -> None:
    served.write("{}")
    assert report("taskmaster_mcp", served.root, {"TASK_MASTER_PROJECT_ROOT": str(served.root)}).faults == []


@pytest.mark.requirement("TM-34", "TM-60", "TM-61")
@pytest.mark.parametrize(
    ("tasks", "kinds"),
    [
        ([item(3, subtasks=[item(1)]), item(3.1, 3), item(4, 3.1)], {"duplicate-id"}),
        ([item("1.2"), item("1.2.4", "1.2"), item("HAM-2"), item("HAM-2.1", "HAM-2")], set()),
        ([item(1), item(2), item(3, subtasks=[item(1), item(2, 2)])], set()),
        ([item(1), item(2), item(3, subtasks=[item(2), item(3, 2, "2")])], {"ambiguous"}),
        ([item(1, {"id": 2}, None, ["3"], ""), item(2)], {"unreadable"}),
        ([item(1), item(2, "Title 1", "Task 1", "1, 3", "#1")], {"unreadable"}),
        ([item("a"), item("b", "title a")], {"unreadable"}),
        ([item("x", subtasks=[item("a"), item("b", "a")]), item("a")], {"ambiguous"}),
        ([item("x", subtasks=[item("a", "b"), item("b", "a")]), item("a"), item("c", "b")], {"missing"}),
    ],
    ids=["decimal", "prefix", "itself", "both", "values", "text", "title", "names", "cycle"],
)
async def test_a_repair_removes_nothing_that_may_be_right(
    served: ServedProject, tasks: list[Object], kinds: set[str]
) -> None:
    served.write({"master": tag(*tasks)})
    issues = (await served.call("validate_dependencies"))["issues"]
    assert {issue["type"] for issue in issues} == kinds
    removed = (await served.call("fix_dependencies"))["removed"]
    assert {row["type"] for row in removed} == kinds & {"missing"}
    assert ("no repair removes it" in str(issues)) is ("unreadable" in kinds)

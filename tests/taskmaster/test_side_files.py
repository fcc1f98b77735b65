"""Files beside the tasks that are damaged, blank or unreadable (TM-21, TM-31, TM-42, TM-71)."""

from __future__ import annotations

import json

import pytest

from tests.taskmaster.conftest import STAMP, Object, ServedProject, item, tag

REPORT = ".taskmaster/reports/task-complexity-report.json"
CONFIG = ".taskmaster/config.json"
STATE = ".taskmaster/state.json"

DAMAGED = '{"global": {"defaultTag": "beta"},\n "global": {}}'


@pytest.mark.requirement("TM-21", "TM-31", "WARN-1")
@pytest.mark.parametrize("damage", ["{", "[1]", DAMAGED, "\x00"], ids=repr)
async def test_without_a_sound_config_the_usual_values_hold(project: ServedProject, damage: str) -> None:
    project.write({"master": tag(item(1)), "beta": tag(item(1), item(2))})
    path = project.put(CONFIG, {"global": {"defaultTag": "beta", "defaultPriority": "high"}})
    assert (await project.call("get_tasks"))["tag"] == "beta"
    path.write_text(damage)
    found = await project.answer("get_tasks")
    assert (found["data"]["tag"], len(found["warnings"])) == ("master", 1)
    assert "config.json is damaged (line " in found["warnings"][0]
    assert "Ask the user to repair it" in found["warnings"][0]
    added = await project.answer("add_task", title="x")
    assert (added["data"]["task"]["priority"], "warnings" in added) == ("medium", False)
    assert path.read_text() == damage
    path.write_text('{"global": {"defaultTag": "beta"}}')
    assert (await project.call("get_tasks"))["tag"] == "beta"
    path.write_text(damage)
    assert len((await project.answer("get_tasks"))["warnings"]) == 1


@pytest.mark.requirement("TM-42", "TM-71", "WARN-1")
async def test_without_a_sound_report_nothing_has_a_score(project: ServedProject) -> None:
    rows = [{"taskId": 3, "complexityScore": 7, "recommendedSubtasks": 9, "expansionPrompt": "Mind it"}]
    path = project.put(REPORT, {"complexityAnalysis": rows})
    assert (await project.call("get_task", id="3"))["complexityScore"] == 7
    assert "about 9 subtasks" in (await project.call("expand_task", id="3"))["instructions"]
    path.write_text(json.dumps({"complexityAnalysis": rows})[:-1])
    found = await project.answer("get_tasks")
    assert not any("complexityScore" in task for task in found["data"]["tasks"])
    assert "task-complexity-report.json is damaged (line 1, column" in found["warnings"][0]
    calls: list[tuple[str, Object]] = [("get_task", {"id": "3"}), ("next_task", {}), ("expand_all", {})]
    for tool, arguments in calls:
        assert "warnings" not in await project.answer(tool, **arguments)
    assert "about 5 subtasks" in (await project.call("expand_task", id="3"))["instructions"]


@pytest.mark.requirement("TM-42", "TM-71")
async def test_a_damaged_report_is_neither_shown_nor_replaced(project: ServedProject) -> None:
    path = project.put(REPORT, {})
    path.write_text("{")
    rows = [{"taskId": 3, "complexityScore": 8, "recommendedSubtasks": 4}]
    calls: list[tuple[str, Object]] = [("complexity_report", {}), ("analyze_project_complexity", {"analysis": rows})]
    for tool, arguments in calls:
        assert (await project.failed(tool, **arguments))[0] == "INVALID_TASKS_FILE"


@pytest.mark.requirement("TM-31", "TM-32")
@pytest.mark.parametrize("blank", ["", " \n"], ids=repr)
async def test_a_blank_state_is_one_that_names_no_tag(project: ServedProject, blank: str) -> None:
    project.write({"master": tag(item(1)), "beta": tag()})
    path = project.put(STATE, {})
    path.write_text(blank)
    assert (await project.call("get_tasks"))["tag"] == "master"
    assert (await project.call("use_tag", name="beta"))["switched"] is True
    assert json.loads(path.read_text()) == {"currentTag": "beta", "lastSwitched": STAMP}


@pytest.mark.requirement("TM-31")
async def test_a_damaged_state_is_an_error_since_the_tag_is_not_known(project: ServedProject) -> None:
    path = project.put(STATE, {})
    path.write_text('{"currentTag": "beta"')
    for tool in ("get_tasks", "next_task", "validate_dependencies"):
        reason, error = await project.failed(tool)
        assert (reason, error["file"]) == ("INVALID_TASKS_FILE", "state.json")
    assert (await project.call("get_tasks", tag="master"))["total"] == 3


async def test_a_file_that_leads_to_itself_is_named(project: ServedProject) -> None:
    path = project.root / STATE
    path.symlink_to(path.name)
    for tag_name in (None, "master"):
        reason, error = await project.failed("get_tasks", tag=tag_name)
        assert (reason, error["file"]) == ("STORE_UNREADABLE", "state.json")

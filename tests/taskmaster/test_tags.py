"""Tags with odd names, in odd documents, and what follows when one goes (TM-18, TM-31, TM-62, TM-63)."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.taskmaster.conftest import Object, ServedProject, item, tag


@pytest.mark.requirement("TM-21", "TM-31")
@pytest.mark.parametrize(
    "document",
    [
        {"master": {"tasks": {"1": item(1)}}, "beta": tag()},
        {"master": None, "beta": tag()},
        {"master": {"notes": "x"}},
        {"name": "app", "version": "1.0.0"},
        {"models": {}, "global": {}},
    ],
)
async def test_a_document_of_something_else_is_left_alone(project: ServedProject, document: Object) -> None:
    project.write(document)
    calls: list[tuple[str, Object]] = [
        *(("add_task", {"title": "x"}), ("add_tag", {"name": "new"}), ("get_tasks", {}), ("initialize_project", {})),
    ]
    for tool, arguments in calls:
        assert (await project.failed(tool, **arguments))[0] == "INVALID_TASKS_FILE"
    project.put("package.json", document)
    assert (await project.failed("add_task", title="x", file="package.json"))[0] == "INVALID_TASKS_FILE"


@pytest.mark.requirement("TM-63")
@pytest.mark.parametrize("name", ["__proto__", "_rawTaggedData", "hasOwnProperty"])
async def test_names_that_task_master_loses_are_reserved(project: ServedProject, name: str) -> None:
    assert (await project.failed("add_tag", name=name))[0] == "RESERVED_TAG"


@pytest.mark.requirement("TM-31", "TM-42", "TM-83")
async def test_a_tag_that_is_no_name_stays_in_the_project(project: ServedProject) -> None:
    odd = "../../../out\0side"
    project.write({"master": tag(), odd: tag(item(1))})
    outside = project.root.parent / "out-side.json"
    outside.write_text("{}")
    assert (await project.failed("complexity_report", tag=odd))[0] == "FILE_NOT_FOUND_ERROR"
    await project.call("generate", tag=odd)
    assert [path.name for path in project.path.parent.glob("*.txt")] == ["task_001_out-side.txt"]
    assert (await project.call("get_tasks", tag=odd))["total"] == 1
    for tool in ("complexity_report", "get_tasks", "generate", "analyze_project_complexity"):
        for name in ("typo", "a\0b", "x" * 5_000, "x/../../../y"):
            assert (await project.failed(tool, tag=name))[0] == "TAG_NOT_FOUND"


@pytest.mark.requirement("TM-56", "TM-87")
async def test_neither_a_tag_nor_a_file_is_made_larger_than_the_limit(project: ServedProject) -> None:
    project.write({"master": tag(item(1)), **{f"t{number}": {"tasks": []} for number in range(199)}})
    assert (await project.failed("move_task", from_="1", toTag="fresh"))[0] == "LIMIT_EXCEEDED"
    project.write({"master": tag(item(1, details="x" * 90), item(2)), "big": {"tasks": [], "x": "x" * 32_000_000}})
    assert (await project.failed("add_task", title="x"))[0] == "LIMIT_EXCEEDED"
    await project.call("update_task", id="1", details="shorter")


@pytest.mark.requirement("TM-63")
@pytest.mark.parametrize(
    ("tags", "current", "gone", "following"),
    [
        (["master", "beta"], {"state": "beta"}, "beta", "master"),
        (["master", "beta"], {"config": "beta"}, "beta", "master"),
        (["beta", "gamma"], {"state": "gamma"}, "gamma", "beta"),
        (["beta"], {"state": "beta"}, "beta", "master"),
        (["beta"], {}, "beta", "master"),
    ],
)
async def test_after_the_current_tag_is_deleted_there_is_another(
    project: ServedProject, tags: list[str], current: dict[str, str], gone: str, following: str
) -> None:
    project.write({name: tag(item(1)) for name in tags})
    if "state" in current:
        project.put(".taskmaster/state.json", {"currentTag": current["state"]})
    if "config" in current:
        project.put(".taskmaster/config.json", {"global": {"defaultTag": current["config"]}})
    found = await project.call("delete_tag", name=gone)
    assert found["switchedToMaster"] is (bool(current or len(tags) == 1) and following == "master")
    assert (await project.call("get_tasks"))["tag"] == following
    assert following in project.document


@pytest.mark.requirement("TM-9", "TM-63")
@pytest.mark.parametrize(
    ("tool", "arguments"), [("delete_tag", {"name": "beta"}), ("rename_tag", {"oldName": "beta", "newName": "c"})]
)
async def test_a_tag_stays_if_the_current_one_is_not_known(
    project: ServedProject, tool: str, arguments: dict[str, Any]
) -> None:
    project.write({"master": tag(), "beta": tag(item(1))})
    state = project.put(".taskmaster/state.json", {})
    state.write_text('{"currentTag": "beta",}')
    assert (await project.failed(tool, **arguments))[0] == "INVALID_TASKS_FILE"


@pytest.mark.requirement("TM-63", "WARN-1")
async def test_a_current_tag_that_cannot_follow_is_a_warning(
    project: ServedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"master": tag(), "beta": tag(item(1)), "gamma": tag()})
    project.put(".taskmaster/state.json", {"currentTag": "beta"})
    rename = os.replace

    def refuse(source: str, target: str) -> None:
        if target.endswith("state.json"):
            raise OSError(28, "No space left on device")
        rename(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", refuse)
        found = await project.answer("delete_tag", name="beta")
    assert (found["data"]["deleted"], [*project.document]) == (True, ["master", "gamma"])
    assert "No space left" in found["warnings"][0]
    project.put(".taskmaster/state.json", {"currentTag": "gamma"})
    assert "warnings" not in await project.answer("delete_tag", name="gamma")


@pytest.mark.requirement("TM-31", "TM-62")
async def test_the_tag_of_the_setting_is_the_one_that_calls_use(project: ServedProject) -> None:
    await project.call("add_tag", name="own")
    await project.call("add_tag", name="other")
    project.server = project.another(taskmaster_tag="own")
    listed = await project.call("list_tags")
    assert (listed["currentTag"], listed["tags"][0]["name"], listed["tags"][0]["isCurrent"]) == ("own", "own", True)
    assert "still use 'own'" in (await project.call("use_tag", name="other"))["message"]

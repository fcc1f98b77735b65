"""Projects whose ids are not plain numbers: whatever a tool lists, every tool takes (TM-34)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.taskmaster.conftest import Object, ServedProject, item, tag


@pytest.fixture
def slugs(tmp_path: Path) -> ServedProject:
    """A project with text, prefixed and decimal ids."""
    served = ServedProject(tmp_path)
    form = [item("form"), item("submit", "form")]
    served.write({"master": tag(item("login-page", subtasks=form), item("HAM-1", "login-page"), item(3.1, "HAM-1"))})
    return served


@pytest.mark.requirement("TM-33", "TM-34")
async def test_whatever_is_listed_can_be_read_changed_and_removed(slugs: ServedProject) -> None:
    listed = (await slugs.call("get_tasks", withSubtasks=True))["tasks"]
    ids = [it["id"] for task in listed for it in (task, *task["subtasks"])]
    assert ids == ["login-page", "login-page.form", "login-page.submit", "HAM-1", "3.1"]
    for name in ids:
        assert (await slugs.call("get_task", id=name))["id"] == name
        await slugs.call("update_subtask", id=name, prompt="noted")
        await slugs.call("set_task_status", id=name, status="review")
        await slugs.call("set_task_status", id=name, status="pending")
        await slugs.call("update_task", id=name, priority="high")
    assert (await slugs.call("next_task"))["nextTask"]["id"] == "login-page"
    assert [it["id"] for it in (await slugs.call("get_tasks", after="login-page"))["tasks"]] == ["HAM-1", "3.1"]
    assert [it["id"] for it in (await slugs.call("update", from_="HAM-1", prompt="x"))["context"]["items"]] == [
        *("HAM-1", "3.1")
    ]
    assert (await slugs.call("add_dependency", id="3.1", dependsOn="login-page.submit"))["added"]
    assert (await slugs.call("remove_dependency", id="3.1", dependsOn="login-page.submit"))["removed"]
    assert "nothing" in (await slugs.call("fix_dependencies"))["message"]
    made = await slugs.call("expand_task", id="HAM-1", subtasks=[{"title": "a"}, {"title": "b", "dependencies": [1]}])
    assert made["subtasksAdded"] == 2
    added = await slugs.call("add_subtask", id="login-page", title="c", dependencies="login-page.submit")
    assert (added["subtask"]["id"], added["subtask"]["dependencies"]) == ("login-page.1", ["login-page.submit"])
    assert (await slugs.call("add_task", title="new", dependencies="HAM-1"))["taskId"] == "4"
    assert [it["id"] for it in (await slugs.call("remove_task", id="login-page.form,HAM-1"))["removedTasks"]] == [
        *("login-page.form", "HAM-1")
    ]


@pytest.mark.requirement("TM-33", "TM-51")
async def test_such_an_item_moves_to_a_number_and_to_another_tag(slugs: ServedProject) -> None:
    calls: list[tuple[Object, list[str]]] = [
        ({"from_": "HAM-1", "to": "7"}, ["7"]),
        ({"from_": "login-page.submit", "to": "7.1"}, ["7.1"]),
        ({"from_": "7", "to": "login-page.4"}, []),
        ({"from_": "3.1", "fromTag": "master", "toTag": "other", "ignoreDependencies": True}, ["3.1"]),
    ]
    for arguments, ids in calls:
        if ids:
            assert [it["to"] for it in (await slugs.call("move_task", **arguments))["moves"]] == ids
        else:
            assert (await slugs.failed("move_task", **arguments))[0] == "HAS_SUBTASKS"
    code, error = await slugs.failed("move_task", from_="7", to="HAM-2")
    assert (code, error["fields"][0]["path"]) == ("INPUT_VALIDATION_ERROR", "to")


@pytest.mark.requirement("TM-33")
async def test_an_unknown_text_id_comes_with_near_ones(slugs: ServedProject) -> None:
    reason, error = await slugs.failed("get_task", id="login-pag")
    assert (reason, error["near"]) == ("TASK_NOT_FOUND", ["login-page"])
    assert (await slugs.failed("get_task", id="login-page.from"))[0] == "SUBTASK_NOT_FOUND"


@pytest.mark.requirement("TM-42", "TM-71")
async def test_the_complexity_of_such_a_task_is_kept(slugs: ServedProject) -> None:
    row = {"taskId": "HAM-1", "complexityScore": 8, "recommendedSubtasks": 3}
    await slugs.call("analyze_project_complexity", analysis=[row])
    assert (await slugs.call("get_task", id="HAM-1"))["complexityScore"] == 8


@pytest.mark.requirement("TM-83")
async def test_a_file_is_generated_for_such_a_task_and_goes_with_it(slugs: ServedProject) -> None:
    folder = slugs.path.parent
    slugs.write({"master": tag(item("login page", subtasks=[item("form")]), item("login-page"), item(3.1), item(4))})
    (folder / "task_notes.txt").write_text("my notes\n")
    found = await slugs.call("generate")
    assert (found["count"], found["written"], found["skipped"]) == (4, 3, ["task_login-page.txt"])
    assert "\n## form. Title form [pending]\n" in (folder / "task_login-page.txt").read_text()
    assert (await slugs.call("generate"))["written"] == 0
    await slugs.call("remove_task", id="3.1")
    slugs.write({"master": tag(item("login-page"), item(4))})
    found = await slugs.call("generate")
    assert (found["orphanedFilesRemoved"], found["written"], "skipped" in found) == (1, 1, False)
    assert {path.name for path in folder.glob("task_*")} == {"task_login-page.txt", "task_004.txt", "task_notes.txt"}


@pytest.mark.requirement("TM-33", "TM-34", "TM-47")
async def test_every_listed_id_is_taken_and_no_new_one_is_among_them(tmp_path: Path) -> None:
    served = ServedProject(tmp_path)
    prefixed = item("HAM-1", subtasks=[item("HAM-1.1"), item("HAM-1.2", "HAM-1.1")])
    served.write({"master": tag(item(1), item(1.1, 1), prefixed, item("#12"), item("a, b"), item(3, "a, b"))})
    listed = (await served.call("get_tasks", withSubtasks=True))["tasks"]
    ids = [it["id"] for task in listed for it in (task, *task["subtasks"])]
    assert ids == ["1", "1.1", "HAM-1", "HAM-1.1", "HAM-1.2", "#12", "a, b", "3"]
    assert listed[2]["subtasks"][1]["dependencies"] == ["HAM-1.1"]
    for name in ids:
        assert (await served.call("get_task", id=name))["id"] == name
        await served.call("set_task_status", id=name, status="deferred")
        await served.call("set_task_status", id=name, status="pending")
    assert [it["id"] for it in (await served.call("get_task", id="1,3"))["tasks"]] == ["1", "3"]
    assert (await served.call("add_subtask", id="1", title="x"))["subtask"]["id"] == "1.2"
    assert (await served.call("add_subtask", id="HAM-1", title="x"))["subtask"]["id"] == "HAM-1.3"
    assert (await served.call("add_task", title="x", dependencies="a, b"))["task"]["dependencies"] == ["a, b"]
    for start, found in (("1.1", ids[1:]), ("2", ids[2:]), ("HAM-1.2", ids[2:]), ("HAM-1.9", ids[2:])):
        shown = (await served.call("update", from_=start, prompt="x"))["context"]["items"]
        assert [it["id"] for it in shown] == [*(it for it in found if it[:6] != "HAM-1."), "4"]


@pytest.mark.requirement("TM-52", "TM-56")
async def test_a_move_follows_the_tasks_and_not_the_first_part_of_their_ids(tmp_path: Path) -> None:
    served = ServedProject(tmp_path)
    prefixed = item("HAM-1", subtasks=[item("HAM-1.1"), item("HAM-1.2", "HAM-1.1", parentTaskId="HAM-1")])
    served.write({"master": tag(item(3), item(3.1, 3), item(4, 3.1), prefixed, item(5, "HAM-1.2"))})
    moved = await served.call("move_task", from_="3", to="8")
    assert "dropped" not in moved
    await served.call("move_task", from_="HAM-1", to="9")
    tasks = served.document["master"]["tasks"]
    assert [(it["id"], it["dependencies"]) for it in tasks] == [
        *((3.1, [8]), (4, [3.1])),
        *((5, ["9.2"]), (8, []), ("9", [])),
    ]
    assert [(it["id"], it["dependencies"]) for it in tasks[4]["subtasks"]] == [("9.1", []), ("9.2", [1])]
    reason, error = await served.failed("move_task", from_="3.1", fromTag="master", toTag="other")
    assert (reason, error["count"]) == ("CROSS_TAG_DEPENDENCY_CONFLICTS", 2)
    both = await served.call("move_task", from_="4", fromTag="master", toTag="other", withDependencies=True)
    assert {it["to"] for it in both["moves"]} == {"4", "3.1", "8"}


@pytest.mark.requirement("TM-34", "TM-61")
async def test_a_dependency_on_one_of_two_items_with_an_id_stays_until_both_are_gone(tmp_path: Path) -> None:
    served = ServedProject(tmp_path)
    parent = item(3, 3.1, subtasks=[item(1), item(2, 1)])
    served.write({"master": tag(parent, item(3.1, "3.1"), item(4, 3.1, "3.1"))})
    kinds = [it["type"] for it in (await served.call("validate_dependencies"))["issues"]]
    assert kinds == ["duplicate-id"]
    assert "nothing" in (await served.call("fix_dependencies"))["message"]
    assert "dropped" not in await served.call("remove_task", id="3.1")
    assert (await served.call("get_task", id="3.2"))["dependencies"] == ["3.1"]
    dropped = (await served.call("remove_task", id="3.1"))["dropped"]
    assert [(it["id"], it["dependsOn"]) for it in dropped] == [*(("3", "3.1"), ("3.2", "3.1")), *[("4", "3.1")] * 2]

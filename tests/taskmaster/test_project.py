"""Tags, new projects, task files, operations, resources, the command line and doctor (TM-31, TM-62 and on)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference

from task_core.doctor import Level
from taskmaster_mcp import doctor
from taskmaster_mcp.project.lock import locate_foreign_lock
from taskmaster_mcp.settings import TaskmasterSettings
from tests.processes import ending
from tests.taskmaster.conftest import STAMP, Object, ServedProject, item, tag


@pytest.fixture
def tags(project: ServedProject) -> ServedProject:
    project.write({"master": tag(item(1)), "beta": tag(item(2), item(3)), "$note": 1})
    return project


@pytest.mark.requirement("TM-31")
async def test_a_tag_comes_from_the_call_the_setting_the_state_the_config_or_is_master(tags: ServedProject) -> None:
    async def used() -> str:
        return str((await tags.call("get_tasks"))["tag"])

    assert await used() == "master"
    tags.put(".taskmaster/config.json", {"global": {"defaultTag": "beta"}})
    assert await used() == "beta"
    tags.put(".taskmaster/state.json", {"currentTag": "master"})
    assert await used() == "master"
    tags.server = tags.another(taskmaster_tag="beta")
    assert await used() == "beta"
    assert (await tags.call("get_tasks", tag="master"))["tag"] == "master"
    calls: list[tuple[str, Object]] = [
        ("next_task", {}),
        ("add_task", {"title": "x"}),
        ("clear_subtasks", {"all": True}),
    ]
    for tool, arguments in calls:
        reason, error = await tags.failed(tool, tag="bta", **arguments)
        assert (reason, error["near"], error["tags"]) == ("TAG_NOT_FOUND", ["beta"], ["master", "beta"])


@pytest.mark.requirement("TM-32", "TM-62")
async def test_a_tag_is_chosen_and_the_rest_of_the_state_stays(tags: ServedProject) -> None:
    path = tags.put(".taskmaster/state.json", {"own": [1], "currentTag": "master"})
    path.write_text('{\n\t"own": [1],  "currentTag": "master"\n}\n')
    before = tags.path.read_bytes()
    found = await tags.call("use_tag", name="beta")
    assert found == {
        "tagName": "beta",
        "switched": True,
        "previousTag": "master",
        "taskCount": 2,
        "message": "'beta' is the current tag.",
    }
    assert path.read_text() == ('{\n\t"own": [1],  "currentTag": "beta",  "lastSwitched": "' + STAMP + '"\n}\n')
    assert tags.path.read_bytes() == before
    assert (await tags.call("use_tag", name="beta"))["switched"] is False
    assert (await tags.failed("use_tag", name="nope"))[0] == "TAG_NOT_FOUND"
    listed = await tags.call("list_tags")
    assert [(it["name"], it["isCurrent"], it["taskCount"]) for it in listed["tags"]] == [
        ("beta", True, 2),
        ("master", False, 1),
    ]
    assert (listed["currentTag"], listed["totalTags"]) == ("beta", 2)
    path.write_text("[1]")
    assert (await tags.failed("get_tasks"))[0] == "INVALID_TASKS_FILE"


@pytest.mark.requirement("TM-62", "TM-63")
async def test_tags_are_made_copied_renamed_and_deleted(tags: ServedProject) -> None:
    made = await tags.call("add_tag", name="new", description="D")
    assert (made["tasksCopied"], made["sourceTag"]) == (0, None)
    copied = await tags.call("copy_tag", sourceName="beta", targetName="copy")
    assert (copied["copied"], copied["tasksCopied"], copied["description"]) == (True, 2, "Copy of 'beta'")
    assert (await tags.call("add_tag", name="c2", copyFromTag="copy"))["tasksCopied"] == 2
    await tags.call("use_tag", name="beta")
    assert (await tags.call("add_tag", name="c3", copyFromCurrent=True))["sourceTag"] == "beta"
    renamed = await tags.call("rename_tag", oldName="beta", newName="delta")
    assert (renamed["wasCurrentTag"], renamed["taskCount"]) == (True, 2)
    assert (await tags.call("get_tasks"))["tag"] == "delta"
    assert [*tags.document] == ["master", "delta", "$note", "new", "copy", "c2", "c3"]
    assert tags.document["new"] == {"tasks": [], "metadata": {"created": STAMP, "updated": STAMP, "description": "D"}}
    assert tags.document["copy"]["metadata"]["copiedFrom"] == {"tag": "beta", "date": STAMP}
    assert tags.document["delta"]["metadata"]["renamed"] == {"from": "beta", "date": STAMP}
    gone = await tags.call("delete_tag", name="delta", yes=True)
    assert (gone["tasksDeleted"], gone["switchedToMaster"]) == (2, True)
    assert (await tags.call("get_tasks"))["tag"] == "master"
    assert (await tags.call("delete_tag", name="new"))["wasCurrentTag"] is False
    head = tags.root / ".git" / "HEAD"
    head.parent.mkdir()
    head.write_text("ref: refs/heads/feature/login page\n")
    assert (await tags.call("add_tag", fromBranch=True))["tagName"] == "feature-login-page"
    head.write_text("0123456789abcdef\n")
    assert (await tags.failed("add_tag", fromBranch=True))[0] == "INPUT_VALIDATION_ERROR"


@pytest.mark.requirement("TM-63", "TM-87")
async def test_names_that_mean_something_else_are_refused(tags: ServedProject) -> None:
    for name, reason in (("Master", "RESERVED_TAG"), ("tag", "RESERVED_TAG"), ("beta", "TAG_EXISTS"), ("$note", None)):
        found, _ = await tags.failed("add_tag", name=name)
        assert found == (reason or "INPUT_VALIDATION_ERROR")
    assert (await tags.failed("rename_tag", oldName="master", newName="x"))[0] == "RESERVED_TAG"
    assert (await tags.failed("delete_tag", name="master"))[0] == "RESERVED_TAG"
    assert (await tags.failed("rename_tag", oldName="nope", newName="x"))[0] == "TAG_NOT_FOUND"
    tags.write({f"t{number}": {"tasks": []} for number in range(200)})
    assert (await tags.failed("add_tag", name="more"))[0] == "LIMIT_EXCEEDED"


@pytest.mark.requirement("TM-56")
async def test_tasks_move_between_tags_in_one_save(tags: ServedProject) -> None:
    found = await tags.call("move_task", from_="3", fromTag="beta", toTag="fresh")
    assert (found["tag"], found["moves"][0]["item"]["metadata"]["moveHistory"][0]["toTag"]) == ("fresh", "fresh")
    await tags.call("move_task", from_="2", fromTag="beta", toTag="master")
    assert {name: [it["id"] for it in value["tasks"]] for name, value in tags.document.items() if name != "$note"} == {
        "master": [1, 2],
        "beta": [],
        "fresh": [3],
    }
    assert (await tags.failed("move_task", from_="1", toTag="main"))[0] == "RESERVED_TAG"
    assert (await tags.call("move_task", from_="1", to="9", fromTag="master"))["tag"] == "master"


@pytest.mark.requirement("TM-81", "TM-82")
async def test_a_new_project_has_all_it_needs_and_nothing_that_is_there_changes(tmp_path: Path) -> None:
    served = ServedProject(tmp_path)
    (tmp_path / ".gitignore").write_text("dist")
    found = await served.call("initialize_project", projectName="P", storeTasksInGit=False, skipInstall=True)
    assert found["created"] == [
        *(".taskmaster", ".taskmaster/tasks", ".taskmaster/docs", ".taskmaster/reports", ".taskmaster/templates"),
        *(".taskmaster/config.json", ".taskmaster/state.json", ".taskmaster/tasks/tasks.json"),
    ]
    assert found["changed"] == [".gitignore"]
    assert (tmp_path / ".gitignore").read_text() == "dist\n.taskmaster/tasks/\n"
    config = json.loads((tmp_path / ".taskmaster" / "config.json").read_text())
    assert (config["global"]["projectName"], config["global"]["anonymousTelemetry"]) == ("P", False)
    assert [*served.document] == ["master"]
    before = served.files
    again = await served.call("initialize_project", projectName="Q", storeTasksInGit=False)
    assert (again["created"], again["changed"], served.files == before) == ([], [], True)
    assert again["message"].startswith("ALREADY_INITIALIZED")
    (tmp_path / ".gitignore").unlink()
    assert (await served.call("initialize_project", storeTasksInGit=False))["changed"] == []
    (tmp_path / ".gitignore").mkdir()
    assert (await served.failed("initialize_project", storeTasksInGit=False))[0] == "STORE_UNREADABLE"
    assert (await served.failed("initialize_project", projectRoot="/"))[0] == "INPUT_VALIDATION_ERROR"


@pytest.mark.requirement("TM-83")
async def test_a_file_for_each_task_is_written_once_and_goes_with_its_task(project: ServedProject) -> None:
    before = project.path.read_bytes()
    found = await project.call("generate")
    assert (found["count"], found["written"], found["orphanedFilesRemoved"]) == (3, 3, 0)
    folder = project.path.parent
    text = (folder / "task_002.txt").read_text()
    assert text.splitlines()[:6] == [
        "# Task ID: 2",
        "# Title: Title 2",
        "# Status: in-progress",
        "# Dependencies: 1 ✓",
        "# Priority: medium",
        "# Description: Description 2",
    ]
    assert "\n\n# Subtasks:\n## 1. Title 1 [done]\n" in text
    assert "## 2. Title 2 [pending]\n### Dependencies: 2.1 ✓\n" in text
    assert "# Subtasks:" not in (folder / "task_001.txt").read_text()
    assert (await project.call("generate"))["written"] == 0
    assert project.path.read_bytes() == before
    (folder / "task_009.txt").write_text("# Task ID: 9\n")
    (folder / "task_010.txt").write_text("my notes\n")
    (folder / "task_1.txt").write_text("# Task ID: 1\n")
    await project.call("remove_task", id="3")
    assert not (folder / "task_003.txt").exists()
    assert (await project.call("generate"))["orphanedFilesRemoved"] == 1
    assert {path.name for path in folder.glob("task_*")} == {
        *("task_001.txt", "task_002.txt", "task_010.txt", "task_1.txt")
    }
    found = await project.call("generate", output="out", format="md")
    assert found["directory"] == str(project.root.resolve() / "out")
    assert (project.root / "out" / "task_001.md").read_text().startswith("# Task ID: 1\n\n**Title:** Title 1\n")
    assert "### 2.1. Title 1\n\n**Status:** done  \n" in (project.root / "out" / "task_002.md").read_text()
    assert (await project.call("generate", output="out"))["written"] == 0
    project.write({"master": tag(), "beta": tag(item(1, details="d", testStrategy="t"), item("x"))})
    await project.call("generate", tag="beta", format="md")
    assert "**Details:**\n\nd\n\n**Test Strategy:**\n\nt\n" in (folder / "task_001_beta.md").read_text()
    assert (folder / "task_001.txt").exists()
    (project.root / "file").write_text("")
    assert (await project.failed("generate", output="file/x"))[0] == "STORE_WRITE_FAILED"
    assert (await project.failed("generate", output="file"))[0] == "STORE_WRITE_FAILED"


@pytest.mark.requirement("TM-83")
async def test_a_file_that_nobody_generated_stays(project: ServedProject) -> None:
    notes = project.path.parent / "task_001.txt"
    notes.write_text("my own notes\n")
    found = await project.call("generate")
    assert (found["skipped"], found["written"], notes.read_text()) == (["task_001.txt"], 2, "my own notes\n")


@pytest.mark.requirement("TM-78", "TM-79")
async def test_work_goes_on_behind_an_answer(project: ServedProject) -> None:
    calls: list[tuple[str, Object, Object | None]] = [
        ("generate", {}, {"count": 3}),
        ("parse_prd", {"append": True, "tasks": [{"title": "x"}]}, {"ids": ["4"]}),
        ("update", {"from_": "9", "updates": [{"id": 77}]}, None),
    ]
    for tool, arguments, result in calls:
        accepted = await project.call(tool, background=True, **arguments)
        assert accepted["status"] == "ACCEPTED"
        end = time.monotonic() + 60
        while (found := await project.call("get_operation_status", operationId=accepted["operationId"]))[
            "endTime"
        ] is None:
            assert time.monotonic() < end
        if result is None:
            assert (found["status"], found["error"]["details"]["reason"]) == ("failed", "TASK_NOT_FOUND")
        else:
            assert (found["status"], found["error"]) == ("completed", None)
            assert result.items() <= found["result"].items()
            assert found["startTime"] == found["endTime"] == STAMP
    assert (await project.failed("get_operation_status", operationId="op-1"))[0] == "OPERATION_NOT_FOUND"
    project.server.close()


@pytest.mark.requirement("TM-85")
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_project_is_a_resource_too(project: ServedProject, mode: str) -> None:
    async with Client(project.server.sdk, mode=mode) as client:
        listed = json.loads((await client.read_resource("tasks://list")).contents[0].text)  # pyrefly: ignore
        assert [it["id"] for it in listed["tasks"]] == ["1", "2", "3"]
        summary = (await client.read_resource("tasks://summary")).contents[0].text  # pyrefly: ignore
        assert "3 in all: 1 pending, 1 in-progress, 1 done." in summary
        assert "## Next\n- 2.2: Title 2 (pending)" in summary
        task = json.loads((await client.read_resource("tasks://2.2")).contents[0].text)  # pyrefly: ignore
        assert task["parent"]["id"] == "2"
        for uri in ("tasks://99", "tasks://2.9"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        reference = ResourceTemplateReference(uri="tasks://{id}")
        completion = (await client.complete(reference, {"name": "id", "value": "2"})).completion
        assert completion.values == ["2", "2.1", "2.2"]
        prompts = (await client.list_prompts()).prompts
        assert [it.name for it in prompts] == ["taskmaster_plan", "taskmaster_next", "taskmaster_weekly_review"]
        tools = {tool.name for tool in (await client.list_tools()).tools}
        for prompt in prompts:
            arguments = {"request": "x"} if prompt.arguments else {}
            text = (await client.get_prompt(prompt.name, arguments)).messages[0].content.text  # pyrefly: ignore
            assert any(name in text for name in tools)


async def test_a_server_starts_where_there_is_no_project(tmp_path: Path) -> None:
    served = ServedProject(tmp_path / "none")
    async with Client(served.server.sdk) as client:
        assert len((await client.list_resources()).resources) == 2
    assert (await served.failed("get_tasks"))[0] == "FILE_NOT_FOUND_ERROR"


@pytest.mark.requirement("TM-17", "TM-90")
async def test_new_projects_that_one_process_opens_share_nothing(tmp_path: Path) -> None:
    for name in ("one", "other"):
        served = ServedProject(tmp_path / name)
        (served.root / ".taskmaster").mkdir(parents=True)
        assert (await served.call("add_task", title=name))["taskId"] == "1"
        assert [task["title"] for task in served.document["master"]["tasks"]] == [name]


@pytest.mark.requirement("TM-86")
def test_doctor_says_what_is_wrong_and_changes_nothing(project: ServedProject, tmp_path: Path) -> None:
    def found(**options: object) -> dict[str, list[tuple[Level, str]]]:
        values = {"task_master_project_root": str(project.root), **options}
        listed = doctor.checks(TaskmasterSettings.model_validate(values))
        return {check.subject: [(it.level, it.text) for it in check.look()] for check in listed}

    before = project.files
    good = found()
    assert {level for rows in good.values() for level, _ in rows} <= {Level.RIGHT, Level.NOTE}
    assert good["locks"] == [(Level.RIGHT, "no lock is held")]
    assert project.files == before
    project.write({"master": tag(*(item(number, 999) for number in range(1, 25)))})
    project.put(".taskmaster/state.json", {"currentTag": "gone"})
    locate_foreign_lock(project.path).mkdir()
    (project.path.parent / "tasks.json.lock.stale.1.2").mkdir()
    bad = found()
    assert (Level.WRONG, "the tag 'gone' does not exist") in bad["tasks"]
    assert bad["tasks"][-1] == (Level.NOTE, "tag 'master': 4 more such findings")
    assert (Level.WRONG, "the tag 'own' does not exist") in found(taskmaster_tag="own")["tasks"]
    assert "is held" in bad["locks"][0][1]
    os.utime(locate_foreign_lock(project.path), (1, 1))
    assert "was abandoned" in found()["locks"][0][1]
    assert "left behind" in found()["locks"][1][1]
    project.write("{")
    assert found()["tasks"][0][0] is Level.WRONG
    project.path.unlink()
    assert "does not exist yet" in found()["tasks"][0][1]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no project yet" in found(task_master_project_root=str(empty))["project"][0][1]
    assert found(task_master_project_root=str(empty / "no"))["project"][0][0] is Level.WRONG


def test_doctor_looks_past_processes_that_have_just_ended(
    project: ServedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: Path) -> bytes:
        raise ProcessLookupError

    settings = TaskmasterSettings(task_master_project_root=str(project.root))
    [check] = [it for it in doctor.checks(settings) if it.subject == "programs"]
    monkeypatch.setattr(Path, "read_bytes", gone)
    assert [finding.text for finding in check.look()] == ["no process of Task Master is seen"]


@pytest.mark.requirement("TM-29", "TM-86")
def test_doctor_sees_that_task_master_runs(project: ServedProject, tmp_path: Path) -> None:
    script = tmp_path / "task-master"
    script.write_text("import sys; sys.stdin.read()")
    with ending(subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE)) as process:
        settings = TaskmasterSettings(task_master_project_root=str(project.root))
        [check] = [it for it in doctor.checks(settings) if it.subject == "programs"]
        end = time.monotonic() + 60
        while not any("Task Master runs" in finding.text for finding in check.look()):
            assert time.monotonic() < end
        process.communicate(b"")


async def test_what_cannot_be_read_or_written_is_named(
    project: ServedProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.put(
        ".taskmaster/reports/task-complexity-report.json", {"complexityAnalysis": [{"taskId": 2, "complexityScore": 3}]}
    )
    assert (await project.call("get_task", id="2"))["complexityScore"] == 3
    (project.path.parent / "task_001.txt").mkdir()
    assert (await project.call("generate"))["skipped"] == ["task_001.txt"]
    (project.root / ".taskmaster" / "config.json").mkdir()
    assert (await project.failed("get_tasks"))[0] == "STORE_UNREADABLE"
    (project.root / ".taskmaster" / "config.json").rmdir()

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "iterdir", refuse)
        answer = await project.answer("generate", format="md", background=True)
        found = await project.call("get_operation_status", operationId=answer["data"]["operationId"])
        end = time.monotonic() + 60
        while found["endTime"] is None and time.monotonic() < end:
            found = await project.call("get_operation_status", operationId=answer["data"]["operationId"])
        assert found["error"]["details"]["reason"] == "STORE_WRITE_FAILED"
    other = tmp_path / "other"
    other.mkdir()
    (other / ".taskmaster").write_text("")
    assert (await project.failed("get_tasks", projectRoot=str(other)))[0] == "STORE_UNREADABLE"
    assert (await project.failed("get_tasks", projectRoot=str(other), tag="master"))[0] == "FILE_NOT_FOUND_ERROR"

"""The acceptance list of the project that Cortex comes from, against the whole chain (CX-123).

Its scenarios of a task that is started, submitted and completed are in ``test_work`` and ``test_scenarios``.
"""

from __future__ import annotations

import re
import threading
from importlib.metadata import distribution
from pathlib import Path

import pytest

import cortex_mcp
from tests.cortex_chain.deployment import PATIENCE, Deployment, Developer, ask
from tests.cortex_cli.stub_server import StubRequest

pytestmark = pytest.mark.requirement("CX-123")

TOOLS = {
    "list_tasks": {"status", "limit", "cursor"},
    "start_task": {"task_id", "directory"},
    "submit_pr": {"commit_message", "directory"},
    "complete_task": {"directory"},
    "get_task_status": {"directory"},
}


async def test_a_client_gets_a_list_of_the_tools_with_their_schemas(ada: Developer) -> None:
    async with ada.client() as client:
        tools = (await client.list_tools()).tools
    assert {tool.name: set(tool.input_schema["properties"]) for tool in tools} == TOOLS
    assert all(tool.description for tool in tools)
    required = {tool.name: tool.input_schema.get("required", []) for tool in tools}
    assert required == {name: ["task_id"] if name == "start_task" else [] for name in TOOLS}


async def test_the_list_has_the_fields_of_each_task_and_says_when_it_is_empty(deployment: Deployment) -> None:
    async with deployment.add_developer("bob").client() as client:
        empty = await ask(client, "list_tasks")
        deployment.new_task("Look", assignee_id=2)
        listed = await ask(client, "list_tasks")
    assert (empty["tasks"], empty["message"]) == ([], "No assigned tasks")
    assert empty.keys() == listed.keys()
    assert listed["tasks"][0].keys() >= {"id", "title", "status", "priority", "branch_name"}


@pytest.mark.long
async def test_a_wrong_task_is_refused_in_the_words_of_the_command(ada: Developer) -> None:
    async with ada.client() as client:
        missing = await ask(client, "start_task", task_id=999)
        invalid = await ask(client, "start_task", task_id="forty-two")
    assert (missing["code"], missing["error"].startswith("Task #999 not found.")) == ("TaskNotFound", True)
    assert missing["error"] == ada.ctx("tasks", "start", "999")["error"]
    assert invalid["code"] == "InvalidArguments"


@pytest.mark.long
async def test_outside_a_repository_git_is_not_available(deployment: Deployment, ada: Developer) -> None:
    task = deployment.new_task("Look")
    elsewhere = ada.home / "elsewhere"
    elsewhere.mkdir()
    async with ada.client(CORTEX_REPO=str(elsewhere)) as client:
        refusals = [await ask(client, "start_task", task_id=task["id"]), await ask(client, "get_task_status")]
    for refused in refusals:
        assert (refused["code"], "Not in a git repository" in refused["error"]) == ("NotARepository", True)
    assert deployment.task(task["id"])["status"] == "TODO"


async def test_changes_without_a_message_are_refused_and_nobody_is_asked(
    deployment: Deployment, ada: Developer
) -> None:
    async with ada.client() as client:
        started = await ask(client, "start_task", task_id=deployment.new_task("Look")["id"])
        (ada.here / "new").write_text("new\n", "utf-8")
        refused = await ask(client, "submit_pr")
        assert refused["code"] == "UncommittedChanges"
        submitted = await ask(client, "submit_pr", commit_message="Look")
    assert submitted["pull_request"].items() >= {"forge": "none", "state": "open", "created": True}.items()
    assert deployment.at_remote("log", "-1", "--format=%s", started["branch"]) == "Look"


@pytest.mark.long
@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "deleted"])
async def test_branches_are_deleted_as_the_settings_say(deployment: Deployment, ada: Developer, is_kept: bool) -> None:
    for name in ("delete_local_on_done", "delete_remote_on_done"):
        assert ada.ctx("config", "set", name, "false" if is_kept else "true")["success"]
    async with ada.client() as client:
        branch = (await ask(client, "start_task", task_id=deployment.new_task("Look")["id"]))["branch"]
        (ada.here / "new").write_text(branch, "utf-8")
        await ask(client, "submit_pr", commit_message="Look")
        deployment.merge(branch)
        completed = await ask(client, "complete_task")
    assert completed["deleted"] == {"local": not is_kept, "remote": not is_kept, "worktree": False}
    assert bool(ada.git("branch", "--list", branch)) == is_kept
    assert bool(deployment.at_remote("branch", "--list", branch)) == is_kept


@pytest.mark.long
async def test_the_status_tells_a_branch_of_a_task_from_another_one(deployment: Deployment, ada: Developer) -> None:
    task = deployment.new_task("Look")
    async with ada.client() as client:
        before = await ask(client, "get_task_status")
        started = await ask(client, "start_task", task_id=task["id"])
        after = await ask(client, "get_task_status")
    names = ("current_branch", "is_task_branch", "task_id")
    assert [before[name] for name in names] == ["main", False, None]
    assert [after[name] for name in names] == [started["branch"], True, task["id"]]


@pytest.mark.sample
@pytest.mark.requirement("CX-123")
def test_without_the_option_the_command_prints_a_table(deployment: Deployment, ada: Developer) -> None:
    deployment.new_task("Print it", assignee_id=1)
    out, err = ada.begin("tasks", "list").communicate(timeout=PATIENCE)
    assert (out.splitlines()[0].split("\t")[1:4], err) == (["Print it", "MEDIUM", "TODO"], "")


@pytest.mark.long
async def test_a_command_that_takes_too_long_is_named(deployment: Deployment, ada: Developer) -> None:
    release = threading.Event()

    def hold(asked: StubRequest) -> None:
        if asked.path == "/tasks/":
            release.wait(PATIENCE)

    deployment.relay.before = hold
    async with ada.client(CORTEX_LIST_TIMEOUT="8") as client:
        refused = await ask(client, "list_tasks")
    release.set()
    deployment.relay.before = lambda _asked: None
    assert refused["code"] == "Timeout"
    assert "ctx" in f"{refused['error']} {refused['details']}"


@pytest.mark.long
async def test_a_backend_out_of_reach_and_a_missing_login_are_errors_to_act_on(ada: Developer) -> None:
    async with ada.client(CTX_URL="http://127.0.0.1:9", CTX_TOKEN="of no use") as client:
        assert (await ask(client, "list_tasks"))["code"] == "BackendUnreachable"
    assert ada.ctx("auth", "logout")["success"]
    async with ada.client() as client:
        refused = await ask(client, "list_tasks")
    assert refused["code"] == "NotLoggedIn"
    assert refused["error"].startswith("Not logged in. Please run 'ctx auth login' first")


def test_the_package_brings_what_a_client_needs_and_its_readme_shows_how() -> None:
    installed = distribution("cortex-tasks-mcp")
    assert any(re.match(r"cortex[-_]tasks[-_]cli\b", needed) for needed in installed.requires or ())
    assert "cortex-mcp" in {point.name for point in installed.entry_points}
    readme = (Path(str(cortex_mcp.__file__)).parents[2] / "README.md").read_text("utf-8")
    assert [word for word in ('"command"', "PYTHONPATH", "cortex_mcp/server.py") if word not in readme] == []

"""Work through the whole chain: AI client, cortex-mcp, ``ctx``, backend and git, each as people run it (CX-121)."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from tests.core.notes import DEADLINE
from tests.cortex_chain.deployment import PATIENCE, Deployment, Developer, ask
from tests.cortex_cli.stub_server import StubRequest


@pytest.mark.requirement("CX-121", "CX-2", "CX-74", "CX-77")
async def test_a_task_goes_from_the_list_to_done(deployment: Deployment, ada: Developer) -> None:
    task = deployment.new_task("Fix the login", type="bug", priority="HIGH", assignee_id=1)
    async with ada.client() as client:
        (listed,) = (await ask(client, "list_tasks"))["tasks"]
        assert (listed["id"], listed["title"], listed["status"]) == (task["id"], "Fix the login", "TODO")
        started = await ask(client, "start_task", task_id=listed["id"])
        branch = f"bug/task-{task['id']}-fix-the-login"
        assert (started["branch"], started["created"], ada.branch) == (branch, True, branch)
        (ada.here / "login.py").write_text("fixed = True\n", "utf-8")
        assert (await ask(client, "get_task_status"))["next"] == "submit_pr"
        submitted = await ask(client, "submit_pr", commit_message="Fix the login")
        assert (submitted["status"], submitted["pushed"]) == ("REVIEW", True)
        assert (await ask(client, "get_task_status"))["next"] == "wait_for_review"
        assert (await ask(client, "complete_task"))["code"] == "NotMerged"
        deployment.merge(branch)
        completed = await ask(client, "complete_task")
    assert (completed["status"], completed["merged_by"], completed["deleted"]["local"]) == ("DONE", "patch", True)
    assert (ada.branch, (ada.here / "login.py").exists()) == ("main", True)
    assert deployment.at_remote("rev-parse", branch) == submitted["commit"]
    kept = deployment.task(task["id"])
    assert (kept["status"], kept["assignee"]["name"], kept["pull_request"]["state"]) == ("DONE", "Ada", "merged")
    kinds = ["assigned", "branch_set", "pr_merged", "pr_opened", *["status_changed"] * 3, "task_created"]
    assert sorted(deployment.kinds(task["id"])) == kinds


@pytest.mark.requirement("CX-121", "CX-24", "CX-122")
async def test_of_two_users_who_start_one_task_at_once_one_succeeds(each_deployment: Deployment) -> None:
    deployment = each_deployment
    people = {name: deployment.add_developer(name) for name in ("ada", "bob")}
    task = deployment.new_task("Race")
    together = threading.Barrier(2)
    waiting = {"ada", "bob"}

    def meet(asked: StubRequest) -> None:
        if asked.method == "PATCH" and waiting:
            waiting.pop()
            together.wait(DEADLINE)  # both have seen the task, and that nobody has it

    deployment.relay.before = meet
    async with people["ada"].client() as first, people["bob"].client() as second:
        answers = await asyncio.gather(*(ask(client, "start_task", task_id=task["id"]) for client in (first, second)))
    assert sorted(answer["success"] for answer in answers) == [False, True]
    (refused,) = (answer for answer in answers if not answer["success"])
    assert refused["code"] == "AssignedToOther"
    winner, loser = sorted(people, key=lambda name: people[name].branch == "main")
    assert deployment.task(task["id"])["assignee"]["name"] == winner.title()
    assert people[loser].git("branch", "--format=%(refname:short)") == "main"
    assert people[winner].branch == f"feature/task-{task['id']}-race"
    assert deployment.kinds(task["id"]).count("status_changed") == 1


@pytest.mark.requirement("CX-62", "CX-122", "CX-32")
def test_eight_commands_at_once_make_one_refresh_and_nobody_is_logged_out(
    deployment: Deployment, ada: Developer
) -> None:
    login = json.loads(ada.credentials.read_text("utf-8"))
    login[deployment.relay.origin]["access_token"] = "no longer one"
    ada.credentials.write_text(json.dumps(login), "utf-8")
    together = threading.Barrier(8)

    def meet(asked: StubRequest) -> None:
        if asked.token == "no longer one":
            together.wait(PATIENCE)  # all have read the login before one of them can refresh it

    deployment.relay.before = meet
    processes = [ada.begin("tasks", "list", "--json") for _ in range(8)]
    ended = [process.communicate(timeout=PATIENCE) for process in processes]
    assert [json.loads(out)["success"] for out, _ in ended] == [True] * 8
    assert deployment.relay.paths().count("POST /auth/token") == 1
    status = ada.ctx("auth", "status")
    assert (status["success"], status["user"]["name"]) == (True, "Ada")


@pytest.mark.requirement("CX-32", "CX-62")
def test_a_refresh_whose_answer_was_lost_logs_nobody_out(deployment: Deployment, ada: Developer) -> None:
    login = json.loads(ada.credentials.read_text("utf-8"))
    login[deployment.relay.origin]["access_ends_at"] = 0
    ada.credentials.write_text(json.dumps(login), "utf-8")
    deployment.relay.lost.append("/auth/token")
    assert ada.ctx("tasks", "list")["code"] == "BackendUnreachable"
    assert ada.ctx("tasks", "list")["success"]
    assert deployment.relay.paths().count("POST /auth/token") == 2


@pytest.mark.long
@pytest.mark.requirement("CX-121", "CX-85")
async def test_the_older_era_of_the_protocol_leads_to_the_backend_too(ada: Developer, deployment: Deployment) -> None:
    task = deployment.new_task("Look")
    async with ada.client(mode="legacy") as client:
        assert (await ask(client, "start_task", task_id=str(task["id"])))["status"] == "IN_PROGRESS"
        assert (await ask(client, "list_tasks"))["total"] == 1

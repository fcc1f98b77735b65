"""``ctx tasks status``: it refuses nothing that a person could want to see (CX-78)."""

from __future__ import annotations

import pytest

from cortex_cli.repository import find_paths, read_work_tree
from tests.cortex_cli.git_sandbox import BRANCH, GitSandbox, raises_code
from tests.cortex_cli.stub_server import StubRequest, problem

ME = {"id": 7, "name": "Ada"}


@pytest.mark.requirement("CX-78")
def test_the_task_of_the_branch_is_shown(started: GitSandbox) -> None:
    answer = started.status()
    assert answer["task"]["title"] == "Fix the login"
    assert answer == {
        "success": True,
        "current_branch": BRANCH,
        "is_task_branch": True,
        "task_id": 42,
        "task": answer["task"],
        "git": {
            "head": started.git("rev-parse", "HEAD"),
            "dirty": False,
            "staged": 0,
            "unstaged": 0,
            "untracked": 0,
            "conflicted": 0,
            "ahead": 0,
            "behind": 0,
            "upstream": None,
            "operation": None,
        },
        "pull_request": None,
        "next": "submit_pr",
    }
    git = started.make_flow().git
    assert read_work_tree(git, find_paths(git)).require_branch() == (BRANCH, 42)


@pytest.mark.requirement("CX-78")
def test_the_next_step_follows_from_the_task(started: GitSandbox) -> None:
    task = dict(started.backend.task)
    for fields, following in (
        ({"status": "TODO"}, "start_task"),
        ({"status": "IN_PROGRESS"}, "submit_pr"),
        ({"status": "REVIEW"}, "wait_for_review"),
        ({"status": "REVIEW", "pull_request": {"state": "merged"}}, "complete_task"),
        ({"status": "REVIEW", "pull_request": {"state": "closed"}}, "submit_pr"),
        ({"status": "DONE"}, "start_task"),
        ({"status": "CANCELED"}, "start_task"),
    ):
        started.backend.task = {**task, **fields}
        assert started.status()["next"] == following, fields


@pytest.mark.requirement("CX-78")
def test_more_work_during_a_review_is_to_be_submitted(submitted: GitSandbox) -> None:
    assert submitted.status()["next"] == "wait_for_review"
    (submitted.here / "new").write_text("new\n")
    assert submitted.status()["next"] == "submit_pr"


@pytest.mark.requirement("CX-78")
def test_without_the_backend_the_repository_is_shown(started: GitSandbox) -> None:
    started.backend.intercept = lambda _asked: problem(401, "NotAuthenticated")
    answer = started.status()
    assert (answer["task"], answer["task_id"], answer["next"]) == (None, 42, None)
    assert "Not logged in" in answer["warnings"][0]


@pytest.mark.requirement("CX-78")
def test_offline_nobody_is_asked(started: GitSandbox) -> None:
    asked: list[StubRequest] = []
    started.backend.intercept = lambda request: asked.append(request)
    answer = started.status(is_offline=True)
    assert (answer["task"], answer["warnings"]) == (None, ["Neither the server nor the forge was asked."])
    assert asked == []


@pytest.mark.requirement("CX-42")
def test_a_branch_of_no_task_has_no_id(sandbox: GitSandbox) -> None:
    git = sandbox.make_flow().git
    with raises_code("NotATaskBranch"):
        read_work_tree(git, find_paths(git)).require_branch()

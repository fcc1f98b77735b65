"""``ctx tasks start``: the backend first, then git, and neither without the other (CX-70, CX-71)."""

from __future__ import annotations

import pytest

from cortex_cli.errors import CortexError, InvalidUsage
from tests.cortex_cli.git_sandbox import BRANCH, GitSandbox, git, raises_code
from tests.cortex_cli.stub_backend import OTHER
from tests.cortex_cli.stub_server import StubReply, StubRequest, problem
from tests.cortex_cli.test_submit import Broken, fail_at

ME = {"id": 7, "name": "Ada"}


@pytest.mark.requirement("CX-70", "CX-71", "CX-41")
def test_a_started_task_is_mine_and_its_branch_is_checked_out(sandbox: GitSandbox) -> None:
    answer = sandbox.start()
    assert {name: answer[name] for name in answer if name != "task"} == {
        "success": True,
        "task_id": 42,
        "branch": BRANCH,
        "created": True,
        "status": "IN_PROGRESS",
        "base": "main",
        "directory": str(sandbox.here),
    }
    assert answer["task"]["assignee"] == ME
    assert sandbox.backend.task["branch_name"] == BRANCH
    assert sandbox.git("symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert sandbox.git("config", f"branch.{BRANCH}.merge", check=False) == ""
    assert "warnings" not in answer


@pytest.mark.requirement("CX-70")
def test_a_branch_starts_at_what_the_remote_has_now(sandbox: GitSandbox) -> None:
    theirs = sandbox.someone_pushes()
    sandbox.start()
    assert sandbox.git("rev-parse", "HEAD") == theirs


@pytest.mark.requirement("CX-68", "CX-70")
def test_an_ignored_file_is_not_overwritten(sandbox: GitSandbox) -> None:
    sandbox.someone_pushes(name="notes")
    (sandbox.here / ".git" / "info" / "exclude").write_text("notes\n")
    (sandbox.here / "notes").write_text("mine\n")
    with pytest.raises(CortexError) as caught:
        sandbox.start()
    assert caught.value.details["rolled_back"] is True
    assert "notes" in str(caught.value.details["git"])
    assert (sandbox.here / "notes").read_text() == "mine\n"


@pytest.mark.requirement("CX-70")
def test_starting_again_switches_and_makes_no_event(started: GitSandbox) -> None:
    started.git("switch", "--quiet", "main")
    for _ in range(2):
        answer = started.start()
        assert (answer["created"], answer["branch"]) == (False, BRANCH)
    assert started.git("symbolic-ref", "--short", "HEAD") == BRANCH
    assert started.backend.history == ["IN_PROGRESS"]


@pytest.mark.requirement("CX-70")
def test_a_task_in_review_goes_back_to_progress(sandbox: GitSandbox) -> None:
    sandbox.backend.set(status="REVIEW", assignee=ME, branch_name=BRANCH)
    assert sandbox.start()["status"] == "IN_PROGRESS"


@pytest.mark.requirement("CX-70")
def test_a_closed_task_is_not_started(sandbox: GitSandbox) -> None:
    for status in ("DONE", "CANCELED"):
        sandbox.backend.set(status=status)
        before = sandbox.state()
        with pytest.raises(CortexError, match="ctx tasks edit") as caught:
            sandbox.start()
        assert caught.value.code == "InvalidTransition"
        assert sandbox.state() == before


@pytest.mark.requirement("CX-13", "CX-70")
def test_the_task_of_somebody_else_is_not_started(sandbox: GitSandbox) -> None:
    sandbox.backend.set(assignee=OTHER)
    before = sandbox.state()
    with pytest.raises(CortexError) as caught:
        sandbox.start()
    assert caught.value.code == "AssignedToOther"
    assert sandbox.state() == before


@pytest.mark.requirement("CX-95")
def test_an_unknown_task_changes_nothing(sandbox: GitSandbox) -> None:
    sandbox.backend.intercept = lambda _asked: problem(404, "NotFound")
    before = sandbox.state()
    with raises_code("TaskNotFound"):
        sandbox.start()
    assert sandbox.state() == before


@pytest.mark.requirement("CX-70")
def test_a_branch_can_start_elsewhere(sandbox: GitSandbox) -> None:
    first = sandbox.git("rev-parse", "HEAD")
    sandbox.commit()
    sandbox.git("push", "--quiet")
    sandbox.start(source=first)
    assert sandbox.git("rev-parse", "HEAD") == first


@pytest.mark.requirement("CX-70")
def test_a_branch_can_start_here(sandbox: GitSandbox) -> None:
    mine = sandbox.commit()
    sandbox.start(is_here=True)
    assert sandbox.git("rev-parse", "HEAD") == mine


@pytest.mark.requirement("CX-70", "CX-103")
def test_a_start_at_what_is_not_a_commit_is_refused(sandbox: GitSandbox) -> None:
    before = sandbox.state()
    for source in ("nope", "--exec=x", "-x", "HEAD:README", ""):
        with pytest.raises(InvalidUsage):
            sandbox.start(source=source)
    assert sandbox.state() == before


@pytest.mark.requirement("CX-70")
def test_a_task_that_changes_meanwhile_is_looked_at_once_more(sandbox: GitSandbox) -> None:
    def change(asked: StubRequest) -> StubReply | None:
        if asked.method == "PATCH" and sandbox.backend.changes == 1:
            sandbox.backend.set(title="Other title")
        return None

    sandbox.backend.intercept = change
    assert sandbox.start()["branch"] == "bug/task-42-other-title"
    assert sandbox.backend.changes == 2


@pytest.mark.requirement("CX-70")
def test_a_task_that_somebody_takes_meanwhile_is_not_started(sandbox: GitSandbox) -> None:
    def take(asked: StubRequest) -> StubReply | None:
        if asked.method == "PATCH":
            sandbox.backend.set(assignee=OTHER)
        return None

    sandbox.backend.intercept = take
    with pytest.raises(CortexError):
        sandbox.start()
    assert sandbox.git("branch", "--list", BRANCH) == ""


@pytest.mark.requirement("CX-70")
def test_a_refusal_of_the_backend_leaves_git_alone(sandbox: GitSandbox) -> None:
    sandbox.backend.intercept = lambda asked: problem(403, "Forbidden") if asked.method == "PATCH" else None
    before = sandbox.state()
    with pytest.raises(CortexError) as caught:
        sandbox.start()
    assert caught.value.code == "Forbidden"
    assert sandbox.state() == before


def block_switch(sandbox: GitSandbox) -> None:
    """Let git fail when it creates the branch, although nothing showed before that it would."""
    (sandbox.here / ".git" / "refs" / "heads" / "bug").write_text("in the way")


@pytest.mark.requirement("CX-70")
def test_what_the_backend_did_is_taken_back_when_git_fails(sandbox: GitSandbox) -> None:
    block_switch(sandbox)
    with pytest.raises(CortexError) as caught:
        sandbox.start()
    assert caught.value.details["rolled_back"] is True
    task = sandbox.backend.task
    assert (task["status"], task["branch_name"], task["assignee"]) == ("TODO", None, None)


@pytest.mark.requirement("CX-70")
def test_a_task_that_was_mine_stays_mine_when_git_fails(sandbox: GitSandbox) -> None:
    sandbox.backend.set(assignee=ME)
    block_switch(sandbox)
    with pytest.raises(CortexError):
        sandbox.start()
    assert (sandbox.backend.task["status"], sandbox.backend.task["assignee"]) == ("TODO", ME)


@pytest.mark.requirement("CX-70", "CX-122")
def test_what_the_backend_did_is_taken_back_when_the_command_is_ended(
    sandbox: GitSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(sandbox, "switch", monkeypatch, is_before=True)
    with pytest.raises(Broken):
        sandbox.start()
    assert sandbox.backend.task["status"] == "TODO"


@pytest.mark.requirement("CX-70")
def test_a_local_base_that_is_behind_is_no_matter(sandbox: GitSandbox) -> None:
    sandbox.someone_pushes()
    assert "warnings" not in sandbox.start()


@pytest.mark.requirement("CX-70")
def test_a_branch_with_more_than_the_remote_is_no_matter(started: GitSandbox) -> None:
    started.git("push", "--quiet", "origin", BRANCH)
    started.commit()
    assert "warnings" not in started.start()


@pytest.mark.requirement("CX-70")
def test_the_error_says_when_nothing_could_be_taken_back(sandbox: GitSandbox) -> None:
    block_switch(sandbox)
    answers = iter([None, None])  # to the first question and the first change
    sandbox.backend.intercept = lambda _asked: next(answers, problem(503, "Unavailable"))
    with pytest.raises(CortexError) as caught:
        sandbox.start()
    assert caught.value.details["rolled_back"] is False
    sandbox.backend.intercept = lambda _asked: None
    (sandbox.here / ".git" / "refs" / "heads" / "bug").unlink()
    assert sandbox.start()["created"] is True
    assert sandbox.backend.history == ["IN_PROGRESS"]


def lose_answers(sandbox: GitSandbox, *changes: int) -> None:
    """Let the answers to these changes, by their number, get lost after the backend made them."""

    def patch(asked: StubRequest) -> StubReply:
        made = sandbox.backend._patch(asked)  # noqa: SLF001 - the change is made all the same
        return StubReply(0) if sandbox.backend.changes in changes else made

    sandbox.backend.server.answers["PATCH /tasks/42"] = patch


@pytest.mark.parametrize(("lost", "is_back"), [((1,), True), ((2,), True), ((1, 3), True)])
@pytest.mark.requirement("CX-70")
def test_the_error_knows_the_truth_when_an_answer_of_the_backend_was_lost(
    sandbox: GitSandbox, lost: tuple[int, ...], *, is_back: bool
) -> None:
    block_switch(sandbox)
    lose_answers(sandbox, *lost)
    with pytest.raises(CortexError) as caught:
        sandbox.start()
    assert caught.value.details["rolled_back"] is is_back
    assert sandbox.backend.task["status"] == "TODO"


@pytest.mark.requirement("CX-70")
def test_what_somebody_else_changed_meanwhile_is_not_taken_back(sandbox: GitSandbox) -> None:
    block_switch(sandbox)

    def patch(asked: StubRequest) -> StubReply:
        made = sandbox.backend._patch(asked)  # noqa: SLF001 - the change is made all the same
        if sandbox.backend.changes == 1:
            sandbox.backend.set(priority="LOW")
            return StubReply(0)
        return made

    sandbox.backend.server.answers["PATCH /tasks/42"] = patch
    with pytest.raises(CortexError) as caught:
        sandbox.start()
    assert (caught.value.details["rolled_back"], sandbox.backend.task["status"]) == (False, "IN_PROGRESS")


@pytest.mark.requirement("CX-41", "CX-102")
def test_a_name_of_a_branch_from_the_backend_is_not_trusted(sandbox: GitSandbox) -> None:
    for name in ("--upload-pack=x", "../x", "bug/task-7-other", "bug/task-42-x\n", "main"):
        sandbox.backend.set(branch_name=name)
        before = sandbox.state()
        with pytest.raises(CortexError) as caught:
            sandbox.start()
        assert caught.value.code == "BackendError"
        assert sandbox.state() == before


@pytest.mark.requirement("CX-42")
def test_a_task_of_another_repository_is_refused(sandbox: GitSandbox) -> None:
    sandbox.backend.task["project"]["repository_url"] = "https://git.example.org/team/web"
    before = sandbox.state()
    with pytest.raises(CortexError) as caught:
        sandbox.start()
    assert caught.value.code == "WrongRepository"
    assert sandbox.state() == before


@pytest.mark.requirement("CX-42")
def test_a_task_without_a_repository_does_not_start_in_that_of_another_project(sandbox: GitSandbox) -> None:
    sandbox.git("remote", "set-url", "origin", "git@git.example.org:team/web.git")
    sandbox.git("config", "core.sshCommand", "false")
    other = {"id": 9, "name": "Secret", "repository_url": "https://git.example.org/team/web", "default_branch": "main"}
    listing = {"projects": [sandbox.backend.task["project"], other], "total": 2}
    sandbox.backend.server.say("GET /projects/", listing)
    before = sandbox.state()
    with raises_code("WrongRepository", match="Secret"):
        sandbox.start()
    assert sandbox.state() == before
    listing["projects"] = [{**other, "repository_url": "https://git.example.org/team/other"}]
    assert sandbox.start()["success"] is True


@pytest.mark.requirement("CX-42")
@pytest.mark.parametrize("url", ["git@Git.Example.org:team/web.git", "ssh://me@git.example.org/team/web/"])
def test_the_same_repository_by_another_url_is_not_another_one(sandbox: GitSandbox, url: str) -> None:
    sandbox.backend.task["project"]["repository_url"] = "https://git.example.org/team/web"
    sandbox.git("remote", "set-url", "origin", url)
    sandbox.git("config", "core.sshCommand", "false")
    assert any("not fetched" in warning for warning in sandbox.start()["warnings"])


@pytest.mark.requirement("CX-70")
def test_a_hook_after_the_checkout_is_a_warning(sandbox: GitSandbox) -> None:
    hook = sandbox.here / ".git" / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    assert "hook failed: no" in sandbox.start()["warnings"][0]
    assert git(sandbox.here, "symbolic-ref", "--short", "HEAD") == BRANCH


@pytest.mark.requirement("CX-70")
def test_a_clone_of_one_branch_finds_the_branch_of_the_task_too(sandbox: GitSandbox) -> None:
    theirs = sandbox.someone_pushes(BRANCH)
    sandbox.git("config", "remote.origin.fetch", "+refs/heads/main:refs/remotes/origin/main")
    answer = sandbox.start()
    assert (answer["created"], sandbox.git("rev-parse", "HEAD")) == (False, theirs)

"""``ctx tasks start``: the backend first, then git, and neither without the other (CX-70, CX-71)."""

from __future__ import annotations

import pytest

from cortex_cli.errors import CortexError, InvalidUsage
from cortex_cli.git_errors import RepositoryError
from tests.cortex_cli.board import OTHER
from tests.cortex_cli.stand_in import Asked, Said, problem
from tests.cortex_cli.test_submit import Broken, fail_at
from tests.cortex_cli.workshop import BRANCH, Workshop, git, raises_code

ME = {"id": 7, "name": "Ada"}


@pytest.mark.requirement("CX-70", "CX-71", "CX-41")
def test_a_started_task_is_mine_and_its_branch_is_checked_out(workshop: Workshop) -> None:
    answer = workshop.start()
    assert {name: answer[name] for name in answer if name != "task"} == {
        "success": True,
        "task_id": 42,
        "branch": BRANCH,
        "created": True,
        "status": "IN_PROGRESS",
        "base": "main",
        "directory": str(workshop.here),
    }
    assert answer["task"]["assignee"] == ME
    assert workshop.board.task["branch_name"] == BRANCH
    assert workshop.git("symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert workshop.git("config", f"branch.{BRANCH}.merge", check=False) == ""
    assert "warnings" not in answer


@pytest.mark.requirement("CX-70")
def test_a_branch_starts_at_what_the_remote_has_now(workshop: Workshop) -> None:
    theirs = workshop.someone_pushes()
    workshop.start()
    assert workshop.git("rev-parse", "HEAD") == theirs


@pytest.mark.requirement("CX-68", "CX-70")
def test_an_ignored_file_is_not_overwritten(workshop: Workshop) -> None:
    workshop.someone_pushes(name="notes")
    (workshop.here / ".git" / "info" / "exclude").write_text("notes\n")
    (workshop.here / "notes").write_text("mine\n")
    with pytest.raises(RepositoryError) as caught:
        workshop.start()
    assert caught.value.details["rolled_back"] is True
    assert "notes" in str(caught.value.details["git"])
    assert (workshop.here / "notes").read_text() == "mine\n"


@pytest.mark.requirement("CX-70")
def test_starting_again_switches_and_makes_no_event(started: Workshop) -> None:
    started.git("switch", "--quiet", "main")
    for _ in range(2):
        answer = started.start()
        assert (answer["created"], answer["branch"]) == (False, BRANCH)
    assert started.git("symbolic-ref", "--short", "HEAD") == BRANCH
    assert started.board.history == ["IN_PROGRESS"]


@pytest.mark.requirement("CX-70")
def test_a_task_in_review_goes_back_to_progress(workshop: Workshop) -> None:
    workshop.board.set(status="REVIEW", assignee=ME, branch_name=BRANCH)
    assert workshop.start()["status"] == "IN_PROGRESS"


@pytest.mark.requirement("CX-70")
def test_a_closed_task_is_not_started(workshop: Workshop) -> None:
    for status in ("DONE", "CANCELED"):
        workshop.board.set(status=status)
        before = workshop.state()
        with pytest.raises(CortexError, match="ctx tasks edit") as caught:
            workshop.start()
        assert caught.value.code == "InvalidTransition"
        assert workshop.state() == before


@pytest.mark.requirement("CX-13", "CX-70")
def test_the_task_of_somebody_else_is_not_started(workshop: Workshop) -> None:
    workshop.board.set(assignee=OTHER)
    before = workshop.state()
    with pytest.raises(CortexError) as caught:
        workshop.start()
    assert caught.value.code == "AssignedToOther"
    assert workshop.state() == before


@pytest.mark.requirement("CX-95")
def test_an_unknown_task_changes_nothing(workshop: Workshop) -> None:
    workshop.board.intercept = lambda _asked: problem(404, "NotFound")
    before = workshop.state()
    with raises_code("TaskNotFound"):
        workshop.start()
    assert workshop.state() == before


@pytest.mark.requirement("CX-70")
def test_a_branch_can_start_elsewhere(workshop: Workshop) -> None:
    first = workshop.git("rev-parse", "HEAD")
    workshop.commit()
    workshop.git("push", "--quiet")
    workshop.start(source=first)
    assert workshop.git("rev-parse", "HEAD") == first


@pytest.mark.requirement("CX-70")
def test_a_branch_can_start_here(workshop: Workshop) -> None:
    mine = workshop.commit()
    workshop.start(is_here=True)
    assert workshop.git("rev-parse", "HEAD") == mine


@pytest.mark.requirement("CX-70", "CX-103")
def test_a_start_at_what_is_not_a_commit_is_refused(workshop: Workshop) -> None:
    before = workshop.state()
    for source in ("nope", "--exec=x", "-x", "HEAD:README", ""):
        with pytest.raises(InvalidUsage):
            workshop.start(source=source)
    assert workshop.state() == before


@pytest.mark.requirement("CX-70")
def test_a_task_that_changes_meanwhile_is_looked_at_once_more(workshop: Workshop) -> None:
    def change(asked: Asked) -> Said | None:
        if asked.method == "PATCH" and workshop.board.changes == 1:
            workshop.board.set(title="Other title")
        return None

    workshop.board.intercept = change
    assert workshop.start()["branch"] == "bug/task-42-other-title"
    assert workshop.board.changes == 2


@pytest.mark.requirement("CX-70")
def test_a_task_that_somebody_takes_meanwhile_is_not_started(workshop: Workshop) -> None:
    def take(asked: Asked) -> Said | None:
        if asked.method == "PATCH":
            workshop.board.set(assignee=OTHER)
        return None

    workshop.board.intercept = take
    with pytest.raises(CortexError):
        workshop.start()
    assert workshop.git("branch", "--list", BRANCH) == ""


@pytest.mark.requirement("CX-70")
def test_a_refusal_of_the_backend_leaves_git_alone(workshop: Workshop) -> None:
    workshop.board.intercept = lambda asked: problem(403, "Forbidden") if asked.method == "PATCH" else None
    before = workshop.state()
    with pytest.raises(CortexError) as caught:
        workshop.start()
    assert caught.value.code == "Forbidden"
    assert workshop.state() == before


def block_switch(workshop: Workshop) -> None:
    """Let git fail when it creates the branch, although nothing showed before that it would."""
    (workshop.here / ".git" / "refs" / "heads" / "bug").write_text("in the way")


@pytest.mark.requirement("CX-70")
def test_what_the_backend_did_is_taken_back_when_git_fails(workshop: Workshop) -> None:
    block_switch(workshop)
    with pytest.raises(RepositoryError) as caught:
        workshop.start()
    assert caught.value.details["rolled_back"] is True
    task = workshop.board.task
    assert (task["status"], task["branch_name"], task["assignee"]) == ("TODO", None, None)


@pytest.mark.requirement("CX-70")
def test_a_task_that_was_mine_stays_mine_when_git_fails(workshop: Workshop) -> None:
    workshop.board.set(assignee=ME)
    block_switch(workshop)
    with pytest.raises(RepositoryError):
        workshop.start()
    assert (workshop.board.task["status"], workshop.board.task["assignee"]) == ("TODO", ME)


@pytest.mark.requirement("CX-70", "CX-122")
def test_what_the_backend_did_is_taken_back_when_the_command_is_ended(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(workshop, "switch", monkeypatch, is_before=True)
    with pytest.raises(Broken):
        workshop.start()
    assert workshop.board.task["status"] == "TODO"


@pytest.mark.requirement("CX-70")
def test_a_local_base_that_is_behind_is_no_matter(workshop: Workshop) -> None:
    workshop.someone_pushes()
    assert "warnings" not in workshop.start()


@pytest.mark.requirement("CX-70")
def test_a_branch_with_more_than_the_remote_is_no_matter(started: Workshop) -> None:
    started.git("push", "--quiet", "origin", BRANCH)
    started.commit()
    assert "warnings" not in started.start()


@pytest.mark.requirement("CX-70")
def test_the_error_says_when_nothing_could_be_taken_back(workshop: Workshop) -> None:
    block_switch(workshop)
    changes = iter([None, problem(503, "Unavailable"), problem(503, "Unavailable")])
    workshop.board.intercept = lambda asked: next(changes) if asked.method == "PATCH" else None
    with pytest.raises(RepositoryError) as caught:
        workshop.start()
    assert caught.value.details["rolled_back"] is False
    (workshop.here / ".git" / "refs" / "heads" / "bug").unlink()
    assert workshop.start()["created"] is True
    assert workshop.board.history == ["IN_PROGRESS"]


@pytest.mark.requirement("CX-41", "CX-102")
def test_a_name_of_a_branch_from_the_backend_is_not_trusted(workshop: Workshop) -> None:
    for name in ("--upload-pack=x", "../x", "bug/task-7-other", "bug/task-42-x\n", "main"):
        workshop.board.set(branch_name=name)
        before = workshop.state()
        with pytest.raises(CortexError) as caught:
            workshop.start()
        assert caught.value.code == "BackendError"
        assert workshop.state() == before


@pytest.mark.requirement("CX-42")
def test_a_task_of_another_repository_is_refused(workshop: Workshop) -> None:
    workshop.board.task["project"]["repository_url"] = "https://git.example.org/team/web"
    before = workshop.state()
    with pytest.raises(RepositoryError) as caught:
        workshop.start()
    assert caught.value.code == "WrongRepository"
    assert workshop.state() == before


@pytest.mark.requirement("CX-42")
@pytest.mark.parametrize("url", ["git@Git.Example.org:team/web.git", "ssh://me@git.example.org/team/web/"])
def test_the_same_repository_by_another_url_is_not_another_one(workshop: Workshop, url: str) -> None:
    workshop.board.task["project"]["repository_url"] = "https://git.example.org/team/web"
    workshop.git("remote", "set-url", "origin", url)
    workshop.git("config", "core.sshCommand", "false")
    assert any("not fetched" in warning for warning in workshop.start()["warnings"])


@pytest.mark.requirement("CX-70")
def test_a_hook_after_the_checkout_is_a_warning(workshop: Workshop) -> None:
    hook = workshop.here / ".git" / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    assert "hook failed: no" in workshop.start()["warnings"][0]
    assert git(workshop.here, "symbolic-ref", "--short", "HEAD") == BRANCH


@pytest.mark.requirement("CX-70")
def test_a_clone_of_one_branch_finds_the_branch_of_the_task_too(workshop: Workshop) -> None:
    theirs = workshop.someone_pushes(BRANCH)
    workshop.git("config", "remote.origin.fetch", "+refs/heads/main:refs/remotes/origin/main")
    answer = workshop.start()
    assert (answer["created"], workshop.git("rev-parse", "HEAD")) == (False, theirs)

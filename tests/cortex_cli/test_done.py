"""``ctx tasks done``: only merged work is done, and nothing unmerged is deleted (CX-75 to CX-77)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex_cli.errors import CortexError
from cortex_cli.models import Settings
from tests.cortex_cli.git_sandbox import BRANCH, GitSandbox, raises_code
from tests.cortex_cli.stub_server import StubRequest, problem
from tests.cortex_cli.test_submit import Broken, fail_at


@pytest.mark.parametrize(("how", "merged_by"), [("merge", "ancestor"), ("squash", "patch"), ("rebase", "patch")])
@pytest.mark.requirement("CX-75", "CX-76", "CX-77")
def test_merged_work_is_done_and_its_branch_goes(submitted: GitSandbox, how: str, merged_by: str) -> None:
    submitted.someone_pushes(name="before")
    submitted.merge_at_remote(how=how)
    submitted.someone_pushes(name="after")
    assert submitted.done() == {
        "success": True,
        "task_id": 42,
        "status": "DONE",
        "merged_by": merged_by,
        "base": "main",
        "deleted": {"local": True, "remote": False, "worktree": False},
    }
    assert submitted.backend.task["pull_request"]["state"] == "merged"
    assert submitted.git("branch", "--format=%(refname:short)") == "main"
    assert submitted.git("rev-parse", "main") == submitted.at_remote("rev-parse", "main")


@pytest.mark.requirement("CX-76")
@pytest.mark.parametrize("how", ["nothing", "push", "pull", "reopened"])
def test_a_branch_without_a_commit_of_its_own_is_not_done_unless_a_person_forces_it(
    started: GitSandbox, how: str
) -> None:
    if how == "push":
        started.git("push", "--quiet", "origin", BRANCH)
    elif how == "pull":
        started.someone_pushes()
        started.git("pull", "--quiet", "--ff-only", "origin", "main")
    elif how == "reopened":
        started.backend.set(pull_request={"forge": "none", "state": "merged", "head_sha": "f" * 40, "base": "main"})
    before = started.state()
    with raises_code("NothingToSubmit"):
        started.done()
    assert started.state() == before
    answer = started.done(is_forced=True)
    assert (answer["merged_by"], answer["deleted"]["local"]) == ("forced", False)


@pytest.mark.parametrize("how", ["forward", "merge"])
@pytest.mark.requirement("CX-76")
def test_work_that_was_merged_by_hand_without_being_submitted_is_done(worked: GitSandbox, how: str) -> None:
    worked.git("push", "--quiet", "origin", f"{BRANCH}:{'main' if how == 'forward' else BRANCH}")
    if how == "merge":
        worked.merge_at_remote()
    assert worked.done()["merged_by"] == "ancestor"


@pytest.mark.requirement("CX-80")
def test_a_wrong_setting_of_the_forge_is_not_passed_over(submitted: GitSandbox) -> None:
    submitted.backend.task["pull_request"] |= {"number": 1, "forge": "github"}
    submitted.git("config", "cortex.forge", "svn")
    before = submitted.state()
    with pytest.raises(CortexError, match=r"cortex\.forge must be one of"):
        submitted.done()
    assert submitted.state() == before


@pytest.mark.requirement("CX-76")
def test_work_that_is_not_merged_is_not_done(submitted: GitSandbox) -> None:
    before = submitted.state()
    with raises_code("NotMerged") as caught:
        submitted.done()
    assert caught.value.details["state"] == "open"
    assert submitted.state() == before


@pytest.mark.parametrize("how", ["merge", "squash"])
@pytest.mark.requirement("CX-76", "CX-104")
def test_work_that_is_merged_in_part_is_not_done(submitted: GitSandbox, how: str) -> None:
    submitted.merge_at_remote(how=how)
    submitted.commit("three", "three\n", "Three")
    with raises_code("NotMerged"):
        submitted.done()
    assert submitted.backend.task["status"] == "REVIEW"


@pytest.mark.requirement("CX-76", "CX-104")
def test_work_in_a_merge_commit_is_not_merged_with_the_other_commits(submitted: GitSandbox) -> None:
    submitted.someone_pushes()
    submitted.git("fetch", "--quiet")
    submitted.git("merge", "--quiet", "--no-commit", "origin/main")
    (submitted.here / "resolution").write_text("work\n")
    submitted.git("add", "resolution")
    submitted.git("commit", "--quiet", "-m", "Merge")
    submitted.merge_at_remote(how="rebase")  # of what was pushed: the two commits before the merge
    with raises_code("NotMerged"):
        submitted.done()
    assert (submitted.here / "resolution").exists()


@pytest.mark.requirement("CX-76", "CX-104")
def test_a_commit_that_comes_while_the_task_is_finished_keeps_its_branch(submitted: GitSandbox) -> None:
    submitted.merge_at_remote()

    def commit_meanwhile(asked: StubRequest) -> None:
        if asked.method == "PATCH":
            submitted.commit("late", "late\n", "Late")

    submitted.backend.intercept = commit_meanwhile
    answer = submitted.done()
    assert (answer["status"], answer["deleted"]["local"]) == ("DONE", False)
    assert "has commits that came meanwhile" in answer["warnings"][0]
    assert submitted.git("show", f"{BRANCH}:late") == "late"


@pytest.mark.parametrize("is_base_here", [True, False])
@pytest.mark.requirement("CX-75")
def test_an_ignored_file_is_not_overwritten_when_the_base_is_checked_out(
    submitted: GitSandbox, *, is_base_here: bool
) -> None:
    submitted.someone_pushes(name="notes")
    submitted.merge_at_remote()
    if not is_base_here:
        submitted.git("branch", "-D", "main")
    (submitted.here / ".git" / "info" / "exclude").write_text("notes\n")
    (submitted.here / "notes").write_text("mine\n")
    answer = submitted.done()
    assert answer["status"] == "DONE"
    assert len(answer["warnings"]) == 1
    assert (submitted.here / "notes").read_text() == "mine\n"


@pytest.mark.requirement("CX-76")
def test_a_branch_of_another_history_is_not_merged(submitted: GitSandbox) -> None:
    submitted.git("checkout", "--quiet", "--orphan", "new")
    submitted.git("commit", "--quiet", "-m", "Other history")
    submitted.git("branch", "--force", BRANCH)
    submitted.git("checkout", "--quiet", BRANCH)
    with raises_code("NotMerged"):
        submitted.done()


@pytest.mark.requirement("CX-76")
def test_a_branch_whose_changes_cancel_out_is_not_merged_by_patch(started: GitSandbox) -> None:
    started.commit("README", "Changed\n")
    started.commit("README", "Hello\n")
    with raises_code("NotMerged"):
        started.done()


@pytest.mark.requirement("CX-76")
def test_a_person_finishes_work_that_is_not_merged_and_keeps_its_branch(submitted: GitSandbox) -> None:
    answer = submitted.done(is_forced=True)
    assert (answer["merged_by"], answer["deleted"]["local"]) == ("forced", False)
    assert submitted.backend.task["pull_request"]["state"] == "open"
    assert submitted.git("branch", "--list", BRANCH) == BRANCH


@pytest.mark.requirement("CX-76")
def test_without_a_remote_a_person_finishes_the_task(worked: GitSandbox) -> None:
    worked.git("remote", "remove", "origin")
    answer = worked.done(is_forced=True)
    assert (answer["merged_by"], worked.git("symbolic-ref", "--short", "HEAD")) == ("forced", "main")


@pytest.mark.requirement("CX-12", "CX-75")
def test_a_task_that_nobody_works_on_is_not_done(submitted: GitSandbox) -> None:
    for status in ("TODO", "CANCELED"):
        submitted.backend.set(status=status)
        before = submitted.state()
        with pytest.raises(CortexError) as caught:
            submitted.done()
        assert caught.value.code == "InvalidTransition"
        assert submitted.state() == before


@pytest.mark.requirement("CX-75")
def test_the_branch_on_the_remote_goes_when_the_settings_say_so(submitted: GitSandbox) -> None:
    submitted.settings = Settings(delete_remote_on_done=True)
    submitted.merge_at_remote()
    assert submitted.done()["deleted"] == {"local": True, "remote": True, "worktree": False}
    assert submitted.at_remote("branch", "--format=%(refname:short)") == "main"


@pytest.mark.requirement("CX-75")
def test_a_branch_that_the_forge_deleted_is_not_deleted_again(submitted: GitSandbox) -> None:
    submitted.settings = Settings(delete_remote_on_done=True)
    submitted.merge_at_remote()
    submitted.at_remote("branch", "-D", BRANCH)
    answer = submitted.done()
    assert answer["deleted"]["remote"] is False
    assert "warnings" not in answer


@pytest.mark.requirement("CX-76")
def test_a_branch_with_more_on_the_remote_stays_there(submitted: GitSandbox) -> None:
    submitted.settings = Settings(delete_remote_on_done=True)
    submitted.merge_at_remote()
    theirs = submitted.someone_pushes(BRANCH)
    answer = submitted.done()
    assert answer["deleted"]["remote"] is False
    assert "was not deleted" in answer["warnings"][0]
    assert submitted.at_remote("rev-parse", BRANCH) == theirs


@pytest.mark.parametrize("settings", [Settings(delete_local_on_done=False), Settings()])
@pytest.mark.requirement("CX-75")
def test_the_branch_stays_when_the_user_wants_it(submitted: GitSandbox, settings: Settings) -> None:
    submitted.settings = settings
    submitted.merge_at_remote()
    answer = submitted.done(keeps_branch=settings.delete_local_on_done)
    assert answer["deleted"]["local"] is False
    assert submitted.git("branch", "--list", BRANCH) == BRANCH


@pytest.mark.requirement("CX-75")
def test_a_base_that_is_not_here_is_made(submitted: GitSandbox) -> None:
    submitted.git("branch", "-D", "main")
    submitted.merge_at_remote()
    submitted.done()
    assert submitted.git("rev-parse", "--abbrev-ref", "main@{upstream}") == "origin/main"


@pytest.mark.requirement("CX-75")
def test_a_base_that_another_work_tree_has_is_named_and_the_branch_stays(submitted: GitSandbox, tmp_path: Path) -> None:
    submitted.merge_at_remote()
    submitted.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "main")
    answer = submitted.done()
    assert (answer["status"], answer["deleted"]["local"]) == ("DONE", False)
    assert answer["warnings"] == [
        f"'main' is checked out in {tmp_path / 'tree'}, so this work tree stays on '{BRANCH}', which was not deleted."
    ]
    assert submitted.git("symbolic-ref", "--short", "HEAD") == BRANCH


@pytest.mark.requirement("CX-75", "CX-95")
def test_a_warning_quotes_what_git_said(submitted: GitSandbox) -> None:
    submitted.merge_at_remote()

    def block(asked: StubRequest) -> None:
        if asked.method == "PATCH":
            (submitted.here / ".git" / "index.lock").touch()

    submitted.backend.intercept = block
    (warning,) = submitted.done()["warnings"]
    assert warning.startswith("The task is done, but not everything was tidied up: ")
    assert "details.git" not in warning


@pytest.mark.parametrize(
    ("step", "is_before"), [("fetch", False), ("PATCH", True), ("PATCH", False), ("switch", True), ("switch", False)]
)
@pytest.mark.requirement("CX-75", "CX-122")
def test_finishing_again_after_a_failure_finishes(
    submitted: GitSandbox, step: str, monkeypatch: pytest.MonkeyPatch, *, is_before: bool
) -> None:
    submitted.merge_at_remote()
    with monkeypatch.context() as patch:
        fail_at(submitted, step, patch, is_before=is_before)
        with pytest.raises((Broken, CortexError)):
            submitted.done()
    submitted.backend.intercept = lambda _asked: None
    submitted.done()
    assert submitted.git("branch", "--format=%(refname:short)") == "main"
    assert submitted.backend.history == ["IN_PROGRESS", "REVIEW", "DONE"]


@pytest.mark.parametrize("reason", ["open", "changed", "elsewhere", "unknown", "gone"])
@pytest.mark.requirement("CX-68", "CX-75")
def test_a_branch_left_before_is_not_finished_unless_its_task_is_done(submitted: GitSandbox, reason: str) -> None:
    submitted.merge_at_remote()
    submitted.backend.set(status="REVIEW" if reason == "open" else "DONE")
    submitted.git("switch", "--quiet", *(["-c", "other"] if reason == "elsewhere" else ["main"]))
    if reason == "changed":
        (submitted.here / "README").write_text("Changed\n", "utf-8")
    elif reason == "unknown":
        submitted.backend.intercept = lambda _asked: problem(404, "NotFound")
    elif reason == "gone":
        submitted.git("branch", "-D", BRANCH)
    before = submitted.state()
    with raises_code("NotATaskBranch"):
        submitted.done()
    assert submitted.state() == before


@pytest.mark.requirement("CX-76", "CX-104")
def test_a_branch_left_before_that_is_not_merged_stays(submitted: GitSandbox) -> None:
    submitted.done(is_forced=True)
    with raises_code("NotMerged"):
        submitted.done()
    assert submitted.git("branch", "--list", BRANCH).strip() == BRANCH


@pytest.mark.requirement("CX-68", "CX-75")
def test_a_remote_that_does_not_answer_in_time_is_out_of_reach(
    submitted: GitSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted.git("remote", "set-url", "origin", "ssh://example.invalid/x")
    submitted.git("config", "core.sshCommand", "sleep 1000 #")
    monkeypatch.setattr("cortex_cli.flows.repository_state._FETCH_SECONDS", 0.5)
    before = submitted.state()
    with pytest.raises(CortexError) as caught:
        submitted.done()
    assert caught.value.code == "GitNetwork"
    assert submitted.state() == before

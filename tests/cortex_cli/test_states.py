"""Every cell of the table of CX-68, with a real repository: each state, and what each command makes of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex_cli.errors import CortexError
from tests.cortex_cli.git_sandbox import BRANCH, GitSandbox, git

pytestmark = pytest.mark.requirement("CX-68")

Prepare = Callable[[GitSandbox], None]

REFUSING = ("start", "pr", "done")


def refused(sandbox: GitSandbox, command: str) -> CortexError:
    """Return the error of a command, which has changed nothing."""
    (error,) = all_refused(sandbox, command)
    return error


def all_refused(sandbox: GitSandbox, *commands: str) -> list[CortexError]:
    """Return the errors of commands, which have changed nothing."""
    before, errors = sandbox.state(), list[CortexError]()
    for command in commands:
        with pytest.raises(CortexError) as caught:
            getattr(sandbox, command)(**({"message": "Work"} if command == "pr" else {}))
        assert sandbox.state() == before, command
        errors.append(caught.value)
    return errors


def conflict(sandbox: GitSandbox) -> None:
    """Make two branches that do not merge; ``theirs`` is the other one."""
    sandbox.git("checkout", "--quiet", "-b", "theirs")
    sandbox.commit("README", "Theirs\n")
    sandbox.git("checkout", "--quiet", "-")
    sandbox.commit("README", "Mine\n")


# no git · not a repository, bare, dubious owner


def test_without_git_nothing_works(sandbox: GitSandbox, tmp_path: Path) -> None:
    sandbox.environment["PATH"] = str(tmp_path)
    for command in (*REFUSING, "status"):
        with pytest.raises(CortexError) as caught:
            getattr(sandbox, command)()
        assert (caught.value.code, caught.value.exit_code) == ("GitMissing", 6)


@pytest.mark.parametrize("kind", ["outside", "bare", "folder of git", "missing", "dubious"])
def test_outside_a_work_tree_nothing_works(sandbox: GitSandbox, kind: str, tmp_path: Path) -> None:
    folders = {
        "outside": tmp_path,
        "bare": sandbox.there,
        "folder of git": sandbox.here / ".git",
        "missing": tmp_path / "x",
    }
    sandbox.here = folders.get(kind, sandbox.here)
    if kind == "dubious":
        sandbox.environment["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"
    for command in (*REFUSING, "status"):
        with pytest.raises(CortexError, match=r"^Not in a git repository") as caught:
            getattr(sandbox, command)()
        assert (f"safe.directory {sandbox.here}'" in caught.value.message) is (kind == "dubious")
        assert (caught.value.code, sandbox.backend.changes) == ("NotARepository", 0)


# no commit yet


@pytest.fixture
def empty(sandbox: GitSandbox) -> GitSandbox:
    sandbox.here = sandbox.here.with_name("empty")
    git(sandbox.there.parent, "init", "--quiet", "--initial-branch=main", str(sandbox.here))
    git(sandbox.here, "remote", "add", "origin", str(sandbox.there))
    return sandbox


def test_a_repository_without_a_commit_is_refused_and_reported_by_status(empty: GitSandbox) -> None:
    assert {error.code for error in all_refused(empty, *REFUSING)} == {"EmptyRepository"}
    answer = empty.status()
    assert (answer["current_branch"], answer["git"]["head"], answer["next"]) == ("main", None, "start_task")


# merge, rebase, cherry-pick, revert, bisect going on


def begin_merge(sandbox: GitSandbox) -> None:
    conflict(sandbox)
    sandbox.git("merge", "theirs", check=False)


def begin_rebase(sandbox: GitSandbox) -> None:
    conflict(sandbox)
    sandbox.git("rebase", "theirs", check=False)


def begin_cherry_pick(sandbox: GitSandbox) -> None:
    conflict(sandbox)
    sandbox.git("cherry-pick", "theirs", check=False)


def begin_revert(sandbox: GitSandbox) -> None:
    sandbox.commit("README", "One\n")
    sandbox.commit("README", "Two\n")
    sandbox.git("revert", "--no-edit", "HEAD~1", check=False)


def begin_bisect(sandbox: GitSandbox) -> None:
    sandbox.git("bisect", "start")


OPERATIONS: dict[str, Prepare] = {
    "merge": begin_merge,
    "rebase": begin_rebase,
    "cherry-pick": begin_cherry_pick,
    "revert": begin_revert,
    "bisect": begin_bisect,
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_unfinished_operation_is_refused_and_reported_by_status(started: GitSandbox, operation: str) -> None:
    OPERATIONS[operation](started)
    for error in all_refused(started, *(REFUSING if operation == "merge" else ["start"])):
        assert (error.code, error.details["operation"]) == ("OperationInProgress", operation)
    answer = started.status()
    assert (answer["git"]["operation"], answer["current_branch"], answer["task_id"]) == (operation, BRANCH, 42)
    assert (answer["next"], answer["warnings"][0][: len(operation) + 2]) == (None, f"A {operation}")


def test_a_rebase_of_a_detached_head_has_no_branch(sandbox: GitSandbox) -> None:
    conflict(sandbox)
    detach(sandbox)
    sandbox.git("rebase", "theirs", check=False)
    assert sandbox.status()["current_branch"] is None


# unmerged paths


def test_unmerged_files_are_refused_and_counted_by_status(started: GitSandbox) -> None:
    conflict(started)
    started.git("merge", "--squash", "theirs", check=False)
    for error in all_refused(started, *REFUSING):
        assert (error.code, error.details["files"]) == ("MergeConflicts", ["README"])
    counted = started.status()["git"]
    assert (counted["conflicted"], counted["dirty"]) == (1, True)


# index.lock held


def test_a_locked_index_is_refused_with_its_path_and_age_but_not_by_status(worked: GitSandbox) -> None:
    lock = worked.here / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (time.time() - 100, time.time() - 100))
    for error in all_refused(worked, *REFUSING):
        assert (error.code, error.details["path"]) == ("GitLocked", str(lock))
        assert 100 <= int(str(error.details["age"])) < 1000
    assert lock.exists()
    assert worked.status()["success"] is True


# detached HEAD · other branch


def detach(sandbox: GitSandbox) -> None:
    sandbox.git("checkout", "--quiet", "--detach")


def test_a_detached_head_goes_on_when_nothing_is_lost(sandbox: GitSandbox) -> None:
    detach(sandbox)
    assert sandbox.start()["created"] is True


def test_a_detached_head_with_commits_on_no_branch_is_refused(sandbox: GitSandbox) -> None:
    detach(sandbox)
    head = sandbox.commit()
    error = refused(sandbox, "start")
    assert (error.code, error.details["head"]) == ("DetachedHead", head)


def test_commits_of_a_detached_head_are_kept_by_a_branch_that_starts_there(sandbox: GitSandbox) -> None:
    detach(sandbox)
    head = sandbox.commit()
    sandbox.start(is_here=True)
    assert sandbox.git("rev-parse", BRANCH) == head


def test_what_is_not_a_task_branch_is_refused_and_reported_by_status(sandbox: GitSandbox) -> None:
    answer = sandbox.status()
    assert (answer["current_branch"], answer["is_task_branch"], answer["next"]) == ("main", False, "start_task")
    assert {error.code for error in all_refused(sandbox, "pr", "done")} == {"NotATaskBranch"}
    detach(sandbox)
    assert {error.code for error in all_refused(sandbox, "pr", "done")} == {"NotATaskBranch"}
    answer = sandbox.status()
    assert (answer["current_branch"], answer["is_task_branch"], answer["task"]) == (None, False, None)


# changed tracked files


def test_changed_files_are_carried_along(sandbox: GitSandbox) -> None:
    (sandbox.here / "README").write_text("Changed\n")
    (sandbox.here / "new").write_text("untracked\n")
    answer = sandbox.start()
    assert answer["warnings"] == ["1 changed files were carried along to the branch."]
    assert (sandbox.here / "README").read_text() == "Changed\n"


@pytest.mark.parametrize("name", ["README", "theirs"], ids=["changed", "untracked"])
def test_files_that_git_would_overwrite_are_refused(sandbox: GitSandbox, name: str) -> None:
    sandbox.someone_pushes(name=name, text="Theirs\n")
    sandbox.git("fetch", "--quiet")
    (sandbox.here / name).write_text("Mine\n")
    error = refused(sandbox, "start")
    assert (error.code, error.details["files"]) == ("UncommittedChanges", [name])


def test_changes_without_a_message_are_not_submitted(worked: GitSandbox) -> None:
    (worked.here / "README").write_text("Changed\n")
    before = worked.state()
    with pytest.raises(CortexError) as caught:
        worked.pr()
    assert (caught.value.code, caught.value.details["files"]) == ("UncommittedChanges", ["README"])
    assert worked.state() == before


def test_changed_files_are_not_done_and_untracked_ones_do_not_matter(submitted: GitSandbox) -> None:
    submitted.merge_at_remote()
    submitted.git("fetch", "--quiet")
    (submitted.here / "README").write_text("Changed\n")
    (submitted.here / "new").write_text("untracked\n")
    assert refused(submitted, "done").code == "UncommittedChanges"
    (submitted.here / "README").write_text("Hello\n")
    assert submitted.done()["deleted"]["local"] is True
    assert (submitted.here / "new").exists()


def test_status_counts_changes(sandbox: GitSandbox) -> None:
    sandbox.commit("other", "other\n")
    (sandbox.here / "README").write_text("Changed\n")
    (sandbox.here / "other").write_text("Staged\n")
    sandbox.git("add", "other")
    (sandbox.here / "new").write_text("untracked\n")
    (sandbox.here / "with space\nand line").write_text("untracked\n")
    counted = sandbox.status()["git"]
    assert (counted["staged"], counted["unstaged"], counted["untracked"], counted["dirty"]) == (1, 1, 2, True)
    assert (counted["ahead"], counted["behind"], counted["upstream"]) == (1, 0, "origin/main")


# branch exists here · on the remote only · in another worktree


def test_a_branch_that_exists_is_switched_to_and_not_moved(sandbox: GitSandbox) -> None:
    sandbox.git("branch", BRANCH)
    tip = sandbox.git("rev-parse", BRANCH)
    sandbox.someone_pushes()
    answer = sandbox.start()
    assert (answer["created"], sandbox.git("rev-parse", "HEAD")) == (False, tip)


def test_a_branch_on_the_remote_is_tracked(sandbox: GitSandbox) -> None:
    theirs = sandbox.someone_pushes(BRANCH)
    answer = sandbox.start()
    assert (answer["created"], sandbox.git("rev-parse", "HEAD")) == (False, theirs)
    assert sandbox.git("rev-parse", "--abbrev-ref", "@{upstream}") == f"origin/{BRANCH}"


def test_a_branch_in_another_worktree_is_refused_with_its_path(sandbox: GitSandbox) -> None:
    other = sandbox.here.with_name("tree")
    sandbox.git("worktree", "add", "--quiet", "-b", BRANCH, str(other))
    error = refused(sandbox, "start")
    assert (error.code, error.details["path"]) == ("BranchElsewhere", str(other))


# branch is behind or has diverged


def push_and_fall_behind(sandbox: GitSandbox) -> None:
    sandbox.git("push", "--quiet", "--set-upstream", "origin", BRANCH)
    sandbox.someone_pushes(BRANCH)


def test_a_branch_that_is_behind_is_started_with_a_warning(worked: GitSandbox) -> None:
    push_and_fall_behind(worked)
    worked.git("switch", "--quiet", "main")
    assert worked.start()["warnings"] == ["The remote has 1 commits that the branch does not have."]


def test_a_branch_that_diverged_is_counted_and_started_with_a_warning_but_neither_pushed_nor_done(
    worked: GitSandbox,
) -> None:
    push_and_fall_behind(worked)
    worked.git("fetch", "--quiet")
    worked.commit("more")
    counted = worked.status()["git"]
    assert (counted["ahead"], counted["behind"]) == (1, 1)
    rejected, unmerged = all_refused(worked, "pr", "done")
    assert (rejected.code, rejected.exit_code, unmerged.code) == ("PushRejected", 6, "NotMerged")
    assert worked.start()["warnings"] == [
        "The remote has 1 commits that the branch does not have, and the branch has 1 that the remote does not have."
    ]


# no remote · remote unreachable


def remove_remote(sandbox: GitSandbox) -> None:
    sandbox.git("remote", "remove", "origin")


def lose_remote(sandbox: GitSandbox) -> None:
    sandbox.git("remote", "set-url", "origin", str(sandbox.there.with_name("gone.git")))


def test_without_a_remote_the_branch_starts_from_the_local_base(sandbox: GitSandbox) -> None:
    remove_remote(sandbox)
    mine = sandbox.commit()
    assert sandbox.start()["warnings"] == ["The repository has no remote, so the branch starts from the local base."]
    assert sandbox.git("rev-parse", "HEAD") == mine


def test_without_the_remote_the_branch_starts_from_the_last_known_base(sandbox: GitSandbox) -> None:
    lose_remote(sandbox)
    assert "last known base counts" in sandbox.start()["warnings"][0]


@pytest.mark.parametrize(
    ("prepare", "codes"), [(remove_remote, ["NoRemote", "NotMerged"]), (lose_remote, ["GitNetwork"] * 2)]
)
def test_without_a_remote_work_is_neither_submitted_nor_done(
    worked: GitSandbox, prepare: Prepare, codes: list[str]
) -> None:
    prepare(worked)
    assert [error.code for error in all_refused(worked, "pr", "done")] == codes
    answer = worked.status()
    assert answer["success"] is True
    assert ("has no remote" in str(answer.get("warnings"))) is (prepare is remove_remote)

"""Every cell of the table of CX-68, with a real repository: each state, and what each command makes of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cortex_cli.errors import CortexError
from tests.cortex_cli.workshop import BRANCH, Workshop, git

pytestmark = pytest.mark.requirement("CX-68")

Prepare = Callable[[Workshop], None]

REFUSING = ("start", "pr", "done")


def refused(workshop: Workshop, command: str, **options: Any) -> CortexError:  # noqa: ANN401
    """Return the error of a command, which has changed nothing."""
    before = workshop.state()
    with pytest.raises(CortexError) as caught:
        getattr(workshop, command)(**({"message": "Work"} if command == "pr" else {}), **options)
    assert workshop.state() == before
    return caught.value


def on_branch(workshop: Workshop) -> None:
    """Start the task, and commit something."""
    workshop.start()
    workshop.commit()


def conflict(workshop: Workshop) -> None:
    """Make two branches that do not merge; ``theirs`` is the other one."""
    workshop.git("checkout", "--quiet", "-b", "theirs")
    workshop.commit("README", "Theirs\n")
    workshop.git("checkout", "--quiet", "-")
    workshop.commit("README", "Mine\n")


# no git · not a repository, bare, dubious owner


@pytest.mark.parametrize("command", [*REFUSING, "status"])
def test_without_git_nothing_works(workshop: Workshop, command: str, tmp_path: Path) -> None:
    workshop.environment["PATH"] = str(tmp_path)
    with pytest.raises(CortexError) as caught:
        getattr(workshop, command)()
    assert (caught.value.code, caught.value.exit_code) == ("GitMissing", 6)


@pytest.mark.parametrize("command", [*REFUSING, "status"])
@pytest.mark.parametrize("kind", ["outside", "bare", "folder of git", "missing", "dubious"])
def test_outside_a_work_tree_nothing_works(workshop: Workshop, command: str, kind: str, tmp_path: Path) -> None:
    folders = {
        "outside": tmp_path,
        "bare": workshop.there,
        "folder of git": workshop.here / ".git",
        "missing": tmp_path / "x",
    }
    workshop.here, here = folders.get(kind, workshop.here), workshop.here
    if kind == "dubious":
        workshop.environment["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"
    with pytest.raises(CortexError, match=r"^Not in a git repository") as caught:
        getattr(workshop, command)()
    workshop.here = here
    assert (caught.value.code, workshop.board.changes) == ("NotARepository", 0)


# no commit yet


@pytest.fixture
def empty(workshop: Workshop) -> Workshop:
    workshop.here = workshop.here.with_name("empty")
    git(workshop.there.parent, "init", "--quiet", "--initial-branch=main", str(workshop.here))
    git(workshop.here, "remote", "add", "origin", str(workshop.there))
    return workshop


@pytest.mark.parametrize("command", REFUSING)
def test_a_repository_without_a_commit_is_refused(empty: Workshop, command: str) -> None:
    assert refused(empty, command).code == "EmptyRepository"


def test_status_reports_a_repository_without_a_commit(empty: Workshop) -> None:
    answer = empty.status()
    assert (answer["current_branch"], answer["git"]["head"], answer["next"]) == ("main", None, "start_task")


# merge, rebase, cherry-pick, revert, bisect going on


def begin_merge(workshop: Workshop) -> None:
    conflict(workshop)
    workshop.git("merge", "theirs", check=False)


def begin_rebase(workshop: Workshop) -> None:
    conflict(workshop)
    workshop.git("rebase", "theirs", check=False)


def begin_cherry_pick(workshop: Workshop) -> None:
    conflict(workshop)
    workshop.git("cherry-pick", "theirs", check=False)


def begin_revert(workshop: Workshop) -> None:
    workshop.commit("README", "One\n")
    workshop.commit("README", "Two\n")
    workshop.git("revert", "--no-edit", "HEAD~1", check=False)


def begin_bisect(workshop: Workshop) -> None:
    workshop.git("bisect", "start")


OPERATIONS: dict[str, Prepare] = {
    "merge": begin_merge,
    "rebase": begin_rebase,
    "cherry-pick": begin_cherry_pick,
    "revert": begin_revert,
    "bisect": begin_bisect,
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("command", REFUSING)
def test_an_unfinished_operation_is_refused(workshop: Workshop, command: str, operation: str) -> None:
    workshop.start()
    OPERATIONS[operation](workshop)
    error = refused(workshop, command)
    assert (error.code, error.details["operation"]) == ("OperationInProgress", operation)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_status_reports_an_unfinished_operation(workshop: Workshop, operation: str) -> None:
    workshop.start()
    OPERATIONS[operation](workshop)
    assert workshop.status()["git"]["operation"] == operation


# unmerged paths


def leave_unmerged(workshop: Workshop) -> None:
    workshop.start()
    conflict(workshop)
    workshop.git("merge", "--squash", "theirs", check=False)


@pytest.mark.parametrize("command", REFUSING)
def test_unmerged_files_are_refused(workshop: Workshop, command: str) -> None:
    leave_unmerged(workshop)
    error = refused(workshop, command)
    assert (error.code, error.details["files"]) == ("MergeConflicts", ["README"])


def test_status_reports_unmerged_files(workshop: Workshop) -> None:
    leave_unmerged(workshop)
    assert (workshop.status()["git"]["conflicted"], workshop.status()["git"]["dirty"]) == (1, True)


# index.lock held


@pytest.mark.parametrize("command", REFUSING)
def test_a_locked_index_is_refused_with_its_path_and_age(workshop: Workshop, command: str) -> None:
    on_branch(workshop)
    lock = workshop.here / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (time.time() - 100, time.time() - 100))
    error = refused(workshop, command)
    assert (error.code, error.details["path"]) == ("GitLocked", str(lock))
    assert 100 <= int(str(error.details["age"])) < 1000
    assert lock.exists()


def test_status_looks_at_a_locked_index(workshop: Workshop) -> None:
    (workshop.here / ".git" / "index.lock").touch()
    assert workshop.status()["success"] is True


# detached HEAD · other branch


def detach(workshop: Workshop) -> None:
    workshop.git("checkout", "--quiet", "--detach")


def test_a_detached_head_goes_on_when_nothing_is_lost(workshop: Workshop) -> None:
    detach(workshop)
    assert workshop.start()["created"] is True


def test_a_detached_head_with_commits_on_no_branch_is_refused(workshop: Workshop) -> None:
    detach(workshop)
    head = workshop.commit()
    error = refused(workshop, "start")
    assert (error.code, error.details["head"]) == ("DetachedHead", head)


def test_commits_of_a_detached_head_are_kept_by_a_branch_that_starts_there(workshop: Workshop) -> None:
    detach(workshop)
    head = workshop.commit()
    workshop.start(is_here=True)
    assert workshop.git("rev-parse", BRANCH) == head


@pytest.mark.parametrize("prepare", [detach, lambda _workshop: None], ids=["detached", "other branch"])
@pytest.mark.parametrize("command", ["pr", "done"])
def test_what_is_not_a_task_branch_is_refused(workshop: Workshop, command: str, prepare: Prepare) -> None:
    prepare(workshop)
    assert refused(workshop, command).code == "NotATaskBranch"


def test_status_reports_a_detached_head(workshop: Workshop) -> None:
    detach(workshop)
    answer = workshop.status()
    assert (answer["current_branch"], answer["is_task_branch"], answer["task"]) == (None, False, None)


def test_status_reports_another_branch(workshop: Workshop) -> None:
    answer = workshop.status()
    assert (answer["current_branch"], answer["is_task_branch"], answer["next"]) == ("main", False, "start_task")


# changed tracked files


def test_changed_files_are_carried_along(workshop: Workshop) -> None:
    (workshop.here / "README").write_text("Changed\n")
    (workshop.here / "new").write_text("untracked\n")
    answer = workshop.start()
    assert answer["warnings"] == ["1 changed files were carried along to the branch."]
    assert (workshop.here / "README").read_text() == "Changed\n"


@pytest.mark.parametrize("name", ["README", "theirs"], ids=["changed", "untracked"])
def test_files_that_git_would_overwrite_are_refused(workshop: Workshop, name: str) -> None:
    workshop.someone_pushes(name=name, text="Theirs\n")
    workshop.git("fetch", "--quiet")
    (workshop.here / name).write_text("Mine\n")
    error = refused(workshop, "start")
    assert (error.code, error.details["files"]) == ("UncommittedChanges", [name])


def test_changes_without_a_message_are_not_submitted(workshop: Workshop) -> None:
    on_branch(workshop)
    (workshop.here / "README").write_text("Changed\n")
    before = workshop.state()
    with pytest.raises(CortexError) as caught:
        workshop.pr()
    assert (caught.value.code, caught.value.details["files"]) == ("UncommittedChanges", ["README"])
    assert workshop.state() == before


def test_changed_files_are_not_done(workshop: Workshop) -> None:
    on_branch(workshop)
    workshop.pr()
    workshop.merge_at_remote()
    workshop.git("fetch", "--quiet")
    (workshop.here / "README").write_text("Changed\n")
    assert refused(workshop, "done").code == "UncommittedChanges"


def test_untracked_files_do_not_block_done(workshop: Workshop) -> None:
    on_branch(workshop)
    workshop.pr()
    workshop.merge_at_remote()
    (workshop.here / "new").write_text("untracked\n")
    assert workshop.done()["deleted"]["local"] is True
    assert (workshop.here / "new").exists()


def test_status_counts_changes(workshop: Workshop) -> None:
    workshop.commit("other", "other\n")
    (workshop.here / "README").write_text("Changed\n")
    (workshop.here / "other").write_text("Staged\n")
    workshop.git("add", "other")
    (workshop.here / "new").write_text("untracked\n")
    (workshop.here / "with space\nand line").write_text("untracked\n")
    counted = workshop.status()["git"]
    assert (counted["staged"], counted["unstaged"], counted["untracked"], counted["dirty"]) == (1, 1, 2, True)
    assert (counted["ahead"], counted["behind"], counted["upstream"]) == (1, 0, "origin/main")


# branch exists here · on the remote only · in another worktree


def test_a_branch_that_exists_is_switched_to_and_not_moved(workshop: Workshop) -> None:
    workshop.git("branch", BRANCH)
    tip = workshop.git("rev-parse", BRANCH)
    workshop.someone_pushes()
    answer = workshop.start()
    assert (answer["created"], workshop.git("rev-parse", "HEAD")) == (False, tip)


def test_a_branch_on_the_remote_is_tracked(workshop: Workshop) -> None:
    theirs = workshop.someone_pushes(BRANCH)
    answer = workshop.start()
    assert (answer["created"], workshop.git("rev-parse", "HEAD")) == (False, theirs)
    assert workshop.git("rev-parse", "--abbrev-ref", "@{upstream}") == f"origin/{BRANCH}"


def test_a_branch_in_another_worktree_is_refused_with_its_path(workshop: Workshop) -> None:
    other = workshop.here.with_name("tree")
    workshop.git("worktree", "add", "--quiet", "-b", BRANCH, str(other))
    error = refused(workshop, "start")
    assert (error.code, error.details["path"]) == ("BranchElsewhere", str(other))


# branch is behind or has diverged


def diverge(workshop: Workshop) -> None:
    on_branch(workshop)
    workshop.git("push", "--quiet", "--set-upstream", "origin", BRANCH)
    workshop.someone_pushes(BRANCH)
    workshop.git("fetch", "--quiet")
    workshop.commit("more")


def test_a_branch_that_diverged_is_started_with_a_warning(workshop: Workshop) -> None:
    diverge(workshop)
    assert workshop.start()["warnings"] == [
        "The remote has 1 commits that the branch does not have, and the branch has 1 that the remote does not have."
    ]


def test_a_branch_that_is_behind_is_started_with_a_warning(workshop: Workshop) -> None:
    on_branch(workshop)
    workshop.git("push", "--quiet", "--set-upstream", "origin", BRANCH)
    workshop.someone_pushes(BRANCH)
    workshop.git("switch", "--quiet", "main")
    assert workshop.start()["warnings"] == ["The remote has 1 commits that the branch does not have."]


def test_a_branch_that_diverged_is_not_pushed(workshop: Workshop) -> None:
    diverge(workshop)
    error = refused(workshop, "pr")
    assert (error.code, error.exit_code) == ("PushRejected", 6)


def test_done_of_a_branch_that_diverged_asks_whether_it_is_merged(workshop: Workshop) -> None:
    diverge(workshop)
    assert refused(workshop, "done").code == "NotMerged"


def test_status_counts_how_far_a_branch_diverged(workshop: Workshop) -> None:
    diverge(workshop)
    assert (workshop.status()["git"]["ahead"], workshop.status()["git"]["behind"]) == (1, 1)


# no remote · remote unreachable


def remove_remote(workshop: Workshop) -> None:
    workshop.git("remote", "remove", "origin")


def lose_remote(workshop: Workshop) -> None:
    workshop.git("remote", "set-url", "origin", str(workshop.there.with_name("gone.git")))


def test_without_a_remote_the_branch_starts_from_the_local_base(workshop: Workshop) -> None:
    remove_remote(workshop)
    mine = workshop.commit()
    assert workshop.start()["warnings"] == ["There is no remote: the branch starts from the local base."]
    assert workshop.git("rev-parse", "HEAD") == mine


def test_without_the_remote_the_branch_starts_from_the_last_known_base(workshop: Workshop) -> None:
    lose_remote(workshop)
    assert "last known base counts" in workshop.start()["warnings"][0]


@pytest.mark.parametrize(
    ("command", "prepare", "code"),
    [
        ("pr", remove_remote, "NoRemote"),
        ("pr", lose_remote, "GitNetwork"),
        ("done", remove_remote, "NotMerged"),
        ("done", lose_remote, "GitNetwork"),
    ],
)
def test_without_a_remote_work_is_neither_submitted_nor_done(
    workshop: Workshop, command: str, prepare: Prepare, code: str
) -> None:
    on_branch(workshop)
    prepare(workshop)
    assert refused(workshop, command).code == code


def test_status_without_a_remote_is_a_warning(workshop: Workshop) -> None:
    remove_remote(workshop)
    assert "There is no remote" in workshop.status()["warnings"][0]


def test_status_does_not_need_the_remote(workshop: Workshop) -> None:
    lose_remote(workshop)
    assert workshop.status()["success"] is True

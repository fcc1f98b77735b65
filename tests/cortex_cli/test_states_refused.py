"""The last rows of the table of CX-68: what the remote, a hook or git refuses, and a base with commits of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cortex_cli.git_sandbox import BRANCH, GitSandbox
from tests.cortex_cli.git_server import serving_git
from tests.cortex_cli.test_states import refused

pytestmark = pytest.mark.requirement("CX-68")


# credentials refused by the remote · hook refuses · no identity


def test_refused_credentials_are_a_warning_where_nothing_is_pushed(submitted: GitSandbox) -> None:
    submitted.merge_at_remote()
    submitted.git("fetch", "--quiet")
    with serving_git(submitted.there.parent) as url:
        submitted.git("remote", "set-url", "origin", f"{url}/{submitted.there.name}")
        for command in (submitted.start, submitted.done):
            assert "refused the credentials" in command()["warnings"][0]


def test_refused_credentials_stop_a_push(worked: GitSandbox) -> None:
    with serving_git(worked.there.parent) as url:
        worked.git("remote", "set-url", "origin", f"{url}/{worked.there.name}")
        error = refused(worked, "pr")
    assert error.code == "GitAuthFailed"
    assert "terminal prompts disabled" in str(error.details["git"])


def add_hook(folder: Path, name: str) -> None:
    hook = folder / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'the rule is broken'\necho 'really' >&2\nexit 1\n")
    hook.chmod(0o755)


@pytest.mark.parametrize(("name", "is_staged"), [("pre-commit", False), ("commit-msg", True)])
def test_a_hook_that_refuses_the_commit_leaves_the_index_as_it_was(
    worked: GitSandbox, name: str, *, is_staged: bool
) -> None:
    (worked.here / "README").write_text("Changed\n")
    (worked.here / "new").write_text("new\n")
    if is_staged:
        worked.git("add", "README")
    add_hook(worked.here / ".git", name)
    error = refused(worked, "pr")
    assert error.code == "GitHookFailed"
    assert "the rule is broken" in str(error.details["output"])


def test_a_hook_that_refuses_the_push_is_quoted(worked: GitSandbox) -> None:
    add_hook(worked.here / ".git", "pre-push")
    error = refused(worked, "pr")
    assert (error.code, "really" in str(error.details["output"])) == ("GitHookFailed", True)


@pytest.mark.parametrize("name", ["pre-receive", "update"])
def test_a_hook_of_the_remote_that_refuses_is_quoted(worked: GitSandbox, name: str) -> None:
    add_hook(worked.there, name)
    error = refused(worked, "pr")
    assert (error.code, "the rule is broken" in str(error.details["output"])) == ("GitHookFailed", True)


def test_without_an_identity_nothing_is_committed(worked: GitSandbox) -> None:
    (worked.here / "new").write_text("new\n")
    worked.git("config", "user.useConfigOnly", "true")
    for name in [name for name in worked.environment if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))]:
        del worked.environment[name]
    assert refused(worked, "pr").code == "GitIdentityMissing"


def test_start_and_done_need_no_identity(sandbox: GitSandbox) -> None:
    sandbox.git("config", "user.useConfigOnly", "true")
    for name in [name for name in sandbox.environment if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))]:
        del sandbox.environment[name]
    sandbox.start()
    sandbox.commit()
    sandbox.pr()
    sandbox.merge_at_remote(how="squash")
    assert sandbox.done()["merged_by"] == "patch"


# base has local commits that are not pushed


def test_commits_of_the_base_that_are_not_pushed_are_left_out_with_a_warning(sandbox: GitSandbox) -> None:
    pushed = sandbox.git("rev-parse", "HEAD")
    sandbox.commit()
    answer = sandbox.start()
    assert "The local 'main' has 1 commits that are not pushed" in answer["warnings"][0]
    assert sandbox.git("rev-parse", "HEAD") == pushed


def test_a_base_with_commits_of_its_own_is_not_moved_by_done(worked: GitSandbox) -> None:
    worked.pr()
    worked.merge_at_remote()
    worked.git("switch", "--quiet", "main")
    mine = worked.commit("mine")
    worked.git("switch", "--quiet", BRANCH)
    answer = worked.done()
    assert answer["warnings"] == ["The local 'main' was not moved: it has 1 commits that are not pushed."]
    assert worked.git("rev-parse", "main") == mine

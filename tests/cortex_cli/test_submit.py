"""``ctx tasks pr``: commit, push, propose, review; each step finds what an earlier run did (CX-72 to CX-74)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex_cli.errors import CortexError, InvalidUsage
from cortex_cli.flows.commit import suspicious_files
from tests.cortex_cli.git_sandbox import BRANCH, GitSandbox, commit_file, git, raises_code
from tests.cortex_cli.git_server import serving_git
from tests.cortex_cli.stub_backend import OTHER
from tests.cortex_cli.stub_server import StubReply, StubRequest

ME = {"id": 7, "name": "Ada"}


@pytest.mark.requirement("CX-72", "CX-73", "CX-74", "CX-14")
def test_work_is_committed_pushed_and_in_review(started: GitSandbox) -> None:
    (started.here / "new").write_text("new\n")
    (started.here / "README").write_text("Changed\n")
    answer = started.pr("Fix it\n\nBecause it fails.\n")
    head = started.git("rev-parse", "HEAD")
    assert answer == {
        "success": True,
        "task_id": 42,
        "branch": BRANCH,
        "status": "REVIEW",
        "commit": head,
        "commit_message": "Fix it\n\nBecause it fails.",
        "pushed": True,
        "pull_request": {
            "url": None,
            "number": None,
            "forge": "none",
            "state": "open",
            "head_sha": head,
            "base": "main",
            "submitted_at": "now",
            "created": True,
        },
        "compare_url": None,
    }
    assert started.git("show", "--no-patch", "--format=%B") == "Fix it\n\nBecause it fails.\n\nCortex-Task: 42"
    assert started.at_remote("rev-parse", BRANCH) == head
    assert started.git("rev-parse", "--abbrev-ref", "@{upstream}") == f"origin/{BRANCH}"
    assert started.git("status", "--porcelain") == ""


@pytest.mark.requirement("CX-72")
def test_submitting_again_changes_nothing(started: GitSandbox) -> None:
    (started.here / "new").write_text("new\n")
    first = started.pr("Fix it")
    again = started.pr("Fix it")
    assert (again["commit"], again["commit_message"], again["pushed"]) == (None, None, False)
    assert (first["pull_request"]["created"], again["pull_request"]["created"]) == (True, False)
    assert again["warnings"] == ["There was nothing to commit, so the message was not used."]
    assert started.git("rev-list", "--count", f"main..{BRANCH}") == "1"
    assert started.backend.task["pull_request"]["head_sha"] == first["commit"]
    assert started.backend.history == ["IN_PROGRESS", "REVIEW"]


@pytest.mark.requirement("CX-73")
def test_what_is_staged_is_committed_and_the_rest_stays(started: GitSandbox) -> None:
    started.commit("other")
    (started.here / "README").write_text("Staged\n")
    started.git("add", "README")
    (started.here / "other").write_text("Not staged\n")
    (started.here / "new").write_text("new\n")
    started.pr("Fix it")
    assert started.git("show", "--name-only", "--format=") == "README"
    assert started.git("status", "--porcelain") == "M other\n?? new"


@pytest.mark.requirement("CX-73")
def test_deleted_renamed_and_odd_files_are_committed(started: GitSandbox) -> None:
    names = ["-dash", ":(top)x", "a b", "*", "ü", "line\nbreak", "deep/er/file"]
    for name in names:
        (started.here / name).parent.mkdir(parents=True, exist_ok=True)
        (started.here / name).write_text(name)
    (started.here / "README").rename(started.here / "READ.ME")
    started.pr("Fix it")
    assert started.git("status", "--porcelain") == ""
    found = started.git("ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")
    assert sorted(name for name in found if name) == sorted([*names, "READ.ME"])


@pytest.mark.requirement("CX-73")
def test_ignored_files_and_repositories_inside_are_not_committed(started: GitSandbox) -> None:
    (started.here / ".gitignore").write_text("ignored\n")
    (started.here / "ignored").write_text("ignored\n")
    started.git("init", "--quiet", "inner")
    (started.here / "inner" / "file").write_text("inner\n")
    started.pr("Fix it")
    assert started.git("ls-tree", "-r", "--name-only", "HEAD").split() == [".gitignore", "README"]


SECRETS = [".env", ".ENV.local", "a.pem", "b.key", "c.p12", "d.pfx", "id_rsa", "id_ed25519.pub", ".netrc", "e.kdbx"]
SECRETS += ["credentials-prod.json", "service-account.json"]


@pytest.mark.requirement("CX-73", "CX-104")
def test_new_files_that_look_like_secrets_are_refused(started: GitSandbox) -> None:
    (started.here / "deep").mkdir()
    for name in SECRETS:
        (started.here / "deep" / name).write_text("secret\n")
    for is_staged in (False, True):
        if is_staged:
            started.git("add", "--force", ".")
        before = started.state()
        with raises_code("SuspiciousFiles") as caught:
            started.pr("Fix it")
        assert caught.value.details["files"] == sorted(f"deep/{name}" for name in SECRETS)
        assert started.state() == before


@pytest.mark.requirement("CX-68", "CX-73")
def test_changes_inside_a_submodule_stop_nothing_and_are_reported(started: GitSandbox) -> None:
    inside = started.here / "inside"
    git(started.here, "init", "--quiet", str(inside))
    commit_file(inside, "file", "x")
    started.git("add", "inside")
    started.git("commit", "--quiet", "-m", "Inside")
    (inside / "other").write_text("x")
    (inside / "file").write_text("changed")
    told = "Changes inside submodules were left alone: inside. Commit them there."
    assert told in started.pr()["warnings"]
    started.merge_at_remote()
    assert told in started.done()["warnings"]
    assert (inside / "other").exists()


@pytest.mark.requirement("CX-73")
def test_a_very_large_file_is_refused(started: GitSandbox) -> None:
    for name, size in (("large", 10 * 1024 * 1024 + 1), ("fits", 10 * 1024 * 1024)):
        with (started.here / name).open("wb") as file:
            file.truncate(size)
    with raises_code("SuspiciousFiles") as caught:
        started.pr("Fix it")
    assert caught.value.details["files"] == ["large"]


@pytest.mark.requirement("CX-73")
def test_examples_and_tracked_secrets_are_not_suspicious(started: GitSandbox) -> None:
    started.commit("old.pem", "tracked\n")
    (started.here / "old.pem").write_text("changed\n")
    for name in (".env.example", ".env.sample", ".env.template", "keys.txt"):
        (started.here / name).write_text("harmless\n")
    assert started.pr("Fix it")["commit"]
    assert suspicious_files(started.here, ["gone"]) == []


@pytest.mark.requirement("CX-73")
def test_a_person_allows_a_file(started: GitSandbox) -> None:
    (started.here / "deep").mkdir()
    (started.here / "deep" / "test.pem").write_text("harmless\n")
    assert started.pr("Fix it", allowed_files=["deep/test.pem"])["commit"]


@pytest.mark.requirement("CX-73", "CX-103")
def test_a_message_that_cannot_be_one_is_refused(started: GitSandbox) -> None:
    (started.here / "new").write_text("new\n")
    before = started.state()
    for message in ("", " \n", "x" * 10_001, "a\0b", "a\ud800"):
        with pytest.raises(InvalidUsage):
            started.pr(message)
    assert started.state() == before


@pytest.mark.parametrize(
    ("message", "written"),
    [
        ("Fix", "Fix\n\nCortex-Task: 42"),
        ("Fix\n\nSigned-off-by: A <a@b>", "Fix\n\nSigned-off-by: A <a@b>\nCortex-Task: 42"),
        ("Fix\n\nCortex-Task: 42", "Fix\n\nCortex-Task: 42"),
        ("fix: this", "fix: this\n\nCortex-Task: 42"),
        ("# Title\n\n--no-verify\n-x", "# Title\n\n--no-verify\n-x\n\nCortex-Task: 42"),
        ("$(touch x) `touch x`; touch x", "$(touch x) `touch x`; touch x\n\nCortex-Task: 42"),
    ],
)
@pytest.mark.requirement("CX-73", "CX-103")
def test_a_message_is_committed_as_it_is_with_the_task(started: GitSandbox, message: str, written: str) -> None:
    (started.here / "new").write_text("new\n")
    started.git("config", "commit.cleanup", "strip")
    started.pr(message)
    assert started.git("show", "--no-patch", "--format=%B") == written


@pytest.mark.requirement("CX-72")
def test_a_branch_without_work_is_not_submitted(started: GitSandbox) -> None:
    before = started.state()
    with pytest.raises(CortexError) as caught:
        started.pr()
    assert caught.value.code == "NothingToSubmit"
    assert started.state() == before


@pytest.mark.requirement("CX-72")
def test_a_branch_with_merges_alone_is_work(started: GitSandbox) -> None:
    started.git("checkout", "--quiet", "-b", "side")
    started.git("commit", "--quiet", "--allow-empty", "-m", "Side")
    started.git("checkout", "--quiet", BRANCH)
    started.git("merge", "--quiet", "--no-ff", "-m", "Merge", "side")
    assert started.pr()["pushed"] is True


@pytest.mark.requirement("CX-72")
def test_a_conflict_with_the_base_is_a_warning(started: GitSandbox) -> None:
    started.commit("README", "Mine\n")
    started.someone_pushes(name="README", text="Theirs\n")
    assert started.pr()["warnings"] == ["The branch conflicts with 'main' in: README."]


@pytest.mark.requirement("CX-42", "CX-72")
def test_a_task_that_is_not_mine_to_submit_is_refused(worked: GitSandbox) -> None:
    task = dict(worked.backend.task)
    for fields, code in (
        ({"status": "TODO"}, "InvalidTransition"),
        ({"status": "DONE"}, "InvalidTransition"),
        ({"assignee": OTHER}, "AssignedToOther"),
        ({"branch_name": "bug/task-42-another"}, "WrongBranch"),
    ):
        worked.backend.task = {**task, **fields}
        before = worked.state()
        with pytest.raises(CortexError) as caught:
            worked.pr()
        assert caught.value.code == code
        assert worked.state() == before


@pytest.mark.requirement("CX-67", "CX-72")
def test_a_base_that_was_never_fetched_is_fetched(started: GitSandbox) -> None:
    started.someone_pushes("next")
    started.commit()
    started.git("config", "cortex.base", "next")
    started.git("update-ref", "-d", "refs/remotes/origin/next")
    assert started.pr()["pull_request"]["base"] == "next"


STEPS = [("add", False), ("commit", True), ("commit", False), ("push", False), ("PATCH", True), ("PATCH", False)]
"""A step that fails, and whether before or after it took effect; before a step is after the one before."""


class Broken(Exception):
    """The step fails."""


@pytest.mark.parametrize(("step", "is_before"), STEPS)
@pytest.mark.requirement("CX-72", "CX-101", "CX-122")
def test_submitting_again_after_a_failure_makes_one_commit_and_one_pull_request(
    started: GitSandbox, step: str, monkeypatch: pytest.MonkeyPatch, *, is_before: bool
) -> None:
    (started.here / "new").write_text("new\n")
    with monkeypatch.context() as patch:
        fail_at(started, step, patch, is_before=is_before)
        with pytest.raises((Broken, CortexError)):
            started.pr("Fix it")
    started.backend.intercept = lambda _asked: None
    assert started.pr("Fix it")["status"] == "REVIEW"
    assert started.git("rev-list", "--count", f"main..{BRANCH}") == "1"
    assert started.at_remote("rev-parse", BRANCH) == started.git("rev-parse", "HEAD")
    assert started.backend.history == ["IN_PROGRESS", "REVIEW"]
    assert started.git("status", "--porcelain") == ""


def fail_at(sandbox: GitSandbox, step: str, patch: pytest.MonkeyPatch, *, is_before: bool) -> None:
    """Let one step of a flow fail, before or after it took effect."""
    from cortex_cli.git import Git, GitOutput  # noqa: PLC0415

    if step == "PATCH":

        def lose(asked: StubRequest) -> StubReply | None:
            if asked.method != "PATCH":
                return None
            if not is_before:
                sandbox.backend.intercept = lambda _asked: None
                sandbox.backend._patch(asked)  # noqa: SLF001 - it took effect, but the answer is lost
                sandbox.backend.intercept = lose
            return StubReply(0)

        sandbox.backend.intercept = lose
        return
    attempt = Git.attempt

    def broken(git: Git, *arguments: str, **options: object) -> GitOutput:
        is_hit = step in arguments[:2]
        if is_hit and is_before:
            raise Broken
        output = attempt(git, *arguments, **options)  # type: ignore[arg-type]
        if is_hit:
            raise Broken
        return output

    patch.setattr(Git, "attempt", broken)


@pytest.mark.requirement("CX-64", "CX-72")
def test_a_remote_over_http_takes_the_push_with_the_password_of_the_user(started: GitSandbox, tmp_path: Path) -> None:
    helper = tmp_path / "helper"
    helper.write_text("#!/bin/sh\necho username=ada\necho 'password=open sesame'\n")
    helper.chmod(0o755)
    started.git("config", "credential.helper", str(helper))
    started.commit()
    with serving_git(started.there.parent) as url:
        started.git("remote", "set-url", "origin", f"{url}/{started.there.name}")
        answer = started.pr()
    assert answer["pushed"] is True
    assert "sesame" not in str(answer)

"""The commands of the work: what of the command line reaches the flows, and what people are shown (CX-50)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cortex_cli.__main__ import run
from tests.cortex_cli.conftest import Ctx, Ran
from tests.cortex_cli.git_sandbox import BRANCH, GitSandbox
from tests.cortex_cli.test_auth import Terminal


@pytest.fixture
def here(sandbox: GitSandbox, monkeypatch: pytest.MonkeyPatch) -> GitSandbox:
    """Return the sandbox, whose clone is the working directory."""
    monkeypatch.chdir(sandbox.here)
    return sandbox


@pytest.fixture
def at_work(here: GitSandbox, ctx: Ctx) -> Ctx:
    """Return a function that runs ``ctx`` in the clone with its own git, logged in by a token."""

    def call(*arguments: str, stdin: str = "") -> Ran:
        return ctx(*arguments, stdin=stdin, CTX_TOKEN="t", **here.environment)

    return call


@pytest.mark.requirement("CX-51", "CX-68")
def test_a_directory_that_was_deleted_is_no_repository(
    at_work: Ctx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    ran = at_work("tasks", "status", "--json")
    assert (ran.code, ran.answer["code"]) == (6, "NotARepository")


@pytest.mark.requirement("CX-50", "CX-53", "CX-71", "CX-74", "CX-77", "CX-78")
def test_people_are_told_what_each_step_did(at_work: Ctx, here: GitSandbox) -> None:
    assert at_work("tasks", "start", "42").out == f"Task #42 is in progress. Created the branch {BRANCH}.\n"
    assert at_work("tasks", "start", "42").out == f"Task #42 is in progress. Switched to the branch {BRANCH}.\n"
    assert at_work("tasks", "status").out == (
        f"Branch: {BRANCH}\nTask: #42 Fix the login (IN_PROGRESS)\nNext: submit_pr\n"
    )
    (here.here / "work").write_text("x", encoding="utf-8")
    assert at_work("tasks", "pr", "--message", "Fix it").out == "Task #42 is in review.\n"
    here.merge_at_remote()
    assert at_work("tasks", "done").out == "Task #42 is done.\n"
    assert here.backend.history == ["IN_PROGRESS", "REVIEW", "DONE"]


@pytest.mark.requirement("CX-51", "CX-52")
def test_programs_get_the_answer_of_the_flow(at_work: Ctx) -> None:
    ran = at_work("tasks", "start", "42", "--here", "--json")
    assert list(ran.answer)[:6] == ["success", "task_id", "branch", "created", "status", "base"]
    assert at_work("tasks", "show", "--json").answer["task"]["id"] == 42
    ran = at_work("tasks", "pr", "--json")
    assert (ran.code, ran.answer["code"]) == (6, "NothingToSubmit")


@pytest.mark.requirement("CX-52")
def test_a_comment_goes_to_the_task_of_the_branch(at_work: Ctx, here: GitSandbox) -> None:
    here.backend.server.say("POST /tasks/42/comments", {"id": 1, "text": "x"})
    ran = at_work("tasks", "comment", "--message-file=-", "--json", stdin="x")
    assert (ran.code, ran.answer["code"]) == (6, "NotATaskBranch")
    at_work("tasks", "start", "42", "--from", "main")
    assert at_work("tasks", "comment", "--message-file=-", stdin="x").code == 0


@pytest.mark.requirement("CX-50", "CX-73")
def test_a_message_and_a_text_come_from_files(at_work: Ctx, here: GitSandbox, tmp_path: Path) -> None:
    at_work("tasks", "start", "42")
    (here.here / ".env").write_text("x", encoding="utf-8")
    body = tmp_path / "body"
    body.write_text("Why.", encoding="utf-8")
    options = ["--message-file=-", f"--body-file={body}", "--title=A title", "--draft", "--json"]
    ran = at_work("tasks", "pr", *options, stdin="Fix it\n\n--force\n")
    assert (ran.code, ran.answer["code"], ran.answer["details"]["files"]) == (6, "SuspiciousFiles", [".env"])
    ran = at_work("tasks", "pr", *options, "--allow-file=.env", stdin="Fix it\n\n--force\n")
    assert ran.answer["commit_message"].startswith("Fix it\n\n--force")
    assert at_work("tasks", "pr", "--message-file=-", "--body-file=-", "--json").code == 2


@pytest.mark.requirement("CX-76", "CX-54")
def test_only_a_person_who_agrees_finishes_what_is_not_merged(
    at_work: Ctx, here: GitSandbox, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_work("tasks", "start", "42")
    here.commit()
    at_work("tasks", "pr")
    assert at_work("tasks", "done", "--json").answer["code"] == "NotMerged"
    assert at_work("tasks", "done", "--force", "--json").code == 2
    codes: list[int] = []
    for answer in ("\n", "no\n", "", "Yes\n"):
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        monkeypatch.setattr(sys, "stderr", Terminal())
        named = {"CTX_URL": here.backend.server.origin, "CTX_TOKEN": "t", "CTX_CONFIG_DIR": str(folder)}
        codes.append(run(["tasks", "done", "--force", "--keep-branch"], {**here.environment, **named}))
    assert codes == [3, 3, 3, 0]
    assert here.git("rev-parse", "--verify", BRANCH)


@pytest.mark.requirement("CX-78")
def test_the_state_is_shown_without_a_server_and_without_a_branch(ctx: Ctx, here: GitSandbox) -> None:
    here.git("switch", "--quiet", "--detach")
    ran = ctx("tasks", "status", "--json", **here.environment, CTX_URL="")
    assert (ran.code, ran.answer["current_branch"], ran.answer["task"]) == (0, None, None)
    shown = ctx("tasks", "status", "--offline", **here.environment, CTX_URL="").out
    assert shown == "Branch: none (HEAD is detached)\nNext: start_task\n"

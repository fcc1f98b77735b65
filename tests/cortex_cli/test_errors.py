"""Each error has one code, one exit code, and one sentence without what must not be shown."""

from __future__ import annotations

import re

import pytest

from cortex_cli.errors import ERRORS, BackendRefused, CortexError, echo, make_error, nearest, unknown_base

BRANCH = "bug/task-42-x"

EVERY = [
    make_error("GitMissing", words={"fault": "Git is not installed"}, found=None),
    make_error("NotARepository", directory="/home/ada", git="fatal: not a git repository"),
    make_error("EmptyRepository"),
    make_error("OperationInProgress", operation="rebase"),
    make_error("MergeConflicts", files=["a.py"]),
    make_error("GitLocked", path="/repo/.git/index.lock", age=3),
    make_error("DetachedHead", head="abc"),
    make_error("NotATaskBranch", words={"fault": "The branch 'main' is"}, branch="main"),
    make_error("WrongBranch", current="main", expected=BRANCH, task_id=42),
    make_error("WrongRepository", current="https://a/b", expected="https://a/c"),
    make_error("BranchElsewhere", branch=BRANCH, path="/elsewhere"),
    make_error("UncommittedChanges", words={"advice": "Give a message."}, files=["a.py"]),
    make_error("SuspiciousFiles", files=[".env"]),
    make_error("NothingToSubmit", branch=BRANCH, base="main"),
    make_error("NoRemote", words={"advice": "Add one"}, remotes=[]),
    unknown_base("origin"),
    unknown_base("origin", "main"),
    unknown_base(None, "main"),
    make_error("PushRejected", branch=BRANCH, reason="fetch first"),
    make_error("GitNetwork", remote="origin", git="timed out"),
    make_error("GitAuthFailed", remote="origin", git="denied"),
    make_error("GitHookFailed", output="no\n"),
    make_error("GitIdentityMissing"),
    make_error("GitFailed", command="push", exit_code=128, git="fatal"),
    make_error("RepositoryBusy", waited=10),
    make_error("NotMerged", branch=BRANCH, base="main", state="open", url="https://forge/1"),
    make_error("TaskNotFound", id=42, near=[]),
    make_error("BackendUnreachable", url="https://cortex:443", reason="refused"),
    make_error("BackendError", status=500, reason="an error", request_id="a"),
    make_error("ForgeAuthFailed", host="github.com", status=401, reason="no"),
    make_error("ForgeFailed", host="github.com", reason="no answer", status=None),
]

EXIT_CODES = {"TaskNotFound": 1, "BackendUnreachable": 5, "BackendError": 5, "ForgeAuthFailed": 4, "ForgeFailed": 5}
"""The exit codes of those that are not about the repository."""


@pytest.mark.requirement("CX-54", "CX-95")
@pytest.mark.parametrize("error", EVERY, ids=lambda error: error.message)
def test_an_error_of_the_table_has_an_exit_code_and_one_sentence(error: CortexError) -> None:
    assert error.exit_code == EXIT_CODES.get(error.code, 6)
    assert re.fullmatch(r"[^\n{}]+\.", error.message)


@pytest.mark.requirement("CX-95")
def test_every_error_of_the_table_is_tried_here() -> None:
    assert {error.code for error in EVERY} == ERRORS.keys()


@pytest.mark.requirement("CX-95")
def test_the_values_of_a_sentence_are_its_details_too() -> None:
    error = make_error("PushRejected", branch="a\x1b", reason="x" * 300, git=" fatal \n")
    assert error.details == {"branch": "a\\u{1b}", "reason": "x" * 199 + "…", "git": "fatal"}
    assert error.message.startswith("The remote refused 'a\\u{1b}' (xxx")
    assert make_error("NotATaskBranch", words={"fault": "HEAD is"}, branch=None).details == {"branch": None}


@pytest.mark.requirement("CX-54")
@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (403, "Forbidden", 1),
        (409, "InvalidTransition", 1),
        (412, "PreconditionFailed", 1),
        (422, "InvalidArguments", 2),
        (422, "InvalidCursor", 2),
        (401, "InvalidCredentials", 4),
        (429, "TooManyRequests", 5),
    ],
)
def test_the_backend_decides_the_exit_code_of_its_refusals(status: int, code: str, exit_code: int) -> None:
    error = BackendRefused(status, code, "No.", {})
    assert (error.code, error.exit_code) == (code, exit_code)


def test_a_refusal_of_ours_has_the_code_of_the_backend() -> None:
    error = CortexError("It is Bo's.", {"assignee": "Bo"}, code="AssignedToOther")
    assert (error.code, error.exit_code, error.details) == ("AssignedToOther", 1, {"assignee": "Bo"})


@pytest.mark.requirement("CX-95", "CX-64")
def test_what_git_said_is_short_visible_and_without_a_password() -> None:
    git = "fatal: https://ada:secret@forge/x \x1b[31m\u202e" + "x" * 900
    said = make_error("GitFailed", command="push", exit_code=1, git=git).details["git"]
    assert str(said).startswith("fatal: https://forge/x \\u{1b}[31m\\u{202e}")
    assert len(str(said)) == 500
    assert len(str(make_error("GitHookFailed", output="y" * 9000).details["output"])) == 2000


@pytest.mark.parametrize("before", [450, 480, 490, 497])
@pytest.mark.requirement("CX-95", "CX-64")
def test_a_password_at_the_end_of_what_is_repeated_is_left_out(before: int) -> None:
    shown = echo("x" * before + " https://ada:secret@secret@forge/x", 500)
    assert "secret" not in shown
    assert "ada" not in shown


def test_a_list_of_files_ends_somewhere() -> None:
    details = make_error("MergeConflicts", files=[f"{number}.py" for number in range(30)]).details
    assert (len(details["files"]), details["more"]) == (20, 10)  # type: ignore[arg-type]


def test_what_is_repeated_is_short() -> None:
    assert echo("a" * 300) == "a" * 199 + "…"


def test_the_nearest_name_comes_first() -> None:
    assert nearest("ulr", ["url", "default_project"]) == ["url"]

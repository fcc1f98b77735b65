"""Each error has one code, one exit code, and one sentence without what must not be shown."""

from __future__ import annotations

import inspect
import re

import pytest

from cortex_cli import errors, git_errors
from cortex_cli.errors import BackendRefused, CortexError, ForgeAuthFailed, ForgeFailed, TaskRefused, echo, nearest
from cortex_cli.git_errors import (
    BaseBranchUnknown,
    BranchElsewhere,
    DetachedHead,
    EmptyRepository,
    GitAuthFailed,
    GitFailed,
    GitHookFailed,
    GitIdentityMissing,
    GitLocked,
    GitMissing,
    GitNetwork,
    MergeConflicts,
    NoRemote,
    NotARepository,
    NotATaskBranch,
    NothingToSubmit,
    NotMerged,
    OperationInProgress,
    PushRejected,
    RepositoryBusy,
    RepositoryError,
    SuspiciousFiles,
    UncommittedChanges,
    WrongBranch,
    WrongRepository,
)

EVERY = [
    GitMissing(),
    GitMissing("1.8"),
    NotARepository("/home/ada", "fatal: not a git repository"),
    EmptyRepository(),
    OperationInProgress("rebase"),
    MergeConflicts(["a.py"]),
    GitLocked("/repo/.git/index.lock", 3.2),
    DetachedHead("abc"),
    NotATaskBranch("main"),
    NotATaskBranch(None),
    WrongBranch("main", "bug/task-42-x", 42),
    WrongRepository("https://a/b", "https://a/c"),
    BranchElsewhere("bug/task-42-x", "/elsewhere"),
    UncommittedChanges(["a.py"], "Give a message."),
    SuspiciousFiles([".env"]),
    NothingToSubmit("bug/task-42-x", "main"),
    NoRemote(),
    NoRemote(["a", "b"]),
    BaseBranchUnknown("origin"),
    BaseBranchUnknown("origin", "main"),
    BaseBranchUnknown(None, "main"),
    PushRejected("bug/task-42-x", "fetch first"),
    GitNetwork("origin", "timed out"),
    GitAuthFailed("origin", "denied"),
    GitHookFailed("no\n"),
    GitIdentityMissing(),
    GitFailed("push", 128, "fatal"),
    RepositoryBusy(10),
    NotMerged("bug/task-42-x", "main", "open", "https://forge/1"),
]


@pytest.mark.requirement("CX-54", "CX-95")
@pytest.mark.parametrize("error", EVERY, ids=lambda error: error.message)
def test_an_error_of_the_repository_has_its_name_as_code_and_says_what_to_do(error: RepositoryError) -> None:
    assert error.code == type(error).__name__
    assert error.exit_code == 6
    assert re.fullmatch(r"[^\n]+\.", error.message)


def test_every_error_of_the_repository_is_tried_here() -> None:
    classes = {item for _, item in inspect.getmembers(git_errors, inspect.isclass) if issubclass(item, RepositoryError)}
    assert classes - {RepositoryError} == {type(error) for error in EVERY}


@pytest.mark.requirement("CX-95")
def test_no_two_errors_share_a_code_unless_they_are_one_to_the_caller() -> None:
    classes = [item for _, item in inspect.getmembers(errors, inspect.isclass) if issubclass(item, CortexError)]
    codes = [item._code or item.__name__ for item in classes]  # noqa: SLF001 - the code of a class without an instance
    assert {code for code in codes if codes.count(code) > 1} == {"InvalidArguments"}


@pytest.mark.requirement("CX-54")
def test_what_a_forge_does_not_do_has_the_exit_codes_of_a_server() -> None:
    assert ForgeAuthFailed("github.com", 401).exit_code == 4
    assert ForgeFailed("github.com", "no answer").exit_code == 5


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
    error = TaskRefused("AssignedToOther", "It is Bo's.", {"assignee": "Bo"})
    assert (error.code, error.exit_code, error.details) == ("AssignedToOther", 1, {"assignee": "Bo"})


@pytest.mark.requirement("CX-95", "CX-64")
def test_what_git_said_is_short_visible_and_without_a_password() -> None:
    said = GitFailed("push", 1, "fatal: https://ada:secret@forge/x \x1b[31m\u202e" + "x" * 900).details["git"]
    assert str(said).startswith("fatal: https://forge/x \\u{1b}[31m\\u{202e}")
    assert len(str(said)) == 500
    assert len(str(GitHookFailed("y" * 9000).details["output"])) == 2000


@pytest.mark.parametrize("before", [450, 480, 490, 497])
@pytest.mark.requirement("CX-95", "CX-64")
def test_a_password_at_the_end_of_what_is_repeated_is_left_out(before: int) -> None:
    shown = echo("x" * before + " https://ada:secret@secret@forge/x", 500)
    assert "secret" not in shown
    assert "ada" not in shown


def test_a_list_of_files_ends_somewhere() -> None:
    details = MergeConflicts([f"{number}.py" for number in range(30)]).details
    assert (len(details["files"]), details["more"]) == (20, 10)  # type: ignore[arg-type]


def test_what_is_repeated_is_short() -> None:
    assert echo("a" * 300) == "a" * 199 + "…"


def test_the_nearest_name_comes_first() -> None:
    assert nearest("ulr", ["url", "default_project"]) == ["url"]

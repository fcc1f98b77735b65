"""Table of the errors of git and of the repository (CX-68); what git itself said is in ``details.git``."""

from collections.abc import Mapping, Sequence
from typing import Final

from cortex_cli.errors import REPOSITORY, CortexError, echo

__all__ = ["REPOSITORY_ERRORS", "RepositoryError", "as_warning", "unknown_base"]

_FILES: Final = 20

_GIT_LIMIT: Final = 500
"""Characters of git's own words that an error repeats (CX-95)."""

_HOOK_LIMIT: Final = 2000
"""Characters of a hook's output that an error repeats (CX-68)."""

_SAID: Final = "Look at details.git, fix the cause, then call again."

REPOSITORY_ERRORS: Final[Mapping[str, str]] = {
    "GitMissing": "{fault}. Install git 2.30 or newer.",
    "NotARepository": "Not in a git repository{advice}",
    "EmptyRepository": "The repository has no commit yet. Commit and push something first.",
    "OperationInProgress": "A {operation} is in progress. Finish or abort it with git, then call again.",
    "MergeConflicts": "Files have merge conflicts. Resolve them with git, then call again.",
    "GitLocked": "Another git works in this repository, or was killed {age} seconds ago. Call again in a moment; if no "
    "git is running, remove {path}.",
    "DetachedHead": "HEAD is detached, and its commits are on no branch. Keep them with 'git branch NAME', then call "
    "again.",
    "NotATaskBranch": "{fault} not a task branch. Start a task with 'ctx tasks start ID', or switch to its branch.",
    "WrongBranch": "Task #{task_id} has the branch '{expected}', but the current branch is '{current}'. Switch to the "
    "task's branch, then call again.",
    "WrongRepository": "This repository is '{current}', but the task belongs to '{expected}'. Call this in the "
    "project's clone.",
    "BranchElsewhere": "The branch '{branch}' is checked out in {path}. Work there.",
    "UncommittedChanges": "There are uncommitted changes. {advice}",
    "SuspiciousFiles": "New files look like secrets or are larger than 10 MiB. Nothing was committed: add them to "
    ".gitignore, or a person passes --allow-file PATH.",
    "NothingToSubmit": "The branch '{branch}' has nothing that '{base}' does not have. Commit something first.",
    "NoRemote": "It is not clear where to push. {advice}.",
    "BaseBranchUnknown": "{fault}. Set it with 'git config cortex.base BRANCH'.",
    "PushRejected": "The remote refused '{branch}' ({reason}). Fetch and merge or rebase, then call again.",
    "GitNetwork": "The remote '{remote}' cannot be reached. Check the network, then call again.",
    "GitAuthFailed": "The remote '{remote}' refused the credentials. Log in to it with git in a terminal, then call "
    "again.",
    "GitHookFailed": "A git hook refused. Fix what its output names, then call again.",
    "GitIdentityMissing": "Git does not know who you are. Set user.name and user.email with git config.",
    "GitFailed": "'git {command}' failed with exit code {exit_code}. {advice}",
    "RepositoryBusy": "Another ctx worked in this repository for {waited:g} seconds. Call again when it is done.",
    "NotMerged": "The branch '{branch}' is not merged into '{base}'. Merge its pull request, then call again.",
}
"""The sentence of each code, which says what to do next."""


class RepositoryError(CortexError):
    """Git or the state of the repository is in the way.

    ``details`` and the further ``words`` fill the sentence of ``code``. ``git`` is what git said, ``output`` what a
    hook wrote, and ``files`` are the files in the way.
    """

    exit_code = REPOSITORY

    def __init__(
        self,
        code: str,
        *,
        words: Mapping[str, str] | None = None,
        git: str = "",
        output: str | None = None,
        files: Sequence[str] | None = None,
        **details: object,
    ) -> None:
        shown = {name: echo(value) if isinstance(value, str) else value for name, value in details.items()}
        words = words or {"advice": _advice(code, git)}
        super().__init__(REPOSITORY_ERRORS[code].format_map({**shown, **words}), shown, code=code)
        if files is not None:
            self.details["files"] = [echo(name) for name in files[:_FILES]]
            if len(files) > _FILES:
                self.details["more"] = len(files) - _FILES
        if output is not None:
            self.details["output"] = echo(output.strip(), _HOOK_LIMIT)
        if git.strip():
            self.details["git"] = echo(git.strip(), _GIT_LIMIT)


def _advice(code: str, said: str) -> str:
    """Return the end of a sentence that depends on what git said."""
    if code == "GitFailed":
        return _SAID if said.strip() else "Run it in a terminal to see why, fix the cause, then call again."
    place = said.partition("dubious ownership in repository at '")[2].partition("'")[0]
    if place:
        return (
            " that git trusts: it belongs to another user. If you trust them, run 'git config --global --add "
            f"safe.directory {echo(place)}', then call again."
        )
    return ". Call this in the working directory of the project's clone."


def as_warning(error: CortexError) -> str:
    """Return the sentence of an error for a warning, which has no details: what git said is quoted."""
    said = error.details.get("git")
    return f"{error.message.removesuffix(_SAID).rstrip()} (git: {said})" if said else error.message


def unknown_base(remote: str | None, name: str = "") -> RepositoryError:
    """Return the error of a base branch ``name`` that does not exist; without a name, nothing says which it is."""
    places = f"neither here nor on '{echo(remote)}'" if remote else "not here"
    fault = f"The base branch '{echo(name)}' is {places}" if name else "The base branch is not known"
    return RepositoryError("BaseBranchUnknown", words={"fault": fault}, remote=remote)

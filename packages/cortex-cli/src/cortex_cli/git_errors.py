"""The errors of git and of the repository (CX-68); what git itself said is in ``details.git``."""

from collections.abc import Sequence
from typing import Final

from cortex_cli.errors import REPOSITORY, CortexError, echo

__all__ = [
    "BaseBranchUnknown",
    "BranchElsewhere",
    "DetachedHead",
    "EmptyRepository",
    "GitAuthFailed",
    "GitFailed",
    "GitHookFailed",
    "GitIdentityMissing",
    "GitLocked",
    "GitMissing",
    "GitNetwork",
    "MergeConflicts",
    "NoRemote",
    "NotARepository",
    "NotATaskBranch",
    "NotMerged",
    "NothingToSubmit",
    "OperationInProgress",
    "PushRejected",
    "RepositoryBusy",
    "RepositoryError",
    "SuspiciousFiles",
    "UncommittedChanges",
    "WrongBranch",
    "WrongRepository",
]

_FILES: Final = 20
"""Files that an error lists at most."""

_GIT_LIMIT: Final = 500
"""Characters of git's own words that an error repeats (CX-95)."""

_HOOK_LIMIT: Final = 2000
"""Characters of a hook's output that an error repeats (CX-68)."""


def _listed(files: Sequence[str]) -> dict[str, object]:
    more = {"more": len(files) - _FILES} if len(files) > _FILES else {}
    return {"files": [echo(name) for name in files[:_FILES]], **more}


def _said(git: str) -> dict[str, object]:
    return {"git": echo(git.strip(), _GIT_LIMIT)} if git.strip() else {}


class RepositoryError(CortexError):
    """Git or the state of the repository is in the way; the base of the errors here."""

    exit_code = REPOSITORY


class GitMissing(RepositoryError):
    """There is no git, or one older than the oldest that works."""

    def __init__(self, found: str = "") -> None:
        what = f"Git {echo(found)} is too old" if found else "Git is not installed"
        super().__init__(f"{what}. Install git 2.30 or newer.", {"found": echo(found) or None})


class NotARepository(RepositoryError):
    """The directory is not in a work tree that git trusts."""

    def __init__(self, directory: str, git: str = "") -> None:
        super().__init__(
            "Not in a git repository. Call this in the working directory of the project's clone.",
            {"directory": echo(directory), **_said(git)},
        )


class EmptyRepository(RepositoryError):
    """The repository has no commit yet."""

    def __init__(self) -> None:
        super().__init__("The repository has no commit yet. Commit and push something first.")


class OperationInProgress(RepositoryError):
    """A merge, rebase, cherry-pick, revert or bisect is not finished."""

    def __init__(self, operation: str) -> None:
        super().__init__(
            f"A {operation} is in progress. Finish or abort it with git, then call again.", {"operation": operation}
        )


class MergeConflicts(RepositoryError):
    """Files are not merged."""

    def __init__(self, files: Sequence[str]) -> None:
        super().__init__("Files have merge conflicts. Resolve them with git, then call again.", _listed(files))


class GitLocked(RepositoryError):
    """Another git holds ``index.lock``, or a killed one left it; ``age`` in seconds."""

    def __init__(self, path: str, age: float) -> None:
        super().__init__(
            f"Another git works in this repository, or was killed {age:.0f} seconds ago. Call again in a moment; if no "
            f"git is running, remove {echo(path)}.",
            {"path": echo(path), "age": round(age)},
        )


class DetachedHead(RepositoryError):
    """HEAD is detached and its commits are on no branch, so that switching away would lose them."""

    def __init__(self, sha: str) -> None:
        super().__init__(
            "HEAD is detached, and its commits are on no branch. Keep them with 'git branch NAME', then call again.",
            {"head": echo(sha)},
        )


class NotATaskBranch(RepositoryError):
    """The current branch does not belong to a task; ``branch`` is None when HEAD is detached."""

    def __init__(self, branch: str | None) -> None:
        what = f"The branch '{echo(branch)}' is" if branch else "HEAD is detached, so this is"
        super().__init__(
            f"{what} not a task branch. Start a task with 'ctx tasks start ID', or switch to its branch.",
            {"branch": branch and echo(branch)},
        )


class WrongBranch(RepositoryError):
    """The task has another branch than the current one."""

    def __init__(self, current: str, expected: str, task_id: int) -> None:
        super().__init__(
            f"Task #{task_id} has the branch '{echo(expected)}', but the current branch is '{echo(current)}'. "
            "Switch to the task's branch, then call again.",
            {"current": echo(current), "expected": echo(expected), "task_id": task_id},
        )


class WrongRepository(RepositoryError):
    """The repository is not the one of the task's project."""

    def __init__(self, current: str, expected: str) -> None:
        super().__init__(
            f"This repository is '{echo(current)}', but the task belongs to '{echo(expected)}'. "
            "Call this in the project's clone.",
            {"current": echo(current), "expected": echo(expected)},
        )


class BranchElsewhere(RepositoryError):
    """The branch of the task is checked out in another worktree."""

    def __init__(self, branch: str, path: str) -> None:
        super().__init__(
            f"The branch '{echo(branch)}' is checked out in {echo(path)}. Work there.",
            {"branch": echo(branch), "path": echo(path)},
        )


class UncommittedChanges(RepositoryError):
    """Changes are not committed; ``advice`` says what to do about them."""

    def __init__(self, files: Sequence[str], advice: str) -> None:
        super().__init__(f"There are uncommitted changes. {advice}", _listed(files))


class SuspiciousFiles(RepositoryError):
    """New files look like secrets or are very large; nothing was staged (CX-73)."""

    def __init__(self, files: Sequence[str]) -> None:
        super().__init__(
            "New files look like secrets or are larger than 10 MiB. Nothing was committed: add them to .gitignore, or "
            "a person passes --allow-file PATH.",
            _listed(files),
        )


class NothingToSubmit(RepositoryError):
    """The branch has no commit that its base does not have."""

    def __init__(self, branch: str, base: str) -> None:
        super().__init__(
            f"The branch '{echo(branch)}' has nothing that '{echo(base)}' does not have. Commit something first.",
            {"branch": echo(branch), "base": echo(base)},
        )


class NoRemote(RepositoryError):
    """The repository has no remote, or several and none chosen."""

    def __init__(self, remotes: Sequence[str] = ()) -> None:
        advice = "Choose one with 'git config cortex.remote NAME'" if remotes else "Add one with 'git remote add'"
        super().__init__(f"It is not clear where to push. {advice}.", {"remotes": [echo(name) for name in remotes]})


class BaseBranchUnknown(RepositoryError):
    """The branch that work starts from, ``name``, does not exist; without a name, nothing says which it is."""

    def __init__(self, remote: str | None = None, name: str = "") -> None:
        places = f"neither here nor on '{echo(remote)}'" if remote else "not here"
        fault = f"The base branch '{echo(name)}' is {places}" if name else "The base branch is not known"
        super().__init__(f"{fault}. Set it with 'git config cortex.base BRANCH'.", {"remote": remote and echo(remote)})


class PushRejected(RepositoryError):
    """The remote refused the push, for ``reason``."""

    def __init__(self, branch: str, reason: str, git: str = "") -> None:
        super().__init__(
            f"The remote refused '{echo(branch)}' ({echo(reason)}). Fetch and merge or rebase, then call again.",
            {"branch": echo(branch), "reason": echo(reason), **_said(git)},
        )


class GitNetwork(RepositoryError):
    """The remote cannot be reached."""

    def __init__(self, remote: str, git: str = "") -> None:
        super().__init__(
            f"The remote '{echo(remote)}' cannot be reached. Check the network, then call again.",
            {"remote": echo(remote), **_said(git)},
        )


class GitAuthFailed(RepositoryError):
    """The remote refused the credentials, or git had none."""

    def __init__(self, remote: str, git: str = "") -> None:
        super().__init__(
            f"The remote '{echo(remote)}' refused the credentials. Log in to it with git in a terminal, then call "
            "again.",
            {"remote": echo(remote), **_said(git)},
        )


class GitHookFailed(RepositoryError):
    """A hook of the repository or of the remote refused; its output is in ``details.output``."""

    def __init__(self, output: str) -> None:
        super().__init__(
            "A git hook refused. Fix what its output names, then call again.",
            {"output": echo(output.strip(), _HOOK_LIMIT)},
        )


class GitIdentityMissing(RepositoryError):
    """Git does not know who commits."""

    def __init__(self, git: str = "") -> None:
        super().__init__("Git does not know who you are. Set user.name and user.email with git config.", _said(git))


class GitFailed(RepositoryError):
    """Git failed for a reason that has no error of its own."""

    def __init__(self, command: str, code: int, git: str) -> None:
        super().__init__(
            f"'git {command}' failed with exit code {code}. Look at details.git, fix the cause, then call again.",
            {"command": command, "exit_code": code, **_said(git)},
        )


class RepositoryBusy(RepositoryError):
    """Another ``ctx`` works in the repository (CX-66)."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"Another ctx worked in this repository for {seconds:g} seconds. Call again when it is done.",
            {"waited": seconds},
        )


class NotMerged(RepositoryError):
    """Nothing shows that the branch is merged (CX-76)."""

    def __init__(self, branch: str, base: str, state: str | None = None, url: str | None = None) -> None:
        super().__init__(
            f"The branch '{echo(branch)}' is not merged into '{echo(base)}'. Merge its pull request, then call again.",
            {"branch": echo(branch), "base": echo(base), "state": state, "url": url and echo(url)},
        )

"""The errors of ``ctx``, each with its code, its exit code and its message in one place (CX-54, CX-95).

A message is one sentence that says what to do next;
what git or a server said is in the details, shortened and with invisible characters escaped.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

__all__ = [
    "CANCELLED",
    "ERRORS",
    "NO_LOGIN",
    "REFUSED",
    "REPOSITORY",
    "UNREACHABLE",
    "USAGE",
    "BackendRefused",
    "CortexError",
    "InvalidUsage",
    "NotLoggedIn",
    "TimedOut",
    "as_warning",
    "cancelled",
    "echo",
    "escape_invisible",
    "file_trouble",
    "make_error",
    "nearest",
    "unknown_base",
]

REFUSED, USAGE, CANCELLED, NO_LOGIN, UNREACHABLE, REPOSITORY = range(1, 7)
"""Exit codes (CX-54): the server's rules forbid it; an option, argument or setting is invalid; the user cancelled; the
user is not logged in, or the login was rejected; the server or forge is unreachable, slow, busy or failing; git or the
state of the repository prevents it."""

_SAID: Final = "Look at details.git, fix the cause, then call again."

ERRORS: Final[Mapping[str, str]] = {
    "TaskNotFound": "Task #{id} not found.",
    "BackendUnreachable": "The server {url} cannot be reached ({reason}). Check the address and the network, then try "
    "again.",
    # The id of the request finds it in the log of the backend (CX-63).
    "BackendError": "The server failed ({status}: {reason}). Try again later, or report request {request_id}.",
    "ForgeAuthFailed": "{host} did not allow it ({status}: {reason}). Use a token that may create pull requests, then "
    "call again.",
    "ForgeFailed": "{host} did not do what was asked ({reason}). Call again later.",
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
"""The sentence of each code without a class, which says what to do next."""

_EXIT_CODES: Final = {
    "TaskNotFound": REFUSED,
    "BackendUnreachable": UNREACHABLE,
    "BackendError": UNREACHABLE,
    "ForgeAuthFailed": NO_LOGIN,
    "ForgeFailed": UNREACHABLE,
}
"""The exit codes of the table; all others are ``REPOSITORY``."""

_FILES: Final = 20

_GIT_LIMIT: Final = 500
"""Characters of git's own words that an error repeats (CX-95)."""

_HOOK_LIMIT: Final = 2000
"""Characters of a hook's output that an error repeats (CX-68)."""

_ECHO_LIMIT: Final = 200
"""Characters of input that one error repeats at most."""

_INVISIBLE: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Control, direction, zero-width and tag characters, and halves of a character: they hide or disguise text."""

_USER_INFO: Final = re.compile(r"(?<=://)[^/\s]*@")
"""A user name, and perhaps a password with ``@`` in it, in a URL."""


def escape_invisible(text: str) -> str:
    r"""Return ``text`` with control, bidi, tag and zero-width characters as ``\u{…}``, line breaks included (CX-53)."""
    return _INVISIBLE.sub(lambda match: f"\\u{{{ord(match.group()):x}}}", text)


def echo(text: str, limit: int = _ECHO_LIMIT) -> str:
    """Return the part of ``text`` that an error repeats: at most ``limit`` characters, all visible."""
    # A password that is cut off before its end would not be known as one.
    shown = escape_invisible(_USER_INFO.sub("", text)[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the up to three ``known`` names that are most like ``name``, nearest first."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

    return get_close_matches(name[:_ECHO_LIMIT], list(known), n=3, cutoff=0.5)


class CortexError(Exception):
    """Base of the failures that the caller can understand and act on.

    ``code`` is the stable name that programs match on.
    """

    exit_code: int = REFUSED
    code: str = ""

    def __init__(
        self, message: str, details: Mapping[str, object] | None = None, *, code: str = "", exit_code: int = 0
    ) -> None:
        super().__init__(message)
        self.message: str = message
        self.details: dict[str, object] = dict(details or {})
        self.code = code or self.code
        self.exit_code = exit_code or self.exit_code


class InvalidUsage(CortexError):
    """An option, an argument, a setting or a file of settings is wrong; ``message`` says which and what to do."""

    exit_code = USAGE
    code = "InvalidArguments"


class NotLoggedIn(CortexError):
    """There is no login for the server, or the server no longer accepts it (CX-62)."""

    exit_code = NO_LOGIN
    code = "NotLoggedIn"

    def __init__(self, reason: str = "") -> None:
        details = {"reason": reason} if reason else {}
        super().__init__("Not logged in. Please run 'ctx auth login' first, in a terminal.", details)


class TimedOut(CortexError):
    """The command took longer than ``CTX_TIMEOUT`` allows."""

    exit_code = UNREACHABLE
    code = "Timeout"

    def __init__(self, seconds: float) -> None:
        message = f"The command took longer than {seconds:g} seconds. See 'ctx tasks status', then try again."
        super().__init__(message, {"seconds": seconds})


class BackendRefused(CortexError):
    """The backend refused the request by its rules; the code and the sentence are its own (CX-23)."""

    def __init__(self, status: int, code: str, message: str, details: Mapping[str, object]) -> None:
        usage = USAGE if code in {"InvalidArguments", "InvalidCursor"} else REFUSED
        exit_code = {429: UNREACHABLE, 401: NO_LOGIN}.get(status, usage)
        super().__init__(message, details, code=code, exit_code=exit_code)
        self.status = status


def file_trouble(path: str, what: str, cure: str) -> InvalidUsage:
    """Return the error of a file of ``ctx`` that cannot be used; the file is left as it is."""
    return InvalidUsage(f"{echo(path)} {what}. {cure}", {"file": echo(path)})


def cancelled(exit_code: int = CANCELLED) -> CortexError:
    """Return the error of a person at the terminal who said no, or ended the command."""
    return CortexError("Cancelled.", code="Cancelled", exit_code=exit_code)


def make_error(
    code: str,
    *,
    words: Mapping[str, str] | None = None,
    git: str = "",
    output: str | None = None,
    files: Sequence[str] | None = None,
    **details: object,
) -> CortexError:
    """Return the error ``code`` of the table, whose sentence ``details`` and the further ``words`` fill.

    ``git`` is what git said, ``output`` what a hook wrote, and ``files`` are the files in the way.
    """
    shown = {name: echo(value) if isinstance(value, str) else value for name, value in details.items()}
    sentence = ERRORS[code].format_map({**shown, **(words or {"advice": _advice(code, git)})})
    if files is not None:
        shown["files"] = [echo(name) for name in files[:_FILES]]
        shown |= {"more": len(files) - _FILES} if len(files) > _FILES else {}
    if output is not None:
        shown["output"] = echo(output.strip(), _HOOK_LIMIT)
    if git.strip():
        shown["git"] = echo(git.strip(), _GIT_LIMIT)
    return CortexError(sentence, shown, code=code, exit_code=_EXIT_CODES.get(code, REPOSITORY))


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


def unknown_base(remote: str | None, name: str = "") -> CortexError:
    """Return the error of a base branch ``name`` that does not exist; without a name, nothing says which it is."""
    places = f"neither here nor on '{echo(remote)}'" if remote else "not here"
    fault = f"The base branch '{echo(name)}' is {places}" if name else "The base branch is not known"
    return make_error("BaseBranchUnknown", words={"fault": fault}, remote=remote)

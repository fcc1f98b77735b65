"""Git in one directory: calls it, and finds the error for a failure (CX-65)."""

import time
from collections.abc import Mapping, Sequence
from copy import copy
from math import inf
from pathlib import Path
from typing import Final, NamedTuple

from cortex_cli.errors import CortexError, TimedOut, make_error
from cortex_cli.git.process import GRACE_SECONDS, ChildProcess
from cortex_cli.models import Deadline

__all__ = ["Git", "GitOutput", "git_environment"]

_UNSET: Final = frozenset(
    {
        "CTX_TOKEN",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)
"""Variables that git must not see: our token, and those that hooks set to lead it to another directory."""

_TAKE_BACK_SECONDS: Final = 3.0
"""Seconds that are left, at least, to take back what a command began."""

_REASONS: Final = {
    "NotARepository": ("not a git repository", "dubious ownership", "must be run in a work tree"),
    "GitIdentityMissing": ("me who you are", "empty ident name", "unable to auto-detect email"),
    "GitLocked": (".lock': file exists", "another git process seems to be running"),
    "GitAuthFailed": (
        "authentication failed",
        "terminal prompts disabled",
        "could not read username",
        "could not read password",
        "permission denied (",
        "host key verification failed",
        "returned error: 401",
        "returned error: 403",
    ),
    "GitNetwork": (
        "unable to access",
        "could not read from remote repository",
        "could not resolve host",
        "the remote end hung up",
        "does not appear to be a git repository",
        "connection refused",
        "rpc failed",
    ),
}
"""The code of an error, and what git writes in that case, in lower case; the first that is found counts."""


class GitOutput(NamedTuple):
    """Output of one call of git."""

    code: int
    """The exit code, or the negative number of the signal that ended git."""
    out: str
    """Standard output; a byte that is not UTF-8 is a lone surrogate."""
    err: str
    """The end of standard error."""

    @property
    def line(self) -> str:
        """Standard output of a call that writes one line."""
        return self.out.removesuffix("\n")

    @property
    def fields(self) -> list[str]:
        """Standard output of a call with ``-z``: what is before each NUL."""
        return self.out.split("\0")[:-1]


def git_environment(environment: Mapping[str, str], *, is_asking: bool = False) -> dict[str, str]:
    """Return the environment for git: plain English, no optional locks, no token of ours, and no questions (CX-64)."""
    made = {name: value for name, value in environment.items() if name not in _UNSET}
    made |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    if not is_asking:
        made.setdefault("GIT_ASKPASS", "")
        made |= {
            "GIT_TERMINAL_PROMPT": "0",
            "SSH_ASKPASS_REQUIRE": "never",
            "GCM_INTERACTIVE": "never",
            "GIT_EDITOR": ":",
        }
    return made


class Git:
    """Git in one directory, within one deadline; ``is_asking`` is set when it may ask the person at the terminal.

    A call that takes too long is ended, with ``grace`` seconds before each signal.
    Values never pass through a shell. They go behind ``--end-of-options`` or as full references, and messages go to
    standard input.
    """

    def __init__(
        self,
        directory: Path,
        environment: Mapping[str, str],
        deadline: Deadline,
        *,
        is_asking: bool = False,
        grace: float = GRACE_SECONDS,
    ) -> None:
        self.directory = directory
        self.deadline = deadline
        self._environment = git_environment(environment, is_asking=is_asking)
        self._is_asking = is_asking
        self._grace = grace

    def at(self, directory: Path) -> "Git":
        """Return the same git in another directory."""
        moved = copy(self)
        moved.directory = directory
        return moved

    def quiet(self) -> "Git":
        """Return the same git that asks nothing of the person."""
        return Git(self.directory, self._environment, self.deadline)

    def with_more_time(self) -> "Git":
        """Return the same git with a few seconds left, to take back what a command began."""
        extended = copy(self)
        extended.deadline = self.deadline.extended(_TAKE_BACK_SECONDS)
        return extended

    def run(self, *arguments: str, stdin: str = "", seconds: float = inf, remote: str = "") -> GitOutput:
        """Run git and return its output, as ``attempt`` does; raise ``CortexError`` if it fails, by what it wrote.

        ``remote`` names the remote that the call talks to.
        """
        output = self.attempt(*arguments, stdin=stdin, seconds=seconds)
        if output.code:
            raise self.failure(_command(arguments), output, remote)
        return output

    def attempt(self, *arguments: str, stdin: str = "", seconds: float = inf) -> GitOutput:
        """Run git and return what it answered, whatever the exit code.

        Raise ``CortexError`` if there is no git or no such directory, or if the output is longer than 8 MiB, and
        ``TimedOut`` if it was ended since it took longer than ``seconds`` or than the deadline leaves.
        """
        try:
            return self._call(["git", *arguments], stdin, seconds)
        except FileNotFoundError:
            if self.directory.is_dir():
                words = {"fault": "Git is not installed"}
                raise make_error("GitMissing", words=words, found=None) from None
            raise make_error("NotARepository", directory=str(self.directory)) from None
        except (OSError, ValueError) as error:
            raise _failed(_command(arguments), 0, str(error)) from None

    def run_program(self, name: str, *arguments: str, stdin: str = "", seconds: float = inf) -> GitOutput | None:
        """Run another program beside git in the same way; None if it is not installed, or does not answer in time."""
        try:
            return self._call([name, *arguments], stdin, seconds)
        except (OSError, ValueError, TimedOut):
            return None

    def _call(self, command: Sequence[str], stdin: str, seconds: float) -> GitOutput:
        limit, has_terminal = self.deadline.limit(seconds), self._is_asking
        child = ChildProcess(command, self.directory, self._environment, has_terminal=has_terminal, grace=self._grace)
        code, out, err = child.communicate(stdin.encode("utf-8", "surrogateescape"), limit)
        return GitOutput(code, out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "replace").strip())

    def failure(self, command: str, output: GitOutput, remote: str = "") -> CortexError:
        """Return the error for a ``command`` that failed, by what git wrote."""
        said = output.err.lower()
        reason = next((name for name, words in _REASONS.items() if any(word in said for word in words)), "")
        if reason == "NotARepository":
            return make_error(reason, directory=str(self.directory), git=output.err)
        if reason == "GitIdentityMissing":
            return make_error(reason, git=output.err)
        if reason == "GitLocked":
            return _locked(output.err)
        if reason and remote:
            return make_error(reason, remote=remote, git=output.err)
        if "hook" in said:
            return make_error("GitHookFailed", output=output.err)
        return _failed(command, output.code, output.err)


def _command(arguments: Sequence[str]) -> str:
    """Return the command among the arguments of git; options of git itself come before it."""
    return next((word for word in arguments if not word.startswith("-") and "=" not in word), arguments[0])


def _failed(command: str, code: int, said: str) -> CortexError:
    return make_error("GitFailed", command=command, exit_code=code, git=said)


def _locked(said: str) -> CortexError:
    path = said.partition("Unable to create '")[2].partition("'")[0]
    try:
        age = max(time.time() - Path(path).stat().st_mtime, 0)
    except OSError:
        age = 0
    return make_error("GitLocked", path=path or "its lock file", age=round(age))

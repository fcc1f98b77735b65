"""The commit that ``ctx tasks pr`` makes of the changes in the work tree (CX-73)."""

import re
from collections.abc import Collection
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from cortex_cli.errors import InvalidUsage, make_error
from cortex_cli.flows.repository_state import RepositoryState
from cortex_cli.git import Git

__all__ = ["check_message", "commit_changes", "suspicious_files"]

_MESSAGE_LIMIT: Final = 10_000

_LARGE: Final = 10 * 1024 * 1024
"""Bytes from which on a new file is probably not meant to be committed."""

_SECRET: Final = (
    *(".env*", "*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_ed25519*", ".netrc", "*.kdbx"),
    *("credentials*.json", "service-account*.json"),
)

_HARMLESS: Final = (".env.example", ".env.sample", ".env.template")

_TRAILER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*: \S.*")
"""A line of the last paragraph of a message, if all its lines are such."""


def check_message(message: str) -> str:
    """Return a commit's message, stripped; raise ``InvalidUsage`` if it is empty, too long, or not text."""
    text = message.strip()
    if not 0 < len(text) <= _MESSAGE_LIMIT:
        raise InvalidUsage(f"The message must have 1 to {_MESSAGE_LIMIT:,} characters.")
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidUsage("The message must be text: it has a NUL, or a character that UTF-8 cannot write.")
    return text


def commit_changes(
    repository: RepositoryState, task_id: int, message: str | None, allowed: Collection[str] = ()
) -> str | None:
    """Commit what is staged, or all changes when nothing is, and return the new commit; None when nothing changed.

    ``allowed`` are paths that a person allows although they look suspicious. A refusal leaves the index as it was: when
    there is no message, when new files look like secrets or are very large, or when git fails.
    """
    state, git = repository.work_tree, repository.git
    everything = (*state.changed, *state.untracked)
    if not everything:
        if message is not None:
            repository.warnings.append("There was nothing to commit, so the message was not used.")
        return None
    if message is None:
        advice = "Call again with a message to commit them, or commit them with git."
        raise make_error("UncommittedChanges", words={"advice": advice}, files=everything)
    new = state.added if state.staged else (*state.added, *state.untracked)
    suspicious = [path for path in suspicious_files(repository.paths.top, new) if path not in allowed]
    if suspicious:
        raise make_error("SuspiciousFiles", files=suspicious)
    try:
        if not state.staged:
            # Exactly the files that were checked: others may have appeared since.
            paths = "".join(f"{path}\0" for path in everything)
            options = ("--all", "--pathspec-from-file=-", "--pathspec-file-nul")
            git.run("--literal-pathspecs", "add", *options, stdin=paths)
        _commit(git, _with_trailer(message, task_id))
    except BaseException:
        if not state.staged:
            git.with_more_time().attempt("reset", "--quiet", "--mixed")
        raise
    return git.run("rev-parse", "--verify", "HEAD").line


def suspicious_files(top: Path, paths: Collection[str]) -> list[str]:
    """Return the new files, of ``paths``, whose names are those of secrets or that are larger than 10 MiB."""
    found = []
    for path in paths:
        name = path.rpartition("/")[2].lower()
        is_large = False
        with suppress(OSError):  # it may have gone
            is_large = (top / path).lstat().st_size > _LARGE
        if is_large or (name not in _HARMLESS and any(fnmatchcase(name, pattern) for pattern in _SECRET)):
            found.append(path)
    return found


def _commit(git: Git, message: str) -> None:
    output = git.attempt("commit", "--quiet", "--cleanup=whitespace", "--file=-", stdin=message)
    if output.code:
        error = git.failure("commit", output)
        # Git is silent when a hook refuses.
        is_silent = error.code == "GitFailed" and not output.err.rpartition("\n")[2].startswith("fatal:")
        raise make_error("GitHookFailed", output=output.err) if is_silent else error


def _with_trailer(message: str, task_id: int) -> str:
    trailer = f"Cortex-Task: {task_id}"
    head, _, last = message.rpartition("\n\n")
    lines = last.split("\n")
    if trailer in lines:
        return message + "\n"
    are_trailers = bool(head) and all(_TRAILER.fullmatch(line) for line in lines)
    return f"{message}\n{'' if are_trailers else chr(10)}{trailer}\n"

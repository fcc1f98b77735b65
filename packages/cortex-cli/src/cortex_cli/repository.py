"""The repository as a flow finds it: its state, its references, and its lock (CX-66, CX-68)."""

import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from cortex_cli.branches import is_branch_name, parse_branch
from cortex_cli.errors import echo, make_error
from cortex_cli.git import Git, GitOutput

__all__ = [
    "RefState",
    "RepositoryPaths",
    "WorkTree",
    "find_paths",
    "lock_repository",
    "read_config",
    "read_refs",
    "read_work_tree",
    "refuse_unready",
]

_LOCK_SECONDS: Final = 10.0
"""Seconds that a flow waits for another one in the same repository."""

_POLL_SECONDS: Final = 0.05

_OPERATIONS: Final = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
    "sequencer": "cherry-pick or revert",
}
"""Files that git keeps in its folder while an operation is not finished, and the name of the operation."""

_BRANCH_FILES: Final = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
"""Files in which git keeps the branch that an operation began on."""

_COMMIT: Final = re.compile("[0-9a-f]{40,64}|detached HEAD")
"""The content of such a file if HEAD was detached before."""

_REF_FORMAT: Final = "--format=%(refname)%00%(objectname)%00%(symref)%00%(worktreepath)%00"

_COUNTS: Final = {"1": 8, "2": 9, "u": 10}
"""The spaces before the path in a line of ``git status``, by the kind of the line."""


class RepositoryPaths(NamedTuple):
    """Paths of the parts of a repository."""

    top: Path
    git_dir: Path
    """The folder of git for this work tree."""
    common_dir: Path
    """The folder of git for all work trees."""


class RefState(NamedTuple):
    """A reference: what it points to, and the work tree that has it checked out, or an empty string."""

    sha: str
    symref: str
    worktree: str


class WorkTree(NamedTuple):
    """State of the work tree: the paths of files, as ``git status`` lists them."""

    head: str | None
    """The commit; None before the first one."""
    branch: str | None
    """The current branch; None when HEAD is detached."""
    upstream: str | None
    ahead: int
    behind: int
    staged: tuple[str, ...]
    unstaged: tuple[str, ...]
    untracked: tuple[str, ...]
    conflicted: tuple[str, ...]
    added: tuple[str, ...]
    """The files of ``staged`` that the last commit does not have."""
    submodules: tuple[str, ...]
    """Submodules with changes inside, which only a commit there can take."""
    operation: str | None
    """The merge, rebase or other operation that is not finished."""

    @property
    def changed(self) -> tuple[str, ...]:
        """Tracked files that are not as in the last commit."""
        return tuple(sorted({*self.staged, *self.unstaged, *self.conflicted}))

    def require_branch(self) -> tuple[str, int]:
        """Return the checked-out branch and its task's id; raise ``NotATaskBranch`` if it is not a task's, or none."""
        task_id = parse_branch(self.branch)
        if self.branch is None or task_id is None:
            fault = f"The branch '{echo(self.branch)}' is" if self.branch else "HEAD is detached, so this is"
            raise make_error("NotATaskBranch", words={"fault": fault}, branch=self.branch)
        return self.branch, task_id


def find_paths(git: Git) -> RepositoryPaths:
    """Return where the repository around git's directory is; raise ``NotARepository`` if git does not work there."""
    options = ("--is-inside-work-tree", "--show-cdup", "--git-dir", "--git-common-dir")
    found = git.run("rev-parse", *options).line.split("\n")
    if len(found) != len(options):  # a path has a line break
        found = [git.run("rev-parse", option).line for option in options]
    if found[0] != "true":
        raise make_error("NotARepository", directory=str(git.directory), git="it has no work tree")
    here = git.directory.resolve()
    return RepositoryPaths(*((here / path).resolve() for path in found[1:]))


def read_config(git: Git) -> dict[str, list[str]]:
    """Return the settings of git that matter here: ``cortex.…``, remotes and their short forms."""
    output = git.attempt("config", "-z", "--get-regexp", r"^(cortex\..*|remote\..*\.url|url\..*\.insteadof)$")
    if output.code > 1:
        raise git.failure("config", output)
    found: dict[str, list[str]] = {}
    for field in output.fields:
        key, _, value = field.partition("\n")
        found.setdefault(key, []).append(value)
    return found


def read_work_tree(git: Git, paths: RepositoryPaths) -> WorkTree:
    """Return the state of the work tree; untracked folders that are repositories themselves are left out.

    During a rebase or a bisect, its branch is the current one, although HEAD is detached.
    """
    output = git.run(
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=all",
        "--no-renames",
        "--ignore-submodules=none",
    )
    state = _parse_status(output)
    operation = next((name for path, name in _OPERATIONS.items() if (paths.git_dir / path).exists()), None)
    branch = state.branch or _interrupted_branch(paths.git_dir)
    return state._replace(operation=operation, branch=branch)


def _interrupted_branch(git_dir: Path) -> str | None:
    for name in _BRANCH_FILES:
        with suppress(OSError):
            branch = (git_dir / name).read_text("utf-8", "replace").strip().removeprefix("refs/heads/")
            return branch if is_branch_name(branch) and not _COMMIT.fullmatch(branch) else None
    return None


def _parse_status(output: GitOutput) -> WorkTree:
    header: dict[str, str] = {}
    places = ("staged", "unstaged", "untracked", "conflicted", "added", "submodules")
    paths: dict[str, list[str]] = {name: [] for name in places}
    for field in output.fields:
        kind, _, rest = field.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            header[name] = value
        elif kind == "?":
            if not rest.endswith("/"):
                paths["untracked"].append(rest)
        else:
            path = field.split(" ", _COUNTS[kind])[-1]
            for name in _places_of(kind, rest):
                paths[name].append(path)
    ahead, behind = (abs(int(count)) for count in header.get("branch.ab", "+0 -0").split(" "))
    head, branch = header.get("branch.oid"), header.get("branch.head")
    return WorkTree(
        head=None if head == "(initial)" else head,
        branch=None if branch == "(detached)" else branch,
        upstream=header.get("branch.upstream"),
        ahead=ahead,
        behind=behind,
        operation=None,
        **{name: tuple(found) for name, found in paths.items()},
    )


def _places_of(kind: str, rest: str) -> list[str]:
    if kind == "u":
        return ["conflicted"]
    if rest[:2] == ".M" and rest[3:5] == "S.":  # its commit is the same
        return ["submodules"]
    is_intended = rest[:2] == ".A"  # by "git add --intent-to-add": a new file, of which nothing is staged
    named = {"staged": rest[0] != ".", "unstaged": rest[1] != ".", "added": rest[0] == "A" or is_intended}
    return [name for name, is_so in named.items() if is_so]


def refuse_unready(state: WorkTree, paths: RepositoryPaths, clock: Callable[[], float] = time.time) -> None:
    """Refuse a repository in which no flow may change anything (CX-68)."""
    lock = paths.git_dir / "index.lock"
    try:
        age = clock() - lock.stat().st_mtime
    except FileNotFoundError:
        pass
    else:
        raise make_error("GitLocked", path=str(lock), age=round(max(age, 0)))
    if state.operation:
        raise make_error("OperationInProgress", operation=state.operation)
    if state.conflicted:
        raise make_error("MergeConflicts", files=state.conflicted)
    if state.head is None:
        raise make_error("EmptyRepository")


def read_refs(git: Git, names: Sequence[str]) -> Mapping[str, RefState]:
    """Return the references that exist, of those with these full names."""
    fields = git.run("for-each-ref", _REF_FORMAT, "--end-of-options", *names).out.split("\0")
    rows = zip(*(fields[start::4] for start in range(4)), strict=False)
    found = {name.removeprefix("\n"): RefState(sha, symref, path) for name, sha, symref, path in rows}
    return {name: found[name] for name in names if name in found}


@contextmanager
def lock_repository(paths: RepositoryPaths, seconds: float = _LOCK_SECONDS) -> Iterator[None]:
    """Keep other flows out during the block; raise ``RepositoryBusy`` after ``seconds``. The lock's file stays."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(paths.common_dir / "cortex.lock", flags, 0o600)
    except OSError as error:
        said = f"{error.strerror}: cortex.lock in the folder of git"
        raise make_error("GitFailed", command="lock", exit_code=error.errno or 0, git=said) from None
    try:
        end = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise make_error("RepositoryBusy", waited=seconds) from None
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)

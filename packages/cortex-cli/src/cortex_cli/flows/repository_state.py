"""State of the repository at the start of a flow, checks of the task, and the base branch (CX-42, CX-67)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from cortex_cli.backend import Backend
from cortex_cli.branches import TaskBranch, is_branch_name, parse_branch
from cortex_cli.errors import CortexError, echo, make_error, unknown_base
from cortex_cli.git import Git
from cortex_cli.models import CortexTask, CortexUser, Deadline, Settings
from cortex_cli.remotes import GitConfig, Remote, choose_remote, no_remote, parse_address
from cortex_cli.repository import (
    RefState,
    RepositoryPaths,
    WorkTree,
    find_paths,
    lock_repository,
    read_config,
    read_refs,
    read_work_tree,
    refuse_unready,
)

__all__ = [
    "BaseBranch",
    "Flow",
    "RepositoryState",
    "fetch",
    "find_base",
    "inspect",
    "name_base",
    "open_repository",
    "require_branch",
    "require_mine",
    "require_repository",
]

_FETCH_SECONDS: Final = 15.0
"""Seconds that a fetch may take: it refreshes what is known, and a flow can go on without it."""


class Flow:
    """Context of a flow; ``warnings`` is what the user should know although nothing failed."""

    def __init__(
        self,
        *,
        backend: Backend,
        directory: Path,
        settings: Settings,
        deadline: Deadline,
        environment: Mapping[str, str],
        can_ask: bool = False,
    ) -> None:
        self.backend = backend
        self.settings = settings
        self.environment = environment
        self.git = Git(directory, environment, deadline, is_asking=can_ask)
        self.warnings: list[str] = []

    def answer(self, **fields: object) -> dict[str, object]:
        """Return the answer of a flow that succeeded, with the warnings if there are any."""
        return {"success": True, **fields, **({"warnings": [*self.warnings]} if self.warnings else {})}

    @contextmanager
    def with_warnings(self) -> Iterator[None]:
        """Let an error of the block carry the warnings so far."""
        try:
            yield
        except CortexError as error:
            error.warnings = [*self.warnings]
            raise


class RepositoryState(NamedTuple):
    """A repository at the start of a flow."""

    git: Git
    """Git at the top of the work tree."""
    paths: RepositoryPaths
    config: GitConfig
    work_tree: WorkTree
    remote: Remote | None

    def require_remote(self) -> Remote:
        """Return the remote; raise ``NoRemote`` if there is none."""
        if self.remote is None:
            raise no_remote()
        return self.remote


class BaseBranch(NamedTuple):
    """The branch that work starts from: its name, and its last known commits here and on the remote."""

    name: str
    local: RefState | None
    remote: RefState | None

    @property
    def sha(self) -> str:
        """The commit that counts: the remote's, otherwise the local one."""
        known = self.remote or self.local
        return known.sha if known else ""


@contextmanager
def open_repository(flow: Flow) -> Iterator[RepositoryState]:
    """Yield the repository, locked for other flows during the block and ready to be changed (CX-66, CX-68)."""
    with flow.with_warnings():
        paths = find_paths(flow.git)
        with lock_repository(paths):
            repository = inspect(flow.git, paths)
            refuse_unready(repository.work_tree, paths)
            if repository.work_tree.submodules:
                names = ", ".join(map(echo, repository.work_tree.submodules))
                flow.warnings.append(f"Changes inside submodules were left alone: {names}. Commit them there.")
            yield repository


def inspect(git: Git, paths: RepositoryPaths) -> RepositoryState:
    """Return the state of a repository; raise ``NoRemote`` if it is not clear which remote counts."""
    top = git.at(paths.top)
    config = read_config(top)
    return RepositoryState(top, paths, config, read_work_tree(top, paths), choose_remote(config))


def require_branch(state: WorkTree) -> TaskBranch:
    """Return the task branch that is checked out; raise ``CortexError`` if another branch is, or none."""
    branch = parse_branch(state.branch)
    if branch is None:
        fault = f"The branch '{echo(state.branch)}' is" if state.branch else "HEAD is detached, so this is"
        raise make_error("NotATaskBranch", words={"fault": fault}, branch=state.branch)
    return branch


def require_repository(repository: RepositoryState, task: CortexTask, branch: str | None = None) -> None:
    """Refuse a task of another repository, and one whose branch is not ``branch`` (CX-42).

    Raises:
        CortexError: the remote and the task's project differ, or the task has another branch.
    """
    if branch is not None and task.branch_name not in {None, branch}:
        names = {"current": branch, "expected": str(task.branch_name)}
        raise make_error("WrongBranch", **names, task_id=task.id)
    if repository.remote is not None and task.project.repository_url:
        here, there = repository.remote.address, parse_address(task.project.repository_url)
        if here != there:
            raise make_error("WrongRepository", current=here.text, expected=there.text)


def require_mine(task: CortexTask, user: CortexUser, statuses: Sequence[str], advice: str) -> None:
    """Refuse somebody else's task, and one in a status other than ``statuses``.

    Raises:
        CortexError: with the code ``InvalidTransition`` or ``AssignedToOther``.
    """
    if task.status not in statuses:
        message = f"Task #{task.id} is {task.status}. {advice}"
        raise CortexError(message, {"from": task.status, "allowed": [*statuses]}, code="InvalidTransition")
    if task.assignee is not None and task.assignee.id != user.id:
        message = f"Task #{task.id} is assigned to somebody else. Choose another task, or ask an owner of the project."
        raise CortexError(message, {"task_id": task.id}, code="AssignedToOther")


def name_base(flow: Flow, repository: RepositoryState, task: CortexTask) -> str:
    """Return the name of the base branch; raise ``CortexError`` if none of them is known.

    It is ``cortex.base``, otherwise the project's default branch, otherwise the one that the remote names, otherwise
    ``main`` or ``master``. A default branch that the remote does not have gives way to the one that the remote names.
    """
    chosen = repository.config.get("cortex.base", ())[-1:]
    if chosen and is_branch_name(chosen[0]):
        return chosen[0]
    named = task.project.default_branch or ""
    named = named if is_branch_name(named) else ""
    remote, usual = repository.remote, ("main", "master")
    prefix = remote.ref("") if remote else "refs/heads/"
    head = f"{prefix}HEAD"
    wanted = [head, *(prefix + name for name in (named, *usual) if name)]
    refs = read_refs(repository.git, wanted)
    if named and prefix + named not in refs and remote:
        with suppress(CortexError):  # it may be new on the remote
            fetch(repository.git, remote, named, named)
            refs = read_refs(repository.git, wanted)
    target = refs[head].symref.removeprefix(prefix) if head in refs else ""
    if named and (prefix + named in refs or not target):
        return named
    if named:
        flow.warnings.append(
            f"The project's default branch '{named}' is not on the remote, so '{target}' is the base. Correct it with "
            f"'ctx projects edit {task.project.id} --default-branch {target}'."
        )
    found = next((name for name in (target, *usual) if name and (name == target or prefix + name in refs)), "")
    if not found:
        raise unknown_base(remote.name if remote else None)
    return found


def find_base(refs: Mapping[str, RefState], name: str, remote: Remote | None) -> BaseBranch:
    """Return the base branch among references that were read.

    Raises:
        CortexError: it exists neither here nor on the remote.
    """
    base = BaseBranch(name, refs.get(f"refs/heads/{name}"), refs.get(remote.ref(name)) if remote else None)
    if not base.sha:
        raise unknown_base(remote.name if remote else None, name)
    return base


def fetch(git: Git, remote: Remote, base: str, branch: str) -> None:
    """Bring what is known about the base and a task branch up to date, for at most 15 seconds.

    Raises:
        CortexError: the remote cannot be reached, refuses, or has no such base.
        TimedOut: it takes longer.
    """
    # A pattern may match nothing: the task branch need not be on the remote.
    specs = [f"+refs/heads/{base}:{remote.ref(base)}", f"+refs/heads/{branch}*:{remote.ref(branch)}*"]
    options = ("--quiet", "--prune", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
    git.run(
        *("fetch", *options, "--no-auto-maintenance", "--end-of-options", remote.name, *specs),
        seconds=_FETCH_SECONDS,
        remote=remote.name,
    )

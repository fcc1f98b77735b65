"""State of the repository at the start of a flow, checks of the task, and the base branch (CX-42, CX-67)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from cortex_cli.backend import Backend
from cortex_cli.branches import is_branch_name
from cortex_cli.errors import CortexError, as_warning, echo, make_error, unknown_base
from cortex_cli.forge import find_forge
from cortex_cli.git import Git
from cortex_cli.models import CortexTask, PullRequestRecord, Settings
from cortex_cli.remotes import Remote, choose_remote, parse_address
from cortex_cli.repository import (
    RefState,
    RepositoryPaths,
    find_paths,
    lock_repository,
    read_config,
    read_refs,
    read_work_tree,
    refuse_unready,
)

__all__ = ["BranchRefs", "Flow", "RepositoryState", "open_repository"]

_FETCH_SECONDS: Final = 15.0
"""Seconds that a fetch may take: it refreshes what is known, and a flow can go on without it."""


class Flow(NamedTuple):
    """Context of a flow; ``warnings`` takes what the user should know although nothing failed."""

    backend: Backend
    git: Git
    """Git in the directory of the call."""
    settings: Settings
    environment: Mapping[str, str]
    warnings: list[str]


class BranchRefs(NamedTuple):
    """The last known commits of a base branch and of a task's branch, here and on the remote."""

    base: str
    """The name of the base."""
    base_here: RefState | None
    base_there: RefState | None
    here: RefState | None
    there: RefState | None

    @property
    def base_sha(self) -> str:
        """The commit of the base that counts: the remote's, otherwise the local one."""
        known = self.base_there or self.base_here
        return known.sha if known else ""


class RepositoryState:
    """A repository as a flow finds it, with ``git`` at its top; raises ``NoRemote`` if it is not clear which counts."""

    def __init__(self, flow: Flow, paths: RepositoryPaths) -> None:
        self.paths = paths
        self.git = flow.git.at(paths.top)
        self.config = read_config(self.git)
        self.work_tree = read_work_tree(self.git, paths)
        self.remote = choose_remote(self.config)
        self.backend = flow.backend
        self.environment = flow.environment
        self.warnings = flow.warnings

    def require_own(self, task: CortexTask, branch: str | None = None) -> None:
        """Refuse a task of another repository, and one whose branch is not ``branch`` (CX-42)."""
        if branch is not None and task.branch_name not in {None, branch}:
            raise make_error("WrongBranch", current=branch, expected=task.branch_name, task_id=task.id)
        if self.remote is not None and task.project.repository_url:
            here, there = self.remote.address, parse_address(task.project.repository_url)
            if here != there:
                raise make_error("WrongRepository", current=here.text, expected=there.text)

    def require_mine(self, task: CortexTask, statuses: Sequence[str], advice: str) -> None:
        """Refuse somebody else's task, and one in a status other than ``statuses`` (CX-12, CX-13)."""
        if task.status not in statuses:
            message = f"Task #{task.id} is {task.status}. {advice}"
            raise CortexError(message, {"from": task.status, "allowed": [*statuses]}, code="InvalidTransition")
        if task.assignee is not None and task.assignee.id != self.backend.user().id:
            message = (
                f"Task #{task.id} is assigned to somebody else. Choose another task, or ask an owner of the project."
            )
            raise CortexError(message, {"task_id": task.id}, code="AssignedToOther")

    def name_base(self, task: CortexTask) -> str:
        """Return the name of the base branch; raise ``BaseBranchUnknown`` if none of them is known.

        It is ``cortex.base``, otherwise the project's default branch, otherwise the one that the remote names,
        otherwise ``main`` or ``master``. A default branch that the remote does not have gives way to the one that the
        remote names.
        """
        chosen = self.config.get("cortex.base", ())[-1:]
        if chosen and is_branch_name(chosen[0]):
            return chosen[0]
        named = task.project.default_branch or ""
        named = named if is_branch_name(named) else ""
        remote, usual = self.remote, ("main", "master")
        prefix = remote.ref("") if remote else "refs/heads/"
        head = f"{prefix}HEAD"
        wanted = [head, *(prefix + name for name in (named, *usual) if name)]
        refs = read_refs(self.git, wanted)
        if named and prefix + named not in refs and remote:
            with suppress(CortexError):  # it may be new on the remote
                self.fetch(remote, named, named)
                refs = read_refs(self.git, wanted)
        target = refs[head].symref.removeprefix(prefix) if head in refs else ""
        if named and (prefix + named in refs or not target):
            return named
        if named:
            self.warnings.append(
                f"The project's default branch '{named}' is not on the remote, so '{target}' is the base. Correct it "
                f"with 'ctx projects edit {task.project.id} --default-branch {target}'."
            )
        found = target or next((name for name in usual if prefix + name in refs), "")
        if not found:
            raise unknown_base(remote.name if remote else None)
        return found

    def read_branches(self, base: str, branch: str) -> BranchRefs:
        """Return the last known commits of both branches; raise ``BaseBranchUnknown`` if the base is nowhere."""
        places = ("refs/heads/", self.remote.ref("") if self.remote else "")
        names = [place + name if place else "" for place in places for name in (base, branch)]
        refs = read_refs(self.git, [name for name in names if name])
        base_here, here, base_there, there = map(refs.get, names)
        found = BranchRefs(base, base_here, base_there, here, there)
        if not found.base_sha:
            raise unknown_base(self.remote.name if self.remote else None, base)
        return found

    def fetch(self, remote: Remote, base: str, branch: str) -> None:
        """Fetch the base and a task branch; raise ``CortexError`` if that fails or takes longer than 15 seconds."""
        # A pattern may match nothing: the task branch need not be on the remote.
        specs = [f"+refs/heads/{base}:{remote.ref(base)}", f"+refs/heads/{branch}*:{remote.ref(branch)}*"]
        options = ("--quiet", "--prune", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
        self.git.run(
            *("fetch", *options, "--no-auto-maintenance", "--end-of-options", remote.name, *specs),
            seconds=_FETCH_SECONDS,
            remote=remote.name,
        )

    def warn_of_stale_base(self, error: CortexError) -> None:
        """Warn that a fetch failed."""
        self.warnings.append(f"The remote was not fetched, so the last known base counts: {as_warning(error)}")

    def ask_forge(self, task: CortexTask) -> PullRequestRecord | None:
        """Return the task's pull request as the forge has it now; None if there is none, or no forge to ask."""
        known = task.pull_request
        if known is None or known.number is None or self.remote is None:
            return None
        forge = find_forge(self.environment, self.config, self.remote, self.git)
        return forge.client.state(known.number) if forge.client and forge.kind == known.forge else None


@contextmanager
def open_repository(flow: Flow) -> Iterator[RepositoryState]:
    """Yield the repository, locked for other flows during the block and ready to be changed (CX-66, CX-68)."""
    paths = find_paths(flow.git)
    with lock_repository(paths):
        repository = RepositoryState(flow, paths)
        refuse_unready(repository.work_tree, paths)
        if repository.work_tree.submodules:
            names = ", ".join(map(echo, repository.work_tree.submodules))
            flow.warnings.append(f"Changes inside submodules were left alone: {names}. Commit them there.")
        yield repository

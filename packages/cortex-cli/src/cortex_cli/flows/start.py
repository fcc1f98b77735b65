"""``ctx tasks start``: the task becomes the user's, and its branch is checked out (CX-70)."""

from contextlib import suppress
from typing import NamedTuple

from cortex_cli.backend import Backend
from cortex_cli.branches import make_branch_name, parse_branch
from cortex_cli.errors import BackendRefused, CortexError, InvalidUsage, echo, make_error
from cortex_cli.flows.repository_state import BranchRefs, Flow, RepositoryState, open_repository
from cortex_cli.git import Git
from cortex_cli.models import CortexTask, as_json
from cortex_cli.remotes import parse_address

__all__ = ["start"]

_TAKE_BACK_SECONDS = 4.0
"""Seconds that are left, at least, to take back what the backend was asked."""


class _Plan(NamedTuple):
    branch: str
    refs: BranchRefs
    start: str
    """The commit to create the branch from, if it is neither here nor on the remote."""

    @property
    def target(self) -> str:
        """The commit that is checked out in the end."""
        known = self.refs.here or self.refs.there
        return known.sha if known else self.start


def start(flow: Flow, task_id: int, *, source: str | None = None, is_here: bool = False) -> dict[str, object]:
    """Start a task: check everything, then ask the backend, then git; repeated, it switches to the branch.

    A new branch starts at ``source``, a revision, or at the current commit, otherwise at the base branch. When git
    fails, the backend is asked to take the change back, and the error says in ``rolled_back`` whether it did.
    """
    start_point = "HEAD" if is_here else source
    with open_repository(flow) as repository:
        backend = flow.backend
        before = first = backend.get_task(task_id)
        plan = _plan(repository, before, start_point)
        try:
            after = _take(backend, before, plan)
        except BackendRefused as error:
            if error.code != "PreconditionFailed":
                raise
            before = backend.get_task(task_id)  # somebody changed it meanwhile: decide once more
            plan = _plan(repository, before, start_point)
            after = _take(backend, before, plan)
        try:
            _switch(repository, plan)
        except BaseException as error:
            is_back = after.version == first.version or _take_back(backend, first, before, after)
            if isinstance(error, CortexError):
                error.details["rolled_back"] = is_back
            raise
    return {
        "success": True,
        "task_id": task_id,
        "branch": plan.branch,
        "created": plan.refs.here is None and plan.refs.there is None,
        "status": after.status,
        "base": plan.refs.base,
        "directory": str(repository.paths.top),
        "task": as_json(after),
    }


def _plan(repository: RepositoryState, task: CortexTask, start_point: str | None) -> _Plan:
    """Check everything that could forbid the start, and warn of what the user may not expect."""
    statuses = ("TODO", "IN_PROGRESS", "REVIEW")
    repository.require_mine(task, statuses, "Open it again with 'ctx tasks edit' first.")
    repository.require_own(task)
    _require_own_repository(repository, task)
    branch = _branch_of(task)
    name = repository.name_base(task)
    if repository.remote is None:
        repository.warnings.append("The repository has no remote, so the branch starts from the local base.")
    else:
        try:
            repository.fetch(repository.remote, name, branch)
        except CortexError as error:
            repository.warn_of_stale_base(error)
    refs = repository.read_branches(name, branch)
    start = "" if refs.here or refs.there else _start_of(repository, refs.base_sha, start_point)
    plan = _Plan(branch, refs, start)
    if repository.work_tree.branch != branch:
        _require_free(repository, plan)
    _warn_of_differences(repository, plan)
    return plan


def _require_own_repository(repository: RepositoryState, task: CortexTask) -> None:
    """Refuse a task without a repository in the clone of another project of the user: its owner may be anybody."""
    if task.project.repository_url or repository.remote is None:
        return
    here = repository.remote.address
    for project in repository.backend.list_projects():
        if project.repository_url and parse_address(project.repository_url) == here:
            name = f"{echo(task.project.name)} (which has no repository)"
            raise make_error("WrongRepository", current=f"{here.text} of {echo(project.name)}", expected=name)


def _branch_of(task: CortexTask) -> str:
    """Return the branch of a task; neither its name nor the type and title that make one are trusted."""
    name = task.branch_name or make_branch_name(task.type, task.id, task.title)
    if parse_branch(name) != task.id:
        reason = f"'{echo(name)}' is not a branch of the task"
        raise make_error("BackendError", status=200, reason=reason, request_id="-")
    return name


def _start_of(repository: RepositoryState, base: str, start_point: str | None) -> str:
    if start_point is None:
        return base
    found = repository.git.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{start_point}^{{commit}}")
    if found.code:
        raise InvalidUsage(f"'{echo(start_point)}' is not a commit. Name a branch, a tag or a commit.")
    return found.line


def _require_free(repository: RepositoryState, plan: _Plan) -> None:
    """Refuse what a switch would lose or overwrite."""
    if plan.refs.here and plan.refs.here.worktree:
        raise make_error("BranchElsewhere", branch=plan.branch, path=plan.refs.here.worktree)
    state = repository.work_tree
    places = ("--count=1", f"--contains={state.head}", "refs/heads", "refs/remotes", "refs/tags")
    is_detached = state.branch is None and state.head != plan.target
    if is_detached and not repository.git.run("for-each-ref", *places).out:
        raise make_error("DetachedHead", head=str(state.head))
    in_the_way = {*state.changed, *state.untracked} if state.head != plan.target else set[str]()
    if in_the_way:
        options = ("-r", "-z", "--name-only", "--no-renames")
        in_the_way &= {*repository.git.run("diff-tree", *options, str(state.head), plan.target).fields}
    if in_the_way:
        advice = "Commit or move them: switching to the branch would overwrite them."
        raise make_error("UncommittedChanges", words={"advice": advice}, files=sorted(in_the_way))
    if state.changed:
        repository.warnings.append(f"{len(state.changed)} changed files were carried along to the branch.")


def _warn_of_differences(repository: RepositoryState, plan: _Plan) -> None:
    git, (base, base_here, base_there, here, there) = repository.git, plan.refs
    if here and there and here.sha != there.sha:
        ahead, behind = _count(git, here.sha, there.sha)
        if behind:
            have = f"{behind} commits that the branch does not have"
            own = f", and the branch has {ahead} that the remote does not have" if ahead else ""
            repository.warnings.append(f"The remote has {have}{own}.")
    elif not (here or there) and base_here and base_there and base_here.sha != base_there.sha:
        ahead, _ = _count(git, base_here.sha, base_there.sha)
        if ahead:
            repository.warnings.append(
                f"The local '{base}' has {ahead} commits that are not pushed; the branch starts without them, from the "
                "remote."
            )


def _count(git: Git, left: str, right: str) -> tuple[int, int]:
    counts = git.run("rev-list", "--left-right", "--count", f"{left}...{right}").line.split("\t")
    return int(counts[0]), int(counts[1])


def _take(backend: Backend, task: CortexTask, plan: _Plan) -> CortexTask:
    """Ask the backend for the task, unless it is the user's and started already."""
    if task.status == "IN_PROGRESS" and task.branch_name == plan.branch and task.assignee is not None:
        return task
    changes = {"status": "IN_PROGRESS", "branch_name": plan.branch}
    return backend.update_task(task.id, changes, version=task.version)


def _take_back(backend: Backend, first: CortexTask, before: CortexTask, after: CortexTask) -> bool:
    """Give the task back, and return whether it is as it was; ``before`` is ``after`` if our answer got lost."""
    if before is after and after.version > first.version + 1:
        return False  # somebody else has changed it too
    old = first if before is after else before
    changes: dict[str, object] = {"status": old.status, "branch_name": old.branch_name}
    if old.assignee is None:
        changes["assignee_id"] = None
    backend = backend.with_more_time(_TAKE_BACK_SECONDS)
    try:
        backend.update_task(old.id, changes, version=after.version)
    except CortexError:
        with suppress(CortexError):  # the answer alone may have been lost
            return backend.get_task(old.id).status == old.status != after.status
        return False
    return True


def _switch(repository: RepositoryState, plan: _Plan) -> None:
    """Check the branch out; nothing moves a branch that exists."""
    if repository.work_tree.branch == plan.branch:
        return
    switch = ("switch", "--quiet", "--no-overwrite-ignore")  # git would overwrite ignored files without a word
    git, create = repository.git, (*switch, f"--create={plan.branch}")
    if plan.refs.here:
        output = git.attempt(*switch, "--no-guess", "--end-of-options", plan.branch)
    elif plan.refs.there and repository.remote:
        output = git.attempt(*create, "--track", "--end-of-options", repository.remote.ref(plan.branch))
        if "tracking information" in output.err:  # a clone of a single branch does not know the others
            output = git.attempt(*create, "--no-track", "--end-of-options", plan.refs.there.sha)
    else:
        output = git.attempt(*create, "--no-track", "--end-of-options", plan.start)
    if output.code:
        if git.attempt("symbolic-ref", "--quiet", "HEAD").line != f"refs/heads/{plan.branch}":
            raise git.failure("switch", output)
        repository.warnings.append(f"The branch is checked out, but a hook failed: {echo(output.err)}")

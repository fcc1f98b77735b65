"""``ctx tasks done``: records merged work, and deletes its branch (CX-75, CX-76)."""

from contextlib import suppress
from typing import Final, NamedTuple

from cortex_cli.branches import parse_branch
from cortex_cli.errors import CortexError, InvalidUsage, TimedOut, as_warning, echo, make_error
from cortex_cli.flows.repository_state import BranchRefs, Flow, RepositoryState, open_repository
from cortex_cli.git import Git
from cortex_cli.models import CortexTask, PullRequestRecord, Settings
from cortex_cli.remotes import Remote
from cortex_cli.repository import RefState, read_refs

__all__ = ["complete"]

_NOBODY: Final = ("-c", "user.name=ctx", "-c", "user.email=ctx@localhost")
"""The author of the commit that is compared; it is on no branch, so git removes it in time."""

_COMMITTED: Final = ("commit", "cherry-pick", "revert", "am:")
"""Beginnings of what git remembers of a commit that was made."""


class _Finish(NamedTuple):
    task: CortexTask
    branch: str
    tip: str
    refs: BranchRefs
    merged_by: str


def complete(flow: Flow, *, is_forced: bool = False, keeps_branch: bool = False) -> dict[str, object]:
    """Finish the task of the current branch once it is merged; what goes wrong after that is a warning.

    ``is_forced`` finishes it although nothing shows that it is merged; then its branch stays. Raise ``CortexError`` if
    it is not merged, if the state of the task or the repository forbids it, or if the remote cannot be reached.
    """
    with open_repository(flow) as repository:
        finish = _inspect(repository, is_forced=is_forced)
        changes: dict[str, object] = {"status": "DONE"}
        if finish.task.pull_request is not None and finish.merged_by != "forced":
            changes["pull_request"] = {"state": "merged"}
        after = flow.backend.update_task(finish.task.id, changes)
        deleted = {"local": False, "remote": False, "worktree": False}
        try:
            if _leave_branch(repository, finish) and finish.merged_by != "forced" and not keeps_branch:
                _delete_branch(repository, finish, flow.settings, deleted)
        except CortexError as error:
            flow.warnings.append(f"The task is done, but not everything was tidied up: {as_warning(error)}")
    return {
        "success": True,
        "task_id": after.id,
        "status": after.status,
        "merged_by": finish.merged_by,
        "base": finish.refs.base,
        "deleted": deleted,
    }


def _inspect(repository: RepositoryState, *, is_forced: bool) -> _Finish:
    """Check everything that could forbid finishing the task."""
    branch, tip, task = _find_work(repository)
    repository.require_own(task, branch)
    if task.status in {"TODO", "CANCELED"}:
        message = f"Task #{task.id} is {task.status}. Start it with 'ctx tasks start', or open it again, first."
        raise CortexError(message, {"from": task.status, "to": "DONE"}, code="InvalidTransition")
    name = repository.name_base(task)
    if repository.remote:
        _refresh(repository, repository.remote, name, branch)
    elif not is_forced:
        raise _not_merged(branch, name, task.pull_request)
    refs, pull = repository.read_branches(name, branch), None
    try:
        pull = repository.ask_forge(task)
    except CortexError as error:
        if isinstance(error, InvalidUsage):  # a setting is wrong
            raise
        repository.warnings.append(f"The forge was not asked, so only git can show the merge: {error.message}")
    merged_by = _find_merge(repository.git, refs.base_there, tip, pull)
    if merged_by is None and not is_forced:
        raise _not_merged(branch, name, pull or task.pull_request)
    is_untouched = merged_by == "ancestor" and task.status != "DONE"
    is_untouched = is_untouched and not _has_own_work(repository.git, branch, task, refs.base_sha, tip)
    if is_untouched and not is_forced:
        raise make_error("NothingToSubmit", branch=branch, base=name)
    return _Finish(task, branch, tip, refs, "forced" if is_untouched or merged_by is None else merged_by)


def _find_work(repository: RepositoryState) -> tuple[str, str, CortexTask]:
    """Return the branch that is checked out, its tip and its task.

    On the base, it is the branch left last if its task is done: an earlier run was ended before it deleted the branch.
    """
    state = repository.work_tree
    if parse_branch(state.branch) is None and not state.changed:
        ref = repository.git.attempt("rev-parse", "--quiet", "--symbolic-full-name", "@{-1}").line
        left = ref.removeprefix("refs/heads/")
        task_id = parse_branch(left)
        with suppress(CortexError):
            task = repository.backend.get_task(task_id) if task_id else None
            if task and task.status == "DONE" and state.branch == repository.name_base(task):
                return left, read_refs(repository.git, [ref])[ref].sha, task
    branch, task_id = state.require_branch()
    if state.changed:
        advice = "Commit and submit them, or undo them, then call again."
        raise make_error("UncommittedChanges", words={"advice": advice}, files=state.changed)
    return branch, str(state.head), repository.backend.get_task(task_id)


def _find_merge(git: Git, base: RefState | None, tip: str, pull: PullRequestRecord | None) -> str | None:
    """Return what shows that ``tip`` is merged into the base: ``forge``, ``ancestor`` or ``patch``; None: nothing.

    A branch is merged by patch when each of its commits is in the base (rebase), or all of them as one (squash).
    """
    if pull is not None and pull.state == "merged" and pull.head_sha == tip:
        return "forge"
    fork = git.attempt("merge-base", base.sha, tip).line if base else ""
    if fork == tip:
        return "ancestor"
    if base is None or not fork:
        return None
    if _are_contained(git, base.sha, tip):
        return "patch"
    squashed = git.run(*_NOBODY, "commit-tree", "-p", fork, "-F", "-", f"{tip}^{{tree}}", stdin="squashed").line
    return "patch" if _are_contained(git, base.sha, squashed) else None


def _are_contained(git: Git, base: str, tip: str) -> bool:
    # Unlike "git cherry", this counts merges, in which there may be work too.
    options = ("--cherry-mark", "--right-only")
    marks = [line[:1] for line in git.run("rev-list", *options, f"{base}...{tip}", "--").out.splitlines()]
    return bool(marks) and set(marks) == {"="}


def _has_own_work(git: Git, branch: str, task: CortexTask, base: str, tip: str) -> bool:
    """Return whether something shows that commits were made on a branch whose tip is in the base.

    It was submitted, or merged by a merge commit, or git remembers a commit that was made on the branch here.
    """
    if task.pull_request is not None and task.pull_request.head_sha == tip:
        return True
    if tip not in git.run("rev-list", "--first-parent", base, "--not", f"{tip}^@", "--").out:
        return True
    made = git.attempt("log", "--walk-reflogs", "--format=%gs", f"refs/heads/{branch}", "--").out.splitlines()
    return any(line.startswith(_COMMITTED) for line in made)


def _refresh(repository: RepositoryState, remote: Remote, base: str, branch: str) -> None:
    try:
        repository.fetch(remote, base, branch)
    except TimedOut as error:
        raise make_error("GitNetwork", remote=remote.name, git=error.message) from None
    except CortexError as error:
        if error.code != "GitAuthFailed":
            raise
        repository.warn_of_stale_base(error)


def _not_merged(branch: str, base: str, known: PullRequestRecord | None) -> CortexError:
    state, url = (known.state, known.url) if known else (None, None)
    return make_error("NotMerged", branch=branch, base=base, state=state, url=url)


def _leave_branch(repository: RepositoryState, finish: _Finish) -> bool:
    """Switch to the base, and move it to where the remote has it if it has nothing of its own.

    Return whether the branch was left: it is not while another work tree has the base.
    """
    git, remote, refs, warnings = repository.git, repository.remote, finish.refs, repository.warnings
    if refs.base_here and refs.base_here.worktree and repository.work_tree.branch != refs.base:
        warnings.append(
            f"'{refs.base}' is checked out in {echo(refs.base_here.worktree)}, so this work tree stays on "
            f"'{finish.branch}', which was not deleted."
        )
        return False
    quiet = ("--quiet", "--no-overwrite-ignore")  # git would overwrite ignored files without a word
    if refs.base_here is None and remote is not None:
        git.run("switch", *quiet, f"--create={refs.base}", "--track", "--end-of-options", remote.ref(refs.base))
        return True
    git.run("switch", *quiet, "--no-guess", "--end-of-options", refs.base)
    if refs.base_there is None or remote is None:
        return True
    output = git.attempt("merge", *quiet, "--ff-only", "--end-of-options", remote.ref(refs.base))
    if output.code:
        ahead = git.run("rev-list", "--count", f"{refs.base_there.sha}..refs/heads/{refs.base}").line
        why = f"it has {ahead} commits that are not pushed" if int(ahead) else echo(output.err)
        warnings.append(f"The local '{refs.base}' was not moved: {why}.")
    return True


def _delete_branch(repository: RepositoryState, finish: _Finish, settings: Settings, deleted: dict[str, bool]) -> None:
    """Delete the branch, which is merged, where the settings say so; the remote's only if it is as it was seen."""
    git, name, remote = repository.git, finish.branch, repository.remote
    if settings.delete_remote_on_done and finish.refs.there and remote is not None:
        lease = f"--force-with-lease=refs/heads/{name}:{finish.tip}"
        options = ("--porcelain", "--quiet", lease, "--delete")
        output = git.attempt("push", *options, "--end-of-options", remote.name, f"refs/heads/{name}")
        deleted["remote"] = output.code == 0
        if output.code:
            repository.warnings.append(
                "The branch on the remote was not deleted: it has changed, or the remote refuses."
            )
    if settings.delete_local_on_done:
        if git.run("rev-parse", "--verify", f"refs/heads/{name}").line != finish.tip:
            repository.warnings.append(f"The branch '{name}' was not deleted: it has commits that came meanwhile.")
            return
        git.run("branch", "--quiet", "-D", "--end-of-options", name)
        deleted["local"] = True

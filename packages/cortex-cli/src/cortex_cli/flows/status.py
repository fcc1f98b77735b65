"""``ctx tasks status``: where the work is, and what to do next (CX-78)."""

from cortex_cli.branches import parse_branch
from cortex_cli.errors import CortexError
from cortex_cli.flows.repository_state import Flow, RepositoryState, inspect, require_branch
from cortex_cli.forge import PullRequest, find_forge
from cortex_cli.models import CortexTask, as_json
from cortex_cli.repository import find_paths, read_work_tree

__all__ = ["current_task_id", "status"]


def current_task_id(flow: Flow) -> int:
    """Return the id of the task whose branch is checked out.

    Raises:
        CortexError: the current branch is not the branch of a task, or the directory is not in a work tree.
    """
    return require_branch(read_work_tree(flow.git, find_paths(flow.git))).task_id


def status(flow: Flow, *, is_offline: bool = False) -> dict[str, object]:
    """Return the state of the repository and of the task of its branch.

    What the forge says about the pull request is stored in the backend when it is news. A backend or a forge that
    cannot be reached is a warning.

    Raises:
        CortexError: git is missing, the directory is outside a work tree, or the remote is ambiguous.
    """
    with flow.with_warnings():
        repository = inspect(flow.git, find_paths(flow.git))
        state = repository.work_tree
        branch = parse_branch(state.branch)
        task = None if branch is None or is_offline else _task(flow, repository, branch.task_id)
        if state.operation:
            flow.warnings.append(f"A {state.operation} is in progress. Finish or abort it with git before you go on.")
        if is_offline:
            flow.warnings.append("Neither the server nor the forge was asked.")
        elif repository.remote is None:
            flow.warnings.append("There is no remote, so nothing is known about the pull request but what is recorded.")
    return flow.answer(
        current_branch=state.branch,
        is_task_branch=branch is not None,
        task_id=branch.task_id if branch else None,
        task=as_json(task),
        git={
            "head": state.head,
            "dirty": bool(state.changed or state.untracked),
            "staged": len(state.staged),
            "unstaged": len(state.unstaged),
            "untracked": len(state.untracked),
            "conflicted": len(state.conflicted),
            "ahead": state.ahead,
            "behind": state.behind,
            "upstream": state.upstream,
            "operation": state.operation,
        },
        pull_request=as_json(task.pull_request) if task else None,
        next=_next(repository, task) if branch is None or task else None,
    )


def _task(flow: Flow, repository: RepositoryState, task_id: int) -> CortexTask | None:
    try:
        task = flow.backend.get_task(task_id)
    except CortexError as error:
        flow.warnings.append(f"The task is not known: {error.message}")
        return None
    try:
        return _refreshed(flow, repository, task)
    except CortexError as error:
        flow.warnings.append(f"The pull request is as it was last seen: {error.message}")
        return task


def _refreshed(flow: Flow, repository: RepositoryState, task: CortexTask) -> CortexTask:
    """Return the task with its pull request as the forge has it now, and store that."""
    known = task.pull_request
    if known is None or known.number is None or known.state == "merged" or repository.remote is None:
        return task
    forge = find_forge(flow.environment, repository.config, repository.remote, repository.git)
    if forge.client is None or forge.kind != known.forge:
        return task
    pull: PullRequest = forge.client.state(known.number)
    if pull.state == known.state:
        return task
    return flow.backend.update_task(task.id, {"pull_request": {"state": pull.state}})


def _next(repository: RepositoryState, task: CortexTask | None) -> str | None:
    """Return the tool that goes on with the work; None while a merge, a rebase or the like has to be finished."""
    if repository.work_tree.operation:
        return None
    if task is None or task.status == "TODO":
        return "start_task"
    if task.status == "IN_PROGRESS":
        return "submit_pr"
    if task.status != "REVIEW":
        return "start_task"
    state, pull = repository.work_tree, task.pull_request
    if pull is not None and pull.state == "merged":
        return "complete_task"
    has_more = state.changed or state.untracked or state.ahead or (pull is not None and pull.state == "closed")
    return "submit_pr" if has_more else "wait_for_review"

"""``ctx tasks status``: where the work is, and what to do next (CX-78)."""

from cortex_cli.branches import parse_branch
from cortex_cli.errors import CortexError
from cortex_cli.flows.repository_state import Flow, RepositoryState
from cortex_cli.models import CortexTask, as_json
from cortex_cli.repository import find_paths

__all__ = ["status"]


def status(flow: Flow, *, is_offline: bool = False) -> dict[str, object]:
    """Return the state of the repository and of the task of its branch.

    What the forge says about the pull request is stored in the backend when it is news. A backend or a forge that
    cannot be reached is a warning; raise ``CortexError`` without a work tree, or if the remote is ambiguous.
    """
    repository = RepositoryState(flow, find_paths(flow.git))
    state = repository.work_tree
    task_id = parse_branch(state.branch)
    task = None if task_id is None or is_offline else _read_task(repository, task_id)
    if state.operation:
        flow.warnings.append(f"A {state.operation} is in progress. Finish or abort it with git before you go on.")
    if is_offline:
        flow.warnings.append("Neither the server nor the forge was asked.")
    elif repository.remote is None:
        flow.warnings.append("The repository has no remote, so only what was recorded about the pull request is known.")
    return {
        "success": True,
        "current_branch": state.branch,
        "is_task_branch": task_id is not None,
        "task_id": task_id,
        "task": as_json(task),
        "git": {
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
        "pull_request": as_json(task.pull_request) if task else None,
        "next": _next(repository, task) if task_id is None or task else None,
    }


def _read_task(repository: RepositoryState, task_id: int) -> CortexTask | None:
    """Return the task with its pull request as the forge has it now, and store that."""
    task = None
    try:
        task = repository.backend.get_task(task_id)
        if task.pull_request and task.pull_request.state != "merged":
            pull = repository.ask_forge(task)
            if pull and pull.state != task.pull_request.state:
                return repository.backend.update_task(task.id, {"pull_request": {"state": pull.state}})
    except CortexError as error:
        what = "The pull request is as it was last seen" if task else "The task is not known"
        repository.warnings.append(f"{what}: {error.message}")
    return task


def _next(repository: RepositoryState, task: CortexTask | None) -> str | None:
    """Return the tool that goes on with the work; None while a merge, a rebase or the like has to be finished."""
    if repository.work_tree.operation:
        return None
    if task is None or task.status not in {"IN_PROGRESS", "REVIEW"}:
        return "start_task"
    if task.status == "IN_PROGRESS":
        return "submit_pr"
    state, pull = repository.work_tree, task.pull_request
    if pull is not None and pull.state == "merged":
        return "complete_task"
    has_more = state.changed or state.untracked or state.ahead or (pull is not None and pull.state == "closed")
    return "submit_pr" if has_more else "wait_for_review"

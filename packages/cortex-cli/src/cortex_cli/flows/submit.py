"""``ctx tasks pr``: the work is committed, pushed and proposed, and the task goes to review (CX-72)."""

import os
from collections.abc import Collection
from contextlib import suppress

from cortex_cli.errors import CortexError, echo, escape_invisible, make_error
from cortex_cli.flows.commit import check_message, commit_changes
from cortex_cli.flows.push import push_branch
from cortex_cli.flows.repository_state import (
    BaseBranch,
    Flow,
    RepositoryState,
    fetch,
    find_base,
    name_base,
    open_repository,
    require_branch,
    require_mine,
    require_repository,
)
from cortex_cli.forge import Forge, Proposal, PullRequest, compare_url, find_forge
from cortex_cli.models import CortexTask, PullRequestRecord
from cortex_cli.remotes import Remote
from cortex_cli.repository import read_refs

__all__ = ["submit"]

_SUBJECTS = 50


def submit(
    flow: Flow,
    *,
    message: str | None = None,
    title: str | None = None,
    body: str | None = None,
    is_draft: bool = False,
    allowed_files: Collection[str] = (),
) -> dict[str, object]:
    """Submit the work on the current branch; each step finds what an earlier call did, so it can be repeated.

    ``message`` is for the commit, ``title`` and ``body`` are for the pull request. ``allowed_files`` are suspicious
    files that a person allows, relative to the directory of the call.

    Raises:
        CortexError: the state of the task or the repository forbids it, or the remote or the forge refuses.
    """
    message = None if message is None else check_message(message)
    with open_repository(flow) as repository:
        branch = require_branch(repository.work_tree)
        remote = repository.require_remote()
        task = flow.backend.get_task(branch.task_id)
        require_repository(repository, task, branch.name)
        require_mine(task, flow.backend.user(), ("IN_PROGRESS", "REVIEW"), "Start it with 'ctx tasks start' first.")
        base = _base(flow, repository, task, remote, branch.name)
        allowed = {os.path.relpath(flow.git.directory.resolve() / path, repository.paths.top) for path in allowed_files}
        commit = commit_changes(repository, task.id, message, allowed)
        if message is not None and commit is None:
            flow.warnings.append("There was nothing to commit, so the message was not used.")
        head = commit or str(repository.work_tree.head)
        subjects = _subjects(repository, base, head, branch.name)
        # A number sign before the id would name an issue of the forge (CX-83).
        text = "\n".join([f"Cortex task {task.id}", "", *(f"- {subject}" for subject in subjects)])
        shown = escape_invisible(task.title if title is None else title)
        proposal = Proposal(branch.name, base.name, shown, text if body is None else body, is_draft=is_draft)
        _warn_of_conflicts(flow, repository, base, head)
        forge = find_forge(flow.environment, repository.config, remote, repository.git)
        pushed, offered = push_branch(repository.git, remote, forge, proposal)
        pull, is_new = _pull_request(forge, proposal, offered, task)
        record = _record(forge.kind, pull, head, base.name)
        compare = None if record.url else compare_url(forge, remote, base.name, branch.name)
        if compare:
            flow.warnings.append(
                f"No pull request was created, since nobody is logged in to {echo(forge.host)} with gh or glab. Open "
                "compare_url in a browser to create it."
            )
        changes = {"status": "REVIEW", "branch_name": branch.name, "pull_request": _as_change(record)}
        after = flow.backend.update_task(task.id, changes)
    return flow.answer(
        task_id=task.id,
        branch=branch.name,
        status=after.status,
        commit=commit,
        commit_message=message if commit else None,
        pushed=pushed,
        pull_request={**(after.pull_request or record)._asdict(), "created": is_new},
        compare_url=compare,
    )


def _base(flow: Flow, repository: RepositoryState, task: CortexTask, remote: Remote, branch: str) -> BaseBranch:
    """Return the base, as the remote has it now if it can be reached."""
    name = name_base(flow, repository, task)
    with suppress(CortexError):  # the last known base may do; without a network, the push fails
        fetch(repository.git, remote, name, branch)
    return find_base(read_refs(repository.git, [remote.ref(name), f"refs/heads/{name}"]), name, remote)


def _subjects(repository: RepositoryState, base: BaseBranch, head: str, branch: str) -> list[str]:
    """Return the first lines of the commits that the base does not have, oldest first."""
    options = ("-z", "--no-show-signature", "--no-merges", f"--max-count={_SUBJECTS}", "--format=%s")
    found = repository.git.run("log", *options, "--end-of-options", f"{base.sha}..{head}", "--").out
    if not found and repository.git.run("merge-base", base.sha, head).line == head:
        raise make_error("NothingToSubmit", branch=branch, base=base.name)
    return [escape_invisible(line) for line in reversed(found.removesuffix("\0").split("\0"))]


def _warn_of_conflicts(flow: Flow, repository: RepositoryState, base: BaseBranch, head: str) -> None:
    """Warn when the branch does not merge into its base; git before 2.38 cannot say."""
    output = repository.git.attempt("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", base.sha, head)
    if output.code == 1:
        files = ", ".join(echo(path) for path in output.fields[1:21])
        flow.warnings.append(f"The branch conflicts with '{base.name}' in: {files}.")


def _pull_request(
    forge: Forge, proposal: Proposal, offered: PullRequest | None, task: CortexTask
) -> tuple[PullRequest | None, bool]:
    """Return the open pull request of the branch and whether this call created it."""
    if forge.client is None:
        known = task.pull_request
        if offered is None and known and known.url and known.state == "open" and known.base == proposal.base:
            return PullRequest(known.number, known.url, "open", known.head_sha), False
        is_record = forge.kind == "none" and known is None  # the record is the pull request then (CX-14)
        return offered, offered is not None or is_record
    found = forge.client.find(proposal.branch, proposal.base)
    if found is not None:
        return found, False
    return forge.client.create(proposal), True


def _record(kind: str, pull: PullRequest | None, head: str, base: str) -> PullRequestRecord:
    if pull is None:
        return PullRequestRecord(forge=kind, head_sha=head, base=base)
    return PullRequestRecord(url=pull.url, number=pull.number, forge=kind, state="open", head_sha=head, base=base)


def _as_change(record: PullRequestRecord) -> dict[str, object]:
    """Return the record as the backend takes it: the time of a submission is its own."""
    return {name: value for name, value in record._asdict().items() if name != "submitted_at"}

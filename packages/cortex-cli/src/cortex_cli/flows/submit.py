"""``ctx tasks pr``: the work is committed, pushed and proposed, and the task goes to review (CX-72)."""

import os
import re
from collections.abc import Collection
from contextlib import suppress
from typing import Final

from cortex_cli.errors import CortexError, echo, escape_invisible, make_error
from cortex_cli.flows.commit import check_message, commit_changes
from cortex_cli.flows.repository_state import BranchRefs, Flow, RepositoryState, open_repository
from cortex_cli.forge import Forge, Proposal, compare_url, find_forge, is_own_url
from cortex_cli.git import Git, GitOutput
from cortex_cli.models import CortexTask, PullRequestRecord
from cortex_cli.remotes import Remote, no_remote

__all__ = ["submit"]

_SUBJECTS: Final = 50

_LINE: Final = re.compile(r"^([ +\-*!=])\t([^\t]*)\t(.*)$", re.MULTILINE)
"""A line of ``git push --porcelain``: a flag, the references, and a summary."""

_MERGE_REQUEST: Final = re.compile(r"^remote:\s+(https?://\S+/-/merge_requests/([1-9][0-9]{0,9}))\s*$", re.MULTILINE)
"""The address of a merge request in the output of GitLab."""

_NO_OPTIONS: Final = "does not support push options"


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
    files that a person allows, relative to the directory of the call. Raise ``CortexError`` if the state of the task or
    the repository forbids it, or if the remote or the forge refuses.
    """
    message = None if message is None else check_message(message)
    with open_repository(flow) as repository:
        branch, task_id = repository.work_tree.require_branch()
        remote = repository.remote
        if remote is None:
            raise no_remote()
        task = flow.backend.get_task(task_id)
        repository.require_own(task, branch)
        repository.require_mine(task, ("IN_PROGRESS", "REVIEW"), "Start it with 'ctx tasks start' first.")
        base = repository.name_base(task)
        with suppress(CortexError):  # the last known base may do; without a network, the push fails
            repository.fetch(remote, base, branch)
        refs = repository.read_branches(base, branch)
        allowed = {os.path.relpath(flow.git.directory.resolve() / path, repository.paths.top) for path in allowed_files}
        commit = commit_changes(repository, task.id, message, allowed)
        head = commit or str(repository.work_tree.head)
        text = _describe(repository, task, refs, head, branch)
        shown = escape_invisible(task.title if title is None else title)
        proposal = Proposal(branch, base, shown, text if body is None else body, is_draft=is_draft)
        _warn_of_conflicts(repository, refs, head)
        forge = find_forge(flow.environment, repository.config, remote, repository.git)
        pushed, offered = _push_branch(repository.git, remote, forge, proposal)
        pull, is_new = _pull_request(forge, proposal, offered, task)
        record = PullRequestRecord(pull.url, pull.number, forge.kind, "open", head, base)
        compare = None if record.url else _offer_page(flow, forge, remote, proposal)
        # The backend itself says when it was submitted.
        sent = {name: value for name, value in record._asdict().items() if name != "submitted_at"}
        changes = {"status": "REVIEW", "branch_name": branch, "pull_request": sent}
        after = flow.backend.update_task(task.id, changes)
    return {
        "success": True,
        "task_id": task.id,
        "branch": branch,
        "status": after.status,
        "commit": commit,
        "commit_message": message if commit else None,
        "pushed": pushed,
        "pull_request": {**(after.pull_request or record)._asdict(), "created": is_new},
        "compare_url": compare,
    }


def _describe(repository: RepositoryState, task: CortexTask, refs: BranchRefs, head: str, branch: str) -> str:
    """Return the text of the pull request: the first lines of the commits that the base lacks, oldest first."""
    options = ("-z", "--no-show-signature", "--no-merges", f"--max-count={_SUBJECTS}", "--format=%s")
    found = repository.git.run("log", *options, "--end-of-options", f"{refs.base_sha}..{head}", "--").out
    if not found and repository.git.run("merge-base", refs.base_sha, head).line == head:
        raise make_error("NothingToSubmit", branch=branch, base=refs.base)
    subjects = [f"- {escape_invisible(line)}" for line in reversed(found.removesuffix("\0").split("\0"))]
    # A number sign before the id would name an issue of the forge (CX-83).
    return "\n".join([f"Cortex task {task.id}", "", *subjects])


def _warn_of_conflicts(repository: RepositoryState, refs: BranchRefs, head: str) -> None:
    """Warn when the branch does not merge into its base; git before 2.38 cannot say."""
    options = ("--write-tree", "--name-only", "--no-messages", "-z")
    output = repository.git.attempt("merge-tree", *options, refs.base_sha, head)
    if output.code == 1:
        files = ", ".join(echo(path) for path in output.fields[1:21])
        repository.warnings.append(f"The branch conflicts with '{refs.base}' in: {files}.")


def _push_branch(git: Git, remote: Remote, forge: Forge, proposal: Proposal) -> tuple[bool, PullRequestRecord | None]:
    """Push the branch; return whether that moved anything, and the merge request that the push created."""
    options = _options(forge, proposal)
    output = _push(git, remote, proposal.branch, options)
    # Git sends options even if there is nothing to push, and a signal ends it if the remote has already gone.
    if options and (output.code < 0 or (output.code and _NO_OPTIONS in output.err)):
        options = []
        output = _push(git, remote, proposal.branch, options)
    flags = {match[1]: match[3] for match in _LINE.finditer(output.out)}
    if output.code:
        raise _refusal(git, output, remote.name, proposal.branch, flags.get("!"))
    match = _MERGE_REQUEST.search(output.err) if options else None
    is_ours = match is not None and is_own_url(match[1], forge.host)
    offered = PullRequestRecord(match[1], int(match[2])) if match and is_ours else None
    return bool(flags.keys() & {"*", " "}), offered


def _options(forge: Forge, proposal: Proposal) -> list[str]:
    """Return what lets GitLab create a merge request; a line break would end an option."""
    if forge.client or forge.kind != "gitlab":
        return []
    title = f"Draft: {proposal.title}" if proposal.is_draft else proposal.title
    values = ("create", f"target={proposal.base}", f"title={title}")
    return [f"--push-option=merge_request.{value}" for value in values]


def _push(git: Git, remote: Remote, branch: str, options: list[str]) -> GitOutput:
    spec = f"refs/heads/{branch}:refs/heads/{branch}"
    return git.attempt("push", "--porcelain", "--set-upstream", *options, "--end-of-options", remote.name, spec)


def _refusal(git: Git, output: GitOutput, remote: str, branch: str, summary: str | None) -> CortexError:
    if summary is not None:
        if "hook declined" in summary:
            return make_error("GitHookFailed", output=output.err)
        return make_error("PushRejected", branch=branch, reason=summary, git=output.err)
    error = git.failure("push", output, remote)
    is_silent = error.code == "GitFailed" and output.code > 0 and "fatal:" not in output.err
    return make_error("GitHookFailed", output=output.err) if is_silent else error


def _offer_page(flow: Flow, forge: Forge, remote: Remote, proposal: Proposal) -> str | None:
    page = compare_url(forge, remote, proposal.base, proposal.branch)
    if page:
        flow.warnings.append(
            f"No pull request was created, since nobody is logged in to {echo(forge.host)} with gh or glab. Open "
            "compare_url in a browser to create it."
        )
    return page


def _pull_request(
    forge: Forge, proposal: Proposal, offered: PullRequestRecord | None, task: CortexTask
) -> tuple[PullRequestRecord, bool]:
    """Return the open pull request of the branch, empty if there is none, and whether this call created it."""
    if forge.client is None:
        known = task.pull_request
        if offered is None and known and known.url and known.state == "open" and known.base == proposal.base:
            return known, False
        is_record = forge.kind == "none" and known is None  # the record is the pull request then (CX-14)
        return offered or PullRequestRecord(), offered is not None or is_record
    found = forge.client.find(proposal.branch, proposal.base)
    if found is not None:
        return found, False
    return forge.client.create(proposal), True

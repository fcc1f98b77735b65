"""The push of a task branch, with a merge request where GitLab creates one of it (CX-72, CX-82)."""

import re
from typing import Final

from cortex_cli.errors import CortexError, make_error
from cortex_cli.forge import Forge, Proposal, PullRequest, is_own_url
from cortex_cli.git import Git, GitOutput
from cortex_cli.remotes import Remote

__all__ = ["push_branch"]

_LINE: Final = re.compile(r"^([ +\-*!=])\t([^\t]*)\t(.*)$", re.MULTILINE)
"""A line of ``git push --porcelain``: a flag, the references, and a summary."""

_MERGE_REQUEST: Final = re.compile(r"^remote:\s+(https?://\S+/-/merge_requests/([1-9][0-9]{0,9}))\s*$", re.MULTILINE)
"""The address of a merge request in the output of GitLab."""

_NO_OPTIONS: Final = "does not support push options"


def push_branch(git: Git, remote: Remote, forge: Forge, proposal: Proposal) -> tuple[bool, PullRequest | None]:
    """Push the branch; return whether that moved anything, and the merge request that the push created.

    Raises:
        CortexError: the remote has commits that the branch does not have, the remote or a hook refuses, or git
            fails otherwise.
    """
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
    offered = PullRequest(int(match[2]), match[1], "open", None) if match and is_own_url(match[1], forge.host) else None
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

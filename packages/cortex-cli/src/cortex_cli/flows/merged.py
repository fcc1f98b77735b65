"""Whether a branch is merged: what shows it, and in which order that is asked (CX-76)."""

from cortex_cli.flows.scene import BaseBranch
from cortex_cli.forge import PullRequest
from cortex_cli.git import Git

__all__ = ["find_merge"]

_NOBODY = ("-c", "user.name=ctx", "-c", "user.email=ctx@localhost")
"""Who makes the commit that is compared; it is on no branch, so git removes it in time."""


def find_merge(git: Git, base: BaseBranch, tip: str, pull: PullRequest | None) -> str | None:
    """Return what shows that ``tip`` is merged into the base: ``forge``, ``ancestor`` or ``patch``; None: nothing.

    A branch is merged by patch when each of its commits is in the base (rebase), or all of them as one (squash).
    """
    if pull is not None and pull.state == "merged" and pull.head_sha == tip:
        return "forge"
    if base.remote is None:
        return None
    fork = git.attempt("merge-base", base.remote.sha, tip).line
    if fork == tip:
        return "ancestor"
    if not fork:
        return None
    if _are_contained(git, base.remote.sha, tip):
        return "patch"
    squashed = git.run(*_NOBODY, "commit-tree", "-p", fork, "-F", "-", f"{tip}^{{tree}}", stdin="squashed").line
    return "patch" if _are_contained(git, base.remote.sha, squashed) else None


def _are_contained(git: Git, base: str, tip: str) -> bool:
    # Unlike "git cherry", this counts merges, in which there may be work too.
    options = ("--cherry-mark", "--right-only")
    marks = [line[:1] for line in git.run("rev-list", *options, f"{base}...{tip}", "--").out.splitlines()]
    return bool(marks) and set(marks) == {"="}

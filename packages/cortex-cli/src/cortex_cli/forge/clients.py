"""Clients of GitHub and GitLab over their REST APIs."""

from typing import Final
from urllib.parse import quote

from cortex_cli.forge.base import ForgeApi, Proposal, PullRequest

__all__ = ["GitHub", "GitLab"]

_GITLAB_STATES: Final = {"opened": "open", "locked": "open", "merged": "merged"}
"""Our word for each of GitLab's; any other means closed."""


class GitHub:
    """GitHub, GitHub Enterprise Cloud and Server: REST API."""

    def __init__(self, api: ForgeApi, repository: str) -> None:
        self._api = api
        self._owner = repository.partition("/")[0]
        self._path = f"/repos/{quote(repository)}/pulls"

    def find(self, branch: str, base: str) -> PullRequest | None:
        """Return the open pull request of a branch into its base, if there is one."""
        query = {"head": f"{self._owner}:{branch}", "base": base, "state": "open", "per_page": "1"}
        found = self._api.list(self._path, query)
        return _read_pull(self._api, found[0]) if found else None

    def create(self, proposal: Proposal) -> PullRequest:
        """Create a pull request, and return it; if there is one already, return that one."""
        body = {
            "title": proposal.title,
            "head": proposal.branch,
            "base": proposal.base,
            "body": proposal.body,
            "draft": proposal.is_draft,
        }
        created = self._api.create(self._path, body, 422, lambda: self.find(proposal.branch, proposal.base))
        return created if isinstance(created, PullRequest) else _read_pull(self._api, created)

    def state(self, number: int) -> PullRequest:
        """Return a pull request as it is now."""
        return _read_pull(self._api, self._api.call("GET", f"{self._path}/{number}")[1])


class GitLab:
    """GitLab, at gitlab.com or elsewhere: REST API, version 4."""

    def __init__(self, api: ForgeApi, repository: str) -> None:
        self._api = api
        self._path = f"/projects/{quote(repository, safe='')}/merge_requests"

    def find(self, branch: str, base: str) -> PullRequest | None:
        """Return the open merge request of a branch into its base, if there is one."""
        query = {"source_branch": branch, "target_branch": base, "state": "opened", "per_page": "1"}
        found = self._api.list(self._path, query)
        return self._read(found[0]) if found else None

    def create(self, proposal: Proposal) -> PullRequest:
        """Create a merge request, and return it; if there is one already, return that one."""
        body = {
            "source_branch": proposal.branch,
            "target_branch": proposal.base,
            "title": f"Draft: {proposal.title}" if proposal.is_draft else proposal.title,
            "description": proposal.body,
        }
        created = self._api.create(self._path, body, 409, lambda: self.find(proposal.branch, proposal.base))
        return created if isinstance(created, PullRequest) else self._read(created)

    def state(self, number: int) -> PullRequest:
        """Return a merge request as it is now."""
        return self._read(self._api.call("GET", f"{self._path}/{number}")[1])

    def _read(self, value: object) -> PullRequest:
        if not isinstance(value, dict):
            raise self._api.failure("a merge request is not an object")
        state = _GITLAB_STATES.get(str(value.get("state")), "closed")
        return self._api.make(value.get("iid"), value.get("web_url"), state, value.get("sha"))


def _read_pull(api: ForgeApi, value: object) -> PullRequest:
    """Return a pull request of an answer of GitHub."""
    if not isinstance(value, dict):
        raise api.failure("a pull request is not an object")
    head = value.get("head")
    is_merged = value.get("merged") is True or isinstance(value.get("merged_at"), str)
    state = "merged" if is_merged else "open" if value.get("state") == "open" else "closed"
    head_sha = head.get("sha") if isinstance(head, dict) else None
    return api.make(value.get("number"), value.get("html_url"), state, head_sha)

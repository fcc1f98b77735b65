"""Clients of GitHub, GitLab, and Gitea with Forgejo, over their REST APIs."""

from typing import Final
from urllib.parse import quote

from cortex_cli.forge.base import Access, ForgeApi, Proposal, PullRequest

__all__ = ["GitHub", "GitLab", "Gitea"]

_GITLAB_STATES: Final = {"opened": "open", "locked": "open", "merged": "merged"}
"""Our word for each of GitLab's; any other means closed."""


class GitHub:
    """GitHub, GitHub Enterprise Cloud and Server: REST API, version 2022-11-28."""

    def __init__(self, access: Access) -> None:
        headers = {"Authorization": f"Bearer {access.token}", "X-GitHub-Api-Version": "2022-11-28"}
        self._api = ForgeApi(access, headers)
        self._owner = access.repository.partition("/")[0]
        self._path = f"/repos/{access.repository}/pulls"

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
        return _read_pull(self._api, self._api.call("GET", f"{self._path}/{number}").value)


class GitLab:
    """GitLab, at gitlab.com or elsewhere: REST API, version 4."""

    def __init__(self, access: Access) -> None:
        self._api = ForgeApi(access, {"PRIVATE-TOKEN": access.token})
        self._path = f"/projects/{quote(access.repository, safe='')}/merge_requests"

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
        return self._read(self._api.call("GET", f"{self._path}/{number}").value)

    def _read(self, value: object) -> PullRequest:
        if not isinstance(value, dict):
            raise self._api.failure("a merge request is not an object")
        state = _GITLAB_STATES.get(str(value.get("state")), "closed")
        return self._api.make(value.get("iid"), value.get("web_url"), state, value.get("sha"))


class Gitea:
    """Gitea and Forgejo: REST API, version 1."""

    def __init__(self, access: Access) -> None:
        self._api = ForgeApi(access, {"Authorization": f"token {access.token}"})
        self._path = f"/repos/{access.repository}/pulls"

    def find(self, branch: str, base: str) -> PullRequest | None:
        """Return the open pull request of a branch into its base, if there is one."""
        names = f"{quote(base, safe='')}/{quote(branch, safe='')}"
        answer = self._api.call("GET", f"{self._path}/{names}", accepted=(404,))
        found = None if answer.status == 404 else _read_pull(self._api, answer.value)
        if found is None or found.state == "open":
            return found
        # Of a branch with several pull requests, Gitea returns any: the open one is in the list.
        values = self._api.list(self._path, {"state": "open", "base_branch": base, "limit": "50"})
        return next((_read_pull(self._api, value) for value in values if _is_between(value, branch, base)), None)

    def create(self, proposal: Proposal) -> PullRequest:
        """Create a pull request, and return it; if there is one already, return that one."""
        title = f"WIP: {proposal.title}" if proposal.is_draft else proposal.title
        body = {"title": title, "head": proposal.branch, "base": proposal.base, "body": proposal.body}
        created = self._api.create(self._path, body, 409, lambda: self.find(proposal.branch, proposal.base))
        return created if isinstance(created, PullRequest) else _read_pull(self._api, created)

    def state(self, number: int) -> PullRequest:
        """Return a pull request as it is now."""
        return _read_pull(self._api, self._api.call("GET", f"{self._path}/{number}").value)


def _read_pull(api: ForgeApi, value: object) -> PullRequest:
    """Return a pull request of an answer of GitHub, Gitea or Forgejo."""
    if not isinstance(value, dict):
        raise api.failure("a pull request is not an object")
    head = value.get("head")
    is_merged = value.get("merged") is True or isinstance(value.get("merged_at"), str)
    state = "merged" if is_merged else "open" if value.get("state") == "open" else "closed"
    head_sha = head.get("sha") if isinstance(head, dict) else None
    return api.make(value.get("number"), value.get("html_url"), state, head_sha)


def _is_between(value: object, branch: str, base: str) -> bool:
    """Return whether a pull request is of a branch of its own repository, not of a fork, into the base."""
    head, onto = (value.get("head"), value.get("base")) if isinstance(value, dict) else (None, None)
    if not isinstance(head, dict) or not isinstance(onto, dict):
        return False
    return head.get("repo_id") == onto.get("repo_id") and (head.get("ref"), onto.get("ref")) == (branch, base)

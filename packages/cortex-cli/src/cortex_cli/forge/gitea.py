"""Gitea and Forgejo: pull requests over their REST API, version 1."""

from urllib.parse import quote

from cortex_cli.forge.base import Access, ForgeApi, Proposal, PullRequest
from cortex_cli.forge.github import read_pull

__all__ = ["Gitea"]


class Gitea:
    """Gitea and Forgejo."""

    def __init__(self, access: Access) -> None:
        self._api = ForgeApi(access, {"Authorization": f"token {access.token}"})
        self._path = f"/repos/{access.repository}/pulls"

    def find(self, branch: str, base: str) -> PullRequest | None:
        """Return the open pull request of a branch into its base, if there is one."""
        names = f"{quote(base, safe='')}/{quote(branch, safe='')}"
        answer = self._api.call("GET", f"{self._path}/{names}", accepted=(404,))
        found = None if answer.status == 404 else read_pull(self._api, answer.value)
        return found if found is None or found.state == "open" else self._find_newer(branch, base)

    def create(self, proposal: Proposal) -> PullRequest:
        """Create a pull request, and return it; if there is one already, return that one."""
        title = f"WIP: {proposal.title}" if proposal.is_draft else proposal.title
        body = {"title": title, "head": proposal.branch, "base": proposal.base, "body": proposal.body}
        answer = self._api.call("POST", self._path, body=body, accepted=(409,))
        if answer.status == 409:
            found = self.find(proposal.branch, proposal.base)
            if found is None:
                raise self._api.refusal(answer)
            return found
        return read_pull(self._api, answer.value)

    def _find_newer(self, branch: str, base: str) -> PullRequest | None:
        """Look in the list of the open ones, the newest first: of several for one branch, Gitea shows any."""
        query = {"state": "open", "base_branch": base, "limit": "50"}
        found = self._api.call("GET", self._path, query=query).value
        if not isinstance(found, list):
            raise self._api.failure("its answer is not a list")
        return next((read_pull(self._api, value) for value in found if _is_between(value, branch, base)), None)

    def state(self, number: int) -> PullRequest:
        """Return a pull request as it is now."""
        return read_pull(self._api, self._api.call("GET", f"{self._path}/{number}").value)


def _is_between(value: object, branch: str, base: str) -> bool:
    """Return whether a pull request is of a branch of its own repository, not of a fork, into the base."""
    head, onto = (value.get("head"), value.get("base")) if isinstance(value, dict) else (None, None)
    if not isinstance(head, dict) or not isinstance(onto, dict):
        return False
    return head.get("repo_id") == onto.get("repo_id") and (head.get("ref"), onto.get("ref")) == (branch, base)

"""GitLab: merge requests over its REST API, version 4."""

from typing import Final
from urllib.parse import quote

from cortex_cli.forge.base import Access, ForgeApi, Proposal, PullRequest

__all__ = ["GitLab"]

_STATES: Final = {"opened": "open", "locked": "open", "merged": "merged"}
"""Our word for each of GitLab's; any other means closed."""


class GitLab:
    """GitLab, at gitlab.com or elsewhere."""

    def __init__(self, access: Access) -> None:
        self._api = ForgeApi(access, {"PRIVATE-TOKEN": access.token})
        self._path = f"/projects/{quote(access.repository, safe='')}/merge_requests"

    def find(self, branch: str, base: str) -> PullRequest | None:
        """Return the open merge request of a branch into its base, if there is one."""
        query = {"source_branch": branch, "target_branch": base, "state": "opened", "per_page": "1"}
        found = self._api.call("GET", self._path, query=query).value
        if not isinstance(found, list):
            raise self._api.failure("its answer is not a list")
        return self._read(found[0]) if found else None

    def create(self, proposal: Proposal) -> PullRequest:
        """Create a merge request, and return it; if there is one already, return that one."""
        body = {
            "source_branch": proposal.branch,
            "target_branch": proposal.base,
            "title": f"Draft: {proposal.title}" if proposal.is_draft else proposal.title,
            "description": proposal.body,
        }
        answer = self._api.call("POST", self._path, body=body, accepted=(409,))
        if answer.status == 409:
            found = self.find(proposal.branch, proposal.base)
            if found is None:
                raise self._api.refusal(answer)
            return found
        return self._read(answer.value)

    def state(self, number: int) -> PullRequest:
        """Return a merge request as it is now."""
        return self._read(self._api.call("GET", f"{self._path}/{number}").value)

    def _read(self, value: object) -> PullRequest:
        if not isinstance(value, dict):
            raise self._api.failure("a merge request is not an object")
        state = _STATES.get(str(value.get("state")), "closed")
        return self._api.make(value.get("iid"), value.get("web_url"), state, value.get("sha"))

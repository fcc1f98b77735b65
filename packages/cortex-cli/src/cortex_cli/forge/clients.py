"""The pull requests of a repository on GitHub or GitLab, whose REST APIs differ in words."""

from typing import Final, NamedTuple
from urllib.parse import quote

from cortex_cli.forge.base import ForgeApi, Proposal, PullRequest

__all__ = ["Forge", "ForgeClient"]


class _Words(NamedTuple):
    """Names in the API of a forge; ``refused`` is the status when there is an open pull request already."""

    refused: int
    head: str
    base: str
    body: str
    opened: str
    number: str
    url: str


_GITHUB: Final = _Words(422, "head", "base", "body", "open", "number", "html_url")
_GITLAB: Final = _Words(409, "source_branch", "target_branch", "description", "opened", "iid", "web_url")

_GITLAB_STATES: Final = {"opened": "open", "locked": "open", "merged": "merged"}
"""Our word for each of GitLab's; any other means closed."""


class ForgeClient:
    """The pull requests, or merge requests, of one repository; a failure is ``ForgeAuthFailed`` or ``ForgeFailed``."""

    def __init__(self, api: ForgeApi, repository: str, *, is_gitlab: bool) -> None:
        self._api = api
        self._is_gitlab = is_gitlab
        self._words = _GITLAB if is_gitlab else _GITHUB
        self._owner = "" if is_gitlab else repository.partition("/")[0] + ":"
        project = quote(repository, safe="")
        self._path = f"/projects/{project}/merge_requests" if is_gitlab else f"/repos/{quote(repository)}/pulls"

    def find(self, branch: str, base: str) -> PullRequest | None:
        """Return the open pull request of a branch into its base, if there is one."""
        words = self._words
        query = {words.head: self._owner + branch, words.base: base, "state": words.opened, "per_page": "1"}
        _, found = self._api.call("GET", self._path, query=query)
        if not isinstance(found, list):
            raise self._api.failure("its answer is not a list")
        return self._read(found[0]) if found else None

    def create(self, proposal: Proposal) -> PullRequest:
        """Create a pull request, and return it; if there is one already, return that one."""
        words, title = self._words, proposal.title
        body: dict[str, object] = {words.head: proposal.branch, words.base: proposal.base, words.body: proposal.body}
        if self._is_gitlab:
            body["title"] = f"Draft: {title}" if proposal.is_draft else title
        else:
            body |= {"title": title, "draft": proposal.is_draft}
        status, value = self._api.call("POST", self._path, body=body, accepted=words.refused)
        if status != words.refused:
            return self._read(value)
        found = self.find(proposal.branch, proposal.base)
        if found is None:
            raise self._api.refusal(status, value)
        return found

    def state(self, number: int) -> PullRequest:
        """Return a pull request as it is now."""
        return self._read(self._api.call("GET", f"{self._path}/{number}")[1])

    def _read(self, value: object) -> PullRequest:
        if not isinstance(value, dict):
            raise self._api.failure("a pull request is not an object")
        if self._is_gitlab:
            state, sha = _GITLAB_STATES.get(str(value.get("state")), "closed"), value.get("sha")
        else:
            is_merged = value.get("merged") is True or isinstance(value.get("merged_at"), str)
            state = "merged" if is_merged else "open" if value.get("state") == "open" else "closed"
            head = value.get("head")
            sha = head.get("sha") if isinstance(head, dict) else None
        return self._api.make(value.get(self._words.number), value.get(self._words.url), state, sha)


class Forge(NamedTuple):
    """The forge of a remote: its kind, the host of the remote, and its client if there is a login for it."""

    kind: str
    host: str
    client: ForgeClient | None = None

"""The pull requests of a repository on GitHub or GitLab, whose REST APIs differ in words; no answer is trusted."""

import json
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

from cortex_cli.errors import CortexError, make_error
from cortex_cli.forge.requests import ForgeRequest, is_own_url
from cortex_cli.models import MAX_ID, PullRequestRecord

__all__ = ["Forge", "ForgeClient", "Proposal"]


class Proposal(NamedTuple):
    """A pull request to create."""

    branch: str
    base: str
    title: str
    body: str
    is_draft: bool = False


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

    def __init__(self, request: ForgeRequest, name: str, host: str, repository: str, *, is_gitlab: bool) -> None:
        self._request = request
        self._name = name
        self._host = host
        self._is_gitlab = is_gitlab
        self._words = _GITLAB if is_gitlab else _GITHUB
        self._owner = "" if is_gitlab else repository.partition("/")[0] + ":"
        project = quote(repository, safe="")
        self._path = f"/projects/{project}/merge_requests" if is_gitlab else f"/repos/{quote(repository)}/pulls"

    def find(self, branch: str, base: str) -> PullRequestRecord | None:
        """Return the open pull request of a branch into its base, if there is one."""
        words = self._words
        query = {words.head: self._owner + branch, words.base: base, "state": words.opened, "per_page": "1"}
        _, found = self._call("GET", f"{self._path}?{urlencode(query)}")
        if not isinstance(found, list):
            raise self._failure("its answer is not a list")
        return self._read(found[0]) if found else None

    def create(self, proposal: Proposal) -> PullRequestRecord:
        """Create a pull request, and return it; if there is one already, return that one."""
        words, title = self._words, proposal.title
        body: dict[str, object] = {words.head: proposal.branch, words.base: proposal.base, words.body: proposal.body}
        if self._is_gitlab:
            body["title"] = f"Draft: {title}" if proposal.is_draft else title
        else:
            body |= {"title": title, "draft": proposal.is_draft}
        status, value = self._call("POST", self._path, body, accepted=words.refused)
        if status != words.refused:
            return self._read(value)
        found = self.find(proposal.branch, proposal.base)
        if found is None:
            raise self._refusal(status, value)
        return found

    def state(self, number: int) -> PullRequestRecord:
        """Return a pull request as it is now."""
        return self._read(self._call("GET", f"{self._path}/{number}")[1])

    def _call(
        self, method: str, path: str, body: Mapping[str, object] | None = None, *, accepted: int = 200
    ) -> tuple[int, object]:
        """Send one request and return status and value of its answer; the status is a success or ``accepted``."""
        status, content = self._request(method, path, None if body is None else json.dumps(body).encode())
        try:
            value = json.loads(content or b"null")
        except (ValueError, RecursionError):
            raise self._failure("its answer is not JSON", status) from None
        if status in {401, 403} and "rate limit" not in str(value).lower():
            raise make_error("ForgeAuthFailed", host=self._name, status=status, reason=_reason(value))
        if not 200 <= status < 300 and status != accepted:
            raise self._refusal(status, value)
        return status, value

    def _refusal(self, status: int, value: object) -> CortexError:
        return self._failure(f"{status}: {_reason(value)}", status)

    def _failure(self, reason: str, status: int | None = None) -> CortexError:
        return make_error("ForgeFailed", host=self._name, reason=reason, status=status)

    def _read(self, value: object) -> PullRequestRecord:
        if not isinstance(value, dict):
            raise self._failure("a pull request is not an object")
        if self._is_gitlab:
            state, sha = _GITLAB_STATES.get(str(value.get("state")), "closed"), value.get("sha")
        else:
            is_merged = value.get("merged") is True or isinstance(value.get("merged_at"), str)
            state = "merged" if is_merged else "open" if value.get("state") == "open" else "closed"
            head = value.get("head")
            sha = head.get("sha") if isinstance(head, dict) else None
        number, url = value.get(self._words.number), value.get(self._words.url)
        if type(number) is not int or not 0 < number <= MAX_ID:
            raise self._failure("the number of the pull request is not one")
        if not isinstance(url, str) or not is_own_url(url, self._host):
            raise self._failure("the address of the pull request is not on its host")
        is_sha = isinstance(sha, str) and len(sha) in {40, 64} and not set(sha) - set("0123456789abcdef")
        kind = "gitlab" if self._is_gitlab else "github"
        return PullRequestRecord(url, number, kind, state, str(sha) if is_sha else None)


def _reason(value: object) -> str:
    return "; ".join(_reasons(value)) or "no reason"


def _reasons(value: object, depth: int = 3) -> list[str]:
    """Return the texts of a refusal: GitHub adds ``errors``; GitLab's message is a text, a list, or lists by field."""
    if isinstance(value, dict):
        value = [value[name] for name in ("message", "errors", "error") if name in value] or list(value.values())
    if isinstance(value, list) and depth:
        return [reason for part in value for reason in _reasons(part, depth - 1)]
    return [value] if isinstance(value, str) else []


class Forge(NamedTuple):
    """The forge of a remote: its kind, the host of the remote, and its client if there is a login for it."""

    kind: str
    host: str
    client: ForgeClient | None = None

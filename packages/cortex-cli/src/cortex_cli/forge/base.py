"""The interface of a forge, and one request to it, whose answer is not trusted (CX-80, CX-84)."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlencode, urlsplit

from cortex_cli.errors import CortexError, make_error
from cortex_cli.http import ConnectionFailed, UnsafeUrl, is_loopback, send
from cortex_cli.models import MAX_ID, Deadline

__all__ = [
    "Access",
    "Forge",
    "ForgeAnswer",
    "ForgeApi",
    "ForgeClient",
    "Proposal",
    "PullRequest",
    "is_here",
    "is_own_url",
    "is_same_host",
]

_ANSWER_BYTES: Final = 1024 * 1024
"""Bytes that an answer may have at most."""

_SECONDS: Final = 10.0
"""Seconds that a request may take."""

_URL_LIMIT: Final = 2048
"""Characters of the address of a pull request at most (CX-14)."""


class Access(NamedTuple):
    """Address of a forge's API, the repository, and the token."""

    url: str
    """The address of the API, without a trailing slash."""
    host: str
    """The host of the remote, where people see pull requests; empty for a path on this machine."""
    repository: str
    """``owner/name``, or a longer path on GitLab"""
    token: str
    deadline: Deadline


class Proposal(NamedTuple):
    """A pull request to create."""

    branch: str
    base: str
    title: str
    body: str
    is_draft: bool = False


class PullRequest(NamedTuple):
    """A pull request as the forge describes it; ``state`` is open, merged or closed."""

    number: int | None
    url: str | None
    state: str
    head_sha: str | None


class ForgeClient(Protocol):
    """The pull requests of one repository on one forge; a failure is ``ForgeAuthFailed`` or ``ForgeFailed``."""

    def find(self, branch: str, base: str) -> PullRequest | None:
        """Return the open pull request of a branch into its base, if there is one."""

    def create(self, proposal: Proposal) -> PullRequest:
        """Create a pull request, and return it; if there is one already, return that one."""

    def state(self, number: int) -> PullRequest:
        """Return a pull request as it is now."""


class Forge(NamedTuple):
    """The forge of a remote: its kind, the host of the remote, and its client if there is a token for it."""

    kind: str
    host: str
    client: ForgeClient | None = None


class ForgeAnswer(NamedTuple):
    """Answer of a forge, not yet trusted."""

    status: int
    value: object


class ForgeApi:
    """The API of a forge; ``headers`` carry the token."""

    def __init__(self, access: Access, headers: Mapping[str, str]) -> None:
        self._access = access
        self._headers = headers

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        accepted: Sequence[int] = (),
    ) -> ForgeAnswer:
        """Send one request and return its answer, whose status is a success or ``accepted``.

        Raises:
            CortexError: the forge does not accept the token.
            CortexError: it cannot be reached, or answers anything else.
        """
        url = f"{self._access.url}{path}" + (f"?{urlencode(query)}" if query else "")
        headers = {"Accept": "application/json", **self._headers}
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        seconds = self._access.deadline.limit(_SECONDS)
        try:
            reply = send(method, url, headers, data, seconds=seconds, limit=_ANSWER_BYTES)
        except (ConnectionFailed, UnsafeUrl) as error:
            raise self.failure(str(error)) from None
        try:
            value = json.loads(reply.body or b"null")
        except (ValueError, RecursionError):
            raise self.failure("its answer is not JSON", reply.status) from None
        answer = ForgeAnswer(reply.status, value)
        if reply.status in {401, 403} and "rate limit" not in str(value).lower():
            reason = "; ".join(_reasons(value)) or "no reason"
            raise make_error("ForgeAuthFailed", host=self._name, status=reply.status, reason=reason)
        if not 200 <= reply.status < 300 and reply.status not in accepted:
            raise self._refusal(answer)
        return answer

    def list(self, path: str, query: Mapping[str, str]) -> Sequence[object]:
        """Return the list at a path; raise ``CortexError`` if it is not one."""
        found = self.call("GET", path, query=query).value
        if not isinstance(found, list):
            raise self.failure("its answer is not a list")
        return found

    def create(
        self, path: str, body: Mapping[str, object], refused: int, find: Callable[[], PullRequest | None]
    ) -> object:
        """Return the answer to a creation, or what ``find`` returns if the forge answers ``refused``."""
        answer = self.call("POST", path, body=body, accepted=(refused,))
        if answer.status != refused:
            return answer.value
        found = find()
        if found is None:
            raise self._refusal(answer)
        return found

    def _refusal(self, answer: ForgeAnswer) -> CortexError:
        """Return the error for an answer that is a refusal, with what the forge says about it."""
        return self.failure(f"{answer.status}: {'; '.join(_reasons(answer.value)) or 'no reason'}", answer.status)

    @property
    def _name(self) -> str:
        return self._access.host or str(urlsplit(self._access.url).hostname)

    def failure(self, reason: str, status: int | None = None) -> CortexError:
        """Return the error for an answer that cannot be right."""
        return make_error("ForgeFailed", host=self._name, reason=reason, status=status)

    def make(self, number: object, url: object, state: str, head_sha: object) -> PullRequest:
        """Return a pull request whose parts have been checked."""
        if type(number) is not int or not 0 < number <= MAX_ID:
            raise self.failure("the number of the pull request is not one")
        if not isinstance(url, str) or not is_own_url(url, self._access.host):
            raise self.failure("the address of the pull request is not on its host")
        is_sha = isinstance(head_sha, str) and len(head_sha) in {40, 64} and not set(head_sha) - set("0123456789abcdef")
        return PullRequest(number, url, state, str(head_sha) if is_sha else None)


def _reasons(value: object, depth: int = 3) -> list[str]:
    """Return the texts of a refusal: GitHub adds ``errors``; GitLab's message is a text, a list, or lists by field."""
    if isinstance(value, dict):
        value = [value[name] for name in ("message", "errors", "error") if name in value] or list(value.values())
    if isinstance(value, list) and depth:
        return [reason for part in value for reason in _reasons(part, depth - 1)]
    return [value] if isinstance(value, str) else []


def is_own_url(url: str, host: str) -> bool:
    """Return whether ``url`` is the address of a web page on ``host``, without anything hidden in it (CX-84)."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_plain = len(url) <= _URL_LIMIT and all("!" <= char <= "~" for char in url) and "@" not in parts.netloc
    return is_plain and parts.scheme in {"http", "https"} and is_same_host(parts.hostname or "", host)


def is_same_host(one: str, other: str) -> bool:
    """Return whether two hosts are the same; all names of this machine are, and so is a missing name."""
    return one == other or (is_here(one) and is_here(other))


def is_here(host: str) -> bool:
    """Return whether ``host`` is this machine, as for a remote that is a path."""
    return not host or is_loopback(host)

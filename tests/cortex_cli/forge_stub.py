"""A forge in place of a real one, which checks each request against what its maker describes, and keeps the requests.

The descriptions are extracts: paths, parameters, members of bodies, and answers as far as ``ctx`` reads them. GitHub's
are from its OpenAPI description (npm ``@octokit/openapi`` 23.0.2). GitLab's are from the source from which theirs are
generated: ``lib/api/merge_requests.rb`` with its helpers and entities.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tests.cortex_cli.stub_server import StubReply, StubRequest, StubServer

__all__ = ["BASE", "KINDS", "StubForge"]

BASE: Final = "main"

_TEXT: Final = {"title": str, "body": str, "head": str, "base": str}


class _Operation(NamedTuple):
    """What a forge takes: query parameters with a pattern each, members of the body with a type, the needed ones."""

    query: Mapping[str, str] = MappingProxyType({})
    body: Mapping[str, type] = MappingProxyType({})
    required: tuple[str, ...] = ()


class _Kind(NamedTuple):
    """One forge: how a token is sent, the paths, and the operations."""

    token: tuple[str, str]
    pulls: str
    pull: str
    operations: dict[str, _Operation]


KINDS: Final = {
    "github": _Kind(
        ("authorization", "Bearer secret"),
        "/repos/team/web/pulls",
        "/repos/team/web/pulls/{number}",
        {
            "find": _Operation(
                {
                    "state": "open|closed|all",
                    "head": ".+:.+",
                    "base": ".+",
                    "sort": "created|updated|popularity|long-running",
                    "direction": "asc|desc",
                    "per_page": "[0-9]+",
                    "page": "[0-9]+",
                }
            ),
            "create": _Operation(
                body={**_TEXT, "head_repo": str, "maintainer_can_modify": bool, "draft": bool, "issue": int},
                required=("head", "base", "title"),
            ),
            "state": _Operation(),
        },
    ),
    "gitlab": _Kind(
        ("private-token", "secret"),
        "/api/v4/projects/team%2Fweb/merge_requests",
        "/api/v4/projects/team%2Fweb/merge_requests/{number}",
        {
            "find": _Operation(
                {
                    "state": "opened|closed|locked|merged|all",
                    "source_branch": ".+",
                    "target_branch": ".+",
                    "order_by": "created_at|updated_at|merged_at|title|priority",
                    "sort": "asc|desc",
                    "per_page": "[0-9]+",
                    "page": "[0-9]+",
                }
            ),
            "create": _Operation(
                body={
                    **dict.fromkeys(("title", "source_branch", "target_branch", "description"), str),
                    **dict.fromkeys(("milestone", "merge_after"), str),
                    **dict.fromkeys(("assignee_id", "milestone_id", "target_project_id"), int),
                    **dict.fromkeys(("assignee_ids", "reviewer_ids", "labels"), list),
                    **dict.fromkeys(("remove_source_branch", "squash", "allow_collaboration"), bool),
                },
                required=("title", "source_branch", "target_branch"),
            ),
            "state": _Operation(),
        },
    ),
}


class StubForge:
    """The pull requests of ``team/web``; ``host`` is where their addresses are."""

    def __init__(self, server: StubServer, kind: str, branch: str, repository: str = "team/web") -> None:
        self.server = server
        paths = {name: getattr(KINDS[kind], name).replace("team/web", repository) for name in ("pulls", "pull")}
        self.kind = KINDS[kind]._replace(**paths)
        self.branch = branch
        self.is_github = kind == "github"
        self.is_gitlab = kind == "gitlab"
        self.host = "http://127.0.0.1"
        self.pulls: list[dict[str, Any]] = []
        self.head_sha: str = "0" * 40
        self.faults: list[str] = []
        server.answers[f"GET {self.kind.pulls}"] = self._find
        server.answers[f"POST {self.kind.pulls}"] = self._create
        server.answers[f"GET {self.kind.pull.format(number=1)}"] = self._state
        named = {getattr(answer, "__name__", ""): request for request, answer in server.answers.items()}
        self._requests = {name.removeprefix("_"): request for name, request in named.items()}

    def say(self, operation: str, said: StubReply) -> None:
        """Answer an operation with ``said`` from now on."""
        self.server.answers[self._requests[operation]] = [said]

    def merge(self, head_sha: str) -> None:
        """Merge the pull request with the commit at its head."""
        self.pulls[0]["state"] = "merged"
        self.head_sha = head_sha

    def refusal(self, words: str) -> StubReply:
        """Return the answer to a pull request that cannot be created, in the form of the forge."""
        if self.is_gitlab:
            return StubReply(409, {"message": [words]})
        error = {"resource": "PullRequest", "code": "custom", "message": words}
        return StubReply(422, {"message": "Validation Failed", "errors": [error], "status": "422"})

    def _find(self, asked: StubRequest) -> StubReply:
        self._check(asked, "find")
        return StubReply(body=self._open())

    def _open(self) -> list[dict[str, Any]]:
        """Return the open ones, the newest first; in lists, GitHub's have no ``merged``."""
        shown = [self._shown(pull) for pull in reversed(self.pulls) if pull["state"] == "open"]
        return [{key: pull[key] for key in pull if key != "merged"} for pull in shown]

    def _create(self, asked: StubRequest) -> StubReply:
        self._check(asked, "create")
        if any(pull["state"] == "open" for pull in self.pulls):
            return self.refusal("A pull request already exists")
        body = json.loads(asked.body)
        self.pulls.append({"number": len(self.pulls) + 1, "state": "open", "sent": body})
        return StubReply(201, self._shown(self.pulls[-1]))

    def _state(self, asked: StubRequest) -> StubReply:
        self._check(asked, "state")
        return StubReply(body=self._shown(self.pulls[0]))

    def _check(self, asked: StubRequest, operation: str) -> None:
        """Note what the maker's description does not allow."""
        allowed = self.kind.operations[operation]
        name, value = self.kind.token
        if asked.headers.get(name) != value:
            self.faults.append(f"{operation}: no token")
        for key, given in asked.query:
            if not re.fullmatch(allowed.query.get(key, "(?!)"), given):
                self.faults.append(f"{operation}: {key}={given}")
        body: dict[str, Any] = json.loads(asked.body or b"{}")
        self.faults += [f"{operation}: {key}" for key in body if not isinstance(body[key], allowed.body.get(key, ()))]
        self.faults += [f"{operation}: {key} is missing" for key in allowed.required if key not in body]

    def _shown(self, pull: dict[str, Any]) -> dict[str, Any]:
        number, state = pull["number"], pull["state"]
        merged_at = "2026-11-01T00:00:00Z" if state == "merged" else None
        if self.is_gitlab:
            return {
                "id": 900,
                "iid": number,
                "project_id": 7,
                "state": {"open": "opened"}.get(state, state),
                "source_branch": self.branch,
                "target_branch": BASE,
                "sha": self.head_sha,
                "merged_at": merged_at,
                "web_url": f"{self.host}/team/web/-/merge_requests/{number}",
            }
        return {
            "id": 900,
            "number": number,
            "state": "open" if state == "open" else "closed",
            "merged": state == "merged",
            "merged_at": merged_at,
            "html_url": f"{self.host}/team/web/pull/{number}",
            "head": {"ref": self.branch, "sha": self.head_sha},
            "base": {"ref": BASE, "sha": "b" * 40},
        }

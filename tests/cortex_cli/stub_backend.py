"""One task in place of the whole backend: it keeps the rules of CX-12, CX-13 and CX-24, and counts what happened."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

from tests.cortex_cli.stub_server import TASK, USER, StubReply, StubRequest, StubServer, problem

__all__ = ["OTHER", "StubBackend"]

OTHER: Final = {"id": 8, "name": "Bob"}
"""Somebody else in the project."""

_MOVES: Final = {
    "TODO": ("IN_PROGRESS", "CANCELED"),
    "IN_PROGRESS": ("REVIEW", "DONE", "TODO", "CANCELED"),
    "REVIEW": ("DONE", "IN_PROGRESS", "CANCELED"),
    "DONE": ("IN_PROGRESS",),
    "CANCELED": ("TODO",),
}


class StubBackend:
    """Task 42 of user 7; ``intercept`` may answer a request in place of the stub, or do something before it."""

    def __init__(self, server: StubServer, **fields: object) -> None:
        self.server = server
        self.task: dict[str, Any] = {**deepcopy(TASK), **fields}
        self.history: list[str] = []
        """each status that the task was given, in order"""
        self.intercept: Callable[[StubRequest], StubReply | None] = lambda _asked: None
        server.answers["GET /tasks/42"] = self._get
        server.answers["PATCH /tasks/42"] = self._patch
        server.say("GET /auth/me", USER)
        server.say("GET /tasks/", {"tasks": [], "total": 0, "next_cursor": None})
        server.say("GET /projects/", {"projects": [], "total": 0, "next_cursor": None})
        server.say("GET /projects/", {"projects": [], "total": 0, "next_cursor": None})

    def set(self, **fields: object) -> None:
        """Change the task as another client would."""
        self.task |= fields
        self.task["version"] += 1

    @property
    def changes(self) -> int:
        """How often the task was changed over HTTP."""
        return len([asked for asked in self.server.asked if asked.method == "PATCH"])

    def _get(self, asked: StubRequest) -> StubReply:
        return self.intercept(asked) or StubReply(body=self.task)

    def _patch(self, asked: StubRequest) -> StubReply:
        said = self.intercept(asked)
        if said is not None:
            return said
        expected = asked.headers.get("if-match")
        if expected not in {None, f'"{self.task["version"]}"'}:
            return problem(412, "PreconditionFailed", current_version=self.task["version"])
        changes: dict[str, Any] = json.loads(asked.body)
        old, new = self.task["status"], changes.get("status", self.task["status"])
        if new != old and new not in _MOVES[old]:
            return problem(409, "InvalidTransition", **{"from": old, "to": new, "allowed": _MOVES[old]})
        before = deepcopy(self.task)
        self._apply(changes, is_start=new == "IN_PROGRESS")
        if self.task != before:
            self.task["version"] += 1
        if new != old:
            self.history.append(str(new))
        return StubReply(body=self.task)

    def _apply(self, changes: dict[str, Any], *, is_start: bool) -> None:
        if "assignee_id" in changes:
            self.task["assignee"] = changes.pop("assignee_id")
        if is_start and self.task["assignee"] is None:
            self.task["assignee"] = {"id": USER["id"], "name": USER["name"]}
        if "pull_request" in changes:
            empty = dict.fromkeys(("url", "number", "head_sha", "base"))
            known = self.task["pull_request"] or {**empty, "forge": "none", "state": "open", "submitted_at": "now"}
            changes["pull_request"] = {**known, **changes["pull_request"]}
        self.task |= changes

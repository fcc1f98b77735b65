"""Replicas of tasks-v1-mcp as a hosted service, and the calls that clients send them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from benchmarks.hosted.client import check
from benchmarks.subjects import TASKS_V1, Call
from tests.hosted.service import Issuer
from tests.wire.served import PUBLIC_URL, Served, modern, name_headers, serving

__all__ = ["OPERATIONS", "PATH", "calls_of", "headers_of", "post", "serve_replicas"]

PATH: Final = "/mcp"

OPERATIONS: Final = ("get", "list page", "create")

_LIMITLESS: Final = {
    "TASK_CALLS_PER_SECOND": "1000000",
    "TASK_CALLS_BURST": "1000000000",
    "TASK_CALLS_IN_FLIGHT": "100",
    "TASK_STREAMS": "100",
    "TASK_QUOTA_TASKS": "1000000000",
    "TASK_QUOTA_BYTES": "1000000000000",
}
"""Limits that no tenant reaches: what the service can do is measured, not what it grants."""


@contextmanager
def serve_replicas(store: str, issuer: Issuer, number: int) -> Iterator[list[Served]]:
    """Yield this many replicas over the store at an address."""
    settings = {
        "TASK_STORE": store,
        "TASK_AUTH_ISSUER": issuer.url,
        "TASK_PUBLIC_URL": PUBLIC_URL,
        "TASK_ALLOWED_HOSTS": "127.0.0.1",
    }
    command = TASKS_V1.record.module_command
    with ExitStack() as stack:
        yield [stack.enter_context(serving(command, {**settings, **_LIMITLESS})) for _ in range(number)]


def calls_of(operation: str, ids: range) -> list[Call]:
    """Return the calls of an operation: one for each of ``ids``, where it asks for a task."""
    if operation == "get":
        return [TASKS_V1.get(str(number)) for number in ids]
    return [TASKS_V1.page if operation == "list page" else TASKS_V1.create]


def headers_of(call: Call) -> tuple[str, dict[str, str]]:
    """Return the body and the headers of a call as the modern era has them, but for its token."""
    arguments: dict[str, Any] = {**call.arguments}
    body, own = modern(call.tool, json.dumps(arguments))
    return body.decode(), name_headers(own)


def post(replica: Served, call: Call, token: str) -> bytes:
    """Return the answer of a replica to one call, over a connection of its own; it raises what ``check`` does."""
    body, headers = headers_of(call)
    reply = replica.ask("POST", PATH, body.encode(), **headers, Authorization=f"Bearer {token}")
    return check(reply.status, reply.body)

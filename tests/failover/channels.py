"""Channels from the clients of a failover to their tasks: the engine in their own process, or a server over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from random import SystemRandom
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from task_core.errors import TaskError
from task_core.store import Store
from task_hosted.postgres import Pool, PostgresDatabase
from tasks_v1_mcp.arguments import CreateTaskArguments, ListTasksArguments, UpdateTaskArguments
from tasks_v1_mcp.codec import CODEC
from tasks_v1_mcp.service import TaskService
from tests.wire.served import modern, name_headers

__all__ = ["ChangeFailed", "Channel", "HttpChannel", "StoreChannel"]

_SECONDS: Final = 60.0
"""Seconds after which a client no longer waits for an answer over HTTP."""

_OPEN: Final = "unknown whether"
"""Words of an error that leaves open whether the change was made."""

_NOT_BEGUN: Final = {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.UNAUTHORIZED}
"""With these, the proxy or the server says that it has not begun what was asked."""


class ChangeFailed(Exception):
    """A call was not carried out, or may have been if ``is_unknown``."""

    def __init__(self, reason: str, *, is_unknown: bool) -> None:
        super().__init__(reason)
        self.is_unknown = is_unknown


class Channel(Protocol):
    """The calls of a client; each raises ``ChangeFailed``."""

    def create(self, word: str) -> str:
        """Create a task with ``word`` as its tag, and return its id."""

    def rename(self, task_id: str, word: str) -> None:
        """Make ``word`` the title of a task."""

    def count(self, word: str) -> int:
        """Return how many tasks have ``word`` as their tag or in their title."""

    def close(self) -> None:
        """End the connection."""


class StoreChannel:
    """The engine itself, with connections of its own, as a replica has it."""

    def __init__(self, url: str, tenant: str) -> None:
        database = PostgresDatabase(Pool(url), tenant, CODEC.kind.name)
        self._store = Store(database, CODEC.kind, tenant=tenant)
        self._service = TaskService(self._store, SystemRandom())

    def create(self, word: str) -> str:
        with _store_errors():
            return self._service.create_task(CreateTaskArguments(title="new", tags=(word,))).id

    def rename(self, task_id: str, word: str) -> None:
        with _store_errors():
            self._service.update_task(UpdateTaskArguments(id=task_id, title=word))

    def count(self, word: str) -> int:
        with _store_errors():
            return self._service.list_tasks(ListTasksArguments(query=word)).total

    def close(self) -> None:
        self._store.close()


@contextmanager
def _store_errors() -> Iterator[None]:
    try:
        yield
    except TaskError as error:
        raise ChangeFailed(f"{error.code}: {error}", is_unknown=_OPEN in str(error)) from error


class HttpChannel:
    """A server behind its public URL, with the token of a user."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._path = parts.path
        self._token = token
        self._connection = HTTPConnection(parts.netloc, timeout=_SECONDS)

    def create(self, word: str) -> str:
        created: str = self._call("create_task", title="new", tags=[word])["task"]["id"]
        return created

    def rename(self, task_id: str, word: str) -> None:
        self._call("update_task", id=task_id, title=word)

    def count(self, word: str) -> int:
        total: int = self._call("list_tasks", query=word)["total"]
        return total

    def close(self) -> None:
        self._connection.close()

    def _call(self, tool: str, **arguments: object) -> Mapping[str, Any]:
        body, own = modern(tool, json.dumps(arguments))
        headers = name_headers({**own, "Authorization": f"Bearer {self._token}"})
        result = self._post(body, headers).get("result", {"isError": True})
        structured: Mapping[str, Any] = result.get(
            "structuredContent", {"error": {"code": "?", "message": str(result)}}
        )
        if result.get("isError"):
            error = structured["error"]
            raise ChangeFailed(f"{error['code']}: {error['message']}", is_unknown=_OPEN in error["message"])
        return structured

    def _post(self, body: bytes, headers: Mapping[str, str]) -> Mapping[str, Any]:
        try:
            self._connection.connect() if self._connection.sock is None else None
        except OSError as error:
            raise ChangeFailed(f"no connection: {error}", is_unknown=False) from error
        try:
            self._connection.request("POST", self._path, body, headers)
            response = self._connection.getresponse()
            answer = response.read()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise ChangeFailed(f"no answer: {type(error).__name__}", is_unknown=True) from error
        if response.status != HTTPStatus.OK:
            raise ChangeFailed(f"HTTP {response.status}", is_unknown=response.status not in _NOT_BEGUN)
        parsed: Mapping[str, Any] = json.loads(answer)
        return parsed

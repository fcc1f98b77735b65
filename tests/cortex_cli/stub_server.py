"""A small HTTP server in place of the backend: it answers what a test sets, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple, cast
from urllib.parse import parse_qsl, urlsplit

from typing_extensions import override

__all__ = ["LOGIN", "TASK", "USER", "StubReply", "StubRequest", "StubServer", "problem", "running"]

USER: Final[dict[str, Any]] = {"id": 7, "name": "Ada", "email": "ada@example.org", "is_active": True}

LOGIN: Final[dict[str, Any]] = {
    "access_token": "access-1",
    "token_type": "Bearer",
    "expires_in": 900,
    "refresh_token": "refresh-1",
    "session": {"id": "s1", "expires_at": "2027-01-01T00:00:00Z"},
    "user": USER,
}

TASK: Final[dict[str, Any]] = {
    "id": 42,
    "project": {"id": 3, "name": "Web", "repository_url": None, "default_branch": "main"},
    "title": "Fix the login",
    "description": "It fails.",
    "type": "bug",
    "priority": "HIGH",
    "status": "TODO",
    "assignee": None,
    "branch_name": None,
    "pull_request": None,
    "deadline": None,
    "version": 1,
    "created_by": {"id": 7, "name": "Ada"},
    "created_at": "2026-11-01T00:00:00Z",
    "updated_at": "2026-11-01T00:00:00Z",
}


class StubRequest(NamedTuple):
    """One request; the names of headers are in lower case."""

    method: str
    path: str
    query: list[tuple[str, str]]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> object:
        return json.loads(self.body)

    @property
    def token(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


class StubReply(NamedTuple):
    """One answer; ``body`` is sent as JSON unless it is bytes. A status of 0 ends the connection without an answer."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = {}


def problem(status: int, code: str, **members: object) -> StubReply:
    """Return an error of the backend."""
    return StubReply(status, {"code": code, "detail": f"It is {code}.", "status": status, **members})


class StubServer:
    """What the server answers, by method and path; the last answer of a list is repeated."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.asked: list[StubRequest] = []
        self.answers: dict[str, list[StubReply] | Callable[[StubRequest], StubReply]] = {}
        self._lock = threading.Lock()

    def say(self, request: str, *answers: StubReply | object) -> None:
        """Answer ``request``, such as ``GET /tasks/``, by each of ``answers`` once and by the last one from then on."""
        self.answers[request] = [item if isinstance(item, StubReply) else StubReply(body=item) for item in answers]

    def answer(self, asked: StubRequest) -> StubReply:
        with self._lock:
            self.asked.append(asked)
            answers = self.answers.get(f"{asked.method} {asked.path}")
            if answers is None:
                return problem(404, "NotFound")
            if not callable(answers):
                return answers.pop(0) if len(answers) > 1 else answers[0]
        return answers(asked)

    def paths(self) -> list[str]:
        return [f"{asked.method} {asked.path}" for asked in self.asked]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = StubRequest(self.command, parts.path, parse_qsl(parts.query), headers, body)
        said = cast("_Server", self.server).stub.answer(asked)
        self.close_connection = True
        if not said.status:
            return
        content = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
        self.send_response(said.status)
        for name, value in {"Content-Length": str(len(content)), **said.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815 - the names in the class above


class _Server(ThreadingHTTPServer):
    stub: StubServer
    daemon_threads = True

    @override
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client may go before it has its answer."""


@contextmanager
def running(make: Callable[[str], StubServer] = StubServer) -> Iterator[StubServer]:
    """Run a server on a free port of this machine; ``make`` gets its origin."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.stub = make(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.stub
        finally:
            server.shutdown()
            thread.join()

"""The backend as its users meet it: people with tokens, a project, a clock that a test moves.

Each answer is compared with the published description on its way to the test: its status, its type and its body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, Self, cast

import pytest
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator
from pydantic import SecretStr
from sqlalchemy import text

from cortex_backend.api.app import CortexApp
from cortex_backend.problems import Problem
from cortex_backend.settings import BackendSettings

__all__ = [
    "EPOCH",
    "PASSWORD",
    "PROBLEM",
    "ROLES",
    "SECRET",
    "BackendFixture",
    "Description",
    "MovableClock",
    "Person",
    "PreparedData",
    "as_problem",
    "raises_problem",
    "settings_for",
]

EPOCH: Final = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
"""When every test begins; what a prepared database holds was written then."""

PASSWORD: Final = "of these tests only 7"  # noqa: S105 - opens nothing but the databases of these tests
"""The password of everybody."""

SECRET: Final = "a key of these tests and of nothing else that is long enough for all"  # noqa: S105 - see PASSWORD
"""The key that signs the tokens of these tests."""

PROBLEM: Final = "application/problem+json"
"""The media type of every error."""

ROLES: Final = ("owner", "member", "viewer", "stranger")
"""The people of the fixture: by their role in its project, and one whose project is another."""

_COPIES: Final = """
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
    INSERT INTO tasks (project_id, title, description, type, priority, status, assignee_id, version, created_by,
      created_at, updated_at)
    SELECT project_id, title, description, type, priority, status,
      CASE n % 3 WHEN 0 THEN CAST(:owner AS INTEGER) WHEN 1 THEN CAST(:member AS INTEGER) END, version, created_by,
      created_at, updated_at
    FROM tasks, numbers WHERE id = :task
"""

_METHODS: Final = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
_MASKED: Final = re.compile(r"argon2|password_hash|token_hash|refresh_hash")


class MovableClock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = EPOCH

    def __call__(self) -> datetime:
        return self.now

    def move(self, **delta: float) -> None:
        """Go on by this much, in the words of ``timedelta``."""
        self.now += timedelta(**delta)


class Description:
    """The published OpenAPI description, and what it says about an answer."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self._patterns = [
            (re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path.rstrip("/")))), path) for path in document["paths"]
        ]
        self._validators: dict[str, Draft202012Validator] = {}

    def operations(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Yield method, path and description of each operation."""
        for path, item in self.document["paths"].items():
            for method in sorted(_METHODS & item.keys()):
                yield method.upper(), path, item[method]

    def path_of(self, path: str) -> str | None:
        """Return the described path that ``path`` is an instance of; literal segments win over parameters."""
        plain = path.partition("?")[0].rstrip("/")
        found = [described for pattern, described in self._patterns if pattern.fullmatch(plain)]
        return min(found, key=lambda described: described.count("{"), default=None)

    def complaint(self, method: str, path: str, status: int, kind: str, body: bytes) -> str | None:
        """Return what about an answer is not as described, or ``None``."""
        described = self.path_of(path)
        operation = self.document["paths"].get(described, {}).get(method.lower())
        if operation is None:
            return None if status in {404, 405} else f"{method} {path} is not described"
        answer = operation["responses"].get(str(status))
        if answer is None:
            return f"{method} {described} answers {status}, which is not described"
        if "content" not in answer:
            return f"{method} {described} {status} has a body" if body else None
        if kind not in answer["content"]:
            return f"{method} {described} {status} is of the type {kind!r}"
        schema = answer["content"][kind].get("schema", {})
        errors = [error.message for error in self._validator(schema).iter_errors(json.loads(body))]
        return f"{method} {described} {status}: {errors[:3]}" if errors else None

    def _validator(self, schema: Mapping[str, Any]) -> Draft202012Validator:
        key = json.dumps(schema)
        if key not in self._validators:
            whole = {**schema, "components": self.document.get("components", {})}
            self._validators[key] = Draft202012Validator(whole)
        return self._validators[key]


class Person:
    """Somebody who sends requests, with a token or without."""

    def __init__(self, client: TestClient, description: Description, tokens: Mapping[str, Any] | None = None) -> None:
        self.client = client
        self.tokens = dict(tokens or {})
        self._description = description

    @property
    def id(self) -> int:
        """The id of the user."""
        return self.tokens["user"]["id"]

    @property
    def email(self) -> str:
        """The address with which the user logs in."""
        return self.tokens["user"]["email"]

    @property
    def bearer(self) -> dict[str, str]:
        """The header with the token, if there is one."""
        return {"Authorization": f"Bearer {self.tokens['access_token']}"} if self.tokens else {}

    def send(self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **content: Any) -> Any:  # noqa: ANN401
        """Send a request and return the answer, which is as described."""
        answer = self.client.request(method, path, headers={**self.bearer, **(headers or {})}, **content)
        kind = answer.headers.get("content-type", "").partition(";")[0]
        complaint = self._description.complaint(method, path, answer.status_code, kind, answer.content)
        assert complaint is None, f"{complaint}: {answer.text[:400]}"
        assert _MASKED.search(answer.text) is None
        assert answer.status_code < 400 or method == "HEAD" or kind == PROBLEM or path.startswith("/auth/token")
        return answer

    def get(self, path: str, **options: Any) -> Any:  # noqa: ANN401
        """Read."""
        return self.send("GET", path, **options)

    def post(self, path: str, body: object = None, **options: Any) -> Any:  # noqa: ANN401
        """Create."""
        return self.send("POST", path, json=body, **options)

    def patch(self, path: str, body: object, **options: Any) -> Any:  # noqa: ANN401
        """Change."""
        return self.send("PATCH", path, json=body, **options)

    def put(self, path: str, body: object, **options: Any) -> Any:  # noqa: ANN401
        """Set."""
        return self.send("PUT", path, json=body, **options)

    def delete(self, path: str, **options: Any) -> Any:  # noqa: ANN401
        """Remove."""
        return self.send("DELETE", path, **options)

    def new_task(self, project_id: int, title: str = "Write it down", **fields: object) -> dict[str, Any]:
        """Create a task and return it."""
        answer = self.post("/tasks/", {"project_id": project_id, "title": title, **fields})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def invite(self, project_id: int, email: str, role: str) -> dict[str, Any]:
        """Invite an address to a project of mine, and return the invitation."""
        answer = self.post(f"/projects/{project_id}/members", {"email": email, "role": role})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def admit(self, project_id: int, other: Person, role: str) -> None:
        """Invite somebody to a project of mine, and let them accept."""
        invitation = self.invite(project_id, other.email, role)
        assert other.post(f"/invitations/{invitation['id']}/accept").status_code == 201


class PreparedData(NamedTuple):
    """What the people of a prepared database got: their tokens, and the ids of what they made."""

    description: Description
    tokens: Mapping[str, Mapping[str, Any]]
    project: int
    task: int
    foreign_project: int
    foreign_task: int
    invitation: int
    """An open invitation to the project, for an address without an account."""

    @classmethod
    def build(cls, client: TestClient) -> Self:
        """Let everybody log in, and make a project with a task for the owner, and one for the stranger."""
        description = Description(client.get("/openapi.json").json())
        anyone = Person(client, description)
        tokens = {}
        for role in ROLES:
            body = {"email": f"{role}@example.com", "password": PASSWORD, "device": "laptop"}
            answer = anyone.post("/auth/login", body)
            assert answer.status_code == 200, answer.text
            tokens[role] = answer.json()
        owner, stranger = (Person(client, description, tokens[role]) for role in ("owner", "stranger"))
        ours, foreign = (
            person.post("/projects/", {"name": name}).json()["id"]
            for person, name in ((owner, "Alpha"), (stranger, "Beta"))
        )
        for role in ("member", "viewer"):
            owner.admit(ours, Person(client, description, tokens[role]), role)
        invitation = owner.invite(ours, "nobody@example.org", "viewer")["id"]
        tasks = owner.new_task(ours)["id"], stranger.new_task(foreign)["id"]
        return cls(description, tokens, ours, tasks[0], foreign, tasks[1], invitation)


class BackendFixture:
    """One backend over a database of its own, with the people who work there."""

    owner: Person
    member: Person
    viewer: Person
    stranger: Person

    def __init__(self, client: TestClient, clock: MovableClock, prepared_data: PreparedData, url: str) -> None:
        self.client = client
        self.clock = clock
        self.url = url
        self.description = prepared_data.description
        for role in ROLES:
            setattr(self, role, Person(client, self.description, prepared_data.tokens[role]))
        self.anyone = Person(client, self.description)
        self.project, self.task = prepared_data.project, prepared_data.task
        self.foreign_project, self.foreign_task = prepared_data.foreign_project, prepared_data.foreign_task
        self.invitation = prepared_data.invitation

    def person(self, role: str) -> Person:
        """Return the person with a role, or ``anyone`` without a token."""
        return getattr(self, role)

    def log_in(self, role: str, device: str = "laptop") -> Person:
        """Return the person with a role in a new session."""
        body = {"email": self.person(role).email, "password": PASSWORD, "device": device}
        answer = self.anyone.post("/auth/login", body)
        assert answer.status_code == 200, answer.text
        return Person(self.client, self.description, answer.json())

    def routes(self) -> set[tuple[str, str]]:
        """Return method and path of everything that the application serves."""
        app: Any = self.client.app
        found = [route for part in app.routes for route in (getattr(part, "original_router", None) or app).routes]
        return {(method, route.path) for route in found for method in route.methods or ()}

    def add_tasks(self, count: int) -> None:
        """Add many copies of the task at once, which the owner, the member and nobody have in turn."""
        values = {"count": count, "task": self.task, "owner": self.owner.id, "member": self.member.id}
        with cast("CortexApp", self.client.app).state.database.write() as session:
            session.execute(text(_COPIES), values)

    def events(self, **fields: object) -> list[dict[str, Any]]:
        """Return what the owner sees happen, oldest first, of the events with these fields."""
        shown = self.owner.get("/events?limit=500").json()["events"]
        return [event for event in shown if fields.items() <= event.items()]


def settings_for(url: str) -> BackendSettings:
    """Return the settings of a backend over this database, whatever the environment says."""
    return BackendSettings(database_url=url, secret_keys=SecretStr(SECRET))


def as_problem(answer: Any, status: int, code: str) -> dict[str, Any]:  # noqa: ANN401
    """Return the problem that an answer is; it has this status and code."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM), answer.text
    found = answer.json()
    assert (found["code"], found["status"], found["type"]) == (code, status, f"urn:cortex:problem:{code}")
    assert found["title"]
    assert found["detail"].endswith(".")
    return found


def raises_problem(code: str, match: str | None = None) -> pytest.RaisesExc[Problem]:
    """Expect the problem with this code, as ``pytest.raises`` does."""
    return pytest.raises(Problem, match=match, check=lambda problem: problem.code == code)

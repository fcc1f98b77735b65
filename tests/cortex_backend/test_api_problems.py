"""Errors: one form for all of them, the same bytes for what is missing and what is hidden (CX-20, CX-23, CX-26)."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from tests.cortex_backend.backend_fixture import PROBLEM, BackendFixture, as_problem

pytestmark = pytest.mark.requirement("CX-23")

MEMBERS: Final = {"type", "title", "status", "detail", "instance", "code"}


def test_a_problem_has_the_members_of_the_standard_and_a_code(backend: BackendFixture) -> None:
    found = as_problem(backend.owner.get("/tasks/2000000000"), 404, "NotFound")
    assert found.keys() == MEMBERS
    assert found["instance"] == "/tasks/2000000000"


def test_a_path_that_does_not_exist_is_a_problem_too(backend: BackendFixture) -> None:
    for person in (backend.owner, backend.anyone):
        for path in ("/no/such/path", "/docs", "/redoc", "/tasks/1/2/3", "/admin", "/%00", "/..%2f..%2fetc"):
            as_problem(person.get(path), 404, "NotFound")


def test_a_parameter_that_takes_one_value_is_refused_if_it_is_given_twice(backend: BackendFixture) -> None:
    as_problem(backend.owner.get("/tasks/?limit=1&status=open&status=done&limit=2"), 422, "InvalidArguments")


def test_a_method_that_a_path_does_not_take_is_refused_with_all_that_it_takes(backend: BackendFixture) -> None:
    allowed: dict[str, set[str]] = {}
    for method, path, _ in backend.description.operations():
        allowed.setdefault(path.rstrip("/"), set()).add(method)
    for path, methods in allowed.items():
        real = path.replace("{project_id}", str(backend.project)).replace("{task_id}", str(backend.task))
        real = real.replace("{user_id}", str(backend.member.id)).replace("{session_id}", "x")
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"} - methods:
            answer = backend.client.request(method, real, headers=backend.owner.bearer)
            as_problem(answer, 405, "MethodNotAllowed")
            listed = set(answer.headers["allow"].split(", "))
            assert listed - {"HEAD", "OPTIONS"} == methods, (path, method)


@pytest.mark.requirement("CX-20")
def test_a_body_that_is_too_large_is_refused_whether_or_not_its_length_is_given(backend: BackendFixture) -> None:
    def in_parts() -> Any:  # noqa: ANN401
        yield b'{"project_id": 1, "title": "'
        for _ in range(300):
            yield b"x" * 1024
        yield b'"}'

    kind = {"Content-Type": "application/json"}
    as_problem(backend.owner.send("POST", "/tasks/", content=in_parts(), headers=kind), 413, "TooLarge")
    as_problem(backend.owner.send("POST", "/tasks/", content=b"x" * (256 * 1024 + 1), headers=kind), 413, "TooLarge")


@pytest.mark.requirement("CX-20")
def test_a_body_of_another_type_is_refused(backend: BackendFixture) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None):
        body = json.dumps({"project_id": backend.project, "title": "X"}).encode()
        answer = backend.owner.send("POST", "/tasks/", content=body, headers={"Content-Type": kind} if kind else {})
        as_problem(answer, 415, "UnsupportedMediaType")


NO_BODIES: Final[list[bytes]] = [
    b"",
    b"{",
    b"[]",
    b'"x"',
    b"null",
    b"\xff\xfe",
    b'{"title": "\\ud800", "project_id": 1}',
    b'{"title": "a\\u0000b", "project_id": 1}',
    b'{"title": NaN, "project_id": 1}',
    b"[" * 100_000,
    b'{"title": "X", "project_id": 1e400}',
    b'{"title": "X", "project_id": ' + b"9" * 5_000 + b"}",
]


def test_a_body_that_is_not_what_is_asked_for_is_refused(backend: BackendFixture) -> None:
    for body in NO_BODIES:
        answer = backend.owner.send("POST", "/tasks/", content=body, headers={"Content-Type": "application/json"})
        assert as_problem(answer, 422, "InvalidArguments")["errors"]


WRONG_CHANGES: Final[list[dict[str, Any]]] = [
    {"titel": "X"},
    {"title": None},
    {"title": ""},
    {"title": "a\nb"},
    {"title": "x" * 201},
    {"title": "\x00"},
    {"title": "\x1b[31m"},
    {"title": 5},
    {"status": None},
    {"status": "DOING"},
    {"status": "todo"},
    {"priority": None},
    {"type": None},
    {"description": None},
    {"description": "x" * 20_001},
    {"description": "a\x00b"},
    {"deadline": "tomorrow"},
    {"deadline": "2026-02-30"},
    {"deadline": 5},
    {"assignee_id": 2**31},
    {"assignee_id": 0},
    {"assignee_id": "1"},
    {"assignee_id": True},
    {"assignee_id": 1.5},
    {"pull_request": {"forge": None}},
    {"pull_request": {"number": 0}},
    {"pull_request": []},
    {},
]


@pytest.mark.requirement("CX-20")
def test_a_change_with_a_wrong_field_is_refused_and_changes_nothing(backend: BackendFixture) -> None:
    path = f"/tasks/{backend.task}"
    before = backend.owner.get(path).json()
    for body in WRONG_CHANGES:
        answer = backend.owner.patch(path, body)
        if body:
            problem = as_problem(answer, 422, "InvalidArguments")
            assert any(next(iter(body)) in error["path"] for error in problem["errors"])
            assert all(error.keys() == {"path", "message"} for error in problem["errors"])
        else:
            assert answer.status_code in {200, 422}
    assert backend.owner.get(path).json() == before


def test_a_problem_repeats_little_of_what_was_sent(backend: BackendFixture) -> None:
    word = "wiederholung"
    long = word * 400
    answers = [
        backend.owner.post("/tasks/", {"project_id": backend.project, "title": "X", long: 1}),
        backend.owner.post("/tasks/", {"project_id": backend.project, "title": long}),
        backend.owner.patch(f"/tasks/{backend.task}", {"status": long}),
        backend.owner.get(f"/tasks/?cursor={long}"),
        backend.owner.get(f"/tasks/?status={long}"),
        backend.owner.get(f"/tasks/{long}"),
        backend.owner.get(f"/{long}"),
        backend.owner.send(long.upper(), "/tasks/"),
    ]
    for answer in answers:
        assert answer.headers["content-type"] == PROBLEM
        assert answer.text.lower().count(word) <= 200 // len(word), answer.text[:1000]


def test_a_problem_shows_nothing_of_the_inside(backend: BackendFixture) -> None:
    for path in (
        "/tasks/x",
        "/tasks/?limit=x",
        "/tasks/9999999999999999999999",
        "/events?after=9999999999999999999999",
    ):
        text = backend.owner.get(path).text.lower()
        for word in ("traceback", "sqlalchemy", "select", "pydantic", ".py", "site-packages", "sqlite", "psycopg"):
            assert word not in text


@pytest.mark.requirement("CX-26")
def test_a_task_in_a_hidden_project_answers_as_one_in_no_project(backend: BackendFixture) -> None:
    answers = [
        backend.stranger.post("/tasks/", {"project_id": project, "title": "X"})
        for project in (backend.project, 2_000_000_000)
    ]
    assert answers[0].status_code == 404
    assert answers[0].content == answers[1].content

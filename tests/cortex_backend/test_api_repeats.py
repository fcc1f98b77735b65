"""A POST that is repeated with its key is done once (CX-25)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.cortex_backend.backend_fixture import BackendFixture, as_problem

pytestmark = pytest.mark.requirement("CX-25")

KEY: Final = {"Idempotency-Key": "0b6f-once"}

POSTS: Final[dict[str, tuple[Callable[[BackendFixture], str], Callable[[BackendFixture], dict[str, Any]]]]] = {
    "task": (lambda _: "/tasks/", lambda backend: {"project_id": backend.project, "title": "Once"}),
    "project": (lambda _: "/projects/", lambda _: {"name": "Once"}),
    "comment": (lambda backend: f"/tasks/{backend.task}/comments", lambda _: {"text": "Once"}),
    "member": (
        lambda backend: f"/projects/{backend.project}/members",
        lambda backend: {"email": backend.stranger.email, "role": "viewer"},
    ),
}


def post_of(name: str, backend: BackendFixture) -> tuple[str, dict[str, Any]]:
    path, body = POSTS[name]
    return path(backend), body(backend)


def test_a_repeated_request_gets_the_first_answer_and_is_done_once(each_backend: BackendFixture) -> None:
    backend = each_backend
    for name in POSTS:
        path, body = post_of(name, backend)
        key = {"Idempotency-Key": f"once-{name}"}
        first = backend.owner.post(path, body, headers=key)
        assert first.status_code == 201
        count = len(backend.events())
        again = backend.owner.post(path, body, headers=key)
        assert (again.status_code, again.content) == (201, first.content)
        assert again.headers["idempotency-replayed"] == "true"
        assert "idempotency-replayed" not in first.headers
        for header in ("location", "etag"):
            assert again.headers.get(header) == first.headers.get(header)
        assert len(backend.events()) == count


def test_a_key_with_another_body_is_refused(backend: BackendFixture) -> None:
    for name in POSTS:
        path, body = post_of(name, backend)
        key = {"Idempotency-Key": f"once-{name}"}
        backend.owner.post(path, body, headers=key)
        other = {**body, **{field: "Other" for field in ("title", "name", "text") if field in body}}
        other = other if other != body else {**body, "role": "member"}
        as_problem(backend.owner.post(path, other, headers=key), 422, "IdempotencyKeyReused")


def test_a_key_for_another_path_is_refused(backend: BackendFixture) -> None:
    backend.owner.post(f"/tasks/{backend.task}/comments", {"text": "X"}, headers=KEY)
    other = backend.owner.new_task(backend.project)["id"]
    as_problem(backend.owner.post(f"/tasks/{other}/comments", {"text": "X"}, headers=KEY), 422, "IdempotencyKeyReused")


def test_everybody_has_keys_of_their_own(backend: BackendFixture) -> None:
    body = {"project_id": backend.project, "title": "Once"}
    first = backend.owner.post("/tasks/", body, headers=KEY).json()
    assert backend.member.post("/tasks/", body, headers=KEY).json()["id"] != first["id"]


def test_a_key_is_kept_for_a_day(backend: BackendFixture) -> None:
    body = {"project_id": backend.project, "title": "Once"}
    first = backend.owner.post("/tasks/", body, headers=KEY).json()
    backend.clock.move(hours=23)
    fresh = backend.log_in("owner")
    assert fresh.post("/tasks/", body, headers=KEY).json() == first
    backend.clock.move(hours=2)
    assert backend.log_in("owner").post("/tasks/", body, headers=KEY).json()["id"] != first["id"]


def test_a_request_that_was_refused_can_be_repeated_with_its_key(backend: BackendFixture) -> None:
    body = {"project_id": backend.project, "title": "Once", "assignee_id": backend.stranger.id}
    assert backend.owner.post("/tasks/", body, headers=KEY).status_code == 404
    assert backend.owner.post("/tasks/", body, headers=KEY).status_code == 404


def test_a_key_is_visible_ascii(backend: BackendFixture) -> None:
    for key in ("", " ", "a b", "x" * 256, "a\tb", "a\x7f"):
        body = {"project_id": backend.project, "title": "Once"}
        answer = backend.owner.post("/tasks/", body, headers={"Idempotency-Key": key})
        as_problem(answer, 422, "InvalidArguments")


def test_a_repeated_request_of_somebody_who_has_left_the_project_is_not_answered(backend: BackendFixture) -> None:
    backend.owner.put(f"/projects/{backend.project}/members/{backend.member.id}", {"role": "owner"})
    posts = [(*post_of(name, backend), {"Idempotency-Key": f"left-{name}"}) for name in POSTS if name != "project"]
    for path, body, key in posts:
        assert backend.member.post(path, body, headers=key).status_code == 201
    backend.owner.delete(f"/projects/{backend.project}/members/{backend.member.id}")
    for path, body, key in posts:
        as_problem(backend.member.post(path, body, headers=key), 404, "NotFound")

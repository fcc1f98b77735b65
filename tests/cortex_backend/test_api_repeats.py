"""A POST that is repeated with its key is done once (CX-25)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.cortex_backend.desk import Desk, as_problem

pytestmark = pytest.mark.requirement("CX-25")

KEY: Final = {"Idempotency-Key": "0b6f-once"}

POSTS: Final[dict[str, tuple[Callable[[Desk], str], Callable[[Desk], dict[str, Any]]]]] = {
    "task": (lambda _: "/tasks/", lambda desk: {"project_id": desk.project, "title": "Once"}),
    "project": (lambda _: "/projects/", lambda _: {"name": "Once"}),
    "comment": (lambda desk: f"/tasks/{desk.task}/comments", lambda _: {"text": "Once"}),
    "member": (
        lambda desk: f"/projects/{desk.project}/members",
        lambda desk: {"email": desk.stranger.email, "role": "viewer"},
    ),
}


def post_of(name: str, desk: Desk) -> tuple[str, dict[str, Any]]:
    path, body = POSTS[name]
    return path(desk), body(desk)


def test_a_repeated_request_gets_the_first_answer_and_is_done_once(each_desk: Desk) -> None:
    desk = each_desk
    for name in POSTS:
        path, body = post_of(name, desk)
        key = {"Idempotency-Key": f"once-{name}"}
        first = desk.owner.post(path, body, headers=key)
        assert first.status_code == 201
        count = len(desk.events())
        again = desk.owner.post(path, body, headers=key)
        assert (again.status_code, again.content) == (201, first.content)
        assert again.headers["idempotency-replayed"] == "true"
        assert "idempotency-replayed" not in first.headers
        for header in ("location", "etag"):
            assert again.headers.get(header) == first.headers.get(header)
        assert len(desk.events()) == count


def test_a_key_with_another_body_is_refused(desk: Desk) -> None:
    for name in POSTS:
        path, body = post_of(name, desk)
        key = {"Idempotency-Key": f"once-{name}"}
        desk.owner.post(path, body, headers=key)
        other = {**body, **{field: "Other" for field in ("title", "name", "text") if field in body}}
        other = other if other != body else {**body, "role": "member"}
        as_problem(desk.owner.post(path, other, headers=key), 422, "IdempotencyKeyReused")


def test_a_key_for_another_path_is_refused(desk: Desk) -> None:
    desk.owner.post(f"/tasks/{desk.task}/comments", {"text": "X"}, headers=KEY)
    other = desk.owner.new_task(desk.project)["id"]
    as_problem(desk.owner.post(f"/tasks/{other}/comments", {"text": "X"}, headers=KEY), 422, "IdempotencyKeyReused")


def test_everybody_has_keys_of_their_own(desk: Desk) -> None:
    body = {"project_id": desk.project, "title": "Once"}
    first = desk.owner.post("/tasks/", body, headers=KEY).json()
    assert desk.member.post("/tasks/", body, headers=KEY).json()["id"] != first["id"]


def test_a_key_is_kept_for_a_day(desk: Desk) -> None:
    body = {"project_id": desk.project, "title": "Once"}
    first = desk.owner.post("/tasks/", body, headers=KEY).json()
    desk.clock.move(hours=23)
    fresh = desk.log_in("owner")
    assert fresh.post("/tasks/", body, headers=KEY).json() == first
    desk.clock.move(hours=2)
    assert desk.log_in("owner").post("/tasks/", body, headers=KEY).json()["id"] != first["id"]


def test_a_request_that_was_refused_can_be_repeated_with_its_key(desk: Desk) -> None:
    body = {"email": "late@example.org", "role": "viewer"}
    path = f"/projects/{desk.project}/members"
    assert desk.owner.post(path, body, headers=KEY).status_code == 404
    assert desk.owner.post(path, body, headers=KEY).status_code == 404


def test_a_key_is_visible_ascii(desk: Desk) -> None:
    for key in ("", " ", "a b", "x" * 256, "a\tb", "a\x7f"):
        body = {"project_id": desk.project, "title": "Once"}
        answer = desk.owner.post("/tasks/", body, headers={"Idempotency-Key": key})
        as_problem(answer, 422, "InvalidArguments")


def test_a_repeated_request_of_somebody_who_has_left_the_project_is_not_answered(desk: Desk) -> None:
    path = f"/tasks/{desk.task}/comments"
    assert desk.member.post(path, {"text": "X"}, headers=KEY).status_code == 201
    desk.owner.delete(f"/projects/{desk.project}/members/{desk.member.id}")
    assert desk.member.post(path, {"text": "X"}, headers=KEY).status_code in {201, 404}

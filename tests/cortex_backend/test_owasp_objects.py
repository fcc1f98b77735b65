"""OWASP API1 and API5: every path with an id and every write, by everybody who may not (CX-100, CX-101)."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.cortex_backend.backend_fixture import PASSWORD, PROBLEM, BackendFixture, as_problem

MISSING: Final = 2_000_000_000

BODIES: Final[dict[tuple[str, str], Any]] = {
    ("PATCH", "/projects/{project_id}"): {"name": "Taken"},
    ("POST", "/projects/{project_id}/members"): {"email": "x@example.org", "role": "owner"},
    ("PUT", "/projects/{project_id}/members/{user_id}"): {"role": "viewer"},
    ("PATCH", "/tasks/{task_id}"): {"title": "Taken"},
    ("POST", "/tasks/{task_id}/comments"): {"text": "Taken"},
    ("POST", "/tasks/"): {"project_id": "{project_id}", "title": "Taken"},
}
"""A good body of each request that needs one."""

WRITES: Final[list[tuple[str, str, set[str]]]] = [
    ("PATCH", "/projects/{project_id}", {"owner"}),
    ("POST", "/projects/{project_id}/members", {"owner"}),
    ("POST", "/invitations/{invitation_id}/accept", set()),  # it is for somebody else
    ("DELETE", "/invitations/{invitation_id}", {"owner"}),
    ("PUT", "/projects/{project_id}/members/{user_id}", {"owner"}),
    ("DELETE", "/projects/{project_id}/members/{user_id}", {"owner", "viewer"}),  # the viewer is the one who leaves
    ("POST", "/tasks/", {"owner", "member"}),
    ("PATCH", "/tasks/{task_id}", {"owner", "member"}),
    ("POST", "/tasks/{task_id}/comments", {"owner", "member"}),
]
"""Every write to a project or in one, and the roles that may make it."""


def fill(value: Any, ids: dict[str, Any]) -> Any:  # noqa: ANN401
    """Return the body or path with real ids in the place of their names."""
    if isinstance(value, dict):
        return {name: fill(member, ids) for name, member in value.items()}
    if value == "{project_id}":
        return ids["project_id"]
    return value.format_map(ids) if isinstance(value, str) else value


def ids_of(backend: BackendFixture) -> dict[str, Any]:
    return {
        "project_id": backend.project,
        "task_id": backend.task,
        "user_id": backend.viewer.id,
        "session_id": backend.owner.tokens["session"]["id"],
        "invitation_id": backend.invitation,
    }


def request(backend: BackendFixture, role: str, method: str, path: str, ids: dict[str, Any]) -> Any:  # noqa: ANN401
    body = fill(BODIES.get((method, path)), ids)
    content = {} if body is None else {"json": body}
    return backend.person(role).send(method, fill(path, ids), **content)


def state(backend: BackendFixture) -> list[Any]:
    paths = (f"/projects/{backend.project}", f"/projects/{backend.project}/members", f"/tasks/{backend.task}")
    return [backend.owner.get(path).json() for path in [*paths, f"/tasks/{backend.task}/comments", "/events?limit=500"]]


@pytest.mark.requirement("CX-100", "CX-26")
def test_a_stranger_gets_the_same_bytes_for_every_id_as_for_none(backend: BackendFixture) -> None:
    before = state(backend)
    operations = [(method, path) for method, path, _ in backend.description.operations() if "_id}" in path]
    assert len(operations) >= 10
    for method, path in operations:
        real = ids_of(backend)
        missing = {**dict.fromkeys(real, MISSING), "session_id": "none"}
        hidden, absent = (request(backend, "stranger", method, path, ids) for ids in (real, missing))
        assert hidden.status_code == absent.status_code == 404, (method, path)
        texts = [answer.text.replace(fill(path, ids), "PATH") for answer, ids in ((hidden, real), (absent, missing))]
        assert texts[0] == texts[1], (method, path)
        assert hidden.headers.keys() == absent.headers.keys()
    assert state(backend) == before


@pytest.mark.requirement("CX-100")
def test_nobody_without_a_token_gets_anything(backend: BackendFixture) -> None:
    before = state(backend)
    public = {"/healthz", "/readyz", "/openapi.json", "/auth/login", "/auth/token"}
    for method, path, _ in backend.description.operations():
        if path not in public:
            problem = as_problem(request(backend, "anyone", method, path, ids_of(backend)), 401, "NotAuthenticated")
            assert problem["instance"] == fill(path, ids_of(backend))
    assert state(backend) == before


@pytest.mark.requirement("CX-100")
def test_an_id_inside_another_project_does_not_open_it(backend: BackendFixture) -> None:
    stranger = backend.stranger.id
    for method, body in (("PUT", {"role": "owner"}), ("DELETE", None)):
        content = {} if body is None else {"json": body}
        as_problem(
            backend.owner.send(method, f"/projects/{backend.project}/members/{stranger}", **content), 404, "NotFound"
        )
    assert backend.stranger.get(f"/projects/{backend.foreign_project}").status_code == 200
    answer = backend.member.patch(f"/tasks/{backend.task}", {"project_id": backend.foreign_project})
    as_problem(answer, 422, "InvalidArguments")


@pytest.mark.requirement("CX-100")
def test_the_sessions_of_others_cannot_be_seen_or_ended(backend: BackendFixture) -> None:
    session = backend.member.tokens["session"]["id"]
    as_problem(backend.owner.delete(f"/auth/sessions/{session}"), 404, "NotFound")
    assert session not in backend.owner.get("/auth/sessions").text
    assert backend.member.get("/auth/me").status_code == 200


@pytest.mark.requirement("CX-101")
def test_a_write_is_for_the_roles_that_may_make_it(backend: BackendFixture) -> None:
    before = state(backend)
    for method, path, roles in WRITES:
        for role in {"owner", "member", "viewer", "stranger"} - roles:
            is_hidden = role == "stranger" or path.startswith("/invitations")
            expected = (404, "NotFound") if is_hidden else (403, "Forbidden")
            as_problem(request(backend, role, method, path, ids_of(backend)), *expected)
    assert state(backend) == before
    for method, path, roles in WRITES:
        for role in roles:
            answer = request(backend, role, method, path, ids_of(backend))
            assert answer.status_code in {200, 201, 204, 404}, (method, path, answer.text)
            assert answer.status_code != 404 or "members" in path


@pytest.mark.requirement("CX-101")
def test_the_table_of_writes_is_complete(backend: BackendFixture) -> None:
    published = {
        (method, path)
        for method, path, _ in backend.description.operations()
        if method != "GET" and not path.startswith("/auth/") and path.rstrip("/") != "/projects"
    }
    ours = {(method, path) for method, path, _ in WRITES}
    assert {(method, path.rstrip("/")) for method, path in published} == {(m, p.rstrip("/")) for m, p in ours}


@pytest.mark.requirement("CX-101")
def test_there_is_no_administration_over_http(backend: BackendFixture) -> None:
    paths = ("/users", "/users/", "/users/1", "/auth/register", "/auth/signup", "/admin", "/debug", "/metrics")
    for path in (*paths, "/auth/users"):
        for method in ("GET", "POST", "DELETE"):
            as_problem(backend.owner.send(method, path), 404, "NotFound")


@pytest.mark.requirement("CX-100")
def test_a_password_is_changed_for_oneself_only_and_ends_the_other_sessions(backend: BackendFixture) -> None:
    second = backend.log_in("member", "phone")
    new = "another " + PASSWORD
    assert second.post("/auth/password", {"old": PASSWORD, "new": new}).status_code == 204
    as_problem(backend.member.get("/auth/me"), 401, "NotAuthenticated")
    body = {"email": backend.member.email, "password": PASSWORD, "device": "laptop"}
    as_problem(backend.anyone.post("/auth/login", body), 401, "InvalidCredentials")
    assert backend.anyone.post("/auth/login", {**body, "password": new}).status_code == 200
    assert backend.owner.get("/auth/me").status_code == 200


@pytest.mark.requirement("CX-101")
def test_an_id_out_of_range_is_refused_before_the_database_sees_it(backend: BackendFixture) -> None:
    paths = ["/tasks/{}/comments", "/tasks/{}/events", "/projects/{}", "/projects/{}/members"]
    queries = ["/tasks/?project_id={}", "/tasks/?assignee={}"]
    for number in ("0", "-1", str(2**31), str(2**63), "1.5", "x", "1e3", "%31%20", "０", "+1", "0x1"):
        for path in ("/tasks/{}", *(paths if number == str(2**31) else ())):
            answer = backend.owner.get(path.format(number))
            assert answer.status_code in {404, 422}, (path, number)
            assert answer.headers["content-type"] == PROBLEM
        for query in queries:
            assert backend.owner.get(query.format(number)).status_code in {200, 404, 422}

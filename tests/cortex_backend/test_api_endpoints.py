"""Every row of the table of endpoints: what a request answers, and with which errors (CX-20, CX-21)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import pytest

from tests.cortex_backend.backend_fixture import PASSWORD, BackendFixture, as_problem

pytestmark = pytest.mark.requirement("CX-21")

MISSING: Final = 2_000_000_000
"""An id that nothing has."""


class Row(NamedTuple):
    """A request by somebody, and its answer."""

    who: str
    method: str
    path: str
    body: Any
    status: int
    code: str = ""


def known(path: str, backend: BackendFixture) -> str:
    """Return the path with the ids of this backend in place of their names."""
    names = {
        "project": backend.project,
        "foreign_project": backend.foreign_project,
        "task": backend.task,
        "foreign_task": backend.foreign_task,
        "member": backend.member.id,
        "owner": backend.owner.id,
        "viewer": backend.viewer.id,
        "stranger": backend.stranger.id,
        "missing": MISSING,
    }
    return path.format_map(names)


def send(backend: BackendFixture, row: Row) -> Any:  # noqa: ANN401
    content = {} if row.body is None else {"json": row.body}
    return backend.person(row.who).send(row.method, known(row.path, backend), **content)


GOOD: Final = [
    Row("anyone", "GET", "/healthz", None, 200),
    Row("anyone", "GET", "/readyz", None, 200),
    Row("anyone", "GET", "/openapi.json", None, 200),
    Row("owner", "GET", "/auth/me", None, 200),
    Row("owner", "GET", "/auth/sessions", None, 200),
    Row("viewer", "GET", "/projects/", None, 200),
    Row("viewer", "GET", "/projects", None, 200),
    Row("viewer", "GET", "/projects/{project}", None, 200),
    Row("owner", "PATCH", "/projects/{project}", {"name": "Renamed"}, 200),
    Row("viewer", "GET", "/projects/{project}/members", None, 200),
    Row("viewer", "GET", "/tasks/", None, 200),
    Row("viewer", "GET", "/tasks", None, 200),
    Row("viewer", "GET", "/tasks/{task}", None, 200),
    Row("member", "PATCH", "/tasks/{task}", {"status": "IN_PROGRESS"}, 200),
    Row("viewer", "GET", "/tasks/{task}/comments", None, 200),
    Row("member", "POST", "/tasks/{task}/comments", {"text": "Looks right."}, 201),
    Row("viewer", "GET", "/tasks/{task}/events", None, 200),
    Row("viewer", "GET", "/events", None, 200),
    Row("owner", "POST", "/projects/{project}/members", {"email": "x@example.org", "role": "owner"}, 201),
    Row("owner", "GET", "/invitations/?project_id={project}", None, 200),
    Row("stranger", "GET", "/invitations", None, 200),
    Row("owner", "DELETE", "/projects/{project}/members/{viewer}", None, 204),
    Row("owner", "PUT", "/projects/{project}/members/{member}", {"role": "viewer"}, 204),
    Row("member", "DELETE", "/projects/{project}/members/{member}", None, 204),
    Row("owner", "POST", "/auth/logout", None, 204),
]
"""They are sent in this order: first what changes nothing, last what ends membership or session."""

BAD: Final = [
    Row("owner", "DELETE", "/auth/sessions/no-such-session", None, 404, "NotFound"),
    Row("owner", "POST", "/auth/password", {"old": "not the password", "new": PASSWORD}, 403, "WrongPassword"),
    Row("owner", "POST", "/auth/password", {"old": PASSWORD, "new": "short"}, 422, "InvalidArguments"),
    Row("owner", "GET", "/projects/{missing}", None, 404, "NotFound"),
    Row("owner", "PATCH", "/projects/{missing}", {"name": "X"}, 404, "NotFound"),
    Row("member", "PATCH", "/projects/{project}", {"name": "X"}, 403, "Forbidden"),
    Row("owner", "GET", "/projects/{missing}/members", None, 404, "NotFound"),
    Row("member", "PUT", "/projects/{project}/members/{member}", {"role": "owner"}, 403, "Forbidden"),
    Row("owner", "PUT", "/projects/{project}/members/{stranger}", {"role": "member"}, 404, "NotFound"),
    Row("owner", "PUT", "/projects/{project}/members/{owner}", {"role": "member"}, 409, "LastOwner"),
    Row("owner", "DELETE", "/projects/{project}/members/{owner}", None, 409, "LastOwner"),
    Row("member", "DELETE", "/projects/{project}/members/{owner}", None, 403, "Forbidden"),
    Row("owner", "DELETE", "/projects/{project}/members/{missing}", None, 404, "NotFound"),
    Row("member", "POST", "/projects/{project}/members", {"email": "x@example.org", "role": "owner"}, 403, "Forbidden"),
    Row("owner", "POST", "/projects/{project}/members", {"email": "nobody", "role": "owner"}, 422, "InvalidArguments"),
    Row("member", "GET", "/invitations/?project_id={project}", None, 403, "Forbidden"),
    Row("owner", "GET", "/invitations/?project_id={missing}", None, 404, "NotFound"),
    Row("owner", "GET", "/invitations/?cursor=x", None, 422, "InvalidCursor"),
    Row("owner", "POST", "/invitations/{missing}/accept", None, 404, "NotFound"),
    Row("owner", "DELETE", "/invitations/{missing}", None, 404, "NotFound"),
    Row("owner", "GET", "/tasks/?cursor=x", None, 422, "InvalidCursor"),
    Row("owner", "GET", "/tasks/?limit=0", None, 422, "InvalidArguments"),
    Row("viewer", "POST", "/tasks/", {"project_id": "{project}", "title": "X"}, 403, "Forbidden"),
    Row("owner", "POST", "/tasks/", {"project_id": MISSING, "title": "X"}, 404, "NotFound"),
    Row("owner", "GET", "/tasks/{missing}", None, 404, "NotFound"),
    Row("owner", "PATCH", "/tasks/{missing}", {"status": "IN_PROGRESS"}, 404, "NotFound"),
    Row("viewer", "PATCH", "/tasks/{task}", {"status": "IN_PROGRESS"}, 403, "Forbidden"),
    Row("owner", "PATCH", "/tasks/{task}", {"status": "REVIEW"}, 409, "InvalidTransition"),
    Row("owner", "GET", "/tasks/{missing}/comments", None, 404, "NotFound"),
    Row("owner", "POST", "/tasks/{missing}/comments", {"text": "X"}, 404, "NotFound"),
    Row("viewer", "POST", "/tasks/{task}/comments", {"text": "X"}, 403, "Forbidden"),
    Row("owner", "GET", "/tasks/{missing}/events", None, 404, "NotFound"),
    Row("owner", "GET", "/events?limit=501", None, 422, "InvalidArguments"),
    Row("owner", "GET", "/events?wait=26", None, 422, "InvalidArguments"),
    Row("owner", "GET", "/events?after=-1", None, 422, "InvalidArguments"),
]


def test_a_request_of_the_table_answers_as_it_says(each_backend: BackendFixture) -> None:
    for row in GOOD:
        answer = send(each_backend, row)
        assert answer.status_code == row.status, (row, answer.text)
        assert answer.history == []
        if row.status == 204:
            assert answer.content == b""
            assert "content-type" not in answer.headers


def test_a_request_that_cannot_be_done_answers_with_its_problem(backend: BackendFixture) -> None:
    for row in BAD:
        body = row.body
        if body and body.get("project_id") == "{project}":
            body = {**body, "project_id": backend.project}
        as_problem(send(backend, row._replace(body=body)), row.status, row.code)


def test_both_tables_have_every_operation_that_is_published(backend: BackendFixture) -> None:
    elsewhere = {
        ("POST", "/auth/login"),
        ("POST", "/auth/token"),
        ("POST", "/projects/"),
        ("POST", "/projects"),
        ("POST", "/tasks"),
    }
    ours = {(row.method, backend.description.path_of(known(row.path, backend))) for row in [*GOOD, *BAD]}
    published = {(method, path) for method, path, _ in backend.description.operations()}
    assert published - elsewhere <= ours


@pytest.mark.parametrize("path", ["/projects/", "/projects"])
def test_a_new_project_says_where_it_is(path: str, backend: BackendFixture) -> None:
    made = backend.stranger.post(path, {"name": "Gamma", "repository_url": "https://example.org/gamma.git"})
    assert made.status_code == 201
    project = made.json()
    assert made.headers["location"].endswith(f"/projects/{project['id']}")
    assert backend.stranger.get(made.headers["location"]).json() == project
    assert backend.owner.get(f"/projects/{project['id']}").status_code == 404


@pytest.mark.parametrize("path", ["/tasks/", "/tasks"])
def test_a_new_task_says_where_it_is_and_of_which_version(path: str, backend: BackendFixture) -> None:
    made = backend.member.post(path, {"project_id": backend.project, "title": "Sweep"})
    assert made.status_code == 201
    task = made.json()
    assert made.headers["location"].endswith(f"/tasks/{task['id']}")
    assert made.headers["etag"] == '"1"'
    expected = {"title": "Sweep", "type": "feature", "priority": "MEDIUM", "status": "TODO", "version": 1}
    assert expected.items() <= task.items()
    assert task["project"]["id"] == backend.project
    assert {name: task[name] for name in ("assignee", "branch_name", "pull_request", "deadline")} == dict.fromkeys(
        ("assignee", "branch_name", "pull_request", "deadline")
    )
    assert backend.viewer.get(made.headers["location"]).json() == task


@pytest.mark.requirement("CX-20")
def test_no_path_redirects(backend: BackendFixture) -> None:
    paths = ["/tasks", "/tasks/", "/projects", "/projects/", "/tasks/{task}/", "/projects/{project}/", "/events/"]
    for method, body in (("GET", None), ("POST", dict[str, str]())):
        for path in [*paths, "/auth/me/"]:
            answer = backend.client.request(
                method, known(path, backend), headers=backend.owner.bearer, follow_redirects=False, json=body
            )
            assert answer.status_code not in range(300, 400)


def test_a_session_that_is_ended_by_another_is_over_at_once(backend: BackendFixture) -> None:
    second = backend.log_in("owner", "phone")
    assert backend.owner.delete(f"/auth/sessions/{second.tokens['session']['id']}").status_code == 204
    as_problem(second.get("/auth/me"), 401, "NotAuthenticated")
    assert backend.owner.get("/auth/me").status_code == 200


def test_after_a_log_out_the_token_is_not_good_any_more(backend: BackendFixture) -> None:
    assert backend.member.post("/auth/logout").status_code == 204
    as_problem(backend.member.get("/auth/me"), 401, "NotAuthenticated")


def test_a_refresh_is_a_form_and_yields_a_new_token(backend: BackendFixture) -> None:
    form = {"grant_type": "refresh_token", "refresh_token": backend.owner.tokens["refresh_token"]}
    answer = backend.anyone.send("POST", "/auth/token", data=form)
    assert answer.status_code == 200
    assert answer.json()["refresh_token"] != backend.owner.tokens["refresh_token"]


def test_a_refresh_that_fails_answers_as_oauth_says(backend: BackendFixture) -> None:
    forms: list[tuple[dict[str, str], str]] = [
        ({"grant_type": "refresh_token", "refresh_token": "wrong"}, "invalid_grant"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "refresh_token"}, "invalid_request"),
    ]
    for form, error in forms:
        answer = backend.anyone.send("POST", "/auth/token", data=form)
        assert (answer.status_code, answer.json()["error"]) == (400, error)
        assert answer.json()["error_description"]

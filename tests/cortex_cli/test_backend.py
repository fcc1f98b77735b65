"""The typed calls of the backend: what each asks for, and what becomes of a token that is not accepted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cortex_cli.api import Api
from cortex_cli.backend import Backend
from cortex_cli.credentials import Credentials, CredentialsFile, EnvironmentToken
from cortex_cli.errors import BackendRefused, NotLoggedIn, TimedOut
from cortex_cli.models import Deadline
from tests.cortex_cli.git_sandbox import raises_code
from tests.cortex_cli.stub_server import LOGIN, TASK, USER, StubReply, StubRequest, StubServer, problem


@pytest.fixture
def backend(api: Api, logged_in: CredentialsFile) -> Backend:
    return Backend(api, Credentials(logged_in, api))


@pytest.mark.requirement("CX-22")
def test_a_page_of_tasks_is_asked_for_with_its_filters(backend: Backend, server: StubServer) -> None:
    server.say("GET /tasks/", {"tasks": [TASK], "total": 3, "next_cursor": "c2"})
    page = backend.list_tasks(assignee="any", statuses=["TODO", "DONE"], project_id=3, limit=1, cursor="c1")
    assert (page.tasks[0].title, page.total, page.next_cursor) == ("Fix the login", 3, "c2")
    (asked,) = server.asked
    assert asked.query == [
        ("assignee", "any"),
        ("status", "TODO"),
        ("status", "DONE"),
        ("project_id", "3"),
        ("limit", "1"),
        ("cursor", "c1"),
    ]
    assert asked.token == "access-0"


@pytest.mark.requirement("CX-21")
@pytest.mark.parametrize(
    ("call", "request_line", "body", "said"),
    [
        (lambda it: it.get_task(42), "GET /tasks/42", None, TASK),
        (lambda it: it.update_task(42, {"status": "DONE"}), "PATCH /tasks/42", {"status": "DONE"}, TASK),
        (lambda it: it.add_comment(42, "x"), "POST /tasks/42/comments", {"text": "x"}, {"id": 1, "text": "x"}),
        (lambda it: it.list_projects(), "GET /projects/", None, {"projects": [TASK["project"]]}),
        (lambda it: it.me(), "GET /auth/me", None, USER),
    ],
    ids=map(str, range(5)),
)
def test_each_call_is_one_request(
    call: Callable[[Backend], object],
    request_line: str,
    body: object,
    said: object,
    backend: Backend,
    server: StubServer,
) -> None:
    server.say(request_line, StubReply(200, said))
    call(backend)
    assert server.paths() == [request_line]
    assert (server.asked[0].json if server.asked[0].body else None) == body


def test_a_short_list_is_read_to_its_end_but_not_forever(backend: Backend, server: StubServer) -> None:
    page = {"projects": [TASK["project"]], "next_cursor": "c"}
    server.say("GET /projects/", page, {**page, "next_cursor": None})
    assert len(backend.list_projects()) == 2
    assert [dict(asked.query).get("cursor") for asked in server.asked] == [None, "c"]
    server.say("GET /projects/", page)
    assert len(backend.list_projects()) == 100


@pytest.mark.requirement("CX-95")
def test_an_unknown_task_comes_with_near_ids_of_mine(backend: Backend, server: StubServer) -> None:
    mine = [{**TASK, "id": number} for number in (1, 41, 43, 900)]
    server.say("GET /tasks/", {"tasks": mine, "total": 4})
    with raises_code("TaskNotFound", match=r"^Task #42 not found\.$") as caught:
        backend.get_task(42)
    assert caught.value.details == {"id": 42, "near": [41, 43, 1]}


def test_an_unknown_task_is_one_even_if_mine_cannot_be_listed(backend: Backend, server: StubServer) -> None:
    server.say("GET /tasks/", problem(500, "InternalError"))
    with raises_code("TaskNotFound") as caught:
        backend.update_task(42, {}, version=1)
    assert caught.value.details["near"] == []


def test_another_refusal_of_a_task_is_passed_on(backend: Backend, server: StubServer) -> None:
    server.say("PATCH /tasks/42", problem(412, "PreconditionFailed", current_version=4))
    with pytest.raises(BackendRefused) as caught:
        backend.update_task(42, {}, version=1)
    assert caught.value.details == {"current_version": 4}


@pytest.mark.requirement("CX-62")
def test_a_token_that_is_rejected_is_refreshed_once(backend: Backend, server: StubServer) -> None:
    def answer(asked: StubRequest) -> StubReply:
        return StubReply(200, TASK) if asked.token == "access-1" else problem(401, "NotAuthenticated")

    server.answers["GET /tasks/42"] = answer
    server.say("POST /auth/token", LOGIN)
    assert backend.get_task(42).id == 42
    assert server.paths() == ["GET /tasks/42", "POST /auth/token", "GET /tasks/42"]
    server.say("GET /tasks/42", problem(401, "NotAuthenticated"))
    with pytest.raises(NotLoggedIn):
        backend.get_task(42)
    assert server.paths()[3:] == ["GET /tasks/42", "POST /auth/token", "GET /tasks/42"]


def test_the_user_is_known_from_the_login_and_asked_for_with_a_token_of_the_environment(
    backend: Backend, api: Api, server: StubServer
) -> None:
    assert backend.user().id == 7
    assert server.paths() == []
    server.say("GET /auth/me", USER)
    bare = Backend(api, EnvironmentToken("t"))
    assert (bare.user().name, bare.user().name, server.paths()) == ("Ada", "Ada", ["GET /auth/me"])


@pytest.mark.requirement("CX-62")
def test_a_token_of_the_environment_cannot_be_refreshed(api: Api, server: StubServer) -> None:
    server.say("GET /auth/me", problem(401, "NotAuthenticated"))
    with pytest.raises(NotLoggedIn) as caught:
        Backend(api, EnvironmentToken("t")).me()
    assert "CTX_TOKEN" in str(caught.value.details["reason"])


def test_without_a_server_nobody_is_logged_in(api: Api) -> None:
    backend = Backend(api, EnvironmentToken(""))
    for call in (backend.me, backend.user):
        with pytest.raises(NotLoggedIn) as caught:
            call()
        assert caught.value.details == {"reason": "no server is set"}


@pytest.mark.requirement("CX-89")
def test_what_was_begun_can_be_taken_back_after_the_time_is_over(
    server: StubServer, logged_in: CredentialsFile
) -> None:
    now = [0.0]
    api = Api(server.origin, Deadline(5, lambda: now[0]))
    backend = Backend(api, Credentials(logged_in, api))
    assert backend.origin == server.origin
    server.say("GET /tasks/42", TASK)
    now[0] = 6.0
    with pytest.raises(TimedOut):
        backend.get_task(42)
    assert backend.with_more_time(5).get_task(42).id == 42

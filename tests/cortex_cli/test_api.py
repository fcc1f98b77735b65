"""What is sent to the backend, how often, and what its errors become (CX-23, CX-63)."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event

import pytest

from cortex_cli.api import Api
from cortex_cli.errors import BackendRefused, CortexError, NotLoggedIn, TimedOut
from cortex_cli.models import CortexProject, CortexTask, Deadline, TaskEvent
from tests.cortex_cli.git_sandbox import raises_code
from tests.cortex_cli.stub_server import TASK, StubReply, StubRequest, StubServer, problem


@dataclass
class Pauses:
    """What was waited, in seconds; nothing is."""

    seconds: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.mark.requirement("CX-63")
def test_every_request_has_an_id_and_a_post_a_key(api: Api, server: StubServer) -> None:
    server.say("POST /tasks/", TASK)
    server.say("POST /auth/login", {})
    api.call("POST", "/tasks/", token="t", body={"title": "x"})
    api.call("POST", "/auth/login", body={})
    create, login = server.asked
    assert len(create.headers["x-request-id"]) == 32
    assert create.headers["x-request-id"] != login.headers["x-request-id"]
    assert len(create.headers["idempotency-key"]) == 32
    assert "idempotency-key" not in login.headers
    assert "authorization" not in login.headers
    assert (create.token, create.json, create.headers["content-type"]) == ("t", {"title": "x"}, "application/json")


@pytest.mark.requirement("CX-24")
def test_a_version_makes_a_change_conditional(api: Api, server: StubServer) -> None:
    server.say("PATCH /tasks/42", TASK)
    api.call("PATCH", "/tasks/42", body={}, version=3)
    assert server.asked[0].headers["if-match"] == '"3"'


@pytest.mark.requirement("CX-63")
@pytest.mark.parametrize(
    ("method", "path", "version", "attempts"),
    [
        ("GET", "/tasks/", None, 3),
        ("PATCH", "/tasks/42", 1, 2),
        ("POST", "/tasks/", None, 2),
        ("POST", "/projects/", None, 2),
        ("PATCH", "/tasks/42", None, 1),
        ("POST", "/auth/token", None, 1),
        ("DELETE", "/auth/sessions/1", None, 1),
    ],
)
@pytest.mark.parametrize(
    "said", [StubReply(0), StubReply(502, b""), problem(503, "Unavailable"), StubReply(504)], ids=str
)
def test_only_what_may_be_repeated_is_sent_again(
    method: str, path: str, version: int | None, attempts: int, said: StubReply, server: StubServer
) -> None:
    server.say(f"{method} {path}", said)
    pauses = Pauses()
    with pytest.raises(CortexError) as caught:
        Api(server.origin, Deadline(), pauses).call(method, path, version=version)
    assert (len(server.asked), pauses.seconds) == (attempts, [0.2, 1.0][: attempts - 1])
    assert len({asked.headers.get("idempotency-key") for asked in server.asked}) == 1
    assert caught.value.exit_code == 5
    assert caught.value.code == ("BackendError" if said.status else "BackendUnreachable")


@pytest.mark.requirement("CX-63")
def test_an_answer_ends_the_attempts(api: Api, server: StubServer) -> None:
    server.say("GET /tasks/42", StubReply(0), StubReply(503), TASK)
    assert api.call("GET", "/tasks/42").read(CortexTask).id == 42
    server.say("GET /tasks/42", problem(500, "InternalError"), TASK)
    with raises_code("BackendError"):
        api.call("GET", "/tasks/42")


@pytest.mark.requirement("CX-63", "CX-95")
def test_a_failure_of_the_backend_names_the_request(api: Api, server: StubServer) -> None:
    server.say("GET /tasks/42", problem(500, "InternalError"))
    with raises_code("BackendError") as caught:
        api.call("GET", "/tasks/42")
    assert caught.value.details["request_id"] == server.asked[0].headers["x-request-id"]
    assert caught.value.message.endswith(f"report request {server.asked[0].headers['x-request-id']}.")


@pytest.mark.requirement("CX-23")
def test_a_refusal_keeps_the_code_the_sentence_and_the_details_of_the_backend(api: Api, server: StubServer) -> None:
    moves = {"from": "DONE", "to": "REVIEW", "allowed": ["IN_PROGRESS"]}
    server.say("PATCH /tasks/42", StubReply(409, problem(409, "InvalidTransition", **moves).body, {"Retry-After": "5"}))
    with pytest.raises(BackendRefused, match="It is InvalidTransition") as caught:
        api.call("PATCH", "/tasks/42")
    assert (caught.value.code, caught.value.details) == ("InvalidTransition", {**moves, "retry_after": 5})


@pytest.mark.requirement("CX-30")
def test_a_refused_refresh_has_the_form_of_its_standard(api: Api, server: StubServer) -> None:
    server.say("POST /auth/token", StubReply(400, {"error": "invalid_grant", "error_description": "It ended."}))
    with pytest.raises(BackendRefused) as caught:
        api.call("POST", "/auth/token", form={"grant_type": "refresh_token", "refresh_token": "a b"})
    assert caught.value.code == "invalid_grant"
    assert server.asked[0].body == b"grant_type=refresh_token&refresh_token=a+b"


@pytest.mark.requirement("CX-62")
def test_a_token_that_is_not_accepted_is_not_logged_in_and_a_wrong_password_is_not(
    api: Api, server: StubServer
) -> None:
    server.say("GET /auth/me", problem(401, "NotAuthenticated"))
    server.say("POST /auth/login", problem(401, "InvalidCredentials"))
    with pytest.raises(NotLoggedIn, match="Please run 'ctx auth login' first, in a terminal"):
        api.call("GET", "/auth/me", token="t")
    with pytest.raises(BackendRefused) as caught:
        api.call("POST", "/auth/login")
    assert (caught.value.code, caught.value.exit_code) == ("InvalidCredentials", 4)


@pytest.mark.requirement("CX-102")
@pytest.mark.parametrize(
    "said",
    [
        StubReply(404, b"<html>Not found</html>"),
        StubReply(404, []),
        StubReply(404, {"code": 3}),
        StubReply(404, {"code": "../x"}),
        StubReply(404, b"[" * 100_000),
        StubReply(307, b"", {"Location": "https://elsewhere.test/"}),
    ],
    ids=["html", "list", "number", "path", "deep", "redirect"],
)
def test_an_error_that_is_not_from_the_backend_is_no_refusal(said: StubReply, api: Api, server: StubServer) -> None:
    server.say("GET /tasks/42", said)
    with raises_code("BackendError"):
        api.call("GET", "/tasks/42")


@pytest.mark.requirement("CX-102")
def test_the_words_of_the_backend_are_made_visible(api: Api, server: StubServer) -> None:
    server.say("GET /a", StubReply(403, {"code": "Forbidden", "detail": "\x1b[2J\u202eno" + "x" * 900}))
    with pytest.raises(BackendRefused, match=r"^\\u\{1b\}\[2J\\u\{202e\}no") as caught:
        api.call("GET", "/a")
    assert len(caught.value.message) == 500
    server.say("GET /a", StubReply(403, {"code": "Forbidden"}))
    with pytest.raises(BackendRefused, match="The server refused: Forbidden"):
        api.call("GET", "/a")


@pytest.mark.requirement("CX-102")
@pytest.mark.parametrize("body", [b"", b"{", b"\xff", [], {"id": 1}, {"projects": 1}, {"projects": [1]}], ids=str)
def test_an_answer_of_another_form_is_a_failure(body: object, api: Api, server: StubServer) -> None:
    server.say("GET /a", StubReply(200, body))
    with raises_code("BackendError"):
        api.call("GET", "/a").read(CortexTask)
    with raises_code("BackendError"):
        api.call("GET", "/a").read_list(CortexProject, "projects")


@pytest.mark.parametrize("events", [{}, [1], [{}], [{"id": "1"}], [{"id": True}]], ids=str)
def test_events_without_ids_are_a_failure(events: object, api: Api, server: StubServer) -> None:
    server.say("GET /events", {"events": events})
    with raises_code("BackendError"):
        api.call("GET", "/events").read_list(TaskEvent, "events")


@pytest.mark.requirement("CX-89")
def test_a_command_out_of_time_says_so(server: StubServer) -> None:
    now = [0.0]

    def be_late(_asked: StubRequest) -> StubReply:
        now[0] = 5.0
        return StubReply(503)

    server.answers["GET /a"] = be_late
    with pytest.raises(TimedOut):
        Api(server.origin, Deadline(5, lambda: now[0])).call("GET", "/a")
    assert len(server.asked) == 1


@pytest.mark.requirement("CX-89")
def test_an_answer_that_does_not_come_within_the_command_is_a_timeout(
    server: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cortex_cli.api.REQUEST_SECONDS", 0.2)
    answered = Event()

    def answer_late(_asked: StubRequest) -> StubReply:
        answered.wait(20)
        return StubReply()

    server.answers["POST /a"] = answer_late
    with pytest.raises(TimedOut):
        Api(server.origin, Deadline(0.1)).call("POST", "/a")
    with raises_code("BackendUnreachable", match="no answer in time"):
        Api(server.origin, Deadline()).call("POST", "/a")
    answered.set()


@pytest.mark.requirement("CX-51", "CX-64")
def test_requests_are_traced_only_for_who_asks_and_without_tokens(
    api: Api, server: StubServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.say("GET /a", {})
    server.say("DELETE /a", StubReply(0))
    api.call("GET", "/a", token="secret", query=[("q", "private")])
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("CTX_DEBUG", "1")
    api.call("GET", "/a", token="secret", query=[("q", "private")])
    with raises_code("BackendUnreachable"):
        api.call("DELETE", "/a", token="secret")
    assert capsys.readouterr().err.splitlines() == [
        f"ctx: GET {server.origin}/a: 200",
        f"ctx: DELETE {server.origin}/a: the connection was lost",
    ]

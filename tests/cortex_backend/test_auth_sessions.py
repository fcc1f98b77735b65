"""Sessions: how they are shown, how they end, and what a request costs the database (CX-31)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from cortex_backend.models import EventRow, SessionRow
from tests.cortex_backend.auth_client import ADA, AuthClient, open_auth_client, statements
from tests.cortex_backend.backend_fixture import PASSWORD, as_problem

pytestmark = pytest.mark.requirement("CX-31")


@pytest.fixture
def auth(tmp_path: Path) -> Iterator[AuthClient]:
    with open_auth_client(tmp_path / "cortex.db") as opened:
        yield opened


def kinds(auth: AuthClient) -> list[str]:
    """Return the kinds of all events, oldest first."""
    with auth.database.read() as db:
        return [*db.scalars(select(EventRow.kind).order_by(EventRow.id))]


def test_a_user_sees_the_sessions_that_have_not_ended_newest_first(auth: AuthClient) -> None:
    first = auth.tokens()
    auth.clock.move(minutes=5)
    second = auth.tokens()
    found = auth.send(second, "GET", "/auth/sessions").json()["sessions"]
    assert [session["id"] for session in found] == [second["session"]["id"], first["session"]["id"]]
    assert [session["is_current"] for session in found] == [True, False]
    assert found[1] == {
        "id": first["session"]["id"],
        "device": "laptop",
        "created_at": "2026-11-23T09:00:00Z",
        "last_used_at": "2026-11-23T09:00:00Z",
        "expires_at": "2026-12-23T09:00:00Z",
        "is_current": False,
    }


def test_logging_out_ends_this_session_at_once_and_no_other(auth: AuthClient) -> None:
    first, second = auth.tokens(), auth.tokens()
    answer = auth.send(first, "POST", "/auth/logout")
    assert (answer.status_code, answer.content) == (204, b"")
    assert not auth.is_in(first)
    assert auth.refresh(first).status_code == 400
    assert auth.is_in(second)
    assert kinds(auth) == ["login", "login", "logout"]


def test_a_session_can_be_ended_from_another_one(auth: AuthClient) -> None:
    first, second = auth.tokens(), auth.tokens()
    assert auth.send(first, "DELETE", f"/auth/sessions/{second['session']['id']}").status_code == 204
    assert not auth.is_in(second)
    again = auth.send(first, "DELETE", f"/auth/sessions/{second['session']['id']}")
    as_problem(again, 404, "NotFound")
    assert kinds(auth) == ["login", "login", "session_revoked"]


def test_the_session_of_somebody_else_is_not_there(auth: AuthClient) -> None:
    auth.accounts.add("bob@example.com", "", PASSWORD)
    bob = auth.log_in(email="bob@example.com").json()
    ada = auth.tokens()
    as_problem(auth.send(ada, "DELETE", f"/auth/sessions/{bob['session']['id']}"), 404, "NotFound")
    assert auth.is_in(bob)


def test_a_session_ends_after_a_month_without_use(auth: AuthClient) -> None:
    tokens = auth.tokens()
    auth.clock.move(days=29)
    tokens = auth.refresh(tokens).json()
    auth.clock.move(days=29)
    tokens = auth.refresh(tokens).json()
    assert auth.is_in(tokens)
    auth.clock.move(days=30)
    assert auth.refresh(tokens).status_code == 400


def test_a_session_ends_after_three_months_of_use(auth: AuthClient) -> None:
    tokens = auth.tokens()
    for _ in range(4):
        auth.clock.move(days=20)
        tokens = auth.refresh(tokens).json()
    assert tokens["session"]["expires_at"] == "2027-02-21T09:00:00Z"
    auth.clock.move(days=10)
    assert auth.refresh(tokens).status_code == 400
    assert not auth.is_in(tokens)


def test_the_use_of_a_session_is_written_once_a_minute(auth: AuthClient) -> None:
    tokens = auth.tokens()

    def used_at() -> str:
        with auth.database.read() as db:
            return db.scalars(select(SessionRow.used_at)).one().strftime("%H:%M:%S")

    for seconds, shown in ((59, "09:00:00"), (1, "09:01:00"), (59, "09:01:00"), (61, "09:03:00")):
        auth.clock.move(seconds=seconds)
        assert auth.is_in(tokens)
        assert used_at() == shown


def test_a_request_finds_session_and_user_in_one_indexed_query(auth: AuthClient) -> None:
    tokens = auth.tokens()
    caller = auth.app.state.logins.authenticate(tokens["access_token"])
    assert (caller.user_id, caller.session_id, caller.name) == (1, tokens["session"]["id"], "Ada")
    with statements() as found:
        auth.app.state.logins.authenticate(tokens["access_token"])
    queries = [statement for statement in found if statement.startswith(("SELECT", "UPDATE", "INSERT"))]
    assert len(queries) == 1
    values = [tokens["session"]["id"], "2026-01-01", "2026-01-01"]
    with auth.database.read() as db:
        rows = db.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {queries[0]}", tuple(values))
        plan = [str(row[-1]) for row in rows]
    assert [line.partition(" USING ")[0].split()[0] for line in plan] == ["SEARCH", "SEARCH"], plan


def test_changing_the_password_ends_all_other_sessions(auth: AuthClient) -> None:
    first, second = auth.tokens(), auth.tokens()
    answer = auth.send(first, "POST", "/auth/password", json={"old": PASSWORD, "new": "another password"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert auth.is_in(first)
    assert not auth.is_in(second)
    assert auth.log_in().status_code == 401
    assert auth.log_in("another password").status_code == 200


@pytest.mark.requirement("CX-34")
def test_a_password_is_changed_only_by_whoever_knows_it(auth: AuthClient) -> None:
    tokens = auth.tokens()
    body = {"old": "wrong", "new": "another password"}
    for _ in range(5):
        as_problem(auth.send(tokens, "POST", "/auth/password", json=body), 403, "WrongPassword")
    as_problem(auth.send(tokens, "POST", "/auth/password", json=body), 429, "TooManyRequests")
    assert kinds(auth) == ["login"]


@pytest.mark.requirement("CX-34")
@pytest.mark.parametrize(
    "body",
    [
        {"old": PASSWORD, "new": "x" * 11},
        {"old": PASSWORD, "new": "x" * 129},
        {"old": PASSWORD},
        {"old": PASSWORD, "new": "another password", "email": ADA},
    ],
)
def test_a_new_password_has_12_to_128_characters(body: dict[str, str], auth: AuthClient) -> None:
    tokens = auth.tokens()
    as_problem(auth.send(tokens, "POST", "/auth/password", json=body), 422, "InvalidArguments")
    for length in (12, 128):
        body = {"old": PASSWORD if length == 12 else "y" * 12, "new": "y" * length}
        assert auth.send(tokens, "POST", "/auth/password", json=body).status_code == 204


def test_what_the_server_does_to_an_account_ends_its_sessions_at_once(auth: AuthClient) -> None:
    first = auth.tokens()
    auth.accounts.set_password(ADA, "another password")
    assert not auth.is_in(first)
    second = auth.log_in("another password").json()
    auth.accounts.disable(ADA)
    assert not auth.is_in(second)
    auth.accounts.add(ADA, "Ada", PASSWORD)
    assert not auth.is_in(second)
    assert kinds(auth) == ["login", "session_revoked", "login", "session_revoked"]


@pytest.mark.requirement("CX-39")
@pytest.mark.parametrize(("header", "was_given"), [(None, False), ("Basic eDp5", True), ("Bearer x", True)])
def test_a_request_without_a_good_token_is_refused_with_the_way_to_get_in(
    header: str | None, was_given: bool, auth: AuthClient
) -> None:
    answer = auth.client.get("/auth/me", headers={"Authorization": header} if header else {})
    as_problem(answer, 401, "NotAuthenticated")
    assert answer.headers["www-authenticate"] == ('Bearer error="invalid_token"' if was_given else "Bearer")

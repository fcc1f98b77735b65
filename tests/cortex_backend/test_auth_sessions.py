"""Sessions: how they are shown, how they end, and what a request costs the database (CX-31)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from cortex_backend.models import EventRow, SessionRow
from tests.cortex_backend.desk import PASSWORD, as_problem
from tests.cortex_backend.front import ADA, Front, open_front, statements

pytestmark = pytest.mark.requirement("CX-31")


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    with open_front(tmp_path / "cortex.db") as opened:
        yield opened


def kinds(front: Front) -> list[str]:
    """Return the kinds of all events, oldest first."""
    with front.database.read() as db:
        return [*db.scalars(select(EventRow.kind).order_by(EventRow.id))]


def test_a_user_sees_the_sessions_that_have_not_ended_newest_first(front: Front) -> None:
    first = front.tokens()
    front.clock.move(minutes=5)
    second = front.tokens()
    found = front.send(second, "GET", "/auth/sessions").json()["sessions"]
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


def test_logging_out_ends_this_session_at_once_and_no_other(front: Front) -> None:
    first, second = front.tokens(), front.tokens()
    answer = front.send(first, "POST", "/auth/logout")
    assert (answer.status_code, answer.content) == (204, b"")
    assert not front.is_in(first)
    assert front.refresh(first).status_code == 400
    assert front.is_in(second)
    assert kinds(front) == ["login", "login", "logout"]


def test_a_session_can_be_ended_from_another_one(front: Front) -> None:
    first, second = front.tokens(), front.tokens()
    assert front.send(first, "DELETE", f"/auth/sessions/{second['session']['id']}").status_code == 204
    assert not front.is_in(second)
    again = front.send(first, "DELETE", f"/auth/sessions/{second['session']['id']}")
    as_problem(again, 404, "NotFound")
    assert kinds(front) == ["login", "login", "session_revoked"]


def test_the_session_of_somebody_else_is_not_there(front: Front) -> None:
    front.accounts.add("bob@example.com", "", PASSWORD)
    bob = front.log_in(email="bob@example.com").json()
    ada = front.tokens()
    as_problem(front.send(ada, "DELETE", f"/auth/sessions/{bob['session']['id']}"), 404, "NotFound")
    assert front.is_in(bob)


def test_a_session_ends_after_a_month_without_use(front: Front) -> None:
    tokens = front.tokens()
    front.clock.move(days=29)
    tokens = front.refresh(tokens).json()
    front.clock.move(days=29)
    tokens = front.refresh(tokens).json()
    assert front.is_in(tokens)
    front.clock.move(days=30)
    assert front.refresh(tokens).status_code == 400


def test_a_session_ends_after_three_months_of_use(front: Front) -> None:
    tokens = front.tokens()
    for _ in range(4):
        front.clock.move(days=20)
        tokens = front.refresh(tokens).json()
    assert tokens["session"]["expires_at"] == "2027-02-21T09:00:00Z"
    front.clock.move(days=10)
    assert front.refresh(tokens).status_code == 400
    assert not front.is_in(tokens)


def test_the_use_of_a_session_is_written_once_a_minute(front: Front) -> None:
    tokens = front.tokens()

    def used_at() -> str:
        with front.database.read() as db:
            return db.scalars(select(SessionRow.used_at)).one().strftime("%H:%M:%S")

    for seconds, shown in ((59, "09:00:00"), (1, "09:01:00"), (59, "09:01:00"), (61, "09:03:00")):
        front.clock.move(seconds=seconds)
        assert front.is_in(tokens)
        assert used_at() == shown


def test_a_request_finds_session_and_user_in_one_indexed_query(front: Front) -> None:
    tokens = front.tokens()
    caller = front.app.state.logins.authenticate(tokens["access_token"])
    assert (caller.user_id, caller.session_id, caller.name) == (1, tokens["session"]["id"], "Ada")
    with statements() as found:
        front.app.state.logins.authenticate(tokens["access_token"])
    queries = [statement for statement in found if statement.startswith(("SELECT", "UPDATE", "INSERT"))]
    assert len(queries) == 1
    values = [tokens["session"]["id"], "2026-01-01", "2026-01-01"]
    with front.database.read() as db:
        rows = db.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {queries[0]}", tuple(values))
        plan = [str(row[-1]) for row in rows]
    assert [line.partition(" USING ")[0].split()[0] for line in plan] == ["SEARCH", "SEARCH"], plan


def test_changing_the_password_ends_all_other_sessions(front: Front) -> None:
    first, second = front.tokens(), front.tokens()
    answer = front.send(first, "POST", "/auth/password", json={"old": PASSWORD, "new": "another password"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert front.is_in(first)
    assert not front.is_in(second)
    assert front.log_in().status_code == 401
    assert front.log_in("another password").status_code == 200


@pytest.mark.requirement("CX-34")
def test_a_password_is_changed_only_by_whoever_knows_it(front: Front) -> None:
    tokens = front.tokens()
    body = {"old": "wrong", "new": "another password"}
    for _ in range(5):
        as_problem(front.send(tokens, "POST", "/auth/password", json=body), 403, "WrongPassword")
    as_problem(front.send(tokens, "POST", "/auth/password", json=body), 429, "TooManyRequests")
    assert kinds(front) == ["login"]


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
def test_a_new_password_has_12_to_128_characters(body: dict[str, str], front: Front) -> None:
    tokens = front.tokens()
    as_problem(front.send(tokens, "POST", "/auth/password", json=body), 422, "InvalidArguments")
    for length in (12, 128):
        body = {"old": PASSWORD if length == 12 else "y" * 12, "new": "y" * length}
        assert front.send(tokens, "POST", "/auth/password", json=body).status_code == 204


def test_what_the_server_does_to_an_account_ends_its_sessions_at_once(front: Front) -> None:
    first = front.tokens()
    front.accounts.set_password(ADA, "another password")
    assert not front.is_in(first)
    second = front.log_in("another password").json()
    front.accounts.disable(ADA)
    assert not front.is_in(second)
    front.accounts.add(ADA, "Ada", PASSWORD)
    assert not front.is_in(second)
    assert kinds(front) == ["login", "session_revoked", "login", "session_revoked"]


@pytest.mark.requirement("CX-39")
@pytest.mark.parametrize(("header", "was_given"), [(None, False), ("Basic eDp5", True), ("Bearer x", True)])
def test_a_request_without_a_good_token_is_refused_with_the_way_to_get_in(
    header: str | None, was_given: bool, front: Front
) -> None:
    answer = front.client.get("/auth/me", headers={"Authorization": header} if header else {})
    as_problem(answer, 401, "NotAuthenticated")
    assert answer.headers["www-authenticate"] == ('Bearer error="invalid_token"' if was_given else "Bearer")

"""Refreshing: a lost answer costs nothing, and the return of a token that was replaced ends the session (CX-32)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from cortex_backend.models import EventRow
from cortex_backend.security.access import Claims
from cortex_backend.security.refresh import RefreshToken
from tests.cortex_backend.auth_client import FORM, AuthClient, open_auth_client

pytestmark = pytest.mark.requirement("CX-32")


@pytest.fixture
def auth(tmp_path: Path) -> Iterator[AuthClient]:
    with open_auth_client(tmp_path / "cortex.db") as opened:
        yield opened


def reuses(auth: AuthClient) -> int:
    """Return how often the return of an old token ended a session."""
    with auth.database.read() as db:
        return len([*db.scalars(select(EventRow).where(EventRow.kind == "session_reuse"))])


def next_of(auth: AuthClient, tokens: dict[str, Any]) -> dict[str, Any]:
    answer = auth.refresh(tokens)
    assert answer.status_code == 200, answer.text
    return answer.json()


def is_refused(auth: AuthClient, tokens: dict[str, Any]) -> bool:
    answer = auth.refresh(tokens)
    return answer.status_code == 400 and answer.json()["error"] == "invalid_grant"


def test_a_refresh_answers_like_a_login_with_new_tokens_of_the_same_session(auth: AuthClient) -> None:
    old = auth.tokens()
    new = next_of(auth, old)
    assert new.keys() == old.keys()
    assert new["session"]["id"] == old["session"]["id"]
    assert {new["access_token"], new["refresh_token"]}.isdisjoint({old["access_token"], old["refresh_token"]})
    assert auth.is_in(new)


def test_the_old_token_may_be_repeated_until_a_new_one_is_used(auth: AuthClient) -> None:
    old = auth.tokens()
    found = [next_of(auth, old) for _ in range(4)]
    assert len({tokens["refresh_token"] for tokens in found}) == 4
    assert auth.is_in(old)
    assert next_of(auth, found[-1])
    assert reuses(auth) == 0


def test_a_request_with_the_new_access_token_replaces_the_old_refresh_token(auth: AuthClient) -> None:
    old = auth.tokens()
    new = next_of(auth, old)
    assert auth.is_in(new)
    assert is_refused(auth, old)
    assert not auth.is_in(new)
    assert is_refused(auth, new)
    assert reuses(auth) == 1


def test_a_refresh_with_the_new_token_replaces_the_old_one(auth: AuthClient) -> None:
    old = auth.tokens()
    newest = next_of(auth, next_of(auth, old))
    assert is_refused(auth, old)
    assert not auth.is_in(newest)
    assert reuses(auth) == 1


def test_a_token_that_was_replaced_long_ago_ends_the_session_too(auth: AuthClient) -> None:
    first = tokens = auth.tokens()
    for _ in range(5):
        auth.clock.move(minutes=15)
        tokens = next_of(auth, tokens)
    assert is_refused(auth, first)
    assert not auth.is_in(tokens)
    assert reuses(auth) == 1


def test_a_new_token_whose_place_another_one_took_is_refused_and_ends_nothing(auth: AuthClient) -> None:
    old = auth.tokens()
    lost, kept = next_of(auth, old), next_of(auth, old)
    assert is_refused(auth, lost)
    assert auth.is_in(kept)
    assert reuses(auth) == 0


def test_the_access_token_of_an_older_generation_is_good_until_it_ends(auth: AuthClient) -> None:
    old = auth.tokens()
    assert auth.is_in(next_of(auth, old))
    assert auth.is_in(old)
    auth.clock.move(minutes=16)
    assert not auth.is_in(old)


def test_an_access_token_of_a_generation_that_is_not_there_is_not_good(auth: AuthClient) -> None:
    tokens = auth.tokens()
    claims = Claims(1, tokens["session"]["id"], 2)
    made = auth.app.state.logins._tokens.sign(claims, auth.clock.now)  # noqa: SLF001 - nothing else has the key
    assert not auth.is_in({"access_token": made})
    auth.refresh(tokens)
    assert auth.is_in({"access_token": made})


def test_two_sessions_do_not_touch_each_other(auth: AuthClient) -> None:
    first, second = auth.tokens(), auth.tokens()
    assert auth.is_in(next_of(auth, first))
    assert is_refused(auth, first)
    assert auth.is_in(second)
    assert next_of(auth, second)


def test_knowing_the_id_of_a_session_ends_nothing(auth: AuthClient) -> None:
    tokens = auth.tokens()
    family, _, secret = tokens["refresh_token"].split(".")
    for made in (f"{tokens['session']['id']}.1.{secret}", f"{family[::-1]}.1.{secret}"):
        assert is_refused(auth, {"refresh_token": made})
    assert auth.is_in(tokens)


@pytest.mark.parametrize(
    "text", ["", "x", "..", "a.b.c", "a.1.b.c", "a.-1.b", "a.1", "a.²." + "b" * 43, "a." + "9" * 12 + ".b", "\0.1.x"]
)
def test_what_is_not_a_refresh_token_is_refused(text: str, auth: AuthClient) -> None:
    assert is_refused(auth, {"refresh_token": text})
    assert RefreshToken.parse(text) is None or text == "\0.1.x"


@pytest.mark.requirement("CX-21")
@pytest.mark.parametrize(
    ("form", "error"),
    [
        ("", "invalid_request"),
        ("grant_type=refresh_token", "invalid_request"),
        ("refresh_token=x", "invalid_request"),
        ("grant_type=refresh_token&refresh_token=x&refresh_token=y", "invalid_request"),
        ("grant_type=refresh_token&grant_type=refresh_token&refresh_token=x", "invalid_request"),
        ("&".join(["a=b"] * 30), "invalid_request"),
        ("grant_type=password&username=a&password=b", "unsupported_grant_type"),
        ("grant_type=&refresh_token=x", "unsupported_grant_type"),
        ("grant_type=refresh_token&refresh_token=", "invalid_grant"),
    ],
)
def test_a_refresh_is_refused_in_the_words_of_its_standard(form: str, error: str, auth: AuthClient) -> None:
    answer = auth.client.post("/auth/token", content=form, headers=FORM)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json().keys() == {"error", "error_description"}
    assert answer.json()["error"] == error

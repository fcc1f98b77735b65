"""Logging in: what it answers, who may, and what is kept (CX-30, CX-34)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import jwt
import pytest
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import select

from cortex_backend.models import SessionRow, UserRow
from cortex_backend.security.passwords import Passwords
from cortex_backend.service.accounts import Accounts
from cortex_backend.service.logins import MAX_SESSIONS
from tests.cortex_backend.auth_client import ADA, AuthClient, open_auth_client
from tests.cortex_backend.backend_fixture import EPOCH, PASSWORD, SECRET, as_problem


@pytest.fixture
def auth(tmp_path: Path) -> Iterator[AuthClient]:
    with open_auth_client(tmp_path / "cortex.db") as opened:
        yield opened


@pytest.mark.requirement("CX-30")
def test_a_login_answers_tokens_with_their_session_and_user(auth: AuthClient) -> None:
    found = auth.tokens()
    assert found.keys() == {"access_token", "token_type", "expires_in", "refresh_token", "session", "user"}
    assert (found["token_type"], found["expires_in"]) == ("Bearer", 900)
    assert found["user"] == {"id": 1, "name": "Ada", "email": ADA}
    assert found["session"].keys() == {"id", "expires_at"}
    assert found["session"]["expires_at"] == (EPOCH + timedelta(days=30)).isoformat().replace("+00:00", "Z")


@pytest.mark.requirement("CX-30")
def test_an_access_token_says_whose_it_is_and_until_when(auth: AuthClient) -> None:
    found = auth.tokens()
    header = jwt.get_unverified_header(found["access_token"])
    assert (header["alg"], header["typ"]) == ("HS256", "at+jwt")
    assert header["kid"]
    options: jwt.types.Options = {"verify_exp": False, "verify_iat": False}
    claims = jwt.decode(found["access_token"], SECRET, ["HS256"], options, audience="cortex")
    assert claims.pop("jti")
    assert claims == {
        "iss": "cortex-backend",
        "aud": "cortex",
        "sub": "1",
        "sid": found["session"]["id"],
        "iat": EPOCH.timestamp(),
        "exp": EPOCH.timestamp() + 900,
        "gen": 1,
    }


@pytest.mark.requirement("CX-30")
def test_only_the_digest_of_a_refresh_token_is_kept(auth: AuthClient) -> None:
    found = auth.tokens()
    family, generation, secret = found["refresh_token"].split(".")
    assert len(secret) == 43  # 256 bits
    assert generation == "1"
    auth.refresh(found)
    with auth.database.read() as db:
        kept = " ".join(map(str, db.execute(select(SessionRow.__table__)).one()))
    assert family not in kept
    assert secret not in kept


@pytest.mark.requirement("CX-34")
def test_the_case_of_an_address_does_not_matter_and_that_of_a_password_does(auth: AuthClient) -> None:
    assert auth.log_in(email="ADA@Example.com").status_code == 200
    assert auth.log_in(PASSWORD.upper()).status_code == 401


@pytest.mark.requirement("CX-34")
def test_a_wrong_password_and_an_unknown_address_get_the_same_answer(auth: AuthClient) -> None:
    for email in (ADA, "nobody@example.com"):
        problem = as_problem(auth.log_in("wrong", email), 401, "InvalidCredentials")
        assert problem["detail"] == "E-mail or password is wrong. Check both and log in again."


@pytest.mark.requirement("CX-36")
def test_a_disabled_user_cannot_log_in_and_an_enabled_one_can(auth: AuthClient) -> None:
    auth.accounts.disable(ADA)
    as_problem(auth.log_in(), 401, "InvalidCredentials")
    auth.accounts.add(ADA, "Ada", PASSWORD)
    assert auth.log_in().status_code == 200


@pytest.mark.requirement("CX-34")
def test_a_login_hashes_the_password_anew_once_its_cost_has_risen(auth: AuthClient) -> None:
    weaker = Passwords(Argon2Hasher(time_cost=1, memory_cost=8, parallelism=1, hash_len=16))
    Accounts(auth.database, weaker, auth.clock).set_password(ADA, PASSWORD)

    def kept() -> str:
        with auth.database.read() as db:
            return db.scalars(select(UserRow.password_hash)).one()

    before = kept()
    assert auth.log_in("wrong").status_code == 401
    assert kept() == before
    assert auth.log_in().status_code == 200
    after = kept()
    assert after != before
    assert auth.log_in().status_code == 200
    assert kept() == after


WRONG_BODIES: Final[list[dict[str, object]]] = [
    {"email": ADA},
    {"password": PASSWORD},
    {"email": ADA, "password": PASSWORD, "device": None},
    {"email": ADA, "password": PASSWORD, "device": "x" * 101},
    {"email": ADA, "password": PASSWORD, "device": "a\0b"},
    {"email": "a\0b", "password": PASSWORD},
    {"email": ADA, "password": "x" * 129},
    {"email": ADA, "password": ""},
    {"email": ADA, "password": PASSWORD, "admin": True},
]


@pytest.mark.requirement("CX-34")
def test_a_login_takes_nothing_but_what_it_needs(auth: AuthClient) -> None:
    for body in WRONG_BODIES:
        as_problem(auth.client.post("/auth/login", json=body), 422, "InvalidArguments")


@pytest.mark.requirement("CX-30")
def test_a_device_may_have_no_name(auth: AuthClient) -> None:
    answer = auth.client.post("/auth/login", json={"email": ADA, "password": PASSWORD})
    assert auth.send(answer.json(), "GET", "/auth/sessions").json()["sessions"][0]["device"] == ""


@pytest.mark.requirement("CX-96")
def test_one_session_too_many_ends_the_oldest(auth: AuthClient) -> None:
    oldest = auth.tokens()
    auth.clock.move(seconds=1)
    second = auth.tokens()
    with auth.database.write() as session:
        newest = session.scalars(select(SessionRow).order_by(SessionRow.created_at.desc())).first()
        assert newest is not None
        for number in range(MAX_SESSIONS - 2):
            names = {"id": f"other {number}", "refresh_hash": f"of another {number}"}
            session.add(SessionRow(**{**newest.values(), **names, "created_at": auth.clock()}))
    auth.clock.move(seconds=1)
    assert auth.is_in(oldest)
    auth.tokens()
    assert not auth.is_in(oldest)
    assert auth.is_in(second)


@pytest.mark.requirement("CX-34")
def test_a_password_that_is_changed_during_a_login_is_wrong(auth: AuthClient, monkeypatch: pytest.MonkeyPatch) -> None:
    check = Passwords.check

    def check_slowly(passwords: Passwords, password: str, kept: str | None) -> tuple[bool, str | None]:
        found = check(passwords, password, kept)
        auth.accounts.set_password(ADA, "another password")
        return found

    monkeypatch.setattr(Passwords, "check", check_slowly)
    as_problem(auth.log_in(), 401, "InvalidCredentials")

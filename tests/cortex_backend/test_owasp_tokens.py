"""OWASP API2: tokens that are not good, sessions that are over, and guessing (CX-100)."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import jwt
import pytest
from pwdlib.hashers.argon2 import Argon2Hasher

from tests.cortex_backend.desk import PASSWORD, SECRET, Desk, as_problem

pytestmark = pytest.mark.requirement("CX-100")


def parts_of(desk: Desk) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims of the token of the owner."""
    token = desk.owner.tokens["access_token"]
    return jwt.get_unverified_header(token), jwt.decode(token, options={"verify_signature": False})


def forged(desk: Desk, *, key: str = SECRET, algorithm: str = "HS256", header: Any = None, **claims: object) -> str:  # noqa: ANN401
    """Return the token of the owner with other claims; a claim that is None is left out."""
    given, known = parts_of(desk)
    payload = {name: value for name, value in {**known, **claims}.items() if value is not None}
    head = {name: value for name, value in {**given, "alg": algorithm, **(header or {})}.items() if value is not None}
    return jwt.encode(payload, key, algorithm, head)


def unsigned(desk: Desk) -> str:
    header, claims = parts_of(desk)
    encoded = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({**header, "alg": "none"}, claims)
    ]
    return ".".join([*encoded, ""])


def seconds(desk: Desk, **delta: float) -> int:
    return int((desk.clock.now + timedelta(**delta)).timestamp())


TOKENS: Final[dict[str, Callable[[Desk], str]]] = {
    "unsigned": unsigned,
    "another key": lambda desk: forged(desk, key="k" * 64),
    "another algorithm": lambda desk: forged(desk, algorithm="HS512"),
    "expired": lambda desk: forged(desk, exp=seconds(desk, seconds=-31)),
    "of the future": lambda desk: forged(desk, iat=seconds(desk, minutes=5), exp=seconds(desk, minutes=20)),
    "another audience": lambda desk: forged(desk, aud="other"),
    "another issuer": lambda desk: forged(desk, iss="other"),
    "another type": lambda desk: forged(desk, header={"typ": "JWT"}),
    "no type": lambda desk: forged(desk, header={"typ": None}),
    "unknown key": lambda desk: forged(desk, header={"kid": "other"}),
    "key as a path": lambda desk: forged(desk, header={"kid": "../../../../dev/null"}),
    "no key": lambda desk: forged(desk, header={"kid": None}),
    "another user": lambda desk: forged(desk, sub=str(desk.member.id)),
    "no such user": lambda desk: forged(desk, sub="999999"),
    "a user of words": lambda desk: forged(desk, sub="owner"),
    "no such session": lambda desk: forged(desk, sid="other"),
    "the session of another": lambda desk: forged(desk, sid=desk.member.tokens["session"]["id"]),
    "generation as a word": lambda desk: forged(desk, gen="1"),
    "empty": lambda _: "",
    "no token": lambda _: "abc",
    "two": lambda desk: f"{forged(desk)} {forged(desk)}",
    "long": lambda _: "x" * 10_000,
    "the refresh token": lambda desk: desk.owner.tokens["refresh_token"],
    "without iss": lambda desk: forged(desk, iss=None),
    "without aud": lambda desk: forged(desk, aud=None),
    "without sub": lambda desk: forged(desk, sub=None),
    "without sid": lambda desk: forged(desk, sid=None),
    "without iat": lambda desk: forged(desk, iat=None),
    "without exp": lambda desk: forged(desk, exp=None),
    "without jti": lambda desk: forged(desk, jti=None),
    "without gen": lambda desk: forged(desk, gen=None),
}


def test_a_token_that_is_made_in_the_right_way_is_good(desk: Desk) -> None:
    answer = desk.anyone.get("/auth/me", headers={"Authorization": f"Bearer {forged(desk)}"})
    assert answer.json()["id"] == desk.owner.id


def test_a_token_that_is_not_ours_is_refused(desk: Desk) -> None:
    for name in TOKENS:
        answer = desk.anyone.get("/auth/me", headers={"Authorization": f"Bearer {TOKENS[name](desk)}"})
        as_problem(answer, 401, "NotAuthenticated")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        if name != "empty":
            assert 'error="invalid_token"' in answer.headers["www-authenticate"]


@pytest.mark.requirement("CX-39")
def test_only_bearer_tokens_are_taken(desk: Desk) -> None:
    for scheme in ("Basic", "Token", "bearer2", ""):
        token = desk.owner.tokens["access_token"]
        as_problem(desk.anyone.get("/auth/me", headers={"Authorization": f"{scheme} {token}"}), 401, "NotAuthenticated")


@pytest.mark.requirement("CX-39")
def test_a_token_in_a_cookie_or_in_the_url_does_not_count(desk: Desk) -> None:
    token = desk.owner.tokens["access_token"]
    for name in ("access_token", "token"):
        assert desk.anyone.get(f"/auth/me?{name}={token}").status_code in {401, 422}
        assert desk.anyone.get("/auth/me", headers={"Cookie": f"{name}={token}"}).status_code == 401


def test_a_token_is_good_for_a_quarter_of_an_hour(desk: Desk) -> None:
    desk.clock.move(minutes=15, seconds=-1)
    assert desk.owner.get("/auth/me").status_code == 200
    desk.clock.move(seconds=40)
    as_problem(desk.owner.get("/auth/me"), 401, "NotAuthenticated")


def refresh(desk: Desk, token: str) -> Any:  # noqa: ANN401
    return desk.anyone.send("POST", "/auth/token", data={"grant_type": "refresh_token", "refresh_token": token})


@pytest.mark.requirement("CX-32")
def test_an_old_refresh_token_ends_the_session_once_the_new_one_was_used(desk: Desk) -> None:
    old = desk.owner.tokens["refresh_token"]
    lost = refresh(desk, old)
    kept = refresh(desk, old)
    assert (lost.status_code, kept.status_code) == (200, 200)
    bearer = {"Authorization": f"Bearer {kept.json()['access_token']}"}
    assert desk.anyone.get("/auth/me", headers=bearer).status_code == 200
    assert refresh(desk, old).status_code == 400
    as_problem(desk.anyone.get("/auth/me", headers=bearer), 401, "NotAuthenticated")
    assert refresh(desk, kept.json()["refresh_token"]).status_code == 400
    fresh = desk.log_in("owner")
    kinds = [event["kind"] for event in fresh.get("/events?limit=500").json()["events"]]
    assert kinds.count("session_reuse") == 1


def log_in(desk: Desk, email: str, password: str) -> Any:  # noqa: ANN401
    return desk.anyone.post("/auth/login", {"email": email, "password": password, "device": "laptop"})


def test_a_wrong_password_and_an_unknown_address_get_the_same_bytes(desk: Desk) -> None:
    answers = [log_in(desk, email, "wrong password") for email in (desk.owner.email, "nobody@example.org")]
    assert answers[0].content == answers[1].content
    assert answers[0].headers.keys() == answers[1].headers.keys()
    as_problem(answers[0], 401, "InvalidCredentials")


def test_guessing_is_stopped_and_a_right_password_is_then_refused_alike(desk: Desk) -> None:
    statuses = [log_in(desk, desk.owner.email, "wrong password").status_code for _ in range(6)]
    assert statuses == [401] * 5 + [429]
    blocked = log_in(desk, desk.owner.email, PASSWORD)
    as_problem(blocked, 429, "TooManyRequests")
    assert int(blocked.headers["retry-after"]) > 0
    assert log_in(desk, desk.member.email, PASSWORD).status_code == 200
    desk.clock.move(hours=2)
    assert log_in(desk, desk.owner.email, PASSWORD).status_code == 200


def test_guessing_one_password_for_many_addresses_is_stopped(desk: Desk) -> None:
    statuses = [log_in(desk, f"user{number}@example.org", "wrong password").status_code for number in range(21)]
    assert statuses == [401] * 20 + [429]


def test_an_address_that_nobody_trusts_cannot_be_changed_by_a_header(desk: Desk) -> None:
    for number in range(6):
        body = {"email": desk.owner.email, "password": "wrong password", "device": "laptop"}
        answer = desk.anyone.post("/auth/login", body, headers={"X-Forwarded-For": f"192.0.2.{number}"})
    as_problem(answer, 429, "TooManyRequests")


def test_an_unknown_address_costs_as_much_as_a_wrong_password(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    verified: list[str] = []
    verify = Argon2Hasher.verify

    def count(hasher: Argon2Hasher, password: str, kept: str) -> bool:
        verified.append(password)
        return verify(hasher, password, kept)

    monkeypatch.setattr(Argon2Hasher, "verify", count)
    for number, email in enumerate((desk.owner.email, "nobody@example.org"), 1):
        log_in(desk, email, "wrong password")
        assert verified == ["wrong password"] * number

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

from tests.cortex_backend.backend_fixture import PASSWORD, SECRET, BackendFixture, as_problem

pytestmark = pytest.mark.requirement("CX-100")


def parts_of(backend: BackendFixture) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims of the token of the owner."""
    token = backend.owner.tokens["access_token"]
    return jwt.get_unverified_header(token), jwt.decode(token, options={"verify_signature": False})


def forged(
    backend: BackendFixture,
    *,
    key: str = SECRET,
    algorithm: str = "HS256",
    header: Any = None,  # noqa: ANN401 - what a header may have
    **claims: object,
) -> str:
    """Return the token of the owner with other claims; a claim that is None is left out."""
    given, known = parts_of(backend)
    payload = {name: value for name, value in {**known, **claims}.items() if value is not None}
    head = {name: value for name, value in {**given, "alg": algorithm, **(header or {})}.items() if value is not None}
    return jwt.encode(payload, key, algorithm, head)


def unsigned(backend: BackendFixture) -> str:
    header, claims = parts_of(backend)
    encoded = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({**header, "alg": "none"}, claims)
    ]
    return ".".join([*encoded, ""])


def seconds(backend: BackendFixture, **delta: float) -> int:
    return int((backend.clock.now + timedelta(**delta)).timestamp())


TOKENS: Final[dict[str, Callable[[BackendFixture], str]]] = {
    "unsigned": unsigned,
    "another key": lambda backend: forged(backend, key="k" * 64),
    "another algorithm": lambda backend: forged(backend, algorithm="HS512"),
    "expired": lambda backend: forged(backend, exp=seconds(backend, seconds=-31)),
    "of the future": lambda backend: forged(backend, iat=seconds(backend, minutes=5), exp=seconds(backend, minutes=20)),
    "another audience": lambda backend: forged(backend, aud="other"),
    "another issuer": lambda backend: forged(backend, iss="other"),
    "another type": lambda backend: forged(backend, header={"typ": "JWT"}),
    "no type": lambda backend: forged(backend, header={"typ": None}),
    "unknown key": lambda backend: forged(backend, header={"kid": "other"}),
    "key as a path": lambda backend: forged(backend, header={"kid": "../../../../dev/null"}),
    "no key": lambda backend: forged(backend, header={"kid": None}),
    "another user": lambda backend: forged(backend, sub=str(backend.member.id)),
    "no such user": lambda backend: forged(backend, sub="999999"),
    "a user of words": lambda backend: forged(backend, sub="owner"),
    "no such session": lambda backend: forged(backend, sid="other"),
    "the session of another": lambda backend: forged(backend, sid=backend.member.tokens["session"]["id"]),
    "generation as a word": lambda backend: forged(backend, gen="1"),
    "empty": lambda _: "",
    "no token": lambda _: "abc",
    "two": lambda backend: f"{forged(backend)} {forged(backend)}",
    "long": lambda _: "x" * 10_000,
    "the refresh token": lambda backend: backend.owner.tokens["refresh_token"],
    "without iss": lambda backend: forged(backend, iss=None),
    "without aud": lambda backend: forged(backend, aud=None),
    "without sub": lambda backend: forged(backend, sub=None),
    "without sid": lambda backend: forged(backend, sid=None),
    "without iat": lambda backend: forged(backend, iat=None),
    "without exp": lambda backend: forged(backend, exp=None),
    "without jti": lambda backend: forged(backend, jti=None),
    "without gen": lambda backend: forged(backend, gen=None),
}


def test_a_token_that_is_made_in_the_right_way_is_good(backend: BackendFixture) -> None:
    answer = backend.anyone.get("/auth/me", headers={"Authorization": f"Bearer {forged(backend)}"})
    assert answer.json()["id"] == backend.owner.id


def test_a_token_that_is_not_ours_is_refused(backend: BackendFixture) -> None:
    for name in TOKENS:
        answer = backend.anyone.get("/auth/me", headers={"Authorization": f"Bearer {TOKENS[name](backend)}"})
        as_problem(answer, 401, "NotAuthenticated")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        if name != "empty":
            assert 'error="invalid_token"' in answer.headers["www-authenticate"]


@pytest.mark.requirement("CX-39")
def test_only_bearer_tokens_are_taken(backend: BackendFixture) -> None:
    for scheme in ("Basic", "Token", "bearer2", ""):
        token = backend.owner.tokens["access_token"]
        as_problem(
            backend.anyone.get("/auth/me", headers={"Authorization": f"{scheme} {token}"}), 401, "NotAuthenticated"
        )


@pytest.mark.requirement("CX-39")
def test_a_token_in_a_cookie_or_in_the_url_does_not_count(backend: BackendFixture) -> None:
    token = backend.owner.tokens["access_token"]
    for name in ("access_token", "token"):
        assert backend.anyone.get(f"/auth/me?{name}={token}").status_code in {401, 422}
        assert backend.anyone.get("/auth/me", headers={"Cookie": f"{name}={token}"}).status_code == 401


def test_a_token_is_good_for_a_quarter_of_an_hour(backend: BackendFixture) -> None:
    backend.clock.move(minutes=15, seconds=-1)
    assert backend.owner.get("/auth/me").status_code == 200
    backend.clock.move(seconds=40)
    as_problem(backend.owner.get("/auth/me"), 401, "NotAuthenticated")


def refresh(backend: BackendFixture, token: str) -> Any:  # noqa: ANN401
    return backend.anyone.send("POST", "/auth/token", data={"grant_type": "refresh_token", "refresh_token": token})


@pytest.mark.requirement("CX-32")
def test_an_old_refresh_token_ends_the_session_once_the_new_one_was_used(backend: BackendFixture) -> None:
    old = backend.owner.tokens["refresh_token"]
    lost = refresh(backend, old)
    kept = refresh(backend, old)
    assert (lost.status_code, kept.status_code) == (200, 200)
    bearer = {"Authorization": f"Bearer {kept.json()['access_token']}"}
    assert backend.anyone.get("/auth/me", headers=bearer).status_code == 200
    assert refresh(backend, old).status_code == 400
    as_problem(backend.anyone.get("/auth/me", headers=bearer), 401, "NotAuthenticated")
    assert refresh(backend, kept.json()["refresh_token"]).status_code == 400
    fresh = backend.log_in("owner")
    kinds = [event["kind"] for event in fresh.get("/events?limit=500").json()["events"]]
    assert kinds.count("session_reuse") == 1


def log_in(backend: BackendFixture, email: str, password: str) -> Any:  # noqa: ANN401
    return backend.anyone.post("/auth/login", {"email": email, "password": password, "device": "laptop"})


def test_a_wrong_password_and_an_unknown_address_get_the_same_bytes(backend: BackendFixture) -> None:
    answers = [log_in(backend, email, "wrong password") for email in (backend.owner.email, "nobody@example.org")]
    assert answers[0].content == answers[1].content
    assert answers[0].headers.keys() == answers[1].headers.keys()
    as_problem(answers[0], 401, "InvalidCredentials")


def test_guessing_is_stopped_and_a_right_password_is_then_refused_alike(backend: BackendFixture) -> None:
    statuses = [log_in(backend, backend.owner.email, "wrong password").status_code for _ in range(6)]
    assert statuses == [401] * 5 + [429]
    blocked = log_in(backend, backend.owner.email, PASSWORD)
    as_problem(blocked, 429, "TooManyRequests")
    assert int(blocked.headers["retry-after"]) > 0
    assert log_in(backend, backend.member.email, PASSWORD).status_code == 200
    backend.clock.move(hours=2)
    assert log_in(backend, backend.owner.email, PASSWORD).status_code == 200


def test_guessing_one_password_for_many_addresses_is_stopped(backend: BackendFixture) -> None:
    statuses = [log_in(backend, f"user{number}@example.org", "wrong password").status_code for number in range(21)]
    assert statuses == [401] * 20 + [429]


def test_an_address_that_nobody_trusts_cannot_be_changed_by_a_header(backend: BackendFixture) -> None:
    for number in range(6):
        body = {"email": backend.owner.email, "password": "wrong password", "device": "laptop"}
        answer = backend.anyone.post("/auth/login", body, headers={"X-Forwarded-For": f"192.0.2.{number}"})
    as_problem(answer, 429, "TooManyRequests")


def test_an_unknown_address_costs_as_much_as_a_wrong_password(
    backend: BackendFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[str] = []
    verify = Argon2Hasher.verify

    def count(hasher: Argon2Hasher, password: str, kept: str) -> bool:
        verified.append(password)
        return verify(hasher, password, kept)

    monkeypatch.setattr(Argon2Hasher, "verify", count)
    for number, email in enumerate((backend.owner.email, "nobody@example.org"), 1):
        log_in(backend, email, "wrong password")
        assert verified == ["wrong password"] * number

"""How often somebody may try and ask, over all processes (CX-34, CX-35)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import update
from typing_extensions import override

from cortex_backend.models import CounterRow, LoginFailureRow
from cortex_backend.problems import Problem
from cortex_backend.security.passwords import Passwords
from cortex_backend.service.rates import PER_MINUTE, RequestRates
from cortex_backend.settings import BackendSettings
from cortex_backend.store.attempts import ADDRESS_LIMIT, EMAIL_LIMIT, PAIR_LIMIT
from tests.core.notes import DEADLINE, in_background, wait_until
from tests.cortex_backend.application import CHEAP
from tests.cortex_backend.auth_client import ADA, AuthClient, open_auth_client
from tests.cortex_backend.backend_fixture import as_problem, settings_for

pytestmark = pytest.mark.requirement("CX-35")


@pytest.fixture
def auth(tmp_path: Path) -> Iterator[AuthClient]:
    with open_auth_client(tmp_path / "cortex.db") as opened:
        yield opened


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[AuthClient]:
    """A backend whose test client is a proxy that it trusts, and 10.0.0.0/8 too."""
    settings = settings_for(f"sqlite:///{tmp_path / 'cortex.db'}")
    trusting = BackendSettings.model_validate({**settings.model_dump(), "trusted_proxies": "10.0.0.0/8, ::1"})
    with open_auth_client(tmp_path / "cortex.db", settings=trusting, address="10.0.0.1") as opened:
        yield opened


def fail(auth: AuthClient, count: int, **headers: str) -> list[int]:
    return [auth.log_in("wrong", **headers).status_code for _ in range(count)]


def test_five_failures_block_an_address_for_a_quarter_of_an_hour(auth: AuthClient) -> None:
    assert fail(auth, PAIR_LIMIT + 1) == [401] * PAIR_LIMIT + [429]
    answer = auth.log_in()
    as_problem(answer, 429, "TooManyRequests")
    assert answer.headers["retry-after"] == "900"
    auth.clock.move(minutes=14, seconds=59.5)
    assert auth.log_in().headers["retry-after"] == "1"
    auth.clock.move(seconds=0.5)
    assert auth.log_in().status_code == 200


def test_each_block_takes_twice_as_long_up_to_an_hour(auth: AuthClient) -> None:
    waits = list[int]()
    for _ in range(4):
        fail(auth, PAIR_LIMIT)
        waits.append(int(auth.log_in().headers["retry-after"]))
        auth.clock.move(seconds=waits[-1])
    assert waits == [900, 1800, 3600, 3600]
    auth.clock.move(hours=2)
    fail(auth, PAIR_LIMIT)
    assert auth.log_in().headers["retry-after"] == "900"


def test_a_block_lasts_an_hour_however_many_came_before_it(auth: AuthClient) -> None:
    fail(auth, PAIR_LIMIT)
    with auth.database.write() as session:
        session.execute(update(CounterRow).where(CounterRow.name.startswith("block:pair:")).values(value=10_000))
    auth.clock.move(minutes=15)
    assert fail(auth, PAIR_LIMIT + 1) == [401] * PAIR_LIMIT + [429]
    assert auth.log_in().headers["retry-after"] == "3600"


def test_failures_of_more_than_a_quarter_of_an_hour_ago_do_not_count(auth: AuthClient) -> None:
    fail(auth, PAIR_LIMIT - 1)
    auth.clock.move(minutes=15)
    assert fail(auth, PAIR_LIMIT) == [401] * PAIR_LIMIT


def test_failures_from_elsewhere_do_not_lock_a_user_out(proxied: AuthClient) -> None:
    fail(proxied, PAIR_LIMIT, **{"X-Forwarded-For": "192.0.2.1"})
    assert proxied.log_in(**{"X-Forwarded-For": "192.0.2.1"}).status_code == 429
    assert proxied.log_in(**{"X-Forwarded-For": "192.0.2.2"}).status_code == 200


def test_an_address_may_fail_twenty_times_for_whomever(auth: AuthClient) -> None:
    found = [auth.log_in("wrong", f"user{number}@example.com").status_code for number in range(ADDRESS_LIMIT + 1)]
    assert found == [401] * ADDRESS_LIMIT + [429]
    assert auth.log_in().status_code == 429


def test_a_user_is_guessed_at_a_hundred_times_from_wherever(proxied: AuthClient) -> None:
    with proxied.database.write() as session:
        for number in range(EMAIL_LIMIT - 1):
            session.add(LoginFailureRow(at=proxied.clock(), email=ADA, address=f"192.0.2.{number}"))
    assert fail(proxied, 1, **{"X-Forwarded-For": "198.51.100.2"}) == [401]
    assert proxied.log_in(**{"X-Forwarded-For": "198.51.100.1"}).status_code == 429


@pytest.mark.parametrize(
    ("header", "first", "second"),
    [
        ("the last hop counts", "198.51.100.1, 192.0.2.1", "198.51.100.2, 192.0.2.1"),
        ("hops that are trusted do not", "192.0.2.1, 10.9.9.9", "192.0.2.1"),
        ("a word ends the search", "192.0.2.1, unknown", "192.0.2.2, unknown"),
        ("a trusted one alone", "10.2.2.2", "10.2.2.2"),
        ("the form of an address does not", "2001:db8::1", "2001:DB8:0:0:0:0:0:1"),
    ],
)
def test_the_address_behind_a_trusted_proxy_is_found(header: str, first: str, second: str, proxied: AuthClient) -> None:
    fail(proxied, PAIR_LIMIT, **{"X-Forwarded-For": first})
    assert proxied.log_in(**{"X-Forwarded-For": second}).status_code == 429, header


def test_others_cannot_name_an_address(auth: AuthClient) -> None:
    for number in range(PAIR_LIMIT):
        fail(auth, 1, **{"X-Forwarded-For": f"192.0.2.{number}"})
    assert auth.log_in().status_code == 429


def test_processes_share_what_failed(auth: AuthClient, tmp_path: Path) -> None:
    with open_auth_client(tmp_path / "cortex.db", auth.clock) as other:
        assert fail(auth, 3) + fail(other, 2) == [401] * PAIR_LIMIT
        assert (auth.log_in().status_code, other.log_in().status_code) == (429, 429)


def test_a_session_may_ask_six_hundred_times_in_a_minute_of_all_processes(auth: AuthClient) -> None:
    tokens, others = auth.tokens(), auth.tokens()
    elsewhere = RequestRates(auth.database)
    for _ in range(PER_MINUTE - 60):
        elsewhere.count(tokens["session"]["id"], auth.clock())
    for _ in range(60):  # each knows what the others had counted up to its last sixty
        auth.app.state.logins.authenticate(tokens["access_token"])
    answer = auth.send(tokens, "GET", "/auth/me")
    as_problem(answer, 429, "TooManyRequests")
    assert answer.headers["retry-after"] == "60"
    assert auth.is_in(others)
    auth.clock.move(minutes=1)
    assert auth.is_in(tokens)


class SlowHasher(Argon2Hasher):
    """Passwords that are checked only when the test says so."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.running = 0
        self.may_end = Event()
        self.may_end.set()

    @override
    def verify(self, password: str | bytes, hash: str | bytes) -> bool:
        self.running += 1
        assert self.may_end.wait(DEADLINE)
        return super().verify(password, hash)


@pytest.mark.requirement("CX-34")
def test_two_passwords_are_checked_at_a_time_while_eight_wait() -> None:
    hasher = SlowHasher()
    passwords = Passwords(hasher)
    kept = passwords.hash("right")
    hasher.may_end.clear()
    refused: list[tuple[str, str]] = []

    def check() -> None:
        try:
            assert passwords.check("right", kept) == (True, None)
        except Problem as problem:
            refused.append((problem.code, problem.headers["Retry-After"]))

    with in_background() as start:
        start(*[check] * 12)
        wait_until(lambda: len(refused) == 2 and hasher.running == 2)
        assert hasher.running == 2
        hasher.may_end.set()
    assert (hasher.running, refused) == (10, [("TooManyRequests", "1")] * 2)
    assert passwords.check("wrong", kept) == (False, None)
    assert passwords.check("right", None)[0] is False


@pytest.mark.requirement("CX-34")
def test_passwords_are_kept_as_argon2id_with_the_cost_of_today() -> None:
    kept = Passwords().hash("a password")
    assert kept.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert Passwords(CHEAP).hash("a password") != Passwords(CHEAP).hash("a password")


def test_a_user_is_not_locked_out_by_an_address_that_is_too_long(auth: AuthClient) -> None:
    assert auth.log_in("wrong", "ß" * 254).status_code == 401
    assert auth.log_in(email=ADA).status_code == 200

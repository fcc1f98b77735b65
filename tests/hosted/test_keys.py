"""The keys of the issuer: when they are fetched, from where, and which of them count (HO-2)."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from jwt.algorithms import RSAAlgorithm

from examples.hosted.issuer import IssuerKey, TokenIssuer
from task_hosted.service.tokens import IssuerKeys, IssuerUnreachable
from tests.core.listening import Clock, until
from tests.hosted.service import NOT_FOUND, Authority, Moment, hosting
from tests.ports import free_port
from tests.servers import ServerRecord
from tests.wire.served import PUBLIC_URL, legacy


def keys_of(authority: Authority, clock: Moment | None = None) -> IssuerKeys:
    return IssuerKeys(authority.issuer.url, authority.client, clock or Moment())


@pytest.mark.requirement("HO-2")
async def test_requests_that_wait_share_one_fetch() -> None:
    authority = Authority()
    keys, name = keys_of(authority), authority.issuer.key.name
    found = await asyncio.gather(*(keys.find(name) for _ in range(50)))
    assert all(found)
    assert authority.fetches == 1


@pytest.mark.requirement("HO-2")
async def test_a_hundred_unknown_names_cost_one_fetch_in_30_seconds() -> None:
    authority, clock = Authority(), Moment()
    keys, name = keys_of(authority, clock), authority.issuer.key.name
    assert await keys.find(name)
    clock.seconds += 30
    assert [await keys.find(f"unknown-{number}") for number in range(100)] == [None] * 100
    assert authority.fetches == 2
    clock.seconds += 29.9
    assert await keys.find("unknown") is None
    assert authority.fetches == 2
    clock.seconds += 0.1
    assert await keys.find("unknown") is None
    assert authority.fetches == 3


@pytest.mark.requirement("HO-2")
async def test_a_new_key_of_the_issuer_is_found_and_an_old_one_is_forgotten_after_5_minutes() -> None:
    authority, clock = Authority(), Moment()
    keys, old = keys_of(authority, clock), authority.issuer.key.name
    assert await keys.find(old)
    authority.issuer = replace(authority.issuer, key=IssuerKey())
    clock.seconds += 239
    assert await keys.find(old)
    assert authority.fetches == 1
    clock.seconds += 61
    assert await keys.find(old) is None
    assert await keys.find(authority.issuer.key.name)
    assert authority.fetches == 2


@pytest.mark.requirement("HO-2")
async def test_a_known_key_waits_for_no_fetch_while_requests_come_and_a_fetch_ends_after_5_seconds(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, moment = Authority(), Moment()
    keys, name = keys_of(authority, moment), authority.issuer.key.name
    assert await keys.find(name)
    is_over = threading.Event()
    authority.answers = {"/keys": is_over.wait}
    clock = Clock.put_into(asyncio.get_running_loop(), monkeypatch)
    moment.seconds += 240
    for _ in range(10):
        assert await keys.find(name)
    waiting = asyncio.ensure_future(keys.find("unknown"))
    await until(lambda: authority.fetches == 2)
    moment.seconds += 1_000
    await clock.move(5)
    assert await waiting is None
    assert authority.fetches == 2
    assert "cannot be fetched: TimeoutError" in caplog.text
    moment.seconds += 29
    assert await keys.find(name)
    assert authority.fetches == 2
    is_over.set()


@pytest.mark.requirement("HO-2")
async def test_known_keys_work_while_the_issuer_is_down() -> None:
    authority, clock = Authority(), Moment()
    keys, name = keys_of(authority, clock), authority.issuer.key.name
    assert await keys.find(name)
    authority.is_down = True
    for _ in range(10):
        clock.seconds += 3_600
        assert await keys.find(name)
    tried = len(authority.asked)
    assert await keys.find(name)
    assert await keys.find("unknown") is None
    assert len(authority.asked) == tried, "a fetch that failed is not repeated at once"


@pytest.mark.requirement("HO-2")
async def test_while_no_key_is_known_a_fetch_is_tried_once_a_second() -> None:
    authority, clock = Authority(is_down=True), Moment()
    keys = keys_of(authority, clock)
    for _ in range(2):
        with pytest.raises(IssuerUnreachable):
            await keys.find("any")
    assert authority.asked.count(METADATA) == 1
    clock.seconds += 1
    authority.is_down = False
    assert await keys.find(authority.issuer.key.name)


@pytest.mark.requirement("HO-2")
async def test_an_issuer_that_takes_no_connection_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(IssuerUnreachable):
        await IssuerKeys(f"http://127.0.0.1:{free_port()}").find("any")
    assert "Connection refused" in caplog.text


@pytest.mark.requirement("HO-2")
async def test_a_client_may_come_back_while_the_issuer_cannot_be_reached(tasks_v1: ServerRecord, sqlite: str) -> None:
    authority = Authority(is_down=True)
    async with hosting(tasks_v1, sqlite, authority) as site:
        answer = await site.post(legacy("list_tasks", "{}")[0], authority.token())
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")


@pytest.mark.requirement("HO-2")
@pytest.mark.parametrize(
    ("path", "places"),
    [
        ("", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]),
        (
            "/realms/one",
            [
                "/.well-known/oauth-authorization-server/realms/one",
                "/.well-known/openid-configuration/realms/one",
                "/realms/one/.well-known/openid-configuration",
            ],
        ),
    ],
)
async def test_the_metadata_is_sought_in_each_place_that_there_is_for_it(path: str, places: list[str]) -> None:
    for place in places:
        authority = Authority(TokenIssuer(f"https://issuer.example.com{path}"))
        metadata = {**authority.issuer.metadata(), "jwks_uri": "https://elsewhere.example.com/keys"}
        authority.answers = {
            "/.well-known/oauth-authorization-server": NOT_FOUND,
            place: metadata,
        }
        assert await keys_of(authority).find(authority.issuer.key.name)
        assert authority.asked == [*places[: places.index(place) + 1], "/keys"]


PRIVATE: dict[str, Any] = RSAAlgorithm.to_jwk(generate_private_key(65_537, 2_048), as_dict=True)

METADATA = "/.well-known/oauth-authorization-server"

RSA = IssuerKey(generate_private_key(65_537, 2_048))
SHORT = IssuerKey(generate_private_key(65_537, 1_024))  # noqa: S505 - it is to be refused


def metadata(**changes: str) -> dict[str, str]:
    return {"issuer": "https://issuer.example.com", **changes}


@pytest.mark.requirement("HO-2")
@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        pytest.param({METADATA: NOT_FOUND}, "has no metadata", id="no metadata"),
        pytest.param(
            {METADATA: metadata(issuer="https://evil.example.com", jwks_uri="https://evil.example.com/keys")},
            "another issuer",
            id="metadata of another issuer",
        ),
        pytest.param(
            {METADATA: metadata(jwks_uri="http://issuer.example.com/keys")}, "not https", id="keys in the clear"
        ),
        pytest.param({METADATA: ValueError("<html>")}, "ValueError: <html>", id="metadata that is not JSON"),
        pytest.param({METADATA: {}}, "another issuer", id="metadata without members"),
        pytest.param({METADATA: metadata()}, "not https", id="metadata without an address"),
        pytest.param({"/keys": NOT_FOUND}, "ConnectionError: 404", id="keys that are not there"),
        pytest.param({"/keys": ConnectionResetError("reset")}, "ConnectionResetError", id="a lost connection"),
        pytest.param({"/keys": {"keys": []}}, "any keys", id="no keys"),
        pytest.param({"/keys": {"keys": [{**RSA.to_jwk(), "alg": "RS512"}]}}, "has no key for", id="no fitting key"),
        pytest.param({"/keys": RecursionError()}, "RecursionError", id="an answer that nests deeply"),
    ],
)
async def test_an_answer_of_the_issuer_that_cannot_be_trusted_gives_no_key(
    answers: dict[str, object], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    authority = Authority(TokenIssuer("https://issuer.example.com"), answers)
    with pytest.raises(IssuerUnreachable):
        await keys_of(authority).find(authority.issuer.key.name)
    assert [record.levelno for record in caplog.records if record.name.endswith("tokens")] == [logging.WARNING]
    assert reason in caplog.text


@pytest.mark.requirement("HO-2")
async def test_a_key_that_should_not_verify_tokens_is_left_out() -> None:
    odd = {
        "for encryption": {**RSA.to_jwk(), "use": "enc"},
        "of another algorithm": {**RSA.to_jwk(), "alg": "RS512"},
        "of an algorithm for other keys": {**RSA.to_jwk(), "alg": "ES256"},
        "a secret": {"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"},
        "a secret without an algorithm": {"kty": "oct", "k": "c2VjcmV0"},
        "half a key": {"kty": "EC"},
        "a short one": SHORT.to_jwk(),
        "a private one": PRIVATE,
    }
    authority = Authority()
    named = [{**key, "kid": name} for name, key in odd.items()]
    keys = {"keys": [*named, {**RSA.to_jwk(), "kid": 7}, authority.issuer.key.to_jwk()]}
    authority.answers = {"/keys": keys}
    found = keys_of(authority)
    assert await found.find(authority.issuer.key.name)
    assert {name: await found.find(name) for name in odd} == dict.fromkeys(odd)
    assert await found.find("7") is None


@pytest.mark.requirement("HO-2")
async def test_a_token_of_a_key_that_came_later_is_accepted(tasks_v1: ServerRecord, sqlite: str) -> None:
    authority = Authority()
    async with hosting(tasks_v1, sqlite, authority) as site:
        later = TokenIssuer(authority.issuer.url)
        authority.answers = {"/keys": {"keys": [later.key.to_jwk()]}}
        body = legacy("list_tasks", "{}")[0]
        assert (await site.post(body, authority.token())).status_code == 401
        assert (await site.post(body, later.sign("ada", PUBLIC_URL))).status_code == 200

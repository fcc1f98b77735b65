"""Tokens: which are accepted, and what each attack on them gets (HO-2)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from examples.hosted.issuer import IssuerKey, TokenIssuer
from tests.hosted.service import Authority, Site, hosting
from tests.servers import ServerRecord
from tests.wire.served import PUBLIC_URL, Spell, legacy, modern

LIST: Final = legacy("list_tasks", "{}")[0]
CREATE: Final = legacy("create_task", '{"title":"a"}')[0]

Attack = Callable[[Authority], str | None]


@pytest.fixture
async def site(tasks_v1: ServerRecord, sqlite: str) -> AsyncIterator[Site]:
    async with hosting(tasks_v1, sqlite) as opened:
        yield opened


def encoded(data: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()


def signed_with_public_key(authority: Authority) -> str:
    """Return a token whose signature is made by HS256, with what everybody knows as its secret."""
    key = authority.issuer.key
    public = key.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    payload = authority.token().split(".")[1]
    signing = f"{encoded({'alg': 'HS256', 'kid': key.name})}.{payload}"
    signature = hmac.new(public, signing.encode(), hashlib.sha256).digest()
    return f"{signing}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def changed(authority: Authority, *dropped: str, header: dict[str, Any] | None = None, **claims: object) -> str:
    """Return a token of the issuer without the claims that are ``dropped``, with these, and with this header."""
    key = authority.issuer.key
    usual = jwt.decode(authority.token(), options={"verify_signature": False})
    kept = {name: value for name, value in usual.items() if name not in dropped}
    return jwt.encode({**kept, **claims}, key.private, key.algorithm, header or {"kid": key.name})


def of_another_key(authority: Authority) -> str:
    """Return a token with the name of the issuer's key and the signature of another."""
    own = authority.issuer.key
    forged = TokenIssuer(authority.issuer.url, IssuerKey(name=own.name))
    return forged.sign("ada", PUBLIC_URL)


def now(seconds: int) -> int:
    return int(time.time()) + seconds


ATTACKS: Final[dict[str, Attack]] = {
    "no token": lambda _: None,
    "an empty token": lambda _: "",
    "not a token": lambda _: "abc",
    "a token of 20,000 characters": lambda _: "a" * 20_000,
    "a header that nests deeply": lambda a: f"{base64.urlsafe_b64encode(b'[' * 9_000).decode()}.e30.{a.token()[-10:]}",
    "no signature": lambda a: a.token().rpartition(".")[0] + ".",
    "alg none": lambda a: f"{encoded({'alg': 'none', 'kid': a.issuer.key.name})}.{a.token().split('.')[1]}.",
    "HS256, signed with the public key": signed_with_public_key,
    "another key": of_another_key,
    "a key that is not known": lambda a: TokenIssuer(a.issuer.url).sign("ada", PUBLIC_URL),
    "no name of a key": lambda a: changed(a, header={"typ": "JWT"}),
    "a critical extension": lambda a: changed(a, header={"kid": a.issuer.key.name, "crit": ["exp"]}),
    "another issuer": lambda a: a.token(iss="https://evil.example.com"),
    "another audience": lambda a: a.token(aud="https://other.example.com/mcp"),
    "a part of the audience": lambda a: a.token(aud=PUBLIC_URL[:-1]),
    "no audience": lambda a: a.token(aud=[]),
    "expired": lambda a: a.token(exp=now(-31)),
    "not yet valid": lambda a: a.token(nbf=now(60)),
    "issued in the future": lambda a: a.token(iat=now(60)),
    "an expiry that is no time": lambda a: a.token(exp="soon"),
    "an expiry that is infinite": lambda a: changed(a, exp=float("inf")),
    "a user that is no text": lambda a: a.token(sub=7),
    "an empty user": lambda a: a.token(sub=""),
    "a user that is too long": lambda a: a.token("a" * 500),
    "half a character as the user": lambda a: a.token("\ud800"),
    **{f"no {claim}": lambda a, claim=claim: changed(a, claim) for claim in ("exp", "iss", "aud", "sub")},
}


@pytest.mark.requirement("HO-2")
async def test_a_token_that_is_not_valid_here_is_refused_and_the_answer_says_where_to_get_one(site: Site) -> None:
    for name, attack in ATTACKS.items():
        token = attack(site.authority)
        answer = await site.post(LIST, token)
        assert answer.status_code == 401, name
        challenge = answer.headers["WWW-Authenticate"]
        assert challenge.startswith("Bearer ")
        assert 'resource_metadata="https://tasks.example.com/.well-known/oauth-protected-resource/mcp"' in challenge
        assert ('error="invalid_token"' in challenge) is (token is not None), name
        assert not token or token not in answer.text + challenge, name


@pytest.mark.requirement("HO-2")
async def test_a_token_is_taken_only_from_its_header(site: Site) -> None:
    token = site.authority.token()
    for headers in (
        {"Authorization": "Basic YTpi"},
        {"Authorization": token},
        {"Cookie": f"access_token={token}"},
        {"X_Forwarded_User": "ada"},
    ):
        assert (await site.post(LIST, **headers)).status_code == 401, headers
    assert (await site.post(LIST, path=f"/mcp?access_token={token}")).status_code == 401


@pytest.mark.requirement("HO-2")
async def test_two_tokens_are_refused(site: Site) -> None:
    tokens = [("Authorization", f"Bearer {site.authority.token(user)}") for user in ("ada", "bob")]
    async with site.http() as client:
        answer = await client.post("/mcp", content=LIST, headers=tokens)
    assert answer.status_code == 401


@pytest.mark.requirement("HO-2")
@pytest.mark.parametrize(
    "key",
    [
        pytest.param(IssuerKey(), id="ES256"),
        pytest.param(IssuerKey(generate_private_key(65_537, 2_048)), id="RS256"),
        pytest.param(IssuerKey(Ed25519PrivateKey.generate()), id="EdDSA"),
    ],
)
async def test_tokens_of_each_algorithm_are_accepted(tasks_v1: ServerRecord, sqlite: str, key: IssuerKey) -> None:
    authority = Authority(TokenIssuer("https://issuer.example.com", key))
    async with hosting(tasks_v1, sqlite, authority) as site:
        assert (await site.post(LIST, authority.token())).status_code == 200


@pytest.mark.requirement("HO-2")
async def test_a_token_that_is_valid_here_is_accepted(site: Site) -> None:
    authority = site.authority
    tokens = {
        "one audience of several": changed(authority, aud=["https://other.example.com", PUBLIC_URL]),
        "expired within the leeway": changed(authority, exp=now(-20)),
        "valid within the leeway": changed(authority, nbf=now(20)),
        "expires after a number of seconds with 400 digits": changed(authority, exp=10**400),
        "with other scopes": changed(authority, scope="openid tasks:read"),
        "with a list of scopes": changed(authority, "scope", scp=["tasks:read"]),
        "of no client": changed(authority, "client_id"),
    }
    answers = {name: (await site.post(LIST, token)).status_code for name, token in tokens.items()}
    assert answers == dict.fromkeys(tokens, 200)


@pytest.mark.requirement("HO-2")
@pytest.mark.parametrize("spell", [legacy, modern])
async def test_the_tool_decides_which_scope_a_token_needs(site: Site, spell: Spell) -> None:
    for scope, tool, status in (
        ("tasks:read", "list_tasks", 200),
        ("tasks:read", "create_task", 403),
        ("tasks:write", "create_task", 200),
        ("tasks:write", "list_tasks", 403),
        ("tasks:read tasks:write", "create_task", 200),
        ("", "list_tasks", 403),
        ("tasks", "list_tasks", 403),
        ("tasks:read", "no_such_tool", 200),
    ):
        body, headers = spell(tool, '{"title":"a"}' if tool == "create_task" else "{}")
        answer = await site.post(body, site.authority.token(scope=scope), **headers)
        assert answer.status_code == status, (scope, tool)
        if status == 403:
            needed = "tasks:write" if tool == "create_task" else "tasks:read"
            challenge = answer.headers["WWW-Authenticate"]
            assert 'error="insufficient_scope"' in challenge
            assert f'scope="{needed}"' in challenge


@pytest.mark.requirement("HO-2")
async def test_everything_else_needs_the_scope_to_read(site: Site) -> None:
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 7}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ]
    for message in messages:
        body = json.dumps(message).encode()
        refused = await site.post(body, site.authority.token(scope="tasks:write"))
        assert refused.status_code == 403, message
        assert (await site.post(body, site.authority.token(scope="tasks:read"))).status_code in {200, 202}, message


@pytest.mark.requirement("HO-2")
async def test_the_service_says_which_issuer_it_trusts(site: Site) -> None:
    async with site.http() as client:
        answer = await client.get("/.well-known/oauth-protected-resource/mcp")
    assert answer.json() == {
        "resource": PUBLIC_URL,
        "authorization_servers": [site.authority.issuer.url],
        "scopes_supported": ["tasks:read", "tasks:write"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Tasks",
    }


@pytest.mark.requirement("HO-2", "S4")
async def test_no_token_is_logged_or_stored(site: Site, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level("DEBUG")
    good, bad = site.authority.token(), of_another_key(site.authority)
    assert (await site.post(CREATE, good)).status_code == 200
    assert (await site.post(CREATE, bad)).status_code == 401
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for token in (good, bad):
        assert token not in caplog.text
        assert token.encode() not in stored

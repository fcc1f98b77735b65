"""The settings, the keys, and the tokens that they sign (CX-30, CX-33)."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from pydantic import SecretStr

from cortex_backend.security.access import AccessTokens, Claims
from cortex_backend.security.keys import load_keys
from cortex_backend.settings import BackendSettings, SettingsError, describe_settings, load_settings
from tests.core.notes import in_background, nobody, open_folder
from tests.cortex_backend.backend_fixture import EPOCH

KEY = {"first": b"k" * 32}
CLAIMS = Claims(7, "session", 3)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, _ in describe_settings():
        monkeypatch.delenv(name, raising=False)


def test_without_settings_the_database_is_in_the_home_of_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = load_settings()
    assert settings.database_url == f"sqlite:///{tmp_path}/.local/share/cortex/cortex.db"
    assert settings.database_file == tmp_path / ".local/share/cortex/cortex.db"
    assert settings.is_sqlite
    assert settings.secret_keys is None
    assert not settings.trusts("127.0.0.1")


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORTEX_DATABASE_URL", "postgresql://ada@localhost/cortex")
    monkeypatch.setenv("CORTEX_TRUSTED_PROXIES", "192.0.2.1, 10.0.0.0/8,")
    monkeypatch.setenv("CORTEX_LOG_LEVEL", "info")
    settings = load_settings()
    assert not settings.is_sqlite
    assert settings.log_level == "INFO"
    trusted = ("192.0.2.1", "10.1.2.3", "192.0.2.2", "2001:db8::1", "testclient")
    assert [settings.trusts(address) for address in trusted] == [True, True, False, False, False]


@pytest.mark.requirement("CX-33")
@pytest.mark.parametrize(("name", "value"), [("CORTEX_LOG_LEVEL", "loud"), ("CORTEX_TRUSTED_PROXIES", "10.0.0.0/99")])
def test_a_bad_setting_is_named_with_what_was_expected(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=rf"^{name}: .* Expected: "):
        load_settings()


@pytest.mark.requirement("CX-33")
def test_no_key_is_shown_with_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORTEX_SECRET_KEYS", "s" * 40)
    assert "sss" not in repr(load_settings())


def keys(**values: Any) -> list[bytes]:  # noqa: ANN401
    return [*load_keys(BackendSettings(**values)).values()]


@pytest.mark.requirement("CX-33")
def test_the_first_key_signs_and_each_has_a_name_of_its_own() -> None:
    found = load_keys(BackendSettings(secret_keys=SecretStr(f" {'a' * 32}, {'b' * 33} ,")))
    assert [*found.values()] == [b"a" * 32, b"b" * 33]


@pytest.mark.requirement("CX-33")
@pytest.mark.parametrize("text", ["short", ",", f"{'a' * 32},short"])
def test_keys_that_are_too_short_are_refused_without_being_shown(text: str) -> None:
    with pytest.raises(SettingsError, match="CORTEX_SECRET_KEYS must hold keys of 32 bytes") as caught:
        keys(secret_keys=SecretStr(text))
    assert "short" not in str(caught.value)


@pytest.mark.requirement("CX-33")
def test_with_sqlite_a_key_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new' / 'cortex.db'}"
    made = keys(database_url=url)
    path = tmp_path / "new" / "cortex.key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert len(made[0]) == 64
    assert keys(database_url=url) == made
    assert os.listdir(path.parent) == ["cortex.key"]


@pytest.mark.requirement("CX-33")
def test_processes_that_start_at_once_get_the_same_key(tmp_path: Path) -> None:
    found: list[list[bytes]] = []
    with in_background() as start:
        start(*[lambda: found.append(keys(database_url=f"sqlite:///{tmp_path / 'cortex.db'}"))] * 8)
    assert len(found) == 8
    assert len({key for made in found for key in made}) == 1


@pytest.mark.requirement("CX-33")
def test_of_two_drafts_of_a_key_the_first_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cortex.key"
    path.write_text("k" * 32, "utf-8")
    path.chmod(0o600)
    monkeypatch.setattr(Path, "exists", lambda _: False)
    assert keys(database_url=f"sqlite:///{tmp_path / 'cortex.db'}") == [b"k" * 32]
    assert os.listdir(tmp_path) == ["cortex.key"]


@pytest.mark.requirement("CX-33")
def test_a_file_of_keys_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"{'a' * 32},{'b' * 32}\n", "utf-8")
    path.chmod(0o600)
    values = {"database_url": "postgresql://localhost/cortex", "secret_file": path}
    assert keys(**values) == [b"a" * 32, b"b" * 32]
    path.chmod(0o640)
    with pytest.raises(SettingsError, match=r"Others may read .*chmod 600"):
        keys(**values)


@pytest.mark.requirement("CX-33")
def test_with_postgresql_no_key_is_made_by_itself(tmp_path: Path) -> None:
    url = "postgresql://localhost/cortex"
    with pytest.raises(SettingsError, match="Set CORTEX_SECRET_KEYS or CORTEX_SECRET_FILE"):
        keys(database_url=url)
    with pytest.raises(SettingsError, match="cannot be used: No such file"):
        keys(database_url=url, secret_file=tmp_path / "none")


@pytest.mark.requirement("CX-33")
def test_a_key_that_cannot_be_made_is_reported() -> None:
    with open_folder() as folder:
        folder.chmod(0o555)
        with nobody(), pytest.raises(SettingsError, match="cannot be used: Permission denied"):
            keys(database_url=f"sqlite:///{folder / 'cortex.db'}")
        folder.chmod(0o777)


@pytest.mark.requirement("CX-30")
def test_a_token_says_what_it_was_signed_with() -> None:
    tokens = AccessTokens(KEY)
    token = tokens.sign(CLAIMS, EPOCH)
    assert tokens.read(token, EPOCH) == CLAIMS
    assert token != tokens.sign(CLAIMS, EPOCH)


@pytest.mark.requirement("CX-30")
@pytest.mark.parametrize(("seconds", "is_good"), [(-31, False), (-30, True), (929, True), (930, False)])
def test_clocks_may_differ_by_half_a_minute(seconds: int, *, is_good: bool) -> None:
    tokens = AccessTokens(KEY)
    token = tokens.sign(CLAIMS, EPOCH)
    assert (tokens.read(token, EPOCH + timedelta(seconds=seconds)) is not None) == is_good


@pytest.mark.requirement("CX-30")
@pytest.mark.parametrize(
    "changes",
    [
        {"iat": "1"},
        {"exp": "1"},
        {"gen": "1"},
        {"gen": 1.5},
        {"sub": "ada"},
        {"sub": "-1"},
        {"sid": 5},
        {"typ": "JWT"},
        {"kid": "other"},
        {"aud": "other"},
        {"iss": "other"},
    ],
    ids=repr,
)
def test_a_token_with_anything_else_in_it_is_not_ours(changes: dict[str, object]) -> None:
    tokens = AccessTokens(KEY)
    known: jwt.types.Options = {"verify_signature": False}
    payload = jwt.decode(tokens.sign(CLAIMS, EPOCH), options=known)
    header = {"typ": "at+jwt", "kid": "first"}

    def read(changes: dict[str, object]) -> Claims | None:
        claims = {**payload, **{name: value for name, value in changes.items() if name in payload}}
        head = {**header, **{name: value for name, value in changes.items() if name in header}}
        return tokens.read(jwt.encode(claims, KEY["first"], "HS256", head), EPOCH)

    assert read({}) == CLAIMS
    assert read(changes) is None


@pytest.mark.requirement("CX-30")
def test_what_is_not_a_token_is_not_ours() -> None:
    assert AccessTokens(KEY).read("x.y.z", EPOCH) is None

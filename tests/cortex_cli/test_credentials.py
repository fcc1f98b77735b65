"""Where logins are kept, who may read them, and how they are refreshed (CX-60, CX-62)."""

from __future__ import annotations

import json
import stat
import sys
import threading
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from cortex_cli.api import Api
from cortex_cli.credentials import Credentials, CredentialsFile, StoredLogin
from cortex_cli.errors import CortexError, NotLoggedIn, TimedOut
from cortex_cli.models import CortexUser, Deadline
from cortex_cli.system_keyring import Keyring
from tests.cortex_cli.git_sandbox import raises_code
from tests.cortex_cli.stub_server import LOGIN, StubReply, StubServer, problem

NOW = 1_800_000_000.0


class RefusedByKeyring(Exception):
    """The base of the errors of the library."""


class MemoryKeyring(ModuleType):
    """The library ``keyring`` with a backend that keeps passwords in memory."""

    errors = SimpleNamespace(KeyringError=RefusedByKeyring)

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}
        self.keeps = True

    def get_keyring(self) -> SimpleNamespace:
        return SimpleNamespace(priority=5 if self.keeps else 0)

    def set_password(self, service: str, name: str, password: str) -> None:
        if self.keeps:
            self.kept[service, name] = password

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        if self.kept.pop((service, name), None) is None:
            raise RefusedByKeyring


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> MemoryKeyring:
    library = MemoryKeyring()
    monkeypatch.setitem(sys.modules, "keyring", library)
    return library


@pytest.fixture(autouse=True)
def _no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)


@pytest.fixture
def store(folder: Path) -> CredentialsFile:
    return CredentialsFile(folder)


@pytest.fixture
def credentials(store: CredentialsFile, api: Api) -> Credentials:
    return Credentials(store, api, now=lambda: NOW)


def stored(ends_at: float, refresh_token: str = "refresh-0") -> StoredLogin:
    return StoredLogin(CortexUser(7, "Ada", "ada@example.org"), "s1", None, "access-0", ends_at, refresh_token)


@pytest.mark.requirement("CX-60")
def test_a_login_is_kept_in_a_file_that_only_its_owner_can_read(
    credentials: Credentials, store: CredentialsFile, server: StubServer
) -> None:
    server.say("POST /auth/login", LOGIN)
    login = credentials.log_in("ada@example.org", "secret password", "laptop" * 30)
    assert server.asked[0].json == {
        "email": "ada@example.org",
        "password": "secret password",
        "device": ("laptop" * 30)[:100],
    }
    assert login.storage == "file"
    assert credentials.warnings == [
        f"No keyring was found, so the refresh token is kept in {store.path}, which only you can read. "
        "Pass --insecure-storage to accept that without a warning."
    ]
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert "secret password" not in store.path.read_text("utf-8")
    assert json.loads(store.path.read_bytes())[server.origin]["refresh_token"] == "refresh-1"
    assert (credentials.access_token(), credentials.known_user()) == ("access-1", login.user)


@pytest.mark.requirement("CX-60")
def test_the_refresh_token_goes_to_the_keyring_if_there_is_one(
    credentials: Credentials, store: CredentialsFile, server: StubServer, keyring: MemoryKeyring
) -> None:
    server.say("POST /auth/login", LOGIN)
    assert credentials.log_in("ada@example.org", "p", "laptop").storage == "keyring"
    assert credentials.warnings == []
    assert list(keyring.kept.values()) == ["refresh-1"]
    assert "refresh-1" not in store.path.read_text("utf-8")
    server.say("POST /auth/token", {**LOGIN, "access_token": "access-2", "refresh_token": "refresh-2"})
    assert credentials.renew("access-1") == "access-2"
    assert b"refresh-1" in server.asked[-1].body
    assert list(keyring.kept.values()) == ["refresh-2"]
    credentials.forget()
    assert (keyring.kept, json.loads(store.path.read_bytes())) == ({}, {})


@pytest.mark.requirement("CX-60")
def test_insecure_storage_leaves_the_keyring_out_without_a_warning(
    credentials: Credentials, server: StubServer, keyring: MemoryKeyring
) -> None:
    server.say("POST /auth/login", LOGIN)
    assert credentials.log_in("ada@example.org", "p", "laptop", is_insecure=True).storage == "file"
    assert (credentials.warnings, keyring.kept) == ([], {})


@pytest.mark.requirement("CX-60")
def test_a_keyring_that_keeps_nothing_is_none(keyring: MemoryKeyring) -> None:
    assert Keyring().exists()
    assert Keyring().set("o", "t")
    keyring.keeps = False
    assert not Keyring().exists()
    assert not Keyring().set("p", "t")


@pytest.mark.requirement("CX-60")
def test_a_keyring_that_hangs_or_fails_is_given_up(keyring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(keyring, "get_password", lambda *_: never.wait(20))
    assert Keyring(seconds=0.05).get("o") is None
    never.set()
    Keyring().delete("unknown")  # nothing is raised


def test_without_the_library_there_is_no_keyring() -> None:
    assert not Keyring().exists()


@pytest.mark.requirement("CX-62")
def test_a_login_whose_keyring_does_not_answer_is_not_logged_in(
    credentials: Credentials, store: CredentialsFile, server: StubServer
) -> None:
    store.write(server.origin, stored(NOW, "keyring"))
    with pytest.raises(NotLoggedIn) as caught:
        credentials.access_token()
    assert "keyring" in str(caught.value.details["reason"])


@pytest.mark.requirement("CX-60")
@pytest.mark.parametrize(("place", "mode"), [(".", 0o750), ("credentials.json", 0o640), ("credentials.json", 0o604)])
def test_a_file_that_others_can_read_is_refused_with_the_cure(
    place: str, mode: int, credentials: Credentials, logged_in: CredentialsFile, server: StubServer
) -> None:
    (logged_in.path.parent / place).chmod(mode)
    for call in (credentials.access_token, lambda: credentials.log_in("a", "b", "c"), credentials.forget):
        with pytest.raises(CortexError, match=r"chmod [67]00"):
            call()
    assert server.asked == []


@pytest.mark.requirement("CX-60")
def test_a_folder_that_is_none_is_an_error(api: Api, tmp_path: Path, server: StubServer) -> None:
    (tmp_path / "file").touch(0o600)
    credentials = Credentials(CredentialsFile(tmp_path / "file" / "folder"), api)
    for call in (credentials.access_token, lambda: credentials.log_in("a", "b", "c")):
        with pytest.raises(CortexError, match="cannot be read"):
            call()
    assert server.asked == []


@pytest.mark.requirement("CX-60")
@pytest.mark.parametrize("content", ["{", '{"ORIGIN": 1}', '{"ORIGIN": {"user": null}}'])
def test_a_damaged_file_is_an_error(
    content: str, credentials: Credentials, logged_in: CredentialsFile, server: StubServer
) -> None:
    logged_in.path.write_text(content.replace("ORIGIN", server.origin), encoding="utf-8")
    with pytest.raises(CortexError, match="damaged"):
        credentials.access_token()


@pytest.mark.requirement("CX-61")
def test_a_login_is_for_one_server_only(logged_in: CredentialsFile) -> None:
    with pytest.raises(NotLoggedIn):
        Credentials(logged_in, Api("http://127.0.0.1:1", Deadline())).access_token()


@pytest.mark.requirement("CX-62")
def test_a_token_near_its_end_is_refreshed(
    credentials: Credentials, store: CredentialsFile, server: StubServer
) -> None:
    store.write(server.origin, stored(NOW + 29))
    server.say("POST /auth/token", LOGIN)
    assert [credentials.access_token(), credentials.access_token()] == ["access-1", "access-1"]
    assert server.paths() == ["POST /auth/token"]
    assert credentials.login().access_ends_at == NOW + 900


@pytest.mark.requirement("CX-62")
def test_what_another_process_refreshed_meanwhile_is_used(
    credentials: Credentials, store: CredentialsFile, server: StubServer
) -> None:
    store.write(server.origin, stored(NOW + 900))
    assert credentials.renew("an older one") == "access-0"
    assert server.asked == []


@pytest.mark.requirement("CX-62")
@pytest.mark.parametrize(
    ("said", "code"),
    [
        (StubReply(400, {"error": "invalid_grant"}), "NotLoggedIn"),
        (problem(429, "TooManyRequests"), "TooManyRequests"),
        (StubReply(0), "BackendUnreachable"),
    ],
)
def test_a_refresh_that_fails_leaves_the_login_as_it_is(
    said: StubReply, code: str, credentials: Credentials, store: CredentialsFile, server: StubServer
) -> None:
    store.write(server.origin, stored(NOW))
    before = store.path.read_bytes()
    server.say("POST /auth/token", said)
    with raises_code(code):
        credentials.access_token()
    assert store.path.read_bytes() == before
    assert len(server.asked) == 1


def test_a_login_that_does_not_name_the_user_is_none(credentials: Credentials, server: StubServer) -> None:
    server.say("POST /auth/login", {**LOGIN, "user": None})
    with pytest.raises(NotLoggedIn):
        credentials.log_in("a", "b", "c")


@pytest.mark.requirement("CX-62")
def test_whoever_waits_for_the_lock_waits_within_the_time_of_the_command(
    store: CredentialsFile, server: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    deadline = Deadline(5, lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr("cortex_cli.credentials.Deadline", lambda seconds: Deadline(seconds, lambda: now[0]))
    with store.locked(deadline), pytest.raises(TimedOut):
        Credentials(store, Api(server.origin, deadline)).forget()
    assert 4.9 < now[0] < 5.1
    now[0] = 0.0
    Credentials(store, Api(server.origin, deadline)).forget()


def test_a_lock_that_cannot_be_opened_is_an_error(store: CredentialsFile) -> None:
    store.path.with_suffix(".lock").mkdir()
    with pytest.raises(CortexError, match="cannot be opened"), store.locked(Deadline()):
        pass

"""Logging in and out: what is asked, where the tokens are, and that no answer shows one (CX-50, CX-60, CX-64)."""

from __future__ import annotations

import getpass
import io
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typing_extensions import override

from cortex_cli.__main__ import run
from cortex_cli.credentials import CredentialsFile
from tests.cortex_cli.conftest import Ctx
from tests.cortex_cli.stub_server import LOGIN, USER, StubReply, StubServer, problem

PASSWORD = "correct horse"

MINE = {"id": "s1", "device": "laptop", "last_used_at": "now", "expires_at": "then", "is_current": True}
"""The login of the caller, which is the newest."""


@pytest.fixture(autouse=True)
def _no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    @override
    def isatty(self) -> bool:
        return True


Person = Callable[..., tuple[int, str]]


@pytest.fixture
def person(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Return a function that runs ``ctx`` at a terminal, and returns its exit code and what it asked."""

    def call(*arguments: str, types: str = "", passwords: Sequence[str] = (), **environment: str) -> tuple[int, str]:
        typed = iter(passwords)

        def ask(_question: str) -> str:
            password = next(typed, None)
            if password is None:
                raise EOFError
            return password

        monkeypatch.setattr(sys, "stdin", Terminal(types))
        monkeypatch.setattr(sys, "stderr", Terminal())
        monkeypatch.setattr(getpass, "getpass", ask)
        code = run(arguments, {"CTX_CONFIG_DIR": str(folder), **environment})
        assert isinstance(sys.stderr, Terminal)
        return code, sys.stderr.getvalue()

    return call


@pytest.mark.requirement("CX-50", "CX-52", "CX-60", "CX-64")
def test_a_login_answers_who_and_where_but_no_token(ctx: Ctx, server: StubServer, folder: Path) -> None:
    server.say("POST /auth/login", LOGIN)
    options = ["--url", server.origin, "--email", "ada@example.org", "--password-stdin", "--insecure-storage"]
    ran = ctx("auth", "login", *options, "--json", stdin=f"{PASSWORD}\n", CTX_URL="")
    assert ran.answer == {
        "success": True,
        "url": server.origin,
        "user": {"id": 7, "name": "Ada", "email": "ada@example.org"},
        "session_expires_at": "2027-01-01T00:00:00Z",
        "storage": "file",
    }
    assert server.asked[0].json["password"] == PASSWORD  # type: ignore[index]
    assert PASSWORD not in ran.out + (folder / "credentials.json").read_text("utf-8")
    assert json.loads((folder / "config.json").read_bytes()) == {"url": server.origin}
    server.say("GET /auth/me", USER)
    status = ctx("auth", "status", "--json", CTX_URL="")
    assert status.answer == ran.answer
    assert "access-1" not in ctx("auth", "status", CTX_URL="").out


@pytest.mark.requirement("CX-60")
def test_without_a_keyring_a_login_says_where_the_token_is(ctx: Ctx, server: StubServer, folder: Path) -> None:
    server.say("POST /auth/login", LOGIN)
    ran = ctx("auth", "login", "--email=a@b.c", "--password-stdin", stdin=PASSWORD)
    assert ran.out == f"Logged in to {server.origin} as Ada. The refresh token is in {folder}/credentials.json.\n"
    assert ran.err.startswith("ctx: warning: No keyring was found")
    assert not (folder / "config.json").exists()  # the server is the one of the environment
    assert ctx("auth", "login", "--email=a@b.c", "--password-stdin", "--json", stdin=PASSWORD).answer["warnings"]


@pytest.mark.requirement("CX-54", "CX-61")
@pytest.mark.parametrize(
    ("options", "code", "exit_code"),
    [
        (["--email=a@b.c", "--password-stdin"], "InvalidCredentials", 4),
        (["--email=a@b.c"], "InvalidArguments", 2),
        (["--password-stdin"], "InvalidArguments", 2),
        (["--email=a@b.c", "--password-stdin", "--url=http://example.org"], "InvalidArguments", 2),
    ],
    ids=str,
)
def test_a_login_that_is_refused(options: list[str], code: str, exit_code: int, ctx: Ctx, server: StubServer) -> None:
    server.say("POST /auth/login", problem(401, "InvalidCredentials"))
    ran = ctx("auth", "login", *options, "--json", stdin=PASSWORD)
    assert (ran.answer["code"], ran.code) == (code, exit_code)
    assert PASSWORD not in ran.out
    assert ctx("auth", "login", *options, "--json", stdin=PASSWORD, CTX_URL="").code == 2


@pytest.mark.requirement("CX-50")
def test_a_person_is_asked_for_what_is_missing(person: Person, server: StubServer) -> None:
    server.say("POST /auth/login", LOGIN)
    code, asked = person("auth", "login", types=f"{server.origin}\nada@example.org\n", passwords=[PASSWORD])
    assert (code, asked.partition("ctx:")[0]) == (0, "Server: E-mail: ")
    sent = server.asked[0].json
    assert isinstance(sent, dict)
    assert (sent["email"], sent["password"]) == ("ada@example.org", PASSWORD)


@pytest.mark.requirement("CX-50", "CX-54")
def test_a_person_who_ends_the_input_cancels_and_nobody_is_asked_who_is_not_there(
    person: Person, server: StubServer
) -> None:
    named = {"CTX_URL": server.origin}
    assert person("auth", "login", **named)[0] == 3
    assert person("auth", "login", "--email=a@b.c", **named)[0] == 3
    assert person("auth", "login", **named, CTX_NO_INPUT="1")[0] == 2
    assert server.asked == []


@pytest.mark.requirement("CX-50")
@pytest.mark.usefixtures("logged_in")
def test_a_password_is_changed_at_a_terminal_only(person: Person, ctx: Ctx, server: StubServer) -> None:
    server.say("POST /auth/password", StubReply(204))
    assert person("auth", "password", passwords=["old", "new", "new"], CTX_URL=server.origin)[0] == 0
    assert server.asked[0].json == {"old": "old", "new": "new"}
    assert person("auth", "password", passwords=["old", "new", "now"], CTX_URL=server.origin)[0] == 2
    assert ctx("auth", "password", "--json").code == 2
    assert len(server.asked) == 1


@pytest.mark.requirement("CX-50")
def test_a_logout_revokes_first_then_forgets(ctx: Ctx, server: StubServer, logged_in: CredentialsFile) -> None:
    server.say("POST /auth/logout", StubReply(204))
    assert ctx("auth", "logout") == (0, f"Logged out of {server.origin}.\n", "")
    assert logged_in.read(server.origin) is None
    assert ctx("auth", "status", "--json").code == 4


@pytest.mark.requirement("CX-50")
def test_a_logout_everywhere_revokes_every_session(ctx: Ctx, server: StubServer, logged_in: CredentialsFile) -> None:
    server.say("GET /auth/sessions", {"sessions": [MINE, {"id": "s2"}]})
    server.say("DELETE /auth/sessions/s1", StubReply(204))
    server.say("DELETE /auth/sessions/s2", problem(404, "NotFound"))
    assert ctx("auth", "sessions").out == "s1\tlaptop\tnow\tthen\ns2\t\t\t\n"
    assert [session["id"] for session in ctx("auth", "sessions", "--json").answer["sessions"]] == ["s1", "s2"]
    assert ctx("auth", "logout", "--all", "--json").answer == {"success": True, "url": server.origin}
    assert server.paths()[-2:] == ["DELETE /auth/sessions/s2", "DELETE /auth/sessions/s1"], "its own is the last one"
    assert logged_in.read(server.origin) is None


def test_a_logout_everywhere_that_is_refused_forgets_nothing(
    ctx: Ctx, server: StubServer, logged_in: CredentialsFile
) -> None:
    server.say("GET /auth/sessions", {"sessions": [MINE]})
    server.say("DELETE /auth/sessions/s1", problem(403, "Forbidden"))
    assert ctx("auth", "logout", "--all", "--json").answer["code"] == "Forbidden"
    assert logged_in.read(server.origin) is not None


@pytest.mark.parametrize("reply", [StubReply(0), problem(503, "Unavailable")], ids=["gone", "out of order"])
@pytest.mark.requirement("CX-50")
def test_a_logout_forgets_the_login_even_if_the_server_is_gone(
    ctx: Ctx, server: StubServer, logged_in: CredentialsFile, reply: StubReply
) -> None:
    server.say("POST /auth/logout", reply)
    ran = ctx("auth", "logout")
    assert (ran.code, ran.err.startswith("ctx: warning: The login ends on this machine only")) == (0, True)
    assert logged_in.read(server.origin) is None


def test_a_login_that_the_server_has_forgotten_is_forgotten_too(
    ctx: Ctx, server: StubServer, logged_in: CredentialsFile
) -> None:
    server.say("POST /auth/logout", problem(401, "NotAuthenticated"))
    server.say("POST /auth/token", StubReply(400, {"error": "invalid_grant"}))
    assert ctx("auth", "logout").code == 0
    assert logged_in.read(server.origin) is None


@pytest.mark.requirement("CX-55", "CX-60")
def test_a_token_of_the_environment_is_used_and_kept_nowhere(ctx: Ctx, server: StubServer, folder: Path) -> None:
    server.say("GET /auth/me", USER)
    server.say("POST /auth/logout", StubReply(204))
    ran = ctx("auth", "status", "--json", CTX_TOKEN="from-outside")
    assert (ran.answer["storage"], ran.answer["session_expires_at"]) == ("environment", None)
    assert "The token is in CTX_TOKEN." in ctx("auth", "status", CTX_TOKEN="from-outside").out
    assert ctx("auth", "logout", CTX_TOKEN="from-outside").code == 0
    assert {asked.token for asked in server.asked} == {"from-outside"}
    assert list(folder.iterdir()) == []


@pytest.mark.requirement("CX-62")
@pytest.mark.parametrize("url", ["", "http://127.0.0.1:1"], ids=["no server", "no login"])
def test_without_a_login_a_command_says_how_to_get_one(url: str, ctx: Ctx) -> None:
    for command in (["tasks", "list"], ["auth", "status"], ["auth", "logout"]):
        ran = ctx(*command, "--json", CTX_URL=url)
        assert (ran.code, ran.answer["code"]) == (4, "NotLoggedIn")
        assert ran.answer["error"] == "Not logged in. Please run 'ctx auth login' first, in a terminal."


@pytest.mark.requirement("CX-60")
def test_a_login_in_the_keyring_is_shown_as_such(ctx: Ctx, server: StubServer, logged_in: CredentialsFile) -> None:
    login = logged_in.read(server.origin)
    assert login is not None
    logged_in.write(server.origin, login._replace(refresh_token="keyring"))
    server.say("GET /auth/me", USER)
    assert ctx("auth", "status").out.endswith("The refresh token is in the keyring.\n")
    assert ctx("auth", "status", "--json").answer["storage"] == "keyring"

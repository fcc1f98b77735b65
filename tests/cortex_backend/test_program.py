"""The command ``cortex-backend``: accounts, migrations, and serving (CX-36, CX-40, CX-102)."""

from __future__ import annotations

import getpass
import http.client
import io
import os
import re
import runpy
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import select, text

from cortex_backend.__main__ import main
from cortex_backend.database import CortexDatabase
from cortex_backend.models import UserRow
from cortex_backend.serving import Serving, listen
from cortex_backend.settings import SettingsError, describe_settings
from tests.core.notes import DEADLINE, in_background, wait_until
from tests.cortex_backend.application import CHEAP
from tests.cortex_backend.backend_fixture import PASSWORD
from tests.processes import ending

pytestmark = pytest.mark.requirement("CX-36")

EMAIL = "ada@example.com"


@pytest.fixture(autouse=True)
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty database, which the settings name; the umask stays, and passwords cost little."""
    for name, _ in describe_settings():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "umask", lambda _: None)
    monkeypatch.setattr("cortex_backend.security.passwords.Argon2Hasher", lambda: CHEAP)
    url = f"sqlite:///{tmp_path / 'data' / 'cortex.db'}"
    monkeypatch.setenv("CORTEX_DATABASE_URL", url)
    return url


def run(*words: str, given: str = "") -> int:
    """Run the command with this standard input, and return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(given))
        try:
            main(words)
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def add(email: str = EMAIL, *options: str, password: str = PASSWORD) -> int:
    return run("user", "add", email, "--password-stdin", *options, given=f"{password}\n")


def users(address: str) -> list[tuple[str, str, bool]]:
    with closing(CortexDatabase(address)) as database, database.read() as db:
        return [(user.email, user.name, user.is_active) for user in db.scalars(select(UserRow).order_by(UserRow.id))]


def test_a_user_is_added_with_a_name_and_a_password(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert add("Ada@Example.com") == 0
    name = "Bob " + "B" * 96
    assert add("bob@example.com", "--name", name) == 0
    assert users(address) == [(EMAIL, "ada", True), ("bob@example.com", name, True)]
    assert capsys.readouterr().out == "Added user 1.\nAdded user 2.\n"


def test_a_user_is_disabled_and_enabled_again(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    add()
    assert run("user", "disable", EMAIL) == 0
    assert users(address) == [(EMAIL, "ada", False)]
    assert add() == 0
    assert users(address) == [(EMAIL, "ada", True)]
    assert add() == 1
    assert "is a user already" in capsys.readouterr().err


def test_a_password_is_replaced(address: str) -> None:
    add()

    def kept() -> str:
        with closing(CortexDatabase(address)) as database, database.read() as db:
            return db.scalars(select(UserRow.password_hash)).one()

    before = kept()
    assert run("user", "password", EMAIL, "--password-stdin", given="another password\r\n") == 0
    assert kept() != before


@pytest.mark.parametrize(
    ("words", "given", "why"),
    [
        (("add", "ada"), PASSWORD, "Give an e-mail address"),
        (("add", "@"), PASSWORD, "Give an e-mail address"),
        (("add", "a@b\n"), PASSWORD, ""),
        (("add", "a\x07@b"), PASSWORD, "Give an e-mail address"),
        (("add", f"{'a' * 260}@b"), PASSWORD, "Give an e-mail address"),
        (("add", EMAIL, "--name", "x" * 101), PASSWORD, "Give a name"),
        (("add", EMAIL, "--name", "a\nb"), PASSWORD, "Give a name"),
        (("add", EMAIL), "x" * 11, "A password has 12 to 128 characters"),
        (("add", EMAIL), "x" * 129, "A password has 12 to 128 characters"),
        (("password", EMAIL), PASSWORD, "There is no user ada@example.com"),
        (("disable", EMAIL), "", "There is no user ada@example.com"),
        (("disable", "\udcff@b"), "", "is not UTF-8"),
        (("add", EMAIL), "\udcff" * 12, "is not UTF-8"),
    ],
    ids=repr,
)
def test_an_account_that_cannot_be_is_refused(
    words: tuple[str, ...], given: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--password-stdin",) * (words[0] != "disable")
    assert run("user", *words, *options, given=given) == (1 if why else 0)
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(("second", "code"), [(PASSWORD, 0), ("something else", 1)])
def test_a_password_is_asked_for_twice(second: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter([PASSWORD, second])
    monkeypatch.setattr("getpass.getpass", lambda _: next(given))
    assert run("user", "add", EMAIL) == code


def no_terminal(_: str) -> str:
    warnings.warn("Can not control echo on the terminal.", getpass.GetPassWarning, stacklevel=2)
    return PASSWORD


def no_answer(_: str) -> str:
    raise EOFError


@pytest.mark.parametrize("ask_password", [no_terminal, no_answer])
def test_without_an_answer_the_command_says_what_to_give(
    ask_password: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("getpass.getpass", ask_password)
    assert run("user", "add", EMAIL, given=f"{PASSWORD}\n") == 1
    assert capsys.readouterr().err.endswith("Give --password-stdin.\n")


def test_an_interrupted_command_ends_like_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("getpass.getpass", interrupt)
    assert run("user", "add", EMAIL) == 130


@pytest.mark.requirement("CX-40")
def test_migrating_brings_the_database_up_to_date(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("migrate") == 0
    assert run("migrate") == 0
    assert capsys.readouterr().out == "The database is up to date.\n" * 2
    with closing(CortexDatabase(address)) as database:
        database.check_schema()


@pytest.mark.requirement("CX-40")
def test_a_newer_database_is_refused_with_one_sentence(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("migrate")
    with closing(CortexDatabase(address)) as database, database.write() as db:
        db.execute(text("UPDATE alembic_version SET version_num = 'of the future'"))
    for words in (("serve", "--port", "0"), ("migrate",), ("user", "disable", EMAIL)):
        assert run(*words) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert "newer than this program" in line


@pytest.mark.requirement("CX-40")
def test_a_database_that_fails_is_a_sentence(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("migrate")
    with closing(CortexDatabase(address)) as database, database.write() as db:
        db.execute(text("ALTER TABLE users RENAME TO lost"))
    assert run("user", "disable", EMAIL) == 1
    assert "cannot reach its database" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [
        ("CORTEX_LOG_LEVEL", "loud", 2),
        ("CORTEX_SECRET_KEYS", "short", 2),
        ("CORTEX_DATABASE_URL", "mysql://localhost/x", 1),
    ],
)
def test_a_bad_setting_ends_the_command_with_one_message(
    variable: str, value: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, value)
    assert run("serve", "--port", "0") == code
    found = capsys.readouterr().err
    assert found.startswith("cortex-backend: ")
    assert "Traceback" not in found


@pytest.mark.parametrize("words", [(), ("user",), ("serve", "--port", "70000"), ("serve", "--port", "x"), ("fly",)])
def test_a_bad_command_line_ends_with_2(words: tuple[str, ...]) -> None:
    assert run(*words) == 2


def test_help_and_version_need_no_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == run("--version") == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name, _ in describe_settings())
    assert re.search(r"^cortex-backend \d+\.\d+", shown, re.MULTILINE)


@pytest.mark.requirement("CX-1")
def test_the_module_is_the_command_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["cortex-backend", "--version"])
    monkeypatch.delitem(sys.modules, "cortex_backend.__main__")
    with pytest.raises(SystemExit):
        runpy.run_module("cortex_backend", run_name="__main__")
    assert capsys.readouterr().out.startswith("cortex-backend ")


@pytest.mark.requirement("CX-102")
@pytest.mark.parametrize(
    ("serving", "is_fine"),
    [
        (Serving(), True),
        (Serving("::1"), True),
        (Serving("127.1.2.3"), True),
        (Serving("localhost"), True),
        (Serving("0.0.0.0"), False),  # noqa: S104 - it is refused
        (Serving("::"), False),
        (Serving("cortex.example.com"), False),
        (Serving("192.0.2.1", is_behind_proxy=True), True),
        (Serving("192.0.2.1", certificate=Path("c"), key=Path("k")), True),
        (Serving("192.0.2.1", certificate=Path("c")), False),
        (Serving(key=Path("k")), False),
    ],
    ids=repr,
)
def test_no_password_crosses_a_network_in_the_clear(serving: Serving, *, is_fine: bool) -> None:
    if is_fine:
        serving.check()
    else:
        with pytest.raises(SettingsError, match="--tls-cert"):
            serving.check()


def serve_while(talk: Callable[[str], None], capsys: pytest.CaptureFixture[str], *options: str) -> int:
    """Serve until ``talk``, which gets the address, has returned; return the exit code."""
    shown: list[str] = []

    def find_address() -> str | None:
        shown.append(capsys.readouterr().out)
        found = re.search(r"^cortex-backend serves on (\S+)$", "".join(shown), re.MULTILINE)
        return None if found is None else found[1]

    def talk_and_end() -> None:
        try:
            wait_until(find_address)
            talk(find_address() or "")
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    with in_background() as start:
        start(talk_and_end)
        return run("serve", "--port", "0", *options)


def ask(url: str, path: str = "/healthz", context: ssl.SSLContext | None = None) -> tuple[int, dict[str, str]]:
    """Return status and headers of the answer to a GET."""
    _, _, host = url.partition("://")
    name, _, port = host.rpartition(":")
    name = name.strip("[]")
    made = http.client.HTTPSConnection(name, int(port), context=context) if context else None
    with closing(made or http.client.HTTPConnection(name, int(port), timeout=DEADLINE)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def test_serving_answers_until_a_signal_comes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found: list[tuple[int, dict[str, str]]] = []
    assert serve_while(lambda url: found.append(ask(url, "/readyz")), capsys) == 130
    ((status, headers),) = found
    assert status == 200
    assert "server" not in headers
    assert headers["cache-control"] == "no-store"
    assert {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "data").iterdir()} == {
        "cortex.db": 0o600,
        "cortex.key": 0o600,
    }


@pytest.mark.requirement("CX-96")
def test_a_connection_that_sends_no_whole_head_is_closed_in_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cortex_backend.serving._HEAD_SECONDS", 0.2)
    found: list[bytes] = []
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

    def talk(url: str) -> None:
        name, _, port = url.partition("://")[2].rpartition(":")
        with ExitStack() as stack:
            sent = (b"", whole[:20], whole)
            connections = [stack.enter_context(socket.create_connection((name, int(port)), DEADLINE)) for _ in sent]
            for connection, data in zip(connections, sent, strict=True):
                connection.sendall(data)
            *_, kept = connections
            found.append(kept.recv(12))
            kept.sendall(whole[:20])
            for connection in connections:
                while connection.recv(1_000):
                    pass  # the rest of the answer, and then the end

    assert serve_while(talk, capsys) == 130
    assert b"".join(found) == b"HTTP/1.1 200"


@pytest.mark.requirement("CX-35")
@pytest.mark.parametrize("proxies", ["", "192.0.2.1"])
def test_a_proxy_that_is_not_trusted_is_warned_of(
    proxies: str,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CORTEX_TRUSTED_PROXIES", proxies)
    found: list[tuple[int, dict[str, str]]] = []
    assert serve_while(lambda url: found.append(ask(url)), capsys, "--behind-tls-proxy") == 130
    assert ("CORTEX_TRUSTED_PROXIES is not set" in caplog.text) is not bool(proxies)


@pytest.mark.requirement("CX-98")
def test_no_answer_waits_until_the_client_has_acknowledged_its_beginning() -> None:
    with listen(Serving(port=0)) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_serving_works_with_addresses_of_version_6(capsys: pytest.CaptureFixture[str]) -> None:
    found: list[str] = []

    def talk(url: str) -> None:
        found.append(url)
        assert ask(url)[0] == 200

    assert serve_while(talk, capsys, "--host", "::1") == 130
    assert found[0].startswith("http://[::1]:")


@pytest.mark.requirement("CX-102")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
def test_serving_speaks_tls_with_a_certificate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", *name]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.create_default_context(cafile=certificate)
    found: list[int] = []
    options = ("--tls-cert", str(certificate), "--tls-key", str(key))
    assert serve_while(lambda url: found.append(ask(url, context=context)[0]), capsys, *options) == 130
    assert found == [200]


@pytest.mark.requirement("CX-102")
@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--host", "0.0.0.0"), 2),  # noqa: S104 - it is refused
        (("--host", "192.0.2.1", "--behind-tls-proxy"), 1),
        (("--tls-cert", "/no/such/cert", "--tls-key", "/no/such/key"), 1),
    ],
)
def test_an_address_that_cannot_be_served_is_refused(
    options: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("serve", "--port", "0", *options) == code
    assert capsys.readouterr().err.startswith("cortex-backend: ")


@pytest.mark.process
@pytest.mark.requirement("CX-96", "CX-102")
def test_a_backend_ends_with_sigterm_and_refuses_what_is_too_long() -> None:
    command = [sys.executable, "-m", "cortex_backend", "serve", "--port", "0"]
    with ending(subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")) as process:
        assert process.stdout is not None
        url = process.stdout.readline().rsplit(maxsplit=1)[-1]
        assert ask(url, "/healthz?" + "x" * 15_000)[0] == 200
        assert ask(url, "/healthz?" + "x" * 17_000)[0] in {400, 413}
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == -signal.SIGTERM

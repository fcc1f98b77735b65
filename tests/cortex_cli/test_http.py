"""Where a token may go, and what an answer may be (CX-61)."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cortex_cli import http
from cortex_cli.http import ConnectionFailed, UnsafeUrl, check_url, is_loopback, origin_of, send
from tests.cortex_cli.stub_server import StubReply, StubServer

SECONDS = 20.0
"""How long a test waits at most for what should come at once."""


@contextmanager
def speaking(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serve one connection by ``talk``, and yield the URL of the server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(SECONDS)
                    talk(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            thread.join()


@pytest.mark.requirement("CX-61")
@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Tasks.Example.org", "https://tasks.example.org:443"),
        ("https://tasks.example.org:8443/", "https://tasks.example.org:8443"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://127.8.9.1", "http://127.8.9.1:80"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://localhost:8000", "http://localhost:8000"),
    ],
)
def test_a_server_is_known_by_its_origin(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.requirement("CX-61", "CX-64", "CX-102")
@pytest.mark.parametrize(
    "url",
    [
        "",
        "tasks.example.org",
        "http://tasks.example.org",
        "http://127.0.0.1.example.org",
        "http://localhost.example.org",
        "http://10.0.0.1",
        "http://[::2]",
        "https://",
        "https://ada:secret@tasks.example.org",
        "https://tasks.example.org:0",
        "https://tasks.example.org:99999",
        "https://tasks.example.org:x",
        "https://[::1",
        "https://tasks.example.org/a b",
        "https://tasks.example.org/\r\nX: y",
        "https://täsks.example.org",
        "file:///etc/passwd",
        "javascript:alert(1)",
    ],
)
def test_nothing_is_sent_in_clear_or_to_what_is_not_a_server(url: str) -> None:
    with pytest.raises(UnsafeUrl) as caught:
        check_url(url)
    assert "secret" not in str(caught.value)


def test_a_name_is_this_machine_only_if_it_is_localhost() -> None:
    assert is_loopback("LOCALHOST")
    assert not is_loopback("127.0.0.1.nip.io")


@pytest.mark.requirement("CX-61", "CX-63")
def test_a_redirect_is_not_followed(server: StubServer) -> None:
    server.say("GET /a", StubReply(307, b"", {"Location": "/b", "X-Kind": "Seen"}))
    reply = send("GET", f"{server.origin}/a?x=1", {"Authorization": "Bearer t"}, seconds=SECONDS)
    assert (reply.status, reply.headers["x-kind"], server.paths()) == (307, "Seen", ["GET /a"])
    assert server.asked[0].query == [("x", "1")]
    assert server.asked[0].headers["user-agent"].startswith("ctx/")


@pytest.mark.requirement("CX-61")
def test_a_body_is_sent_and_the_answer_is_read_to_its_limit(server: StubServer) -> None:
    server.say("POST /", StubReply(200, b"x" * 100))
    assert send("POST", server.origin, {}, b"y", seconds=SECONDS, limit=100).body == b"x" * 100
    assert server.asked[0].body == b"y"
    with pytest.raises(ConnectionFailed, match="longer than 99 bytes"):
        send("POST", server.origin, {}, b"y", seconds=SECONDS, limit=99)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"", "lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "not complete|lost"),
        (b"SSH-2.0-OpenSSH\r\n", "lost"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "lost"),
    ],
    ids=["nothing", "a part", "another protocol", "broken chunks"],
)
@pytest.mark.requirement("CX-102")
def test_what_is_not_a_whole_answer_is_a_lost_connection(said: bytes, reason: str) -> None:
    def talk(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(said)

    with speaking(talk) as url, pytest.raises(ConnectionFailed, match=reason) as caught:
        send("GET", url, {}, seconds=SECONDS)
    assert not caught.value.is_timeout


@pytest.mark.requirement("CX-102")
def test_a_server_that_sends_a_byte_now_and_then_does_not_hold_the_command() -> None:
    def talk(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        with suppress(OSError):
            while connection.send(b"x"):
                connection.settimeout(0.05)
                with suppress(TimeoutError):
                    if not connection.recv(1):
                        return

    with speaking(talk) as url, pytest.raises(ConnectionFailed, match="no answer in time") as caught:
        send("GET", url, {}, seconds=0.3)
    assert caught.value.is_timeout


def test_a_server_that_says_nothing_is_given_up() -> None:
    def talk(connection: socket.socket) -> None:
        while connection.recv(65536):
            pass

    with speaking(talk) as url, pytest.raises(ConnectionFailed) as caught:
        send("GET", url, {}, seconds=0.2)
    assert caught.value.is_timeout


def test_a_port_where_nobody_listens_is_refused() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ConnectionFailed, match="refused"):
            send("GET", url, {}, seconds=SECONDS)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a key and a certificate of its own for localhost."""
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    named = ["-days", "3650", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,DNS:tasks.test"]
    subprocess.run([*command, *named, "-keyout", file, "-out", f"{file}.crt"], check=True, capture_output=True)
    file.write_bytes(file.read_bytes() + Path(f"{file}.crt").read_bytes())
    return file


def over_tls(certificate: Path) -> Callable[[socket.socket], None]:
    def talk(connection: socket.socket) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as wrapped:
            wrapped.recv(65536)
            wrapped.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

    return talk


@pytest.fixture
def _fresh_tls() -> Iterator[None]:
    http._tls.cache_clear()  # noqa: SLF001 - a process reads the certificates once
    yield
    http._tls.cache_clear()  # noqa: SLF001


@pytest.mark.usefixtures("_fresh_tls")
@pytest.mark.requirement("CX-61")
def test_a_certificate_is_always_checked(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with speaking(over_tls(certificate)) as url, pytest.raises(ConnectionFailed, match="certificate is not valid"):
        send("GET", url.replace("http://127.0.0.1", "https://localhost"), {}, seconds=SECONDS)


@pytest.mark.usefixtures("_fresh_tls")
@pytest.mark.requirement("CX-61")
def test_a_certificate_of_ones_own_is_named_in_the_environment(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
    with speaking(over_tls(certificate)) as url:
        reply = send("GET", url.replace("http://127.0.0.1", "https://localhost"), {}, seconds=SECONDS)
    assert reply.body == b"ok"


@pytest.mark.usefixtures("_fresh_tls")
@pytest.mark.requirement("CX-61")
@pytest.mark.parametrize("login", ["", "ada:s%40crt@"], ids=["open", "with a login"])
def test_another_machine_is_reached_through_the_proxy(
    login: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        while b"\r\n\r\n" not in b"".join(seen):
            seen.append(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        over_tls(certificate)(connection)

    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
    monkeypatch.delenv("https_proxy", raising=False)
    with speaking(talk) as url:
        monkeypatch.setenv("HTTPS_PROXY", url.replace("http://", f"http://{login}" if login else ""))
        assert send("GET", "https://tasks.test/", {"Authorization": "Bearer t"}, seconds=SECONDS).body == b"ok"
    asked = b"".join(seen)
    assert asked.startswith(b"CONNECT tasks.test:443 HTTP/1.")
    assert b"Bearer" not in asked
    assert (b"Proxy-Authorization: Basic YWRhOnNAY3J0" in asked) == bool(login)


@pytest.mark.parametrize(
    ("host", "without", "is_direct"),
    [
        ("localhost", "", True),
        ("tasks.test", "", False),
        ("tasks.test", "other.test, .tasks.test", True),
        ("a.tasks.test", "tasks.test", True),
        ("atasks.test", "tasks.test", False),
        ("tasks.test", "*", True),
    ],
)
def test_some_machines_are_reached_without_the_proxy(
    host: str, without: str, is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", without)
    assert (http._proxy_for(host) is None) == is_direct  # noqa: SLF001 - asking would need the network


def test_a_proxy_that_is_not_a_url_is_a_lost_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://[")
    assert "no_proxy" not in os.environ or monkeypatch.delenv("no_proxy") is None
    with pytest.raises(ConnectionFailed, match="https_proxy is not a URL"):
        send("GET", "https://tasks.test/", {}, seconds=SECONDS)

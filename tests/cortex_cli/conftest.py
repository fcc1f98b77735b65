"""A stub of the backend, a folder for settings and logins, and ``ctx`` within this process."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cortex_cli.__main__ import run
from cortex_cli.api import Api
from cortex_cli.credentials import CredentialsFile, StoredLogin
from cortex_cli.models import CortexUser, Deadline
from tests.cortex_cli.git_sandbox import GitSandbox, Template
from tests.cortex_cli.stub_backend import StubBackend
from tests.cortex_cli.stub_server import StubServer, running


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        """The one object that ``--json`` writes."""
        assert self.err == ""
        (line,) = self.out.splitlines()
        answer: dict[str, Any] = json.loads(line)
        return answer


Ctx = Callable[..., Ran]


@pytest.fixture
def server() -> Iterator[StubServer]:
    with running() as stub:
        yield stub


@pytest.fixture
def api(server: StubServer) -> Api:
    return Api(server.origin, Deadline(), pause=lambda _seconds: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir(mode=0o700)
    return tmp_path / "config"


@pytest.fixture
def logged_in(server: StubServer, folder: Path) -> CredentialsFile:
    """Return the file of logins, with one for the stub that does not end."""
    store = CredentialsFile(folder)
    user = CortexUser(7, "Ada", "ada@example.org")
    store.write(server.origin, StoredLogin(user, "s1", "2027-01-01T00:00:00Z", "access-0", 2**40, "refresh-0"))
    return store


@pytest.fixture
def ctx(server: StubServer, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ctx:
    """Return a function that runs ``ctx`` in this process with the stub as its server."""

    def call(*arguments: str, stdin: str = "", **environment: str) -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        named = {"CTX_CONFIG_DIR": str(folder), "CTX_URL": server.origin, **environment}
        code = run(arguments, {name: value for name, value in named.items() if value})
        return Ran(code, *capsys.readouterr())

    return call


def on_main(sandbox: GitSandbox) -> None:
    """Leave the repositories as they are: nobody has started task 42."""


def started_with(*commits: str) -> Callable[[GitSandbox], None]:
    """Return what starts task 42, and commits these files."""

    def prepare(sandbox: GitSandbox) -> None:
        sandbox.start()
        for name in commits:
            sandbox.commit(name, f"{name}\n", name.title())

    return prepare


def submit(sandbox: GitSandbox) -> None:
    """Start task 42, make two commits, and submit them."""
    started_with("one", "two")(sandbox)
    sandbox.pr()


STATES: dict[str, Callable[[GitSandbox], None]] = {
    "on main": on_main,
    "started": started_with(),
    "with work": started_with("work"),
    "submitted": submit,
}


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Template]:
    """Return a function that prepares a state when it is first asked for."""

    @cache
    def prepare(state: str) -> Template:
        folder = tmp_path_factory.mktemp("template")
        with running() as server:
            sandbox = GitSandbox(folder, StubBackend(server))
            STATES[state](sandbox)
        return Template(folder, sandbox.backend.task, sandbox.backend.history)

    return prepare


@pytest.fixture
def sandbox(server: StubServer, tmp_path: Path, templates: Callable[[str], Template]) -> GitSandbox:
    """Return a repository with a remote, whose task 42 nobody has started."""
    return GitSandbox(tmp_path, StubBackend(server), templates("on main"))


@pytest.fixture
def started(server: StubServer, tmp_path: Path, templates: Callable[[str], Template]) -> GitSandbox:
    """Return the repository on the branch of its task."""
    return GitSandbox(tmp_path, StubBackend(server), templates("started"))


@pytest.fixture
def worked(server: StubServer, tmp_path: Path, templates: Callable[[str], Template]) -> GitSandbox:
    """Return the repository on the branch of its task, with a commit there."""
    return GitSandbox(tmp_path, StubBackend(server), templates("with work"))


@pytest.fixture
def submitted(server: StubServer, tmp_path: Path, templates: Callable[[str], Template]) -> GitSandbox:
    """Return the repository with two commits on the branch of its task, which is in review."""
    return GitSandbox(tmp_path, StubBackend(server), templates("submitted"))

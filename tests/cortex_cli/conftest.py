"""A stand-in for the backend, a folder for settings and logins, and ``ctx`` within this process."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cortex_cli.__main__ import run
from cortex_cli.api import Api
from cortex_cli.credentials import CredentialsFile, StoredLogin
from cortex_cli.models import CortexUser, Deadline
from tests.cortex_cli.board import Board
from tests.cortex_cli.git_server import serving_git
from tests.cortex_cli.stand_in import StandIn, running
from tests.cortex_cli.workshop import Workshop


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
def server() -> Iterator[StandIn]:
    with running() as stand_in:
        yield stand_in


@pytest.fixture
def api(server: StandIn) -> Api:
    return Api(server.origin, Deadline(), pause=lambda _seconds: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir(mode=0o700)
    return tmp_path / "config"


@pytest.fixture
def logged_in(server: StandIn, folder: Path) -> CredentialsFile:
    """Return the file of logins, with one for the stand-in that does not end."""
    store = CredentialsFile(folder)
    user = CortexUser(7, "Ada", "ada@example.org")
    store.write(server.origin, StoredLogin(user, "s1", "2027-01-01T00:00:00Z", "access-0", 2**40, "refresh-0"))
    return store


@pytest.fixture
def ctx(server: StandIn, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ctx:
    """Return a function that runs ``ctx`` in this process with the stand-in as its server."""

    def call(*arguments: str, stdin: str = "", **environment: str) -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        named = {"CTX_CONFIG_DIR": str(folder), "CTX_URL": server.origin, **environment}
        code = run(arguments, {name: value for name, value in named.items() if value})
        return Ran(code, *capsys.readouterr())

    return call


@pytest.fixture
def workshop(server: StandIn, tmp_path: Path) -> Workshop:
    """Return a repository with a remote, whose task 42 nobody has started."""
    return Workshop(tmp_path, Board(server))


@pytest.fixture
def locked_remote(workshop: Workshop) -> Iterator[str]:
    """Return the URL of the workshop's remote over HTTP, which needs a password."""
    with serving_git(workshop.there.parent) as url:
        yield f"{url}/{workshop.there.name}"

"""The whole chain on one machine: a backend, a remote with a password, and people who have ``ctx`` and cortex-mcp."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote, urlsplit

from mcp import Client, StdioServerParameters
from mcp_types import TextContent

import cortex_mcp
from cortex_backend.clock import utc_now
from cortex_backend.database import CortexDatabase
from cortex_backend.security.passwords import Passwords
from cortex_backend.service.accounts import Accounts
from tests.cortex_backend.application import CHEAP
from tests.cortex_backend.backend_fixture import PASSWORD
from tests.cortex_backend.real_process import Connection, ServedBackend, served_backend
from tests.cortex_chain.relay import Relay
from tests.cortex_cli.git_sandbox import commit_file, git, git_environment_for_tests
from tests.cortex_cli.git_server import PASSWORD as GIT_PASSWORD
from tests.cortex_cli.git_server import USER_NAME, serving_git
from tests.cortex_cli.stub_server import running
from tests.tool_client import Era

__all__ = ["CTX", "PATIENCE", "SEED_SERVER", "SERVER", "Deployment", "Developer", "ask", "open_deployment"]

PATIENCE: Final = 120.0
"""Seconds that a command may take on a slow machine."""

_SCRIPTS: Final = Path(sys.executable).parent

CTX: Final = str(shutil.which("ctx", path=_SCRIPTS))
"""The command as it is installed."""

SERVER: Final = (str(shutil.which("cortex-mcp", path=_SCRIPTS)),)
"""The command that a client starts."""

SEED_SERVER: Final = (sys.executable, str(Path(str(cortex_mcp.__file__)).with_name("server.py")))
"""The command of the design document's configuration."""

PEOPLE: Final = ("ada", "bob")
"""Who works here; the first owns the project."""


class Deployment:
    """A backend, the remote of its project, and the folder in which people work."""

    def __init__(self, folder: Path, backend: ServedBackend, relay: Relay, remotes: str) -> None:
        self.folder = folder
        self.relay = relay
        self.numbers = count(1)
        self.remote = folder / "remotes" / "web.git"
        self.remote_url = f"{remotes}/web.git"
        self.owner: Connection = backend.log_in(PEOPLE[0])
        self._lay_out_remote()
        project = {"name": "Web", "repository_url": self.remote_url}
        self.project: int = self._create("/projects/", project)["id"]
        body = {"email": f"{PEOPLE[1]}@example.com", "role": "member"}
        invitation = self._create(f"/projects/{self.project}/members", body)
        status, answer = backend.log_in(PEOPLE[1]).send("POST", f"/invitations/{invitation['id']}/accept")
        assert status == 201, answer

    def clear(self) -> None:
        """Take every task from whoever has it, and stop what an earlier test did to requests."""
        self.relay.before = lambda _asked: None
        self.relay.lost.clear()
        for user in range(1, len(PEOPLE) + 1):
            status, page = self.owner.send("GET", f"/tasks/?assignee={user}&limit=100")
            assert (status, page["next_cursor"]) == (200, None)
            for task in page["tasks"]:
                assert self.owner.send("PATCH", f"/tasks/{task['id']}", {"assignee_id": None})[0] == 200
        self.relay.asked.clear()

    def new_task(self, title: str, **fields: object) -> dict[str, Any]:
        """Create a task that nobody has, and return it."""
        return self._create("/tasks/", {"project_id": self.project, "title": title, **fields})

    def task(self, task_id: int) -> dict[str, Any]:
        """Return a task as the backend has it."""
        status, task = self.owner.send("GET", f"/tasks/{task_id}")
        assert status == 200, task
        return cast("dict[str, Any]", task)

    def kinds(self, task_id: int) -> list[str]:
        """Return the kinds of everything that happened to a task, oldest first."""
        status, page = self.owner.send("GET", f"/tasks/{task_id}/events?limit=100")
        assert status == 200, page
        return [event["kind"] for event in page["events"]]

    def add_developer(self, name: str) -> Developer:
        """Return a developer, who is logged in."""
        developer = Developer(self, name)
        developer.log_in()
        return developer

    def merge(self, branch: str) -> None:
        """Merge a branch at the remote, as a person does on the page of a forge: as one commit."""
        other = self.folder / "forge"
        git(other, "fetch", "--quiet")
        git(other, "checkout", "--quiet", "-B", "main", "origin/main")
        git(other, "merge", "--quiet", "--squash", f"origin/{branch}")
        git(other, "commit", "--quiet", "-m", "Squashed")
        git(other, "push", "--quiet", "origin", "main")

    def at_remote(self, *arguments: str) -> str:
        """Run git in the remote."""
        return git(self.remote, *arguments)

    def _create(self, path: str, body: object) -> dict[str, Any]:
        status, created = self.owner.send("POST", path, body)
        assert status == 201, created
        return cast("dict[str, Any]", created)

    def _lay_out_remote(self) -> None:
        other = self.folder / "forge"
        git(self.folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.remote))
        git(self.folder, "init", "--quiet", "--initial-branch=main", str(other))
        git(other, "remote", "add", "origin", str(self.remote))
        commit_file(other, "README", "Hello\n", "Begin")
        git(other, "push", "--quiet", "origin", "main")


class Developer:
    """A folder of somebody's own: a clone, git's store of passwords, the settings of ``ctx``, an AI client."""

    def __init__(self, deployment: Deployment, name: str) -> None:
        self.deployment = deployment
        self.name = name
        self.home = deployment.folder / f"{name}-{next(deployment.numbers)}"
        self.home.mkdir()
        self.here = self.home / "clone"
        settings = {"XDG_CONFIG_HOME": str(self.home / ".config"), "CORTEX_REPO": str(self.here)}
        patient = {"CORTEX_LIST_TIMEOUT": "600", "CORTEX_GIT_TIMEOUT": "600"}
        self.environment = {**git_environment_for_tests(self.home), **settings, **patient}
        self._clone()

    @property
    def credentials(self) -> Path:
        """The file with the login of ``ctx``."""
        return self.home / ".config" / "cortex" / "credentials.json"

    @property
    def branch(self) -> str:
        """The current branch of the clone."""
        return self.git("symbolic-ref", "--short", "HEAD")

    def git(self, *arguments: str) -> str:
        """Run git in the clone."""
        return git(self.here, *arguments, environment=self.environment)

    def log_in(self) -> None:
        """Log in as a person does who has no keyring."""
        options = (f"--url={self.deployment.relay.origin}", f"--email={self.name}@example.com", "--insecure-storage")
        answer = self.ctx("auth", "login", *options, "--password-stdin", stdin=PASSWORD)
        assert answer["success"], answer

    def begin(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start ``ctx`` in the clone."""
        return subprocess.Popen(
            [CTX, *arguments],
            cwd=self.here,
            env={**self.environment, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )

    def ctx(self, *arguments: str, stdin: str = "") -> dict[str, Any]:
        """Run ``ctx`` to its end, and return its one line of JSON."""
        with self.begin(*arguments, "--json") as process:
            out, err = process.communicate(stdin, timeout=PATIENCE)
        assert err == ""
        (line,) = out.splitlines()
        answer: dict[str, Any] = json.loads(line)
        return answer

    @asynccontextmanager
    async def client(
        self, command: tuple[str, ...] = SERVER, mode: Era = "auto", **environment: str
    ) -> AsyncIterator[Client]:
        """Yield an MCP client that has started cortex-mcp."""
        settings = {**self.environment, **environment}
        server = StdioServerParameters(command=command[0], args=[*command[1:]], env=settings)
        async with Client(server, mode=mode) as client:
            yield client

    def _clone(self) -> None:
        url = urlsplit(self.deployment.remote_url)
        stored = self.home / "git-passwords"
        stored.write_text(f"{url.scheme}://{USER_NAME}:{quote(GIT_PASSWORD)}@{url.netloc}\n", "utf-8")
        helper = f"credential.helper=store --file={stored}"
        clone = ("clone", "--quiet", f"--config={helper}", self.deployment.remote_url, str(self.here))
        git(self.home, *clone, environment=self.environment)


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - what the tool takes
    """Call a tool and return its answer, which is the same as JSON in the text, or an error with its code there."""
    result = await client.call_tool(tool, arguments)
    (part,) = result.content
    assert isinstance(part, TextContent)
    content: dict[str, Any] = result.structured_content
    assert bool(result.is_error) == (content["success"] is False)
    assert json.loads(part.text) == content
    return content


@contextmanager
def open_deployment(folder: Path, url: str) -> Iterator[Deployment]:
    """Yield a deployment over an empty database."""
    (folder / "remotes").mkdir()
    with closing(CortexDatabase(url)) as database:
        database.migrate()
        accounts = Accounts(database, Passwords(CHEAP), utc_now)
        for name in PEOPLE:
            accounts.add(f"{name}@example.com", name.title(), PASSWORD)
    with (
        served_backend(url) as backend,
        running(lambda origin: Relay(origin, backend.address)) as relay,
        serving_git(folder / "remotes") as remotes,
    ):
        yield Deployment(folder, backend, cast("Relay", relay), remotes)

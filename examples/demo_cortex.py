"""The Cortex part of the demo: a backend, a user, a repository with a remote, and an agent that does a task."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from demo_session import Session, fetch, narrate, session

__all__ = ["show_cortex"]

_STEPS: Final = 6
"""How many steps this part has."""

_COMMAND: Final = 32
"""Columns of the name of a command."""

_EMAIL: Final = "ada@example.com"
_IDENTITY: Final = (("NAME", "Ada"), ("EMAIL", _EMAIL))
_STARTED: Final = "cortex-backend serves on "
_MODULES: Final = {"ctx": "cortex_cli", "cortex-backend": "cortex_backend"}

_BUGGY: Final = "def is_known(name: str) -> bool:\n    return True\n"
_FIXED: Final = "def is_known(name: str) -> bool:\n    return name in {'ada', 'bob'}\n"


class _Stage:
    """A folder with everything that this part makes, and the commands that it runs there and shows."""

    def __init__(self, console: Console, folder: Path) -> None:
        self.console = console
        self.repository = folder / "web"
        self.remote = folder / "remote" / "web.git"
        self.forge = folder / "forge"
        self.remote.parent.mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
        identity = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _IDENTITY}
        self.environment = {
            **kept,
            **identity,
            "HOME": str(folder),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "CTX_CONFIG_DIR": str(folder / "ctx"),
            "CORTEX_DATABASE_URL": f"sqlite:///{folder / 'cortex.db'}",
            "CORTEX_REPO": str(self.repository),
        }
        self._numbers = count(1)

    def begin_step(self, title: str) -> None:
        """Say which step comes now."""
        narrate(self.console, f"[{next(self._numbers)}/{_STEPS}] {title}")

    def run(self, *command: str, directory: Path | None = None, stdin: str = "") -> None:
        """Run a command, and show it with the first line of what it says; stop the demo if it fails."""
        with self.console.status(f"{command[0]} is at work"):
            done = subprocess.run(
                _argv(command),
                cwd=directory or self.repository,
                env=self.environment,
                input=stdin,
                capture_output=True,
                check=False,
                encoding="utf-8",
            )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} ended with exit code {done.returncode}: {done.stderr}")
        self.show(command, *done.stdout.splitlines()[:1])

    def show(self, command: Sequence[str], *said: str) -> None:
        """Show each line that a command said behind its name; one that said nothing is not shown."""
        name = Text(f"  $ {' '.join(command[:3])}".ljust(_COMMAND), "bold")
        for line in said:
            self.console.print(Text.assemble(name, line), no_wrap=True, overflow="ellipsis")

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Run the backend and yield its address."""
        command = ("cortex-backend", "serve", "--port", "0")
        with subprocess.Popen(
            _argv(command), stdout=subprocess.PIPE, env=self.environment, encoding="utf-8"
        ) as process:
            assert process.stdout  # noqa: S101 - it is a pipe
            try:
                line = process.stdout.readline().strip()
                if not line.startswith(_STARTED):
                    raise SystemExit("the backend did not start")
                self.show(command, line)
                yield line.removeprefix(_STARTED)
            finally:
                process.terminate()


def _argv(command: Sequence[str]) -> list[str]:
    name, *rest = command
    return [sys.executable, "-m", _MODULES[name], *rest] if name in _MODULES else [*command]


def _lay_out_repository(stage: _Stage) -> None:
    folder = stage.remote.parent
    stage.run("git", "init", "--quiet", "--bare", "--initial-branch=main", "web.git", directory=folder)
    stage.run("git", "clone", "--quiet", "remote/web.git", "web", directory=folder.parent)
    (stage.repository / "login.py").write_text(_BUGGY, "utf-8")
    stage.run("git", "add", "login.py")
    stage.run("git", "commit", "--quiet", "-m", "Add the login")
    stage.run("git", "push", "--quiet", "--set-upstream", "origin", "HEAD:main")
    stage.run("git", "clone", "--quiet", "remote/web.git", "forge", directory=folder.parent)


def _merge(stage: _Stage, branch: str) -> None:
    stage.run("git", "fetch", "--quiet", directory=stage.forge)
    stage.run("git", "merge", "--quiet", "--no-ff", "-m", "Merge the fix", f"origin/{branch}", directory=stage.forge)
    stage.run("git", "push", "--quiet", "origin", "main", directory=stage.forge)


async def _do_the_task(stage: _Stage, agent: Session) -> None:
    """Do what an agent does: look, start, change files, submit, and complete once a person has merged it."""
    await agent.call("list_tasks", "", ["tasks"])
    started = await agent.call("start_task", "1", ["branch"], task_id=1)
    (stage.repository / "login.py").write_text(_FIXED, "utf-8")
    await agent.call("get_task_status", "after a change of login.py", ["next"])
    message = "Refuse users whom nobody knows"
    await agent.call("submit_pr", message, ["status"], commit_message=message)
    await agent.call("complete_task", "", ["status"])
    stage.begin_step("A person reviews the branch and merges it, which the agent cannot")
    _merge(stage, str(fetch(started, "branch")))
    stage.begin_step("The agent completes the task")
    await agent.call("complete_task", "", ["status"])
    stage.run("git", "log", "--oneline", "-1", "--format=%s")


async def show_cortex(console: Console, folder: Path, _: Path) -> None:
    """Run the Cortex part: everything that it starts or makes is in a folder of its own."""
    if shutil.which("git") is None:
        narrate(console, "This part needs git, which is not installed.")
        return
    place = folder / "cortex"
    place.mkdir()
    stage, password = _Stage(console, place), secrets.token_urlsafe()
    stage.begin_step("The backend, with one user")
    stage.run(
        "cortex-backend", "user", "add", _EMAIL, "--name=Ada", "--password-stdin", directory=place, stdin=password
    )
    with stage.serving() as url:
        stage.begin_step("A repository with a bare remote")
        _lay_out_repository(stage)
        stage.begin_step("The user logs in, and makes a project and a task")
        login = (f"--url={url}", f"--email={_EMAIL}", "--password-stdin", "--insecure-storage")
        stage.run("ctx", "auth", "login", *login, stdin=password)
        stage.run("ctx", "projects", "new", "Web", "--default-branch=main")
        stage.run("ctx", "tasks", "new", "Fix the login", "--project=Web", "--type=bug", "--assignee=me")
        stage.begin_step("An agent works on the task through cortex-mcp")
        async with session("cortex_mcp", stage.environment, console) as agent:
            await _do_the_task(stage, agent)

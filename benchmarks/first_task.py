"""Time the steps of a new user with each server: ``hatch run first-task [--write]``.

Each server begins with an empty home, so nothing is cached, and with files of all clients. The lines are those of the
documents. Claude Code must be on ``PATH``; a script is its model. ``--write`` puts the tables into
``benchmarks/first_task.md``, and the time to the first task into the README.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urljoin
from urllib.request import HTTPCookieProcessor, build_opener

from benchmarks.pages import facts, fill, table
from examples.clients.scripted_model import serve_model
from examples.clients.try_clients import PROGRAMS
from mcp_client_install.clients import CLIENTS, UserFolders
from tests.servers import SERVERS, ServerRecord

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "benchmarks" / "first_task.md"
CLIENT: Final = "claude-code"
TEXTS: Final = ("Call the dentist about Thursday", "Write the release notes")
FIRST_TASK: Final = "first task, in Claude Code"

INSTALL: Final = 'uv tool install "git+URL#subdirectory=packages/{server}"'
"""The line of the documents that installs a server from the address of the repository."""

INSTALL_BOARD: Final = (
    'uv tool install "git+URL#subdirectory=packages/task-board" '
    '--with "git+URL#subdirectory=packages/{server}"'
)  # fmt: skip
"""The line of the documents that installs the board with a server."""


class Step(NamedTuple):
    """One step of a new user, and its time."""

    what: str
    command: str
    seconds: float


class Newcomer:
    """A person with a new home, two projects, files of all clients, and this machine's ``PATH`` and package index."""

    def __init__(self, home: Path, server: ServerRecord) -> None:
        self.server = server
        self.projects = (home / "project", home / "second")
        self.url = f"git+{(home / 'mcp-task-servers.git').as_uri()}"
        kept = ("UV_INDEX", "UV_DEFAULT", "PIP_", "LANG", "SSL_CERT_FILE", "PATH")
        self.environment = {name: value for name, value in os.environ.items() if name.startswith(kept)}
        files = {"PIP_CONFIG_FILE": "~/.config/pip/pip.conf", "UV_CONFIG_FILE": "~/.config/uv/uv.toml"}
        found = {name: Path(path).expanduser() for name, path in files.items()}
        self.environment |= {name: str(path) for name, path in found.items() if path.is_file()}
        self.environment |= {"HOME": str(home), "PATH": f"{home}/.local/bin{os.pathsep}{os.environ['PATH']}"}
        for project in self.projects:
            (project / ".git").mkdir(parents=True)
        folders = UserFolders({}, home, self.projects[0], "linux")
        for file in (file for client in CLIENTS.values() for file in client.files("user", folders)):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text('model = "mine"\n' if file.suffix == ".toml" else '{"theme":   "dark"}\n', "utf-8")
        self.take("git", "clone", "--quiet", "--bare", str(ROOT), str(home / "mcp-task-servers.git"))

    def take(self, *command: str, project: int = 0, **more: str) -> tuple[float, str]:
        """Run a command in a project, and return its seconds and its output.

        Raises:
            SystemExit: it failed.
        """
        started = time.perf_counter()
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        environment, folder = {**self.environment, **more}, self.projects[project]
        done = subprocess.run(command, cwd=folder, env=environment, check=False, text=True, timeout=600, **pipes)
        seconds = time.perf_counter() - started
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stdout}")
        return seconds, done.stdout

    def install(self, line: str) -> float:
        """Run a line of the documents with the address of the repository, and return its seconds."""
        filled = line.format(server=self.server.command).replace("URL", self.url.removeprefix("git+"))
        return self.take("sh", "-c", filled)[0]

    def ask(self, text: str, project: int = 0) -> float:
        """Let the client create a task, and return its seconds."""
        program = PROGRAMS[CLIENT]
        begin = {"initialize_project": {}} if self.server.name == "taskmaster" else {}
        with serve_model({**begin, self.server.create: {self.server.text: text}}) as model:
            more = {name: value.replace("{url}", model.url) for name, value in program.variables.items()}
            return self.take(program.command, *program.arguments, project=project, **more)[0]

    def expect(self, text: str, *, is_shown: bool, project: int = 0) -> float:
        """List the tasks, and return the seconds.

        Raises:
            SystemExit: the list has the text although it should not, or has it not.
        """
        seconds, shown = self.take(self.server.command, "list", project=project)
        if (text in shown) is not is_shown:
            raise SystemExit(f"{self.server.command} list shows the wrong tasks:\n{shown}")
        return seconds

    def open_board(self, text: str) -> float:
        """Start the board, open its link as a browser does, and return the seconds until the page shows the text."""
        started = time.perf_counter()
        command, folder = ("task-board", "--no-browser"), self.projects[0]
        board = subprocess.Popen(command, cwd=folder, env=self.environment, stdout=subprocess.PIPE, text=True)
        try:
            link = board.stdout.readline().split()[-1] if board.stdout else ""
            browser = build_opener(HTTPCookieProcessor(CookieJar()))
            (path,) = re.findall(r'content="0;url=([^"]+)"', browser.open(link).read().decode())
            if text not in browser.open(urljoin(link, path)).read().decode():
                raise SystemExit("The board does not show the task.")
            return time.perf_counter() - started
        finally:
            board.terminate()
            board.communicate()


def _steps(who: Newcomer) -> Iterator[Step]:
    """Take each step in turn, and yield its time."""
    command = who.server.command
    configure = (command, "install", "--scope", "project", "--yes")
    yield Step("install", INSTALL, who.install(INSTALL))
    yield Step("add it to all clients", "{server} install", who.take(*configure)[0])
    yield Step(FIRST_TASK, "claude …", who.ask(TEXTS[0]))
    yield Step("see it without a model", "{server} list", who.expect(TEXTS[0], is_shown=True))
    yield Step("install the board", INSTALL_BOARD, who.install(INSTALL_BOARD))
    yield Step("open the board", "task-board", who.open_board(TEXTS[0]))
    yield Step("undo", "undo", who.take(command, "undo", "--yes")[0])
    who.expect(TEXTS[0], is_shown=False)
    seconds = who.take(*configure, project=1)[0] + who.ask(TEXTS[1], project=1)
    yield Step("a task in a second project", "{server} install", seconds)
    who.expect(TEXTS[1], is_shown=True, project=1)
    who.expect(TEXTS[1], is_shown=False)
    seconds = sum(who.take(command, "uninstall", "--yes", project=number)[0] for number in (0, 1))
    yield Step("take it out of all clients", "{server} uninstall", seconds)
    remove = who.take("uv", "tool", "uninstall", command, "mcp-task-board")[0]
    yield Step("remove the programs", "uv tool uninstall {server} mcp-task-board", remove)


def render(runs: Mapping[str, Sequence[Step]]) -> dict[str, str]:
    """Return the tables of the page for the steps of each server: their times, and the commands of the first one."""
    names, columns = [*runs], [*zip(*runs.values(), strict=True)]

    def row(what: str, seconds: Sequence[float], mark: str = "") -> list[str]:
        return [f"{mark}{what}{mark}", *(f"{mark}{one:.1f} s{mark}" for one in seconds)]

    rows = [
        *(row(column[0].what, [step.seconds for step in column]) for column in columns),
        row("all", [sum(step.seconds for step in steps) for steps in runs.values()], "**"),
        row("to the first task", [_until_first_task(steps) for steps in runs.values()], "**"),
    ]
    commands = [(column[0].what, f"`{column[0].command.format(server=names[0])}`") for column in columns]
    return {"times": table(["step", *names], rows, "---:"), "commands": table(["step", "command"], commands)}


def _until_first_task(steps: Sequence[Step]) -> float:
    last = next(place for place, step in enumerate(steps) if step.what == FIRST_TASK)
    return sum(step.seconds for step in steps[: last + 1])


def main() -> None:
    """Time the steps, show them, and write the page if asked to."""
    runs: dict[str, list[Step]] = {}
    for server in SERVERS:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            runs[server.command] = [*_steps(Newcomer(Path(name).resolve(), server))]
    load = f"{os.getloadavg()[2]:.0f} programs at a time wanted a processor"
    parts = {"facts": facts("python3 hatchw run first-task --write", "mcp", client=CLIENT, load=load), **render(runs)}
    print(*parts.values(), sep="\n\n")
    if "--write" in sys.argv[1:]:
        fill(PAGE, **parts)
        seconds, readme = f"took {_until_first_task(runs['heartbeat-mcp']):.0f} seconds", ROOT / "README.md"
        readme.write_text(re.sub(r"took \d+ seconds", seconds, readme.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

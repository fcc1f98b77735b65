"""Time the steps of a new user, from a fresh clone to the first task in a client: ``hatch run first-task [--write]``.

Everything happens in a temporary folder with an empty home, so nothing is cached. The lines are those of the README.
Claude Code must be on ``PATH``; it asks a scripted model. ``--write`` puts the table into ``benchmarks/first_task.md``,
and its sum into the README.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from examples.clients.scripted_model import serve_model
from examples.clients.try_clients import PROGRAMS

__all__ = ["INSTALL", "PAGE", "Step", "main", "render"]

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "benchmarks" / "first_task.md"
CLIENT: Final = "claude-code"
TEXT: Final = "Call the dentist about Thursday"

INSTALL: Final = "uv tool install ./packages/heartbeat-mcp"
"""The line of the README that installs the server."""


class Step(NamedTuple):
    """One step of a new user: how long it took, and how long its floor did."""

    what: str
    command: str
    seconds: float
    floor: float | None = None


class Newcomer:
    """A person with an empty home, a folder for a project, and this machine's ``PATH`` and package index."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.checkout = self.home / "mcp-task-servers"
        self.project = self.home / "project"
        (self.project / ".git").mkdir(parents=True)
        kept = ("UV_INDEX", "UV_DEFAULT", "PIP_", "LANG", "SSL_CERT_FILE", "PATH")
        self.environment = {name: value for name, value in os.environ.items() if name.startswith(kept)}
        files = {"PIP_CONFIG_FILE": "~/.config/pip/pip.conf", "UV_CONFIG_FILE": "~/.config/uv/uv.toml"}
        found = {name: Path(path).expanduser() for name, path in files.items()}
        self.environment |= {name: str(path) for name, path in found.items() if path.is_file()}
        self.environment["HOME"] = str(self.home)

    def take(self, *command: str, folder: Path, **more: str) -> tuple[float, str]:
        """Run a command and return its seconds and its output.

        Raises:
            SystemExit: it failed.
        """
        started = time.perf_counter()
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        environment = {**self.environment, **more}
        done = subprocess.run(command, cwd=folder, env=environment, check=False, text=True, timeout=600, **pipes)
        seconds = time.perf_counter() - started
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stdout}")
        return seconds, done.stdout


def _steps(who: Newcomer) -> Iterator[Step]:
    """Take each step in turn, and yield its time."""
    command = ("git", "clone", "--quiet", str(ROOT), str(who.checkout))
    yield Step("clone", "git clone …", who.take(*command, folder=who.home)[0])
    bare = who.home / "bare"
    bare.mkdir()
    floor, _ = who.take("uv", "tool", "install", f"mcp=={version('mcp')}", folder=bare, HOME=str(bare))
    yield Step("install", INSTALL, who.take(*INSTALL.split(), folder=who.checkout)[0], floor)
    who.environment["PATH"] = f"{who.home}/.local/bin{os.pathsep}{who.environment['PATH']}"
    configure = ("heartbeat-mcp", "install", CLIENT, "--yes")
    yield Step("configure a client", " ".join(configure), who.take(*configure, folder=who.project)[0])
    program = PROGRAMS[CLIENT]
    with serve_model({"task_create": {"raw_user_request": TEXT}}) as model:
        more = {name: value.replace("{url}", model.url) for name, value in program.variables.items()}
        arguments = [word for word in program.arguments if word not in {"--mcp-config", ".mcp.json"}]
        seconds, _ = who.take(program.command, *arguments, folder=who.project, **more)
    yield Step(f"first task, in {CLIENT}", f"{program.command} …", seconds)
    seconds, shown = who.take("heartbeat-mcp", "list", folder=who.project)
    if TEXT not in shown:
        raise SystemExit(f"heartbeat-mcp list does not show the task:\n{shown}")
    yield Step("see it without a model", "heartbeat-mcp list", seconds)


def render(steps: Sequence[Step], facts: Mapping[str, str]) -> str:
    """Return the page."""
    floors = [f"{step.seconds / step.floor:.2f}" if step.floor else "–" for step in steps]
    rows = [
        f"| {step.what} | `{step.command}` | {step.seconds:.1f} s | {floor} |"
        for step, floor in zip(steps, floors, strict=True)
    ]
    lines = [
        "# From a clone to the first task",
        "",
        "What a new user does, in an empty home, so that nothing is cached. `python3 hatchw run first-task --write`",
        "wrote this page. The floor is the same installation of the SDK (`mcp`) alone. Downloads take most of",
        "the installation, so your time depends on your network. A scripted model leads the client: a real one also",
        "thinks.",
        "",
        *("| this run | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in facts.items())),
        "",
        *("| step | command | time | of the floor |", "| --- | --- | ---: | ---: |", *rows),
        f"| **all** | | **{sum(step.seconds for step in steps):.1f} s** | |",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Time the steps, show them, and write the page if asked to."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        steps = [*_steps(Newcomer(Path(name).resolve()))]
    facts = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "Python": platform.python_version(), "mcp": version("mcp")}
    system = f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores"
    text = render(steps, {**facts, "client": CLIENT, "system": system})
    print(text)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(text, "utf-8")
        seconds, readme = f"took {sum(step.seconds for step in steps):.0f} seconds", ROOT / "README.md"
        readme.write_text(re.sub(r"took \d+ seconds", seconds, readme.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

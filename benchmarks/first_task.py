"""Time what a new user does, from a fresh clone to the first task in a client: ``hatch run first-task``.

Everything happens in a temporary folder with an empty home, so nothing is cached; only the package index is the one
that this machine uses. The lines are those of the README. The client must be on ``PATH``; it asks a scripted model.
``--write`` puts the table into ``benchmarks/first_task.md``, and its sum into the README.
"""

import argparse
import json
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

__all__ = ["INSTALL", "PAGE", "Newcomer", "Step", "main", "render", "run"]

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "benchmarks" / "first_task.md"
README: Final = ROOT / "README.md"
SECONDS: Final = 600
"""Seconds that one step may take."""

TEXT: Final = "Call the dentist about Thursday"

INSTALL: Final = (
    "uv tool install ./packages/heartbeat-mcp --with ./packages/task-core --with ./packages/mcp-client-install"
)
"""The line of the README that installs the server."""

_FLOOR: Final = f"uv tool install mcp=={version('mcp')}"
"""The same for the SDK alone."""


class Step(NamedTuple):
    """One thing that a newcomer does, how long it took, and how long its floor did."""

    what: str
    command: str
    seconds: float
    floor: float | None = None


class Newcomer:
    """A person with an empty home, a folder for a project, and what this machine has on its ``PATH``."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.checkout = self.home / "mcp-task-servers"
        self.project = self.home / "project"
        (self.project / ".git").mkdir(parents=True)
        kept = {
            name: value for name, value in os.environ.items() if name.startswith(("UV_INDEX", "UV_DEFAULT", "PIP_"))
        }
        self.environment = {**kept, **_network_settings(), "HOME": str(self.home), "PATH": os.environ["PATH"]}
        self.environment |= {name: os.environ[name] for name in ("LANG", "SSL_CERT_FILE") if name in os.environ}

    def take(self, *command: str, folder: Path, **more: str) -> tuple[float, str]:
        """Run a command and return its seconds and what it printed.

        Raises:
            SystemExit: it failed.
        """
        started = time.perf_counter()
        done = subprocess.run(
            command,
            cwd=folder,
            env={**self.environment, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            encoding="utf-8",
            timeout=SECONDS,
        )
        seconds = time.perf_counter() - started
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stdout}")
        return seconds, done.stdout


def _network_settings() -> dict[str, str]:
    """Return the variables that lead uv, and the pip in its builds, to the package index of this machine."""
    files = {"PIP_CONFIG_FILE": "~/.config/pip/pip.conf", "UV_CONFIG_FILE": "~/.config/uv/uv.toml"}
    found = {name: Path(path).expanduser() for name, path in files.items()}
    return {name: str(path) for name, path in found.items() if path.is_file()}


def run(who: Newcomer, client: str) -> Iterator[Step]:
    """Do and time each step in turn."""
    command = ("git", "clone", "--quiet", str(ROOT), str(who.checkout))
    yield Step("clone", "git clone …", who.take(*command, folder=who.home)[0])
    bare = who.home / "bare"
    bare.mkdir()
    floor, _ = who.take(*_FLOOR.split(), folder=bare, HOME=str(bare))
    seconds, _ = who.take(*INSTALL.split(), folder=who.checkout)
    yield Step("install", INSTALL, seconds, floor)
    who.environment["PATH"] = f"{who.home}/.local/bin{os.pathsep}{who.environment['PATH']}"
    configure = ("heartbeat-mcp", "install", client, "--yes")
    yield Step("configure a client", " ".join(configure), who.take(*configure, folder=who.project)[0])
    yield Step(f"first task, in {client}", f"{PROGRAMS[client].command} …", _ask(who, client))
    seconds, shown = who.take("heartbeat-mcp", "list", folder=who.project)
    if TEXT not in shown:
        raise SystemExit(f"heartbeat-mcp list does not show the task:\n{shown}")
    yield Step("see it without a model", "heartbeat-mcp list", seconds)


def _ask(who: Newcomer, client: str) -> float:
    """Let a client create the task, led by a scripted model, and return its seconds."""
    program = PROGRAMS[client]
    with serve_model({"task_create": {"raw_user_request": TEXT}}) as model:
        _merge(who.home / program.file, program.settings.replace("{url}", model.url))
        more = {name: value.replace("{url}", model.url) for name, value in program.variables.items()}
        arguments = [word for word in program.arguments if word not in {"--mcp-config", ".mcp.json"}]
        return who.take(program.command, *arguments, folder=who.project, **more)[0]


def _merge(path: Path, settings: str) -> None:
    """Add what leads a client to the model to the file in which it has its servers."""
    if settings == "{}":
        return
    if path.suffix == ".toml":
        path.write_text(settings + path.read_text("utf-8"), "utf-8")
    else:
        path.write_text(json.dumps(json.loads(settings) | json.loads(path.read_text("utf-8"))), "utf-8")


def render(steps: Sequence[Step], facts: Mapping[str, str]) -> str:
    """Return the page."""
    total = sum(step.seconds for step in steps)
    rows = [f"| {step.what} | `{step.command}` | {step.seconds:.1f} s | {_floor(step)} |" for step in steps]
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
        f"| **all** | | **{total:.1f} s** | |",
    ]
    return "\n".join(lines) + "\n"


def _floor(step: Step) -> str:
    return "–" if step.floor is None else f"{step.seconds / step.floor:.2f}"


def _facts(client: str) -> dict[str, str]:
    found = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "Python": platform.python_version(), "mcp": version("mcp")}
    return {**found, "client": client, "system": f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores"}


def main() -> None:
    """Time the steps, show them, and write the page if asked to."""
    parser = argparse.ArgumentParser(prog="hatch run first-task", description=__doc__)
    parser.add_argument("--client", choices=PROGRAMS, default="claude-code", help="default: %(default)s")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)} and the README")
    options = parser.parse_args()
    steps: list[Step] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        for step in run(Newcomer(Path(name).resolve()), options.client):
            print(f"{step.what}: {step.seconds:.1f} s", file=sys.stderr, flush=True)
            steps.append(step)
    text = render(steps, _facts(options.client))
    print(text)
    if options.write:
        PAGE.write_text(text, "utf-8")
        seconds = f"took {sum(step.seconds for step in steps):.0f} seconds"
        README.write_text(re.sub(r"took \d+ seconds", seconds, README.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

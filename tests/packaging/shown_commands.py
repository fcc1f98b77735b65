"""The commands that the documents show: what each is checked for, and why those that are not run are not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from examples.hosted.layout import Layout
from tests.packaging.documents import Command
from tests.packaging.projects import PROJECTS, ROOT
from tests.packaging.servers import COMMANDS, PLACES, at_home, installed, variables
from tests.postgres import shared_server, store_url, what_postgres_lacks
from tests.servers import PROGRAMS

__all__ = ["check_command", "is_run"]

PATIENCE: Final = 120.0
"""Seconds for a command to end; only a broken one takes so long."""


def check_command(command: Command, folder: Path) -> None:
    """Run a command of a server in ``folder``; look at what any other one names, as ``_LOOKED_AT`` says."""
    if Path(command.words[0]).name in COMMANDS and not _asks(command):
        _run_server(command, folder)
        return
    matching = [look for pattern, look, _ in _LOOKED_AT if re.match(pattern, " ".join(command.words))]
    assert len(matching) == 1, f"nobody knows how to check: {' '.join(command.words)}"
    matching[0](command)


def is_run(command: Command) -> bool:
    """Return whether a command is one of a server, which is run wherever it is shown, and needs no database server."""
    database = command.environment.get("TASK_STORE", "").startswith("postgresql:")
    return Path(command.words[0]).name in COMMANDS and not database and not _asks(command)


def _asks(command: Command) -> bool:
    """Return whether it asks a person, or goes on until a person ends it."""
    return command.words[1:2] in (["install"], ["uninstall"], ["watch"]) and "--yes" not in command.words


def _run_server(command: Command, folder: Path) -> None:
    """Run it with an input that has ended; a server then ends too."""
    name, *options = command.words
    assert command.environment.keys() <= variables(Path(name).name)
    environment = dict(command.environment)
    if environment.get("TASK_STORE", "").startswith("postgresql:"):
        if what_postgres_lacks():
            return  # which the tests of the stores report
        store_url()  # makes the role that the command names
        environment["TASK_STORE"] = shared_server().store_url("postgres", shared_server().new_database())
    record = next(record for record in PROGRAMS if record.command == Path(name).name)
    (project := folder / "project").mkdir(exist_ok=True)
    (project / "HEARTBEAT.md").touch()  # as in the project whose folder the reader is in
    done = subprocess.run(
        [installed(name), *options],
        cwd=project,
        env=at_home(folder, **{**record.lay_out(folder), **environment}),
        input="",
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _look_at_hatch(command: Command) -> None:
    """The subcommand is known, and so is the script that it runs or the folder that it tests."""
    action, *rest = command.words[command.words.index("hatchw" if "hatchw" in command.words else "hatch") + 1 :]
    assert action in {"run", "test", "check", "env", "build", "…"}
    if action == "run":
        environment, _, script = rest[0].rpartition(":")
        environments = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["envs"]
        assert script in {*environments[environment or "default"]["scripts"], *COMMANDS, "…"}
    if action == "test":
        assert [word for word in rest if "/" in word and not (ROOT / word).exists()] == []


def _look_at_script(command: Command) -> None:
    """The script is there."""
    assert (ROOT / command.words[1]).is_file()


def _look_at_module(command: Command) -> None:
    """The module is there."""
    assert (ROOT / command.words[2].replace(".", "/")).with_suffix(".py").is_file()


def _look_at_install(command: Command) -> None:
    """Each thing to install is a package of the workspace, and the core comes along where it is needed."""
    packages = {project.folder for project in PROJECTS.values()}
    words = [re.sub(r"^git\+URL#subdirectory=|^\$PWD/", "", word) for word in command.words[2:]]
    places = [word for word in words if word not in {"install", "--with", "--preinstall"}]
    named = [re.fullmatch(r"(.*?)(?:\[(.*)\])?", word) for word in places]
    wanted = [(ROOT / name[1]).resolve() for name in named if name]
    extras = {(folder.name, name[2]) for name, folder in zip(named, wanted, strict=True) if name and name[2]}
    assert extras <= {(folder, extra) for folder, it in PROJECTS.items() for extra in it.table.optional_dependencies}
    alone = {ROOT / "packages" / name for name in ("cortex-backend", "cortex-cli")}
    is_complete = command.words[0] == "uv" or ROOT / "packages/task-core" in wanted or {*wanted} <= alone
    assert is_complete, "pip and pipx must be told of the core; uv finds it"
    assert [folder for folder in wanted if folder not in packages] == []


def _look_at_uninstall(command: Command) -> None:
    """It names a distribution of ours."""
    assert command.words[-1] in {project.table.name for project in PROJECTS.values()}


def _look_at_help(command: Command) -> None:
    """The command of a server has such a command."""
    help_command = [installed(command.words[0]), *command.words[1:], "--help"]
    subprocess.run(help_command, capture_output=True, check=True, timeout=PATIENCE)


def _look_at_installer(command: Command) -> None:
    """It has the options."""
    words = command.words[: command.words.index("--")] if "--" in command.words else command.words
    help_command = [sys.executable, "-m", "mcp_client_install", words[1], "--help"]
    done = subprocess.run(help_command, capture_output=True, check=True, encoding="utf-8", timeout=PATIENCE)
    assert [word for word in words if word.startswith("--") and word not in done.stdout] == []


def _look_at_board(command: Command) -> None:
    """It has the options."""
    text = _board_help()
    assert [word for word in command.words if word.startswith("--") and word not in text] == []


@cache
def _board_help() -> str:
    help_command = [sys.executable, "-m", "task_board", "--help"]
    done = subprocess.run(help_command, capture_output=True, check=True, encoding="utf-8", timeout=PATIENCE)
    return done.stdout


def _look_at_npm(command: Command) -> None:
    """Everything that it installs has one version."""
    packages = [word for word in command.words[2:] if "@" in word]
    assert packages
    assert [name for name in packages if not re.fullmatch(r"(@[\w-]+/)?[\w.-]+@\d+(\.\d+)+", name)] == []


def _look_at_backend(command: Command) -> None:
    """The command has its options, and help."""
    words = [word for word in command.words[1:] if not word.startswith("--")]
    help_command = [sys.executable, "-m", "cortex_backend", *words, "--help"]
    done = subprocess.run(help_command, capture_output=True, check=True, encoding="utf-8", timeout=PATIENCE)
    assert [word for word in command.words[1:] if word.startswith("--") and word not in done.stdout] == []


def _look_at_request(command: Command) -> None:
    """The backend has what it asks for."""
    description = json.loads((ROOT / "tests" / "cortex_backend" / "openapi.json").read_text("utf-8"))
    assert command.words[-1].removeprefix("http://127.0.0.1:8000") in description["paths"]


def _look_at_ctx(command: Command) -> None:
    """It has such a command."""
    arguments = [sys.executable, "-m", "cortex_cli", *command.words[1:], "--help"]
    subprocess.run(arguments, capture_output=True, check=True, timeout=PATIENCE)


def _look_at_venv(command: Command) -> None:
    """It makes the folder that the other commands find their programs in."""
    assert f"{command.words[3]}/bin/" in PLACES


def _look_at_client(command: Command) -> None:
    """Its last word is a server, and every setting in it is one of that server."""
    server = Path(installed(command.words[-1])).name
    settings = {word.partition("=")[0] for word in command.words if "=" in word}
    assert settings
    assert settings <= variables(server)


def _look_at_hosted_client(command: Command) -> None:
    """It leads to where the example serves."""
    assert Layout(ROOT).public_url in command.words


def _look_at_compose(command: Command) -> None:
    """The file is there, and every variable that is set before the command is one of its own."""
    text = (ROOT / command.words[command.words.index("--file") + 1]).read_text("utf-8")
    assert [name for name in command.environment if f"${{{name}:?" not in text] == []


_LOOKED_AT: Final[list[tuple[str, Callable[[Command], None], str]]] = [
    (r"(python3 )?hatchw |(uvx|pipx run) hatch ", _look_at_hatch, "it makes environments, and CI runs it"),
    (r"(bash|python3?) (?!hatchw|-m)\S+", _look_at_script, "it may take minutes, and CI runs it"),
    (r"python -m benchmarks\.", _look_at_module, "it takes minutes; a test runs a part of it"),
    (r"(\.venv/bin/)?pip install ", _look_at_install, "it fetches from an index: tests/docs/test_installs.py"),
    (r"(uv tool|pipx) uninstall ", _look_at_uninstall, "it removes programs of whoever runs this"),
    (r"(uv tool|pipx) install ", _look_at_install, "it fetches from an index: tests/docs/test_installs.py"),
    (r"(uv tool update-shell|pipx ensurepath)$", lambda _: None, "it changes the user's shell, and takes nothing"),
    (r"npm install --prefix ", _look_at_npm, "it fetches from an index, for a comparison by hand"),
    (
        r"\S+-mcp (install|uninstall|watch)( |$)",
        _look_at_help,
        "it asks a person, or runs until Ctrl+C; its own tests do both",
    ),
    (r"mcp-client-install ", _look_at_installer, "it changes the user's clients; its own tests do"),
    (r"task-board\b", _look_at_board, "it serves until a signal comes; its own tests use it"),
    (r"cortex-backend ", _look_at_backend, "it serves until a signal comes, or asks for a password"),
    (r"curl ", _look_at_request, "it needs a backend that serves"),
    (r"ctx ", _look_at_ctx, "it works on a repository and a server"),
    (r"python3 -m venv ", _look_at_venv, "it takes long, and is Python's own"),
    (r"claude mcp add --transport http ", _look_at_hosted_client, "it changes the user's client, if there is one"),
    (r"docker compose ", _look_at_compose, "it needs a registry of images; a test checks the file"),
    (r"(claude|codex|gemini) mcp add .*\S-mcp$", _look_at_client, "it changes the user's client, if there is one"),
]
"""Patterns of commands that are not run, how they are looked at instead, and why."""

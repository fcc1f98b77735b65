"""Try real clients with all servers: each lists the tools of every server and creates a task with it.

A client runs in an empty home, with the configurations beside this file, and asks a scripted model on this machine; a
Python library is used by a small program. Nothing needs the network, except ``--install``. What is not installed is
reported as NOT TESTED. What a client did is judged by the tasks that the servers kept.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NamedTuple

from examples.clients.library_programs import LIBRARIES, program
from examples.clients.scripted_model import serve_model
from tests.servers import SERVERS, ServerRecord

__all__ = ["PROGRAMS", "ClientProgram", "Trial", "main"]

FOLDER: Final = Path(__file__).resolve().parent
SECONDS: Final = 180
"""Seconds that one client may take."""

NAME: Final = "Paint the fence"
"""What each created task says."""


OURS: Final = re.compile(rf"(mcp_+)?({'|'.join(server.entry for server in SERVERS)})[-_]*\w+")
"""The names under which clients offer the tools of the servers to a model."""

ALLOWED: Final = ",".join(f"mcp__{server.entry}" for server in SERVERS)
"""The servers as Claude Code names them where it is to run their tools without asking."""


@dataclass(frozen=True)
class ClientProgram:
    """A program that a person starts: where it reads its settings, and how it is led to the scripted model.

    ``{url}`` is the address of the model; ``settings`` are written beside the servers, in the form of their file.
    """

    command: str
    file: str
    arguments: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: str = "{}"


PROGRAMS: Final = {
    "claude-code": ClientProgram(
        "claude",
        ".mcp.json",
        ("-p", "--mcp-config", ".mcp.json", "--allowedTools", ALLOWED, "--", NAME),
        {
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "MCP_CONNECTION_NONBLOCKING": "false",  # a script does not wait for servers by itself, as a model does
        },
    ),
    "codex": ClientProgram(
        "codex",
        ".codex/config.toml",
        ("exec", "--skip-git-repo-check", NAME),
        settings='model = "scripted"\nmodel_provider = "scripted"\n[model_providers.scripted]\n'
        'name = "scripted"\nbase_url = "{url}/v1"\nwire_api = "responses"\n',
    ),
    "copilot-cli": ClientProgram(
        "copilot",
        ".copilot/mcp-config.json",
        ("-p", NAME, "--allow-all-tools"),
        {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": "{url}/v1", "COPILOT_MODEL": "scripted"},
    ),
    "gemini-cli": ClientProgram(
        "gemini",
        ".gemini/settings.json",
        ("-p", NAME, "--yolo", "-m", "gemini-2.5-pro"),
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        '{"security": {"auth": {"selectedType": "gemini-api-key"}}}',
    ),
    "opencode": ClientProgram(
        "opencode",
        ".config/opencode/opencode.json",
        ("run", NAME),
        {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
        '{"model": "scripted/m", "small_model": "scripted/m", "provider": {"scripted": {"models": {"m": {}},'
        ' "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "{url}/v1", "apiKey": "none"}}}}',
    ),
    "qwen-code": ClientProgram(
        "qwen",
        ".qwen/settings.json",
        ("-p", NAME, "--yolo"),
        {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"},
        '{"security": {"auth": {"selectedType": "openai"}}}',
    ),
}
"""The programs by the names of their folders here."""


class Trial(NamedTuple):
    """A row of the table."""

    client: str
    version: str
    result: str


def try_program(name: str, client: ClientProgram) -> Trial:
    """Run a program in an empty home, with a model that creates a task on each server."""
    command = shutil.which(client.command)
    if command is None:
        return Trial(name, "", f"NOT TESTED: {client.command} is not on PATH")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environment = {"HOME": folder, "PATH": os.environ["PATH"], "NO_COLOR": "1"}
        found = re.search(r"\d+(\.\d+)+", _run([command, "--version"], home, environment))
        with serve_model({server.create: {server.text: NAME} for server in SERVERS}) as model:
            path = home / client.file
            path.parent.mkdir(parents=True, exist_ok=True)
            for server in SERVERS:
                server.prepare(home)
                # Codex does not wait for the first start of a server: only `install`, or an earlier start, shortens it.
                _run([_path_of(server)], home, {**environment, **server.usual_environment(home)})
            path.write_text(_settings(name, client.settings.replace("{url}", model.url), home), "utf-8")
            environment |= {key: value.replace("{url}", model.url) for key, value in client.variables.items()}
            log = _run([command, *client.arguments], home, environment)
            count = sum(OURS.fullmatch(tool) is not None for tool in model.offered)
            return Trial(name, found[0] if found else "?", _judged(home, count, log))


def try_library(name: str, python: str | None) -> Trial:
    """Run the program that uses a library, in an interpreter that has it, and in an empty home."""
    if python is None:
        return Trial(name, "", "NOT TESTED: it is not installed here; --install tries it")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environment = {"HOME": folder, "PATH": os.environ["PATH"]}
        uses = [_use(server, home) for server in SERVERS]
        log = _run([python, "-c", program(name), json.dumps(uses)], home, environment)
        count = len(json.loads(log)) if log.startswith("[") else 0
        shown = f"from importlib.metadata import version; print(version({_distribution(name)!r}))"
        return Trial(name, _run([python, "-c", shown], home, environment).strip(), _judged(home, count, log))


def _use(server: ServerRecord, home: Path) -> dict[str, Any]:
    return {
        "command": _path_of(server),
        "env": server.environment(home),
        "tool": server.create,
        "arguments": {server.text: NAME},
    }


def _path_of(server: ServerRecord) -> str:
    return str(Path(sys.executable).with_name(server.command))


def _distribution(requirement: str) -> str:
    return requirement.partition("[")[0]


def _python_with(requirement: str, folder: Path | None) -> str | None:
    """Return an interpreter that has a library: this one, or that of a new environment in ``folder``."""
    if folder is None:
        try:
            version(_distribution(requirement))
        except PackageNotFoundError:
            return None
        return sys.executable
    home = folder / _distribution(requirement)
    venv.create(home, with_pip=True)
    python = str(home / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", requirement], check=True)
    return python


def _settings(name: str, text: str, home: Path) -> str:
    """Return the settings of a client with the files of all servers from its folder, whose paths become real ones."""
    files = [next((FOLDER / name).glob(f"{server.command}.*")) for server in SERVERS]
    texts = [
        file.read_text("utf-8").replace("/path/to/checkout/.venv/bin", str(Path(sys.executable).parent))
        for file in files
    ]
    texts = [each.replace("/path/to", str(home)) for each in texts]
    if files[0].suffix == ".toml":
        return "".join([text, *texts])
    merged: dict[str, Any] = json.loads(text)
    for document in map(json.loads, texts):
        for member, entries in document.items():
            merged[member] = merged.get(member, {}) | entries
    return json.dumps(merged)


def _run(command: Sequence[str], home: Path, environment: Mapping[str, str]) -> str:
    """Run a command in ``home`` and return all that it wrote."""
    log = home / "log"
    with log.open("wb") as output:
        try:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
            subprocess.run(command, cwd=home, env=environment, timeout=SECONDS, check=False, **pipes)
        except subprocess.TimeoutExpired as error:
            output.write(str(error).encode())
    return log.read_text("utf-8", "replace")


def _judged(home: Path, count: int, log: str) -> str:
    missing = [server.command for server in SERVERS if NAME not in _text(home / server.store())]
    if not missing:
        return f"pass: {count} tools offered, {len(SERVERS)} tasks created"
    print(log)
    return f"FAIL: {count} tools offered; no task created with {', '.join(missing)}"


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Try the clients that are asked for, print one table, and return 1 if one of them failed, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*PROGRAMS, *LIBRARIES]
    parser.add_argument("client", nargs="*", help=f"default: all of {', '.join(names)}")
    parser.add_argument("--install", action="store_true", help="install the Python libraries into a temporary folder")
    options = parser.parse_args(argv)
    if unknown := {*options.client}.difference(names):
        parser.error(f"no such client: {', '.join(sorted(unknown))}")
    rows: list[Trial] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.client or names:
            print(f"Trying {name}", flush=True)
            if name in PROGRAMS:
                rows.append(try_program(name, PROGRAMS[name]))
            else:
                rows.append(try_library(name, _python_with(name, Path(folder) if options.install else None)))
    print()
    for row in [Trial("client", "version", "result"), *rows]:
        print(f"{row.client:<24}{row.version:<12}{row.result}")
    return int(any(row.result.startswith("FAIL") for row in rows))


if __name__ == "__main__":
    sys.exit(main())

"""Set up real clients with ``install``: each finds the server in an empty home, uses it, and nothing is left.

The clients come from npm; one that is not on ``PATH`` is reported as NOT TESTED. None needs the network or an account.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from examples.clients.scripted_model import serve_model
from examples.clients.try_clients import NAME, PROGRAMS
from mcp_client_install.clients import CLIENTS, UserFolders

COMMAND: Final = str(Path(sys.executable).with_name("heartbeat-mcp"))

SECONDS: Final = 180
"""Seconds that a client may take to start."""


class Listing(NamedTuple):
    """The command by which a client lists its servers, and its words for one that answers."""

    package: str
    words: tuple[str, ...]
    said: str


LISTINGS: Final = {
    "claude-code": Listing("@anthropic-ai/claude-code", ("mcp", "list"), "Connected"),
    "codex": Listing("@openai/codex", ("mcp", "list"), "enabled"),
    "gemini-cli": Listing("@google/gemini-cli", ("mcp", "list"), "Connected"),
    "opencode": Listing("opencode-ai", ("mcp", "list"), "connected"),
    "copilot-cli": Listing("@github/copilot", ("mcp", "get", "heartbeat"), "Enabled"),
    "qwen-code": Listing("@qwen-code/qwen-code", ("mcp", "list"), "Connected"),
}


class User:
    """Somebody with an empty home and a project, who types commands."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = home / "project"
        (self.project / ".git").mkdir(parents=True)
        self.variables = {"HOME": str(home), "PATH": os.environ["PATH"], "NO_COLOR": "1"}

    def types(self, *words: str) -> str:
        """Run a command in the project, and return what it says."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(
            words, cwd=self.project, env=self.variables, check=False, timeout=SECONDS, encoding="utf-8", **pipes
        )
        return done.stdout


def check(name: str, home: Path) -> None:
    """A client uses the server until it is uninstalled, and then again."""
    client, program, listing = CLIENTS[name], PROGRAMS[name], LISTINGS[name]
    user = User(home)
    file = client.file("user", UserFolders({}, user.home, user.project, "linux"))
    assert file
    with serve_model({"task_create": {"raw_user_request": NAME}}) as model:
        user.variables |= {key: value.replace("{url}", model.url) for key, value in program.variables.items()}
        if program.settings != "{}":
            file.parent.mkdir(parents=True)
            file.write_text(program.settings.replace("{url}", model.url), "utf-8")
        assert f"Wrote {file}." in user.types(COMMAND, "install", name, "--yes")
        listed = user.types(client.program, *listing.words)
        assert listing.said in listed, listed
        words = [word for word in program.arguments if word not in {"--mcp-config", ".mcp.json"}]
        said = user.types(client.program, *words)
        assert NAME in (user.home / ".local/share/heartbeat-mcp/HEARTBEAT.md").read_text("utf-8"), said
    user.types(COMMAND, "uninstall", "--yes")
    # What the client itself has written at its first start is there now, and stays.
    before = file.read_bytes() if file.exists() else None
    copies = {*file.parent.glob("*.before-*")}
    assert "heartbeat" not in user.types(client.program, "mcp", "list")
    user.types(COMMAND, "install", name, "--yes")
    assert listing.said in user.types(client.program, *listing.words)
    user.types(COMMAND, "uninstall", "--yes")
    assert (file.read_bytes() if file.exists() else None) == before
    assert {*file.parent.glob("*.before-*")} == copies


if __name__ == "__main__":
    for name in sys.argv[1:] or LISTINGS:
        if shutil.which(CLIENTS[name].program):
            with tempfile.TemporaryDirectory() as folder:
                check(name, Path(folder))
            print(f"{name}: installed, connected, used, and uninstalled without a trace", flush=True)
        else:
            print(f"{name}: NOT TESTED: not on PATH (npm install --global {LISTINGS[name].package})", flush=True)

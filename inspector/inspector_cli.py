"""The MCP Inspector's command lines as a tool for conformance scripts: its calls and its answers."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from inspector.pinned import FOLDER, node_command

__all__ = ["Answer", "Inspector", "member"]

LAUNCHER: Final = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CONNECTION_CLI: Final = "@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js"
"""The Inspector's other command line, which holds a connection open between calls."""
CONNECTION: Final = "server"
"""The name of that connection."""

CALL_SECONDS: Final = 120
"""Seconds that one call of the Inspector may take, start of Node and of the server included."""
CONNECT_TIMEOUT: Final = str(CALL_SECONDS * 1_000)

NODE_VARIABLES: Final = {
    "MCP_INSPECTOR_SECRET_STORE": "memory",
    "NODE_COMPILE_CACHE": str(FOLDER / "node_modules" / ".compile-cache"),  # each call loads the same megabyte
}


def member(value: object, *keys: str | int) -> object:
    """Return the value under ``keys`` in a JSON value, or None if the path ends early."""
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
            value = value[key]
        else:
            return None
    return value


@dataclass(frozen=True)
class Answer:
    """What one call of the Inspector gave back."""

    exit_code: int
    printed: str
    log: str

    @property
    def json(self) -> object:
        """The JSON on stdout, or None where there is none."""
        try:
            return json.loads(self.printed)
        except ValueError:
            return None

    @property
    def result(self) -> object:
        """The structured result of the tool that was called."""
        return member(self.json, "structuredContent")

    @property
    def outcome(self) -> str:
        """The exit code, and the code of the tool's error where there is one: ``exit 5 TaskNotFound``."""
        flat = member(self.result, "code") if self.exit_code == 5 else None
        code = member(self.result, "error", "code") or flat
        return f"exit {self.exit_code} {code}" if code else f"exit {self.exit_code}"


class Inspector:
    """Calls one stdio server through the Inspector in one era: a new process of the server for each call, or one."""

    def __init__(self, server: Sequence[str], variables: Mapping[str, str], era: str = "legacy") -> None:
        self.server = server
        self.variables = variables
        self.era = era
        self._daemon: Path | None = None
        """The folder of the Inspector's daemon that holds the connection."""

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Keep one process of the server for all calls in the block, which is much faster than a process for each."""
        with tempfile.TemporaryDirectory(prefix="mcpdo-", ignore_cleanup_errors=True) as folder:
            self._daemon = Path(folder)
            options = ("--era", self.era, *self._settings, "--connect-timeout", CONNECT_TIMEOUT, "--", *self.server)
            answer = self._connection("connect", f"@{CONNECTION}", *options)
            try:
                if answer.exit_code:
                    raise ConnectionError(answer.log)
                yield
            finally:
                self._connection("daemon", "stop")
                self._daemon = None

    def run(self, method: str, *options: str) -> Answer:
        """Return the answer to a request: through the open connection, or else of a new process of the server."""
        if self._daemon:
            return self._connection(f"@{CONNECTION}", method, *options)
        how = ["--protocol-era", self.era, "--connect-timeout", CONNECT_TIMEOUT, "--method", method]
        return _run(LAUNCHER, ["--cli", *self._settings, *how, *options, "--", *self.server])

    def _connection(self, *words: str) -> Answer:
        return _run(CONNECTION_CLI, ["--format", "json", *words], MCP_INSPECTOR_DAEMON_DIR=str(self._daemon))

    @property
    def _settings(self) -> list[str]:
        return [part for name, value in self.variables.items() for part in ("-e", f"{name}={value}")]

    def call(self, tool: str, *arguments: str) -> Answer:
        """Return the answer of ``tool`` to ``name=value`` arguments, converted as the Inspector converts them."""
        given = [part for argument in arguments for part in ("--tool-arg", argument)]
        return self.run("tools/call", "--tool-name", tool, *given)

    def call_exactly(self, tool: str, arguments: Mapping[str, object], *options: str) -> Answer:
        """Return the answer of ``tool`` to ``arguments``, sent just as they are."""
        text = json.dumps(arguments, ensure_ascii=False)
        return self.run("tools/call", "--tool-name", tool, "--tool-args-json", text, *options)


def _run(script: str, arguments: Sequence[str], **variables: str) -> Answer:
    done = subprocess.run(
        [*node_command(script), *arguments],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=os.environ | NODE_VARIABLES | variables,
        stdin=subprocess.DEVNULL,
        timeout=CALL_SECONDS,
    )
    return Answer(done.returncode, done.stdout, done.stderr)

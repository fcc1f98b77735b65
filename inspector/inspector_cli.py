"""The MCP Inspector CLI as a tool for conformance scripts: its calls and its answers."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from inspector.pinned import node_command

__all__ = ["Answer", "Inspector", "member"]

LAUNCHER: Final = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"

CALL_SECONDS: Final = 120
"""Seconds that one call of the Inspector may take, start of Node and of the server included."""


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
    """Calls one stdio server through the Inspector CLI in one era, a new process of the server for each call."""

    def __init__(self, server: Sequence[str], variables: Mapping[str, str], era: str = "legacy") -> None:
        self.server = server
        self.variables = variables
        self.era = era

    def run(self, *options: str) -> Answer:
        """Return what the Inspector answers to ``options``."""
        settings = [part for name, value in self.variables.items() for part in ("-e", f"{name}={value}")]
        how = ["--protocol-era", self.era, "--connect-timeout", str(CALL_SECONDS * 1_000)]
        done = subprocess.run(
            [*node_command(LAUNCHER), "--cli", *settings, *how, *options, "--", *self.server],
            capture_output=True,
            check=False,
            encoding="utf-8",
            env=os.environ | {"MCP_INSPECTOR_SECRET_STORE": "memory"},
            stdin=subprocess.DEVNULL,
            timeout=CALL_SECONDS,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def call(self, tool: str, *arguments: str) -> Answer:
        """Return the answer of ``tool`` to ``name=value`` arguments, converted as the Inspector converts them."""
        given = [part for argument in arguments for part in ("--tool-arg", argument)]
        return self.run("--method", "tools/call", "--tool-name", tool, *given)

    def call_exactly(self, tool: str, arguments: Mapping[str, object], *options: str) -> Answer:
        """Return the answer of ``tool`` to ``arguments``, sent just as they are."""
        text = json.dumps(arguments, ensure_ascii=False)
        return self.run("--method", "tools/call", "--tool-name", tool, "--tool-args-json", text, *options)

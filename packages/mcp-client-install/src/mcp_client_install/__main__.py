"""The command ``mcp-client-install``: adds any MCP server to clients, removes it, and lists what they have."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from mcp_client_install.clients import CLIENTS
from mcp_client_install.console import InstallFailed
from mcp_client_install.installer import Installer, find_folders, report_failure
from mcp_client_install.inventory import list_servers
from mcp_client_install.options import make_own_parser
from mcp_client_install.plans import Server
from mcp_client_install.registration import Registration

__all__ = ["main"]

_NAME: Final = "mcp-client-install"


class _AnyServer(Registration):
    """A server that the words of a command line start; without words, whatever is under its name."""

    command = _NAME

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words

    def settings(self) -> None:
        """Allow any variable: only the server knows its own."""

    def section(self, name: str) -> str:
        """Return nothing: only the server knows what agents should do with it."""
        del name
        return ""

    def server(self, name: str) -> Server:
        """Return the server, whose entry has the ``name``."""
        return Server(_NAME, name, self._words)

    def find_program(self) -> str:
        """Return the path of the first word: clients do not know the ``PATH`` of a shell.

        Raises:
            InstallFailed: there is no such program.
        """
        program = self._words[0]
        found = shutil.which(program)
        if found is None:
            raise InstallFailed(f"{program} is not a program: install it first, or give its whole path")
        return str(Path(found).absolute())


def main(argv: Sequence[str] | None = None) -> None:
    """Carry out the command that ``argv``, or the command line, names.

    Raises:
        SystemExit: with the exit code: 0, 1 if something could not be done, or 2 for a bad option.
    """
    words = [*(sys.argv[1:] if argv is None else argv)]
    at = words.index("--") if "--" in words else len(words)
    parser = make_own_parser(_NAME, version(_NAME))
    options = parser.parse_args(words[:at])
    command = words[at + 1 :]
    if options.action == "add" and not command:
        parser.error(f"add: name the command after --: {_NAME} add {options.name} -- COMMAND ARG…")
    if options.action != "add" and at < len(words):
        parser.error(f"{options.action} takes no command")
    os.umask(0o077)
    sys.exit(report_failure(f"{_NAME} {options.action}", lambda: _carry_out(options, command)))


def _carry_out(options: argparse.Namespace, command: Sequence[str]) -> int:
    if options.action == "list":
        folders = find_folders()
        clients = [CLIENTS[name] for name in options.clients or CLIENTS]
        return list_servers(clients, [options.scope] if options.scope else ["user", "project"], folders)
    installer = Installer(_AnyServer(command), options)
    return installer.install() if options.action == "add" else installer.uninstall()


if __name__ == "__main__":
    main()

"""The command ``mcp-client-install``: adds any MCP server to clients, removes it, and lists what they have."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from mcp_client_install.clients import CLIENTS, Client, Scope, UserFolders, words_of
from mcp_client_install.console import InstallFailed
from mcp_client_install.edits.documents import read_entry
from mcp_client_install.files import describe, open_text
from mcp_client_install.installer import Installer, find_folders, report_failure
from mcp_client_install.options import make_own_parser
from mcp_client_install.plans import Server
from mcp_client_install.registration import Registration
from mcp_client_install.text import BadConfiguration, escape_invisible

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
        """Return the path of the first word, which clients would not find, or raise ``InstallFailed``."""
        program = self._words[0]
        found = shutil.which(program)
        if found is None:
            raise InstallFailed(f"{program} is not a program: install it first, or give its whole path")
        return str(Path(found).absolute())


def main(argv: Sequence[str] | None = None) -> None:
    """Carry out a command, and exit with 0, with 1 if something could not be done, or with 2 for a bad option."""
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
        return _list_servers(clients, [options.scope] if options.scope else ["user", "project"], folders)
    installer = Installer(_AnyServer(command), options)
    return installer.install() if options.action == "add" else installer.uninstall()


def _list_servers(clients: Iterable[Client], scopes: Sequence[Scope], folders: UserFolders) -> int:
    """Write the servers in each file of the clients, and return the exit code: 1 if a file cannot be read.

    Of an entry only the program is shown: the rest may be secret.
    """
    found: dict[Path, Client] = {}
    for client in clients:
        for path in (path for scope in scopes for path in client.files(scope, folders) if os.path.lexists(path)):
            found.setdefault(path, client)
    code = 0
    for path, client in found.items():
        try:
            entries = read_entry(open_text(path).data, client.suffix, [client.member])
        except (BadConfiguration, OSError) as error:
            sys.stderr.write(f"{path}: {describe(error)}.\n")
            code = 1
            continue
        sys.stdout.write(f"{client.title}, {escape_invisible(str(path))}:\n")
        for name, entry in entries.items() if isinstance(entries, dict) and entries else [("no server", None)]:
            words = [] if entry is None else words_of(entry)[0] or ["not started here"]
            sys.stdout.write(f"  {escape_invisible(': '.join([name, *words[:1]]))}\n")
    if not found:
        sys.stdout.write("No client is configured here.\n")
    return code


if __name__ == "__main__":
    main()

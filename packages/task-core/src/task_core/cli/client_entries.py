"""The entries that the clients of a user have for one of our servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_client_install.clients import CLIENTS
from mcp_client_install.console import InstallFailed
from mcp_client_install.entries import ClientEntry, find_entries, has_hook
from mcp_client_install.installer import find_folders
from mcp_client_install.plans import Server

if TYPE_CHECKING:
    from task_core.cli.program import Program

__all__ = ["CLIENT_NAMES", "HOOK", "OwnEntry", "find_own_entries", "has_own_hook"]

HOOK: Final = ("brief", "--hook")
"""The arguments of the command for the start of a session, before the name of the client."""

CLIENT_NAMES: Final = {
    name: client.title for key, client in CLIENTS.items() for name in (key, client.program) if client.program
}
"""The titles of the clients that have a command, by the names of their programs and packages."""

OwnEntry = ClientEntry
"""An entry of a client that starts this server."""


def find_own_entries(program: Program) -> list[OwnEntry]:
    """Return the entries of clients that start ``program``, for this project first; none without a home folder."""
    try:
        return [*find_entries(Server(program.name, program.entry), find_folders())]
    except (InstallFailed, OSError):
        return []


def has_own_hook(program: Program, entry: OwnEntry) -> bool:
    """Return whether the client of an entry shows its model the brief of ``program`` at the start of a session."""
    return has_hook(Server(program.name, program.entry, hook=HOOK), entry, find_folders())

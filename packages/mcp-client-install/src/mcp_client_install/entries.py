"""The entries that the clients of a user have for one server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from mcp_client_install.clients import CLIENTS, Client, Scope, UserFolders, words_of
from mcp_client_install.edits.documents import read_entry
from mcp_client_install.files import open_text
from mcp_client_install.plans import Server, find_hooks
from mcp_client_install.text import BadConfiguration

__all__ = ["ClientEntry", "find_entries", "has_hook"]

_SCOPES: Final[tuple[Scope, ...]] = ("project", "user")


class ClientEntry(NamedTuple):
    """An entry in the file of a client that starts the server."""

    client: str
    """The name of the client on the command line."""
    title: str
    scope: Scope
    variables: Mapping[str, str]
    """The settings that the client gives the server."""


def find_entries(server: Server, folders: UserFolders) -> Iterator[ClientEntry]:
    """Yield the entries that start a server, whatever their names: those for the project first, by client.

    A file that cannot be read, or is damaged, counts as one without an entry. Some clients share a file; the first of
    them has its entries.
    """
    places: dict[Path, tuple[Scope, str]] = {}  # of the same file in both scopes, as in the home folder, the user's
    for scope in reversed(_SCOPES):
        for name, client in CLIENTS.items():
            for path in client.files(scope, folders):
                places.setdefault(path, (scope, name))
    for path, (scope, name) in sorted(places.items(), key=lambda place: _SCOPES.index(place[1][0])):
        client = CLIENTS[name]
        for entry in _entries(path, client):
            if server.is_started_by(entry):
                yield ClientEntry(name, client.title, scope, words_of(entry)[1])


def has_hook(server: Server, entry: ClientEntry, folders: UserFolders) -> bool:
    """Return whether the client of an entry runs the server's command at the start of a session, as far as is known."""
    client = CLIENTS[entry.client].hook_files(server.command)
    with suppress(BadConfiguration, OSError):
        files = client.files(entry.scope, folders) if client else []
        return any([*find_hooks(open_text(path).data, client, server)] for path in files if client)
    return False


def _entries(path: Path, client: Client) -> list[object]:
    try:
        found = read_entry(open_text(path).data, client.suffix, [client.member])
    except (BadConfiguration, OSError):
        return []
    return [*found.values()] if isinstance(found, dict) else []

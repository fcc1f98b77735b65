"""Lists the servers that are configured in each client."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from mcp_client_install.atomic import describe
from mcp_client_install.clients import Client, Scope, UserFolders, words_of
from mcp_client_install.edits.documents import read_entry
from mcp_client_install.edits.lines import BadConfiguration
from mcp_client_install.files import open_text
from mcp_client_install.text import escape_invisible

__all__ = ["list_servers"]


def list_servers(clients: Iterable[Client], scopes: Sequence[Scope], folders: UserFolders) -> int:
    """Write the servers in each file of the clients, and return the exit code: 1 if a file cannot be read.

    Of an entry only the program or the host is shown: the rest may be secret.
    """
    has_failed = has_found = False
    for client, path in _files(clients, scopes, folders):
        try:
            lines = [*_lines(client, path)]
        except (BadConfiguration, OSError) as error:
            why = describe(error) if isinstance(error, OSError) else str(error)
            sys.stderr.write(f"{path}: {why}.\n")
            has_failed = True
        else:
            has_found = True
            sys.stdout.write(f"{client.title}, {escape_invisible(str(path))}:\n")
            sys.stdout.writelines(f"  {line}\n" for line in lines or ["no server"])
    if not has_found and not has_failed:
        sys.stdout.write("No client is configured here.\n")
    return int(has_failed)


def _files(clients: Iterable[Client], scopes: Sequence[Scope], folders: UserFolders) -> Iterator[tuple[Client, Path]]:
    """Yield the files that exist, each once, with the first client that reads it."""
    found = set[Path]()
    for client in clients:
        for path in (path for scope in scopes for path in client.files(scope, folders)):
            if os.path.lexists(path) and path not in found:
                found.add(path)
                yield client, path


def _lines(client: Client, path: Path) -> Iterator[str]:
    entries = read_entry(open_text(path).data, client.suffix, [client.member])
    for name, entry in entries.items() if isinstance(entries, dict) else ():
        words, _ = words_of(entry)
        target = words[0] if words else _host_of(entry)
        yield escape_invisible(f"{name}: {target}" if target else name)


def _host_of(entry: object) -> str:
    """Return the address in an entry without its path, its query and its password."""
    fields = entry if isinstance(entry, dict) else {}
    address = next((value for key in ("url", "httpUrl") if isinstance(value := fields.get(key), str)), "")
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else ""

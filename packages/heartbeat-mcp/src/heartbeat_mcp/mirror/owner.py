"""Names the owner of a section of HEARTBEAT.md and the file that shows a list, and warns those who are neither.

A section shows one store (HB-19). A list in a database is shown in one file, the first that asked (EN-19).
"""

import json
import os
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

from heartbeat_mcp.models import STORE_ID, HeartbeatTask
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.errors import TaskError
from task_core.store import Engine, Store
from task_core.text import escape_invisible, shorten

__all__ = [
    "Owner",
    "describe_other_file",
    "describe_other_store",
    "make_owner",
    "parse_owners",
    "read_owner",
    "render_owners",
]

_MAX_PLACE: Final = 100
"""The most characters of another file's place that a warning shows."""

_LOCATING: Final = ("host", "hostaddr", "port", "dbname", "service")
"""The parameters in the address of a database that say where it is; of the others, some are secret."""

_ESCAPED_BYTE: Final = re.compile(rb"\\x([89a-f][0-9a-f])")
"""A byte of a path that is not text, as the name of a file has it."""


class Owner(NamedTuple):
    """A store that may own a section, and the file in which its list is shown."""

    store: str
    """The real path, the address of the database, or nothing for a store in memory."""
    tenant: str
    id: str
    """Made with the store, and kept in it; nothing before its first change."""
    file: str = ""
    """The machine and the real path of HEARTBEAT.md; nothing if no server with another file can share the list."""

    @property
    def name(self) -> str:
        """The base name of the store."""
        return Path(self.store.partition("?")[0]).name or "memory"

    @property
    def is_far(self) -> bool:
        """True if the store is in a database on a server, which may not answer but exists."""
        return "://" in self.store

    @property
    def is_there(self) -> bool:
        """True if the store still exists; one in memory counts as gone once another server asks."""
        exists = os.path.exists  # pathlib raises for a path that is too long
        return bool(self.store) and (self.is_far or exists(self.store))

    def with_id(self, store: Store[HeartbeatTask]) -> Self:
        """Return this owner with the id in ``store``, if that can be read: whatever is wrong with it, the call says."""
        with suppress(TaskError), store.read() as tasks:
            return self._replace(id=str(tasks.fields.get(STORE_ID, "")))
        return self

    def is_same_store_as(self, other: Self) -> bool:
        """Return whether ``other`` is this store, moved or recreated."""
        is_same = (self.id and self.id == other.id) or (self.store, self.tenant) == (other.store, other.tenant)
        return bool(is_same)

    def gives_way_to(self, other: Self) -> bool:
        """Return whether ``other`` may take over the section: this store is gone, or ``other`` is it."""
        return self.is_same_store_as(other) or not self.is_there

    def is_same_file_as(self, holder: str, recorded: str) -> bool:
        """Return whether ``holder``, the name of the file that shows the list, is an earlier name of this file.

        The lock file beside this file has ``recorded``, and moves with it. Only servers on one machine share a SQLite
        database, so there a file with the same path is the same one, whatever the machine is called now.
        """
        if holder in {self.file, recorded}:
            return True
        return not self.is_far and _path_of(holder) == _path_of(self.file)

    def may_replace(self, holder: str) -> bool:
        """Return whether this file may show the list instead of the file ``holder``, which is known to be gone."""
        is_here = not self.is_far or holder.partition(":")[0] == self.file.partition(":")[0]
        return not holder or (is_here and not os.path.lexists(_path_of(holder)))


def make_owner(settings: HeartbeatSettings) -> Owner:
    """Return the store of a server with ``settings``, without the id, and its file if others may share the list."""
    engine, path, url = settings.address
    place = _locate_database(url) if url else os.path.realpath(path) if path else ""
    owner, file = Owner(place, settings.task_tenant, ""), settings.file
    if file is None or engine not in {Engine.SQLITE, Engine.POSTGRESQL}:
        return owner
    real = os.fsencode(os.path.realpath(file)).decode(errors="backslashreplace")
    return owner._replace(file=f"{socket.gethostname()}:{real}")


def _locate_database(url: str) -> str:
    from urllib.parse import parse_qsl, urlencode, urlsplit  # noqa: PLC0415 - few need it

    parts = urlsplit(url)
    query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name in _LOCATING])
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{query and '?'}{query}"


def _path_of(name: str) -> str:
    path = name.partition(":")[2].encode()
    return os.fsdecode(_ESCAPED_BYTE.sub(lambda found: bytes([int(found[1], 16)]), path))


def describe_other_store(file: str, other: Owner, mine: Owner) -> str:
    """Return the warning for a user whose list is not the one that ``file`` shows."""
    cure = f"delete {file}.lock" if other.is_far else f"move {other.name} away"
    return (
        f"{file} shows the tasks of {other.name}, so those of {mine.name} are not shown in it, and nothing is taken "
        f"from it. Give this list its own file or section (HEARTBEAT_SECTION), or {cure} if nobody uses {other.name} "
        "anymore."
    )


def describe_other_file(file: str, holder: str, *, is_far: bool) -> str:
    """Return the warning for a user whose list is shown in ``holder``, perhaps ``is_far``, on another machine."""
    machine, _, path = holder.partition(":")
    place = shorten(escape_invisible(f"{'/'.join(Path(path).parts[-2:])} on {machine}"), _MAX_PLACE)
    name = escape_invisible(Path(path).name)
    cure = f"end the server that uses {name} there, and move or delete that file"
    if is_far:
        cure = f"copy {name}.lock from there to {file}.lock, or export the list and import it under another TASK_TENANT"
    return (
        f"This list is shown in {place}, the first file that showed it, so this server neither updates its own {file} "
        f"nor takes anything from it. Unset HEARTBEAT_FILE_PATH here; or, to show the list in this file, {cure}."
    )


def parse_owners(data: bytes) -> dict[str, Owner]:
    """Return the owners of the sections of one file by its lock file, which has a line for each; others are ignored."""
    found: dict[str, Owner] = {}
    for line in data.splitlines():
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            named = json.loads(line)
            section, *values = [named["section"], named["store"], named["tenant"], named["id"], named.get("file", "")]
            if all(isinstance(value, str) for value in (section, *values)):
                found[section.casefold()] = Owner(*values)
    return found


def render_owners(owners: Mapping[str, Owner]) -> bytes:
    """Return the content of the lock file; a list that no other file can show names none."""
    lines = [{**owner._asdict(), "section": section} for section, owner in owners.items()]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def read_owner(path: Path, section: str) -> Owner | None:
    """Return the owner of a section by the lock file of the HEARTBEAT.md at ``path``, without the lock, or None."""
    real = Path(os.path.realpath(path))
    with suppress(OSError):
        return parse_owners(real.with_name(f"{real.name}.lock").read_bytes()).get(section.casefold())
    return None

"""Who may own a section of HEARTBEAT.md, and who may show a list: their names, and what people read of them (HB-19)."""

import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

from heartbeat_mcp.mirror.entries import digest_of
from heartbeat_mcp.models import OTHER_SECTIONS, SECTION, STORE_ID, HeartbeatTask
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.errors import TaskError
from task_core.store import Engine, Store, Transaction
from task_core.text import escape_invisible, shorten

__all__ = ["Claim", "Owner", "exchange_receipts", "foreign_message", "leased_message", "make_claim", "parse_owner"]

_KEPT: Final = 4
"""Other files whose receipts are kept for the day on which they show the list again."""

_MAX_PLACE: Final = 100
"""Characters of where another file is that a warning shows."""

_LOCATING: Final = ("host", "hostaddr", "port", "dbname", "service")
"""The parameters in the address of a database that say where it is; of the others, some are secret."""


class Owner(NamedTuple):
    """A store that may own a section."""

    store: str
    """its real path, the address of its database, or nothing for one in memory"""
    tenant: str
    id: str
    """made with the store, and kept in it; nothing before its first change"""

    @property
    def line(self) -> bytes:
        """What the lock file of its section says."""
        return json.dumps(self._asdict()).encode() + b"\n"

    @property
    def name(self) -> str:
        """The base name of the store."""
        return Path(self.store.partition("?")[0]).name or "memory"

    @property
    def is_far(self) -> bool:
        """Whether the store is in a database on a server, which may not answer but is there."""
        return "://" in self.store

    @property
    def is_there(self) -> bool:
        """Whether the store still exists; one in memory counts as gone once another server asks."""
        exists = os.path.exists  # pathlib raises for a path that is too long
        return bool(self.store) and (self.is_far or exists(self.store))

    def with_id(self, store: Store[HeartbeatTask]) -> Self:
        """Return this owner with the id in ``store``, if that can be read: whatever is wrong with it, the call says."""
        with suppress(TaskError), store.read() as tasks:
            return self._replace(id=str(tasks.fields.get(STORE_ID, "")))
        return self

    def gives_way_to(self, other: Self) -> bool:
        """Return whether ``other`` may take over: this store is gone, or ``other`` is it, moved or recreated."""
        is_same = (self.id and self.id == other.id) or (self.store, self.tenant) == (other.store, other.tenant)
        return bool(is_same) or not self.is_there


class Claim(NamedTuple):
    """What a server claims: the section for its store, and the list for its file."""

    owner: Owner
    name: str = ""
    """the name under which the file leases the list; nothing if no server with another file can share the list"""


def make_claim(settings: HeartbeatSettings) -> Claim:
    """Return the claim of a server with ``settings``: its store, without the id, and this machine and its real path."""
    engine, path, url = settings.address
    place = _locate_database(url) if url else os.path.realpath(path) if path else ""
    owner, file = Owner(place, settings.task_tenant, ""), settings.file
    if file is None or engine not in {Engine.SQLITE, Engine.POSTGRESQL}:
        return Claim(owner)
    real = os.fsencode(os.path.realpath(file)).decode(errors="backslashreplace")
    return Claim(owner, f"{socket.gethostname()}:{real}")


def _locate_database(url: str) -> str:
    from urllib.parse import parse_qsl, urlencode, urlsplit  # noqa: PLC0415 - few need it

    parts = urlsplit(url)
    query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name in _LOCATING])
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{query and '?'}{query}"


def exchange_receipts(work: Transaction[HeartbeatTask], before: str, now: str) -> None:
    """Put the receipts of the file that had the list ``before`` aside, and take up those of the file that has it now.

    So a file that shows the list again after another one is read as if nobody else had: what a person wrote there
    meanwhile is known from what the server wrote there.
    """
    fields = {**work.fields}
    found = fields.pop(OTHER_SECTIONS, None)
    others = {**found} if isinstance(found, dict) else {}
    others[_key(before)] = fields.pop(SECTION, None)
    receipts = others.pop(_key(now), None)
    if receipts is not None:
        fields[SECTION] = receipts
    work.set_fields({**fields, OTHER_SECTIONS: dict([*others.items()][-_KEPT:])})


def _key(holder: str) -> str:
    return digest_of(holder.encode())  # so that an exported document names no machine


def foreign_message(file: str, other: Owner, mine: Owner) -> str:
    """Return the warning for a user whose list is not the one that ``file`` shows."""
    cure = f"delete {file}.lock" if other.is_far else f"move {other.name} away"
    return (
        f"{file} shows the tasks of {other.name}, so those of {mine.name} are not shown in it, and nothing is taken "
        f"from it. Give this list its own file, or {cure} if nobody uses {other.name} anymore."
    )


def leased_message(file: str, holder: str) -> str:
    """Return the warning for a user whose list another file shows, which ``holder`` names."""
    machine, _, path = holder.partition(":")
    place = shorten(escape_invisible(f"{'/'.join(Path(path).parts[-2:])} on {machine}"), _MAX_PLACE)
    return (
        f"This list is shown in {place}, so this server neither updates its own {file} nor takes anything from it. "
        "Unset HEARTBEAT_FILE_PATH here, or for the other server: a minute later this file takes over."
    )


def parse_owner(data: bytes) -> Owner | None:
    """Return the owner that a lock file with the content ``data`` names, or None."""
    try:
        found = json.loads(data)
        return Owner(*(found[name] for name in Owner._fields if isinstance(found[name], str)))
    except (ValueError, LookupError, TypeError):
        return None

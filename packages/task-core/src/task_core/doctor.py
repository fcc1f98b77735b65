"""The findings of ``doctor``, and its checks of files, folders and stores, which change nothing (DOC-1)."""

import os
import re
import shlex
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from task_core.document_file.generations import list_generations
from task_core.document_file.source import Source
from task_core.errors import StoreDamaged, TaskError
from task_core.files import ProcessLock, describe, read_file
from task_core.history.history_file import HISTORY_SUFFIX
from task_core.models import RecordT, utc_now
from task_core.store.base import Kind
from task_core.store.codec import Codec
from task_core.store.document import DocumentDatabase
from task_core.store.open import Engine, StoreSettings, find_server_engine
from task_core.store.sqlite import SqliteDatabase
from task_core.store.store import Store
from task_core.text import escape_invisible, pluralize, shorten
from task_core.warning_list import WarningList

__all__ = [
    "MOUNTS",
    "Check",
    "Finding",
    "Level",
    "check_access",
    "check_folder",
    "check_lock",
    "find_mount",
    "is_mounted_alone",
    "note",
    "right",
    "store_checks",
    "wrong",
]

MOUNTS: Final = Path("/proc/self/mountinfo")
"""Linux's list of mounts; elsewhere there is none, and the kind of a file system stays unknown."""

_NETWORK: Final = re.compile(
    r"nfs\d*|cifs|smb\d*|smbfs|afs|ceph|davfs|9p|virtiofs|vboxsf|lustre|fakeowner"
    r"|fuse\.(sshfs|rclone|glusterfs|ceph.*|davfs.*|vmhgfs-fuse|s3fs|gcsfuse|grpcfuse|osxfs)"
)
"""Linux's names of the file systems that other machines can write to as well."""

_SYNCED: Final = re.compile(
    r"dropbox.*|onedrive.*|google ?drive(-.*)?|box( sync|-.*)?|icloud ?drive|com~apple~clouddocs|mobile documents"
    r"|cloudstorage|nextcloud|owncloud|pcloud ?drive|seafile|synology ?drive|proton ?drive.*|yandex\.disk",
    re.IGNORECASE,
)
"""Folder names that sync programs use."""

_SYNCTHING: Final = ".stfolder"
"""The mark that Syncthing puts into each folder that it syncs."""

_ESCAPE: Final = re.compile(r"\\([0-7]{3})")
"""Escapes with which the kernel writes a blank and the like in a path."""


class Level(StrEnum):
    """Severity of a finding; only ``WRONG`` makes the exit code 1."""

    RIGHT = "ok"
    NOTE = "note"
    WRONG = "WRONG"


class Finding(NamedTuple):
    """One sentence about one thing, and how to fix it."""

    level: Level
    text: str
    cure: str = ""


def right(text: str) -> Finding:
    """Return a finding that something is as it should be."""
    return Finding(Level.RIGHT, text)


def note(text: str, cure: str = "") -> Finding:
    """Return a finding that is worth knowing but not a fault."""
    return Finding(Level.NOTE, text, cure)


def wrong(text: str, cure: str) -> Finding:
    """Return a finding that something is wrong, with how to fix it."""
    return Finding(Level.WRONG, text, cure)


class Check(NamedTuple):
    """A subject, and the function that looks at it and yields its findings in order."""

    subject: str
    look: Callable[[], Iterable[Finding]]


def check_folder(folder: Path, *, is_made: bool = False, mounts: Path = MOUNTS) -> Iterator[Finding]:
    """Check the folder that files are written to, which may not exist yet if it ``is_made`` by the server."""
    there = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
    if not there.is_dir():
        yield wrong(f"{there} is not a folder", "Choose a path inside a folder.")
        return
    if there != folder and not is_made:
        yield wrong(f"{folder} does not exist", "Create it, or fix the link that leads there.")
        return
    if not _may(there, os.W_OK | os.X_OK):
        yield wrong(f"{there} is not writable", f"chmod u+rwx {_quote(there)}, as its owner, or choose another folder.")
    else:
        yield right(f"{folder} is writable" if there == folder else f"{folder} does not exist yet but can be created")
    status = there.stat()
    if sys.platform != "win32" and status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        yield wrong(f"{there} is writable by everyone on this machine", f"chmod o-w {_quote(there)}")
    yield from _place(Path(os.path.realpath(folder)), mounts)


def check_access(path: Path, *, is_private: bool) -> Iterator[Finding]:
    """Check who may read and write the existing file at ``path``; a private one is for its owner only (S4)."""
    if not _may(path, os.W_OK):
        yield wrong(f"{path.name} is read-only", f"chmod u+w {_quote(path)}, as its owner")
    mode = stat.S_IMODE(path.stat().st_mode)
    if sys.platform == "win32":
        return
    if mode & stat.S_IWOTH:
        yield wrong(f"{path.name} is writable by everyone (mode {mode:o})", f"chmod o-w {_quote(path)}")
    elif is_private and mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield note(f"{path.name} is accessible to other users (mode {mode:o})", f"chmod 600 {_quote(path)}")


def is_mounted_alone(path: Path, mounts: Path = MOUNTS) -> bool:
    """Return whether the file at ``path`` is mounted without its folder, so that no rename can replace it."""
    real = Path(os.path.realpath(path))
    mount = find_mount(real, mounts)
    return mount is not None and mount[0] == real


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _quote(path: Path) -> str:
    return shlex.quote(str(path))


def _place(folder: Path, mounts: Path) -> Iterator[Finding]:
    mount = find_mount(folder, mounts)
    if mount and _NETWORK.fullmatch(mount[1]):
        yield wrong(
            f"{folder} is on a network file system ({mount[1]}), where locks are not reliable", "Choose a local disk."
        )
    names = filter(_SYNCED.fullmatch, folder.parts)
    marks = (_SYNCTHING for place in (folder, *folder.parents) if os.path.lexists(place / _SYNCTHING))
    if sign := next(chain(names, marks), ""):
        yield note(
            f"{folder} seems to be synced by a program that ignores locks ('{sign}')",
            "Choose a folder that is not synced.",
        )


def find_mount(path: Path, mounts: Path = MOUNTS) -> tuple[Path, str] | None:
    """Return the mount that ``path`` is on, in which links are resolved, with its kind, or None if it is not known."""
    found: tuple[Path, str] | None = None
    with suppress(OSError):
        for line in mounts.read_text("utf-8", "surrogateescape").splitlines():
            mount, _, source = line.partition(" - ")
            point = Path(_ESCAPE.sub(lambda match: chr(int(match[1], 8)), mount.split()[4]))
            # Of two at one point, the later one hides the earlier.
            if path.is_relative_to(point) and (found is None or point.is_relative_to(found[0])):
                found = point, source.split()[0]
    return found


def store_checks(settings: StoreSettings, codec: Codec[RecordT], *, mounts: Path = MOUNTS) -> list[Check]:
    """Return the checks of the store that ``settings`` name: its folder, and what is in it.

    ``mounts`` is a list of mounts in the form of ``MOUNTS``.
    """
    engine, path, _ = settings.address
    if engine is Engine.POSTGRESQL:
        return [Check("store", partial(find_server_engine().check_store, settings, codec.kind))]
    if path is None:
        return [Check("store", lambda: [right("the tasks are in memory only, and lost when the server ends")])]
    real = Path(os.path.realpath(path))
    is_made = settings.makes_folder and not path.parent.is_dir()
    look = partial(_check_document, real, codec)
    if engine is Engine.SQLITE:
        look = partial(_check_database, real, codec.kind, settings.task_tenant)
    why = "is mounted without its folder, so it cannot be replaced, and files beside it are not shared"
    alone = wrong(f"{real.name} {why}", "Mount its folder instead.")
    return [
        Check("folder", partial(check_folder, path.parent if is_made else real.parent, is_made=is_made, mounts=mounts)),
        Check("store", partial(_check_store, real, look, settings)),
        Check("mount", lambda: [alone] if is_mounted_alone(real, mounts) else []),
        Check("lock", partial(check_lock, real)),
    ]


def _check_store(path: Path, look: partial[Iterator[Finding]], settings: StoreSettings) -> Iterator[Finding]:
    try:
        yield from look()
        yield from check_access(path, is_private=True)
    except FileNotFoundError:
        older = list_generations(path) if settings.address.engine is Engine.JSON else []
        if kept := ", ".join(copy.name for copy in older):
            cure = "To restore its tasks, run the command 'restore'."
            yield wrong(f"{path.name} is missing, but older documents are kept: {kept}", cure)
        else:
            yield right(f"{path.name} does not exist yet; it is created when needed")
    except OSError as error:
        yield wrong(
            f"{path.name} exists but cannot be read ({describe(error)}), so every tool answers StoreUnreadable",
            "Make it readable and writable for the user who runs the server; if it is not a file, move it away.",
        )
    except TaskError as error:
        cure = "Do what the message says, then run doctor again."
        if isinstance(error, StoreDamaged):
            variable = "TASK_STORE" if settings.task_store else settings.store_variable.upper()
            cure += f" If this is the file of another program, leave it alone, and set {variable} to another path."
        yield wrong(f"every tool answers {error.code}: {error.message}", cure)


def _check_document(path: Path, codec: Codec[RecordT]) -> Iterator[Finding]:
    data, _ = read_file(path)
    if not data.strip():
        with DocumentDatabase(path, codec, WarningList(), utc_now).reading():  # which decides whether it is damaged
            yield right(f"{path.name} is blank, which is an empty store")
        return
    decoded = codec.decode(Source(path.name, data))
    records = [record for block in decoded.records.values() for record, _ in block]
    yield right(f"{path.name} holds {pluralize(len(records), 'task')} in {pluralize(len(data), 'byte')}")
    if len(records) > 10_000:  # a database keeps them better (EN-6)
        yield note(
            f"{path.name} is slow with this many tasks",
            "Move them to SQLite: run 'export FILE', replace the setting of the document with TASK_STORE=sqlite:/path, "
            "and run 'import FILE'.",
        )
    for text in decoded.notes:
        yield wrong(f"{path.name}: {text}", "Correct it in the file, or leave it: the next save corrects it.")
    unknown = {*decoded.fields, *(name for record in records for name in record.model_extra or ())}
    if named := ", ".join(sorted(unknown - {*codec.own_fields})):
        named = shorten(escape_invisible(named), 200)
        yield note(f"{path.name} has fields that this server does not know; they are kept: {named}")
    kept = ", ".join(copy.name for copy in list_generations(path))
    yield right(f"older documents are kept: {kept}") if kept else right("no older document is kept yet")
    history = path.with_name(path.name + HISTORY_SUFFIX)
    with suppress(FileNotFoundError):
        status = history.stat()
        if stat.S_ISREG(status.st_mode):
            yield right(f"{history.name} keeps what changes replaced, in {pluralize(status.st_size, 'byte')}")
            yield from check_access(history, is_private=True)
        else:
            yield wrong(f"{history.name} is not a file, so no change can be undone", "Move it away.")


def _check_database(path: Path, kind: Kind[RecordT], tenant: str) -> Iterator[Finding]:
    size = path.stat().st_size
    database = SqliteDatabase(path)
    if database.is_outdated():
        yield right(f"{path.name} was written by an older version, and is brought up to date by the next call")
        return
    try:
        with Store(database, kind, tenant=tenant).read() as records:
            count = len(records)
        faults = database.check()
    finally:
        database.close()
    yield right(f"{path.name} holds {pluralize(count, 'task')} in {pluralize(size, 'byte')}")
    if faults:
        yield wrong(f"{path.name} is damaged: {'; '.join(faults)}", "Put a copy back, or export what can be read.")
    yield right(f"SQLite {sqlite3.sqlite_version}: let no other program write {path.name} while a server runs")


def check_lock(path: Path, lock_type: type[ProcessLock] = ProcessLock) -> Iterator[Finding]:
    """Check that this user can take the lock of the file at ``path``; that it is missing or held is not a fault."""
    lock = path.with_name(f"{path.name}.lock")
    with suppress(FileNotFoundError):
        is_usable = stat.S_ISREG(lock.lstat().st_mode) and os.access(lock, os.R_OK | os.W_OK)
        if is_usable:
            with lock.open("rb") as file:
                is_usable = lock_type(lock).is_lock(file.fileno())
        if not is_usable:
            yield wrong(f"{lock.name} is not a lock file that this user can use, so nothing is saved", "Move it away.")

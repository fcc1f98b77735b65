"""The findings of ``doctor``, and its checks of any file or folder, which change nothing (DOC-1)."""

import os
import shlex
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from task_core.places import MOUNTS, find_mount, sync_mark

__all__ = [
    "Check",
    "Finding",
    "Level",
    "check_access",
    "check_folder",
    "is_mounted_alone",
    "note",
    "right",
    "wrong",
]


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
    """Check the folder that files are written to; with ``is_made`` the server creates it, so it may not exist yet.

    ``mounts`` is a list of mounts in the form of ``MOUNTS``.
    """
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
    return mount is not None and mount.point == real


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _quote(path: Path) -> str:
    return shlex.quote(str(path))


def _place(folder: Path, mounts: Path) -> Iterator[Finding]:
    mount = find_mount(folder, mounts)
    if mount and mount.is_network:
        yield wrong(
            f"{folder} is on a network file system ({mount.kind}), where locks are not reliable",
            "Choose a local disk.",
        )
    if sign := sync_mark(folder):
        yield note(
            f"{folder} seems to be synced by a program that ignores locks ('{sign}')",
            "Choose a folder that is not synced.",
        )

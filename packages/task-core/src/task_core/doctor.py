"""The findings of ``doctor``, and its checks of any file or folder, which change nothing (DOC-1)."""

import os
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

__all__ = [
    "MOUNTS",
    "Check",
    "Finding",
    "Level",
    "check_access",
    "check_folder",
    "find_mount",
    "is_mounted_alone",
    "note",
    "right",
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

"""What ``doctor`` says of one thing, and how it looks at any file and folder without changing anything (DOC-1)."""

import os
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Check", "Finding", "Level", "check_access", "check_folder", "counted", "note", "right", "wrong"]

_NETWORK: Final = re.compile(
    r"nfs\d*|cifs|smb\d*|smbfs|afs|ceph|davfs|9p|virtiofs|vboxsf"
    r"|fuse\.(sshfs|rclone|glusterfs|ceph.*|davfs.*|vmhgfs-fuse|s3fs|gcsfuse)"
)
"""File systems whose files other machines change too, as Linux names them."""

_SYNCED: Final = re.compile(
    r"dropbox.*|onedrive.*|google ?drive(-.*)?|box( sync|-.*)?|icloud ?drive|com~apple~clouddocs"
    r"|nextcloud|owncloud|pcloud ?drive",
    re.IGNORECASE,
)
"""Names that programs which sync folders give to them."""


class Level(StrEnum):
    """How much a finding matters; only ``WRONG`` makes the exit code 1."""

    RIGHT = "ok"
    NOTE = "note"
    WRONG = "WRONG"


class Finding(NamedTuple):
    """One sentence on one thing, and what mends it."""

    level: Level
    text: str
    cure: str = ""


def right(text: str) -> Finding:
    """Return the finding that all is well."""
    return Finding(Level.RIGHT, text)


def note(text: str, cure: str = "") -> Finding:
    """Return a finding that is worth knowing and no fault."""
    return Finding(Level.NOTE, text, cure)


def wrong(text: str, cure: str) -> Finding:
    """Return the finding of a fault, with what mends it."""
    return Finding(Level.WRONG, text, cure)


class Check(NamedTuple):
    """Something to look at: what it is called, and what looks at it and yields what it finds, in order."""

    subject: str
    look: Callable[[], Iterable[Finding]]


def counted(number: int, noun: str) -> str:
    """Return how many of something there are, as one says it."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def check_folder(
    folder: Path, *, is_made: bool = False, mounts: Path = Path("/proc/self/mountinfo")
) -> Iterator[Finding]:
    """Look at the folder that files are written to; one that ``is_made`` by the server may be missing yet.

    Only Linux has such a list of ``mounts``; elsewhere the kind of a file system stays unknown.
    """
    there = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
    if not there.is_dir():
        yield wrong(f"{there} is no folder", "Name a file that lies in a folder.")
        return
    if there != folder and not is_made:
        yield wrong(f"{folder} is not there", "Make it, or mend the link that leads there.")
        return
    if not _may(there, os.W_OK | os.X_OK):
        yield wrong(
            f"{there} cannot be written", f"chmod u+rwx {_quoted(there)}, as its owner, or choose another folder."
        )
    else:
        yield right(f"{folder} can be written" if there == folder else f"{folder} is not there yet and can be made")
    status = there.stat()
    if sys.platform != "win32" and status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        yield wrong(f"{there} can be written by everyone on this machine", f"chmod o-w {_quoted(there)}")
    yield from _place(Path(os.path.realpath(folder)), status.st_dev, mounts)


def check_access(path: Path, *, is_private: bool) -> Iterator[Finding]:
    """Look at who may read and write the file at ``path``, which is there; a private one is for its owner only (S4)."""
    if not _may(path, os.W_OK):
        yield wrong(f"{path.name} is read-only", f"chmod u+w {_quoted(path)}, as its owner")
    mode = stat.S_IMODE(path.stat().st_mode)
    if sys.platform == "win32":
        return
    if mode & stat.S_IWOTH:
        yield wrong(f"{path.name} can be written by everyone (mode {mode:o})", f"chmod o-w {_quoted(path)}")
    elif is_private and mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield note(f"{path.name} is open to others than its owner (mode {mode:o})", f"chmod 600 {_quoted(path)}")


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _place(folder: Path, device: int, mounts: Path) -> Iterator[Finding]:
    kind = _file_system(device, mounts)
    if _NETWORK.fullmatch(kind):
        yield wrong(
            f"{folder} lies on a disk of another machine ({kind}), where no lock can be relied on",
            "Choose a local disk.",
        )
    marks = [".stfolder" for place in (folder, *folder.parents) if os.path.lexists(place / ".stfolder")]  # Syncthing's
    for sign in [*filter(_SYNCED.fullmatch, folder.parts), *marks][:1]:
        yield note(
            f"{folder} seems to be synced by a program, which does not know of locks ('{sign}')",
            "Choose a folder that nothing syncs.",
        )


def _file_system(device: int, mounts: Path) -> str:
    with suppress(OSError):
        for line in mounts.read_text("utf-8", "surrogateescape").splitlines():
            mount, _, source = line.partition(" - ")
            if mount.split()[2] == f"{os.major(device)}:{os.minor(device)}":
                return source.split()[0]
    return ""

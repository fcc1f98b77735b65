"""What ``doctor`` says of one thing, and how it looks at any file and folder without changing anything (DOC-1)."""

from __future__ import annotations

import os
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from typing_extensions import override

from task_core.files import describe
from task_core.warning_list import WarningList

__all__ = [
    "Check",
    "Finding",
    "HeardWarnings",
    "Level",
    "check_access",
    "check_folder",
    "check_leftovers",
    "counted",
    "note",
    "right",
    "wrong",
]

_MOUNTS: Final = Path("/proc/mounts")
"""Where Linux lists the file systems; other systems have no such file, and the kind of theirs stays unknown."""

_NETWORK: Final = re.compile(
    r"nfs\d*|cifs|smb\d*|smbfs|afs|ceph|davfs|9p|virtiofs|vboxsf"
    r"|fuse\.(sshfs|rclone|glusterfs|ceph.*|davfs.*|vmhgfs-fuse|s3fs|gcsfuse)"
)
"""File systems whose files other machines change too, as ``/proc/mounts`` names them."""

_SYNCED: Final = re.compile(
    r"dropbox.*|onedrive.*|google ?drive(-.*)?|box( sync|-.*)?|icloud ?drive|com~apple~clouddocs"
    r"|nextcloud|owncloud|pcloud ?drive",
    re.IGNORECASE,
)
"""Names that programs which sync folders give to them."""

_SYNCTHING: Final = ".stfolder"
"""What Syncthing keeps in every folder that it syncs."""

_ESCAPED: Final = re.compile(r"\\([0-7]{3})")
"""How ``/proc/mounts`` writes a blank or a backslash in a path."""


class Level(str, Enum):
    """How much a finding matters; only ``WRONG`` makes the exit code 1."""

    RIGHT = "ok"
    NOTE = "note"
    WRONG = "WRONG"


@dataclass(frozen=True, slots=True)
class Finding:
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


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at: what it is called, and what looks at it."""

    subject: str
    look: Callable[[], Iterable[Finding]]

    def findings(self) -> Iterator[Finding]:
        """Yield what is found, in order; a failure of the system is a finding too."""
        try:
            yield from self.look()
        except OSError as error:
            yield wrong(f"it cannot be looked at ({describe(error)})", "Mend the cause, then look again.")


def counted(number: int, noun: str) -> str:
    """Return how many of something there are, as one says it."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class HeardWarnings(WarningList):
    """Collects the warnings that a server would give, and logs none of them."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []
        """What was said, oldest first."""

    @override
    def add(self, cause: str, message: str) -> None:
        """Keep ``message``."""
        self.messages.append(message)


def check_folder(folder: Path, *, is_made: bool = False, mounts: Path = _MOUNTS) -> Iterator[Finding]:
    """Look at the folder that files are written to; one that ``is_made`` by the server may be missing yet."""
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
    mode = there.stat().st_mode
    if sys.platform != "win32" and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        yield wrong(f"{there} can be written by everyone on this machine", f"chmod o-w {_quoted(there)}")
    yield from _place(Path(os.path.realpath(folder)), mounts)


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


def check_leftovers(*paths: Path) -> Iterator[Finding]:
    """Look for what damage and killed servers left beside the files at ``paths``."""
    found = [finding for path in paths for finding in _leftovers(path)]
    yield from found or [right("nothing is left over beside " + " and ".join(path.name for path in paths))]


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _leftovers(path: Path) -> Iterator[Finding]:
    names = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else list[str]()
    copies = [name for name in names if name.startswith(f"{path.name}.corrupt-")]
    if copies:
        yield note(
            f"damaged copies of {path.name} were kept: {', '.join(copies)}", "Take out what you miss, then delete them."
        )
    temporary = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{16}}\.tmp")
    stale = [name for name in names if temporary.fullmatch(name)]
    if stale:
        yield note(
            f"a server is writing {path.name} now, or was killed as it did: {', '.join(stale)}",
            "Nothing to do: the next server to write removes them.",
        )


def _place(folder: Path, mounts: Path) -> Iterator[Finding]:
    kind = _file_system(folder, mounts)
    if _NETWORK.fullmatch(kind):
        yield wrong(
            f"{folder} lies on a disk of another machine ({kind}), where no lock can be relied on",
            "Choose a local disk.",
        )
    if sign := _sign_of_sync(folder):
        yield note(
            f"{folder} seems to be synced by a program, which does not know of locks ('{sign}')",
            "Choose a folder that nothing syncs.",
        )


def _sign_of_sync(folder: Path) -> str:
    names = [part for part in folder.parts if _SYNCED.fullmatch(part)]
    marks = [_SYNCTHING for place in (folder, *folder.parents) if os.path.lexists(place / _SYNCTHING)]
    return next(iter(names + marks), "")


def _file_system(folder: Path, mounts: Path) -> str:
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    rows = [line.split() for line in lines]
    points = [(Path(_ESCAPED.sub(_character, point)), kind) for _, point, kind, *_ in rows]
    above = [(len(point.parts), kind) for point, kind in points if folder.is_relative_to(point)]
    # What was mounted last on one place hides what was mounted there before.
    return max(reversed(above), key=lambda item: item[0], default=(0, ""))[1]


def _character(match: re.Match[str]) -> str:
    return chr(int(match[1], 8))

"""Finds files on a network disk, in a synced folder, or mounted without their folder (DOC-1)."""

import os
import re
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["MOUNTS", "Mount", "find_mount", "sync_mark"]

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


class Mount(NamedTuple):
    """A place where a file system is mounted."""

    point: Path
    kind: str

    @property
    def is_network(self) -> bool:
        """Return whether other machines can write to it too, so that locks are not reliable."""
        return bool(_NETWORK.fullmatch(self.kind))


def find_mount(path: Path, mounts: Path = MOUNTS) -> Mount | None:
    """Return the mount that ``path`` is on, in which links are resolved, or None if that is not known."""
    found: Mount | None = None
    with suppress(OSError):
        for line in mounts.read_text("utf-8", "surrogateescape").splitlines():
            mount, _, source = line.partition(" - ")
            point = Path(_ESCAPE.sub(_unescape, mount.split()[4]))
            # Of two at one point, the later one hides the earlier.
            if path.is_relative_to(point) and (found is None or point.is_relative_to(found.point)):
                found = Mount(point, source.split()[0])
    return found


def sync_mark(folder: Path) -> str:
    """Return the name by which a sync program's folder is known, or nothing if ``folder`` is in none."""
    names = filter(_SYNCED.fullmatch, folder.parts)
    marks = (_SYNCTHING for place in (folder, *folder.parents) if os.path.lexists(place / _SYNCTHING))
    return next(chain(names, marks), "")


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 8))

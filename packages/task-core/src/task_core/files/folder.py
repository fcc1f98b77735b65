"""Open folders, which make the names of files durable."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from typing_extensions import Self

from task_core.files.descriptors import close

__all__ = ["Folder", "FolderNotSynced"]


class FolderNotSynced(OSError):
    """The file has been replaced, but its folder could not be synced, so the change may not survive a power cut."""


class Folder:
    """An open folder, so that a failure to open it comes before anything is written."""

    def __init__(self, path: str | Path, *, fsync: bool) -> None:
        self._descriptor: int | None = None
        if fsync and sys.platform != "win32":
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            close(self._descriptor)

    def sync(self) -> None:
        """Make the names in the folder durable."""
        if self._descriptor is None:
            return
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            # Some file systems cannot sync a folder at all, and say so with EINVAL; there is nothing more to do there.
            if error.errno != errno.EINVAL:
                raise FolderNotSynced(error.errno, error.strerror) from error

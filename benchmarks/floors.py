"""Bare loops over the disk: the least that the machine needs for the same work."""

import os
from pathlib import Path

from benchmarks.series import timed

__all__ = ["append_seconds", "replace_seconds"]

_PAGE = bytes(4096)


def append_seconds(path: Path) -> float:
    """Return the seconds that it takes to append 4 KiB to a file and to sync its data."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return timed(lambda: (os.write(descriptor, _PAGE), os.fdatasync(descriptor)))
    finally:
        os.close(descriptor)


def replace_seconds(path: Path, data: bytes) -> float:
    """Return the seconds of a bare durable save: write beside ``path``, sync, rename, and sync the folder."""
    return timed(lambda: _replace(path, data))


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("xb", buffering=0) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)

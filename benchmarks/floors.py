"""What the machine itself needs for the same work: bare loops over the disk."""

import os
from pathlib import Path

from benchmarks.series import timed

__all__ = ["append_seconds", "replace_durably", "replace_seconds"]

_PAGE = bytes(4096)


def append_seconds(path: Path) -> float:
    """Return how long it takes to append 4 KiB to a file and to sync its data."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return timed(lambda: (os.write(descriptor, _PAGE), os.fdatasync(descriptor)))
    finally:
        os.close(descriptor)


def replace_durably(path: Path, data: bytes) -> None:
    """Write ``data`` beside ``path``, sync it, move it there, and sync the folder: the minimum of a durable save."""
    temporary = path.with_name(f".{path.name}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def replace_seconds(path: Path, data: bytes) -> float:
    """Return how long ``replace_durably`` takes."""
    return timed(lambda: replace_durably(path, data))

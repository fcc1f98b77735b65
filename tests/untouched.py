"""A folder that a piece of work must leave as it is, bit for bit."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

__all__ = ["untouched"]


class State(NamedTuple):
    """What can be said about one name without opening what could hang."""

    mode: int
    owner: tuple[int, int]
    inode: int
    links: int
    mtime_ns: int
    content: bytes | str


def _state(path: Path) -> State:
    status = path.lstat()
    content: bytes | str = b""
    if stat.S_ISREG(status.st_mode):
        content = path.read_bytes()
    elif stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)
    owner = (status.st_uid, status.st_gid)
    return State(status.st_mode, owner, status.st_ino, status.st_nlink, status.st_mtime_ns, content)


def states(folder: Path) -> dict[Path, State]:
    """Return the state of the folder and of everything in it."""
    return {path: _state(path) for path in (folder, *sorted(folder.rglob("*")))}


@contextmanager
def untouched(folder: Path) -> Iterator[None]:
    """Run the block, in which nothing in ``folder`` may change: no name, byte, time, mode or owner."""
    before = states(folder)
    yield
    assert states(folder) == before

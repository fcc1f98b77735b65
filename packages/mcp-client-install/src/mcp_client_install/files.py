"""Reads the files of clients, replaces them as a whole, and keeps the old one beside each."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple

from mcp_client_install.atomic import FileRewritten, FileStamp, close, identify, read_file, replace_file, write_new

__all__ = ["TextFile", "open_text", "read_copies", "restore", "save"]

_LOCK_SECONDS: Final = 10.0
"""Seconds to wait for another install."""

_POLL_SECONDS: Final = 0.01
"""Seconds between two attempts to lock a folder."""


class TextFile(NamedTuple):
    """A file as it was read."""

    path: Path
    """The path without links, so that a link stays one."""
    data: bytes | None
    """The content; None if there is no file."""
    identity: FileStamp | None


def open_text(path: Path) -> TextFile:
    """Read the file at ``path``, which need not exist.

    Raises:
        OSError: it cannot be read, or is not a regular file.
    """
    real = Path(os.path.realpath(path))
    try:
        data, identity = read_file(real)
    except FileNotFoundError:
        return TextFile(real, None, None)
    return TextFile(real, data, identity)


def read_copies(file: Path, command: str) -> list[bytes]:
    """Return the content of a file before MCP servers were added to it, from the copies that ``save`` has kept.

    Raises:
        OSError: a copy cannot be read.
    """
    return [read_file(path)[0] for path in _copies(file, command)]


def save(file: TextFile, data: bytes, command: str, *, is_private: bool, needs_copy: bool) -> Path | None:
    """Replace the content of a file, and return the copy of the old one beside it that ``read_copies`` finds.

    Without ``needs_copy``, or for a new file, none is made. An older copy is never overwritten.

    Raises:
        OSError: nothing has changed; ``FileRewritten`` if another program has written to the file since it was read.
    """
    copy = _keep_copy(file.path, file.data, command) if needs_copy and file.data is not None else None
    try:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(file.path.parent):
            replace_file(file.path, data, over=file.identity, is_private=is_private)
    except OSError:
        if copy:
            copy.unlink()
        raise
    return copy


def restore(file: TextFile, data: bytes | None, command: str, project: Path | None) -> list[Path]:
    """Give a file the content without an entry, or remove it, and within its ``project`` the folders it leaves empty.

    A copy with just that content is removed. Return the others.

    Raises:
        OSError: nothing has changed; ``FileRewritten`` if another program has written to the file since it was read.
    """
    copies = _copies(file.path, command)
    spare = [copy for copy in copies if read_file(copy)[0] == data]
    if data is not None:
        save(file, data, command, is_private=True, needs_copy=False)
    else:
        with _locked(file.path.parent):
            if identify(file.path) != file.identity:
                raise FileRewritten
            file.path.unlink()
    for copy in spare:
        copy.unlink()
    if data is None and project:
        _remove_empty(file.path.parents, Path(os.path.realpath(project)))
    return [copy for copy in copies if copy not in spare]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other installs out of a folder: one could write between the check and the write of another.

    Whatever holds the folder after ``_LOCK_SECONDS`` is not an install. Windows and some networks cannot lock folders.
    """
    if sys.platform == "win32":  # pragma: no cover - it cannot open a folder
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        deadline = time.monotonic() + _LOCK_SECONDS
        with suppress(OSError):
            while not _lock(descriptor) and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)  # the kernel's own wait for a lock has no time limit
        yield
    finally:
        close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock an open folder, and return whether nobody else had locked it."""
    import fcntl  # noqa: PLC0415 - it does not exist on Windows

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_empty(folders: Iterable[Path], project: Path) -> None:
    with suppress(OSError):  # something else is in it
        for folder in takewhile(lambda folder: folder != project, folders):
            folder.rmdir()


def _keep_copy(path: Path, data: bytes, command: str) -> Path:
    number = 1
    while os.path.lexists(copy := path.with_name(f"{path.name}.before-{command}{f'.{number}' if number > 1 else ''}")):
        number += 1
    write_new(copy, data)
    return copy


def _copies(file: Path, command: str) -> list[Path]:
    """Return the copies of a file, by their names: those for ``command`` and for any other MCP server."""
    servers = rf"[A-Za-z0-9_-]*mcp[A-Za-z0-9_-]*|{re.escape(command)}"
    pattern = re.compile(rf"{re.escape(file.name)}\.before-(?:{servers})(?:\.[0-9]{{1,9}})?")
    return sorted(path for path in file.parent.iterdir() if pattern.fullmatch(path.name))

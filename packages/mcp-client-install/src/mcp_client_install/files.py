"""Reads the files of clients, replaces them as a whole, and keeps the old one beside each."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

__all__ = ["FileRewritten", "TextFile", "describe", "open_text", "read_copies", "restore", "save"]


class FileRewritten(OSError):
    """Another program changed the file after it was read, so it was not replaced."""

    cure = "Run the command again."

    def __init__(self) -> None:
        super().__init__("another program has changed it in the meantime")


class TextFile(NamedTuple):
    """A file as it was read."""

    path: Path
    """The path without links, so that a link stays one."""
    data: bytes | None
    """The content; None if there is no file."""


def describe(error: Exception) -> str:
    """Return the cause of ``error`` in a few words, without a path."""
    if isinstance(error, OSError) and error.errno in errno.errorcode:
        return f"{error.strerror} [{errno.errorcode[error.errno]}]"
    return str(error)


def open_text(path: Path) -> TextFile:
    """Read the file at ``path``, which need not exist; anything but a regular file raises ``OSError``."""
    real = Path(os.path.realpath(path))
    return TextFile(real, _read(real))


def read_copies(file: Path, command: str) -> list[bytes]:
    """Return the content of a file before MCP servers were added to it, from the copies that ``save`` has kept."""
    return [data for path in _copies(file, command) if (data := _read(path)) is not None]


def save(file: TextFile, data: bytes, command: str, *, is_private: bool, needs_copy: bool) -> list[Path]:
    """Replace the content of a file; return the copy of the old one, if one is kept beside it for ``read_copies``.

    The new content is complete and on disk before it takes the old one's place. The file keeps its mode and owner. A
    new file that ``is_private`` can be read by its owner alone, any other by everyone who can read the folder.
    A new file needs no copy, nor does any file unless ``needs_copy``. An older copy is never overwritten.

    Raises:
        OSError: nothing has changed; ``FileRewritten`` if another program has written to the file since it was read.
    """
    path, copies = file.path, list[Path]()
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as undo:
        if needs_copy and file.data is not None:
            copies = [_free_name(path, command)]
            _write_new(copies[0], file.data, undo)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        _write_new(temporary, data, undo)
        _require_unchanged(file)
        if file.data is not None:
            if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            _copy_access(path, temporary)
        elif not is_private:
            _copy_access(path.parent, temporary)
        temporary.replace(path)
        undo.pop_all()
    return copies


def restore(file: TextFile, data: bytes | None, command: str, project: Path | None) -> list[Path]:
    """Give a file the content without an entry, or remove it, and within its ``project`` the folders it leaves empty.

    A copy with just that content is removed. Return the others.

    Raises:
        OSError: nothing has changed; ``FileRewritten`` if another program has written to the file since it was read.
    """
    copies = _copies(file.path, command)
    spare = [copy for copy in copies if _read(copy) == data]
    if data is not None:
        save(file, data, command, is_private=True, needs_copy=False)
    else:
        _require_unchanged(file)
        file.path.unlink()
    for copy in spare:
        copy.unlink()
    if data is None and project:
        _remove_empty(file.path.parents, Path(os.path.realpath(project)))
    return [copy for copy in copies if copy not in spare]


def _read(path: Path) -> bytes | None:
    """Return the content of the regular file at ``path``, or None if there is none."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a FIFO would hang
            raise OSError(errno.EINVAL, "not a regular file")
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _require_unchanged(file: TextFile) -> None:
    if _read(file.path) != file.data:
        raise FileRewritten


def _write_new(path: Path, data: bytes, undo: ExitStack) -> None:
    """Write a new private file and sync it; ``undo`` removes it."""
    with open(path, "xb", opener=partial(os.open, mode=0o600)) as file:
        undo.callback(path.unlink)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _copy_access(source: Path, target: Path) -> None:
    """Give a file the mode of another file or a folder, and its owner and group as far as that is allowed."""
    if sys.platform == "win32":  # pragma: no cover - it has none of these
        return
    old, new = source.stat(), target.stat()
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        # Only root may give a file away; any other user can still keep a group that they belong to.
        with suppress(PermissionError):
            os.chown(target, old.st_uid if os.geteuid() == 0 else -1, old.st_gid)
    # A folder may be open for everyone to write, as /tmp is; what is in it need not be.
    target.chmod(stat.S_IMODE(old.st_mode) & (0o664 if stat.S_ISDIR(old.st_mode) else 0o7777))


def _remove_empty(folders: Iterable[Path], project: Path) -> None:
    with suppress(OSError):  # something else is in it
        for folder in takewhile(lambda folder: folder != project, folders):
            folder.rmdir()


def _free_name(path: Path, command: str) -> Path:
    number = 1
    while os.path.lexists(copy := path.with_name(f"{path.name}.before-{command}{f'.{number}' if number > 1 else ''}")):
        number += 1
    return copy


def _copies(file: Path, command: str) -> list[Path]:
    """Return the copies of a file, by their names: those for ``command`` and for any other MCP server."""
    servers = rf"[A-Za-z0-9_-]*mcp[A-Za-z0-9_-]*|{re.escape(command)}"
    pattern = re.compile(rf"{re.escape(file.name)}\.before-(?:{servers})(?:\.[0-9]{{1,9}})?")
    return sorted(path for path in file.parent.iterdir() if pattern.fullmatch(path.name))

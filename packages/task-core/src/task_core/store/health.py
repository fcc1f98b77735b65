"""What is right and wrong with a store, found with the code that reads it and without changing anything (DOC-1)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from filelock import lock_descriptor

from task_core.doctor import Check, Finding, check_access, check_folder, check_leftovers, counted, note, right, wrong
from task_core.files import describe, read_file
from task_core.models import Record
from task_core.store.encoding import Codec, Damaged, Decoded, Newer
from task_core.text import escape_invisible, shorten

__all__ = ["check_lock", "check_store", "store_checks"]

RecordT = TypeVar("RecordT", bound=Record)

_MOST_FAULTS: Final = 10
"""Faults of one document that are told; of more the number is."""

_MOST_NAMED: Final = 200
"""Characters of the names of unknown fields that are shown."""


def _values(records: Mapping[str, RecordT]) -> Iterable[RecordT]:
    return records.values()


def store_checks(
    path: Path,
    codec: Codec[RecordT],
    *,
    every: Callable[[Mapping[str, RecordT]], Iterable[RecordT]] = _values,
    makes_folder: bool = False,
) -> list[Check]:
    """Return the checks of the store at ``path``: its folder, the document, the lock, and what lies beside it.

    ``every`` gives all tasks of a document, where some stand inside others. With ``makes_folder`` the server makes the
    folder that ``path`` names, but never one that a link at ``path`` leads to.
    """
    real = Path(os.path.realpath(path))
    return [
        Check("folder", partial(_check_folder, path, real, makes_folder=makes_folder)),
        Check("store", partial(check_store, real, codec, every)),
        Check("lock", partial(check_lock, real)),
        Check("leftovers", partial(check_leftovers, real)),
    ]


def check_store(
    path: Path,
    codec: Codec[RecordT],
    every: Callable[[Mapping[str, RecordT]], Iterable[RecordT]] = _values,
) -> Iterator[Finding]:
    """Look at the document at ``path`` as a server reads it."""
    try:
        data, _ = read_file(path)
    except FileNotFoundError:
        yield right(f"{path.name} is not there yet; it is made when it is needed")
        return
    except OSError as error:
        yield wrong(
            f"{path.name} is there but cannot be read ({describe(error)}), so every tool answers StoreUnreadable",
            "Give the user that runs the server the right to read and write it; move away what is no file.",
        )
        return
    yield from _content(path.name, data, codec, every)
    yield from check_access(path, is_private=True)


def check_lock(path: Path) -> Iterator[Finding]:
    """Look at the lock of the store at ``path``: it may be held, which is no fault. It is never made here."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        status = lock.lstat()
    except FileNotFoundError:
        yield right("it is free: no server has worked here yet")
        return
    if not stat.S_ISREG(status.st_mode) or status.st_size:
        yield wrong(f"{lock.name} is no lock but something else in its place", "Move it away while no server runs.")
        return
    descriptor = os.open(lock, os.O_RDONLY)
    try:
        is_free = lock_descriptor(descriptor, blocking=False)
    finally:
        os.close(descriptor)
    yield right("it is free") if is_free else right("another process holds it at this moment, which is no fault")
    yield from check_access(lock, is_private=True)


def _check_folder(path: Path, real: Path, *, makes_folder: bool) -> Iterator[Finding]:
    is_made = makes_folder and not path.parent.is_dir()
    yield from check_folder(path.parent if is_made else real.parent, is_made=is_made)


def _content(
    name: str,
    data: bytes,
    codec: Codec[RecordT],
    every: Callable[[Mapping[str, RecordT]], Iterable[RecordT]],
) -> Iterator[Finding]:
    if not data.strip():
        yield wrong(f"{name} is empty", "Put a copy back, or delete it: the next call makes a new one.")
        return
    try:
        decoded = codec.decode(data)
    except Newer as error:
        yield wrong(
            f"{name} has format version {error.found}, newer than this server, which knows {error.supported}",
            "Update the server.",
        )
    except Damaged as error:
        yield wrong(
            f"{name} is damaged: {error}",
            f"Mend it or put a copy back. Else the server copies its bytes to {name}.corrupt-… and goes on with the "
            "tasks that it can recover, if any.",
        )
    else:
        yield from _told(name, len(data), decoded, [*every(decoded.records)])


def _told(name: str, size: int, decoded: Decoded[RecordT], tasks: list[RecordT]) -> Iterator[Finding]:
    yield right(f"{name} holds {counted(len(tasks), 'task')} in {counted(size, 'byte')}")
    for fault in decoded.faults[:_MOST_FAULTS]:
        yield wrong(f"{name}: {fault}", "Put it right in the file; what the server can, it does at its next change.")
    untold = len(decoded.faults) - _MOST_FAULTS
    if untold > 0:
        yield wrong(f"{name}: {counted(untold, 'more fault')}", "Mend those above, then look again.")
    unknown = {*decoded.kept.fields, *(field for task in tasks for field in task.model_extra or ())}
    if unknown:
        named = shorten(escape_invisible(", ".join(sorted(unknown))), _MOST_NAMED)
        yield note(f"{name} has fields that this server does not know; they are kept: {named}")

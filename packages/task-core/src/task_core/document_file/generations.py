"""Copies beside a document: older ones, one for each day of saves (ST-6), and damaged ones (L3)."""

import os
import secrets
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from task_core.durable import replace_file, write_new
from task_core.errors import StoreDamaged, StoreWriteFailed
from task_core.files import ProcessLock, Wait, describe, identify, read_file
from task_core.models import DAY_SECONDS, Clock, day_of
from task_core.warning_list import WarningList

__all__ = ["Generations", "list_generations", "restore"]

_SUFFIXES: Final = (".bak", ".bak.2", ".bak.3")
"""The suffixes to the name of the document, the newest generation first."""

_STAMP: Final = "%Y%m%dT%H%M%S%fZ"

_NOT_KEPT: Final = "generation"
"""Cause of the warning that a generation could not be kept."""

_MISSING: Final = "store missing"
"""Cause of the warning that the document is gone."""


class Generations:
    """The copies of the document at ``path``; the caller holds the lock of the store."""

    def __init__(self, path: Path, clock: Clock, warnings: WarningList) -> None:
        self._path = path
        self._clock = clock
        self._warnings = warnings
        self.kept_on: int | None = None
        """the last day, counted from 1970, on which this process kept a generation, or found one"""
        self.undated: datetime | None = None
        """when the newest generation was kept, until its file has that time"""

    @property
    def newest(self) -> Path:
        """The path of the newest generation, whether or not it exists."""
        return self._path_with(_SUFFIXES[0])

    def keep(self, *, is_valid: bool) -> None:
        """Keep a valid document as a generation, unless there is one of this day (UTC); a failure is a warning."""
        now = self._clock()
        today = day_of(now)
        try:
            if is_valid and _day_of_file(self.newest) != today:
                self._rotate()
                _link(self._path, self.newest)
                self.undated = now
        except OSError as error:
            message = f"The {self._path.name} from before today could not be kept ({describe(error)})."
            self._warnings.add(_NOT_KEPT, message)
        else:
            self.kept_on = today
            self._warnings.settle(_NOT_KEPT)

    def date_newest(self, moment: datetime) -> None:
        """Give the file of the newest generation the time at which it was kept, once it is a file of its own."""
        self.undated = None
        with suppress(OSError):
            os.utime(self.newest, (moment.timestamp(), moment.timestamp()))

    def save_damaged_copy(self, data: bytes, damage: StoreDamaged) -> None:
        """Keep ``data`` as ``NAME.corrupt-TIME-RANDOM``, with a warning that the store starts empty."""
        copy = self._path_with(f".corrupt-{self._clock().strftime(_STAMP)}-{secrets.token_hex(4)}")
        try:
            write_new(copy, data)
        except OSError as error:
            cause = f"the damaged store could not be kept: {describe(error)}"
            raise StoreWriteFailed(self._path.name, cause) from error
        self._warnings.add(
            f"started empty: {copy.name}",
            f"{self._path.name} was cut off by a crash (found {damage.details['found']} at line "
            f"{damage.details['line']}), so the store starts empty; the damaged file is kept as {copy.name}.",
        )

    def note_missing(self) -> None:
        """Warn that the document is gone if a generation of it exists."""
        if self.newest.exists():
            self._warnings.add(
                _MISSING,
                f"{self._path.name} is missing, but {self.newest.name} exists: to restore its tasks, the user can "
                "run the server's command 'restore'.",
            )

    def settle_missing(self) -> None:
        """Note that the document exists."""
        self._warnings.settle(_MISSING)

    def _rotate(self) -> None:
        for older, newer in zip(_SUFFIXES[:0:-1], _SUFFIXES[-2::-1], strict=True):
            if os.path.lexists(self.newest) and os.path.lexists(self._path_with(newer)):
                self._path_with(newer).replace(self._path_with(older))

    def _path_with(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)


def list_generations(path: Path) -> list[Path]:
    """Return the copies of the document at ``path``: generations, replaced documents, and damaged ones."""
    others = tuple(f"{path.name}.{why}-" for why in ("before-restore", "corrupt", "replaced"))
    generations = [path.with_name(path.name + suffix) for suffix in _SUFFIXES]
    folder = sorted(path.parent.glob("*"))
    return [*filter(Path.exists, generations), *(entry for entry in folder if entry.name.startswith(others))]


def restore(
    path: Path, data: bytes, lock: ProcessLock, lock_seconds: float, moment: datetime, *, is_private: bool = True
) -> Path | None:
    """Make ``data`` the document at ``path``, while servers run; return where the one before it is kept."""
    lock.acquire(Wait(lock_seconds))
    try:
        kept = path.with_name(f"{path.name}.before-restore-{moment.strftime(_STAMP)}")
        is_there = path.exists()
        before = identify(path) if is_there else None
        if is_there:
            _link(path, kept)
        replace_file(path, data, over=before, is_private=is_private).close()
    except OSError as error:
        raise StoreWriteFailed(path.name, describe(error)) from error
    finally:
        lock.release()
    return kept if is_there else None


def _day_of_file(path: Path) -> int | None:
    """Return the day (UTC) of a file's time, counted from 1970; a file system may know years that no calendar has."""
    try:
        return int(path.stat().st_mtime // DAY_SECONDS)
    except FileNotFoundError:
        return None


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        write_new(target, read_file(source)[0])  # some file systems have no hard links

"""Acts: one operation of a service over real files, for tests that let it fail or be killed anywhere.

An act can be begun again and again from the same files, and always comes to the same end: the clock stands still, and
what is random is seeded.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Final, TypeVar

from pydantic import JsonValue

__all__ = ["LOCK_SECONDS", "NOW", "Act", "Bench", "Shown", "act_of", "files_in", "lay_out"]

NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
"""What the clock of every bench says."""

LOCK_SECONDS: Final = 0.005
"""How long a bench waits for the lock, in seconds."""

Shown = dict[str, JsonValue]
"""Tasks by their texts."""


class Bench(ABC):
    """A service over the files in a folder, as a new process would build it."""

    store: ClassVar[str]

    def __init__(self, folder: Path) -> None:
        """Build the service; ``folder`` holds its files."""
        self.folder = folder

    @property
    def kept(self) -> set[str]:
        """The names that may be in the folder once nothing is under way, beside copies of damaged stores."""
        return {self.store + suffix for suffix in ("", ".lock", ".history.jsonl", ".bak", ".bak.2", ".bak.3")}

    @abstractmethod
    def shown(self) -> Shown:
        """Return every task that the service shows, by its text, which no two of them share."""

    @abstractmethod
    def add(self, text: str) -> None:
        """Add one more task."""

    def check(self) -> None:
        """Check what must agree with the store once the service could do all its work."""
        assert (self.folder / self.store).is_file()


BenchT = TypeVar("BenchT", bound=Bench)


@dataclass(frozen=True)
class Act:
    """One operation, the content of the folder before it, and the bench that it is done on."""

    name: str
    prepare: Callable[[Path], set[str]]
    """Puts files into an empty folder and returns the texts of the tasks that are there then."""
    bench: Callable[[Path], Bench]
    begin: Callable[[Path], tuple[Bench, Callable[[], object]]]
    """Makes ready in a folder: the bench, and the operation itself."""
    is_reading: bool
    """Whether it is free to leave undone what it would do besides."""
    is_exact: bool
    """Whether it does one thing only, so that its success leaves one state of the store."""
    deletes: str
    """The text of the one task that is not there afterwards."""


def act_of(
    bench: Callable[[Path], BenchT],
    name: str,
    prepare: Callable[[Path], set[str]],
    run: Callable[[BenchT], object],
    *,
    is_first: bool = False,
    is_reading: bool = False,
    deletes: str = "",
) -> Act:
    """Return an act; the bench has shown its tasks before, unless the act ``is_first``."""

    def begin(folder: Path) -> tuple[Bench, Callable[[], object]]:
        made = bench(folder)
        if not is_first:
            made.shown()
        return made, lambda: run(made)

    return Act(name, prepare, bench, begin, is_reading, not is_first and not is_reading, deletes)


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the files in ``folder`` by their names."""
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def lay_out(folder: Path, files: Mapping[str, bytes]) -> None:
    """Leave these files in ``folder`` and no others, all written a minute ago: a mirror waits for younger ones."""
    for entry in folder.iterdir():
        entry.unlink()
    written = time.time() - 60
    for name, data in files.items():
        (folder / name).write_bytes(data)
        os.utime(folder / name, (written, written))

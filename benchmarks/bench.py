"""One run of the benchmarks: its folder, its extent, and servers over new stores in it."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.stores import save
from benchmarks.subjects import Place, Subject
from task_core.store import Engine

__all__ = ["Bench"]

T = TypeVar("T")


@dataclass(frozen=True)
class Bench:
    """One run: the folder of its stores, and whether it is a quick one, which only shows that everything works."""

    folder: Path
    is_quick: bool

    def pick(self, usual: T, quick: T) -> T:
        """Return the value for this kind of run."""
        return quick if self.is_quick else usual

    def place(self, subject: Subject, count: int, engine: Engine = Engine.JSON) -> Place:
        """Return a new store with ``count`` tasks in a folder of its own."""
        place = Place(subject, engine, Path(tempfile.mkdtemp(dir=self.folder)))
        save(place.store, engine, subject, count)
        return place

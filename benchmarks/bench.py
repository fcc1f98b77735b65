"""What every measurement needs: servers over new stores, and the extent of the run."""

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
    """One run: where the stores are, and whether it is a quick one, which is for seeing that everything works."""

    folder: Path
    is_quick: bool
    task_master: tuple[str, ...] = ()
    """The command of Task Master's own server, if it is to be measured too."""

    def pick(self, usual: T, quick: T) -> T:
        """Return the value for this kind of run."""
        return quick if self.is_quick else usual

    def place(self, subject: Subject, count: int, engine: Engine = Engine.JSON) -> Place:
        """Return a new store with so many tasks in a folder of its own."""
        place = Place(subject, engine, Path(tempfile.mkdtemp(dir=self.folder)))
        save(place.store, engine, subject.content, count)
        return place

"""Ids that are unique in one reading; importing again finds the same tasks by them (MV-4)."""

from collections import Counter
from collections.abc import Callable, MutableSequence
from hashlib import sha256

from task_formats.record import Remark

__all__ = ["IdRegister"]


class IdRegister:
    """Gives ids, before what is below a task needs them.

    Args:
        problems: The list that gets a problem for each id that was taken.
        key: Ids are the same if their keys are.
    """

    def __init__(self, problems: MutableSequence[Remark], key: Callable[[str], str] = str) -> None:
        self.suffixed: set[str] = set()
        """the ids with a suffix"""
        self._problems = problems
        self._key = key
        self._places: dict[str, str] = {}
        self._repeats: Counter[str] = Counter()
        self._texts: Counter[str] = Counter()

    def claim(self, own: str, place: str) -> str:
        """Return the id ``own`` of the source, or that with a suffix (``-2``, ``-3``, …) if it is taken."""
        new, same = own, self._key(own)
        while self._key(new) in self._places:
            self._repeats[same] += 1
            new = f"{own}-{self._repeats[same] + 1}"
        if new != own:
            self.suffixed.add(new)
            self._problems.append(Remark(place, f"{self._places[same]} has the id {own} too; this task got {new}."))
        self._places[self._key(new)] = place
        return new

    def name(self, text: str, place: str, start: str = "") -> str:
        """Return an id, which begins with ``start``, for a task that has none.

        It comes from the text, so it stays when other lines come, go or are ticked; equal texts are counted.
        """
        plain = start + " ".join(text.casefold().split())
        self._texts[plain] += 1
        mark = start + sha256(plain.removeprefix(start).encode("utf-8", "replace")).hexdigest()[:10]
        return self.claim(mark if self._texts[plain] == 1 else f"{mark}-{self._texts[plain]}", place)

"""Ids for the tasks of formats that have none: importing again finds the same tasks (MV-4)."""

from collections import Counter
from hashlib import sha256

__all__ = ["LineIds"]


class LineIds:
    """Names tasks by their text, so that an id stays when other lines come, go or are ticked; it counts equal ones."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def name(self, text: str) -> str:
        """Return the id of the next task with this text."""
        plain = " ".join(text.casefold().split())
        self._counts[plain] += 1
        mark = sha256(plain.encode("utf-8", "replace")).hexdigest()[:10]
        return mark if self._counts[plain] == 1 else f"{mark}-{self._counts[plain]}"

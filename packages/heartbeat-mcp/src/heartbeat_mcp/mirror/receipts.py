"""What the server remembers of the section: for each entry that it wrote, a digest of its bytes (HB-12).

The receipts are kept in the store, in the same unit of work as the tasks. Only they record who wrote what: they
distinguish the server's entry from one that a person changed, even in another process, after a kill, or on another day.
"""

from collections import Counter
from collections.abc import Container, Mapping
from hashlib import blake2b
from typing import Final, Self

from pydantic import JsonValue

from heartbeat_mcp.mirror.entries import render_entry
from heartbeat_mcp.models import SECTION, Task

__all__ = ["Receipts", "digest_of"]

_DIGEST_BYTES: Final = 6

_BULLET: Final = "-"
"""The prefix of the digest of a bullet that became the task."""


class Receipts:
    """The immutable receipts of one committed state: for each id its digests as one text, separated by blanks."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        self.stored = stored

    @classmethod
    def in_fields(cls, fields: Mapping[str, JsonValue]) -> Self | None:
        """Return the receipts that a store holds, or None if no server ever wrote the section."""
        found = fields.get(SECTION)
        if not isinstance(found, dict):
            return None
        return cls({task_id: text for task_id, text in found.items() if isinstance(text, str)})

    def knows(self, task_id: str, text: bytes) -> bool:
        """Return whether the server wrote ``text`` as the entry of the task."""
        return digest_of(text) in self.stored.get(task_id, "").split()

    def bullets(self, shown: Container[str]) -> Counter[str]:
        """Return, by digest, how many tasks were made from a bullet that may still be in the file.

        A task ``shown`` as an entry does not count: the entry replaced the bullet.
        """
        found = (word for task_id, text in self.stored.items() if task_id not in shown for word in text.split())
        return Counter(word.removeprefix(_BULLET) for word in found if word.startswith(_BULLET))

    def with_bullets(self) -> list[str]:
        """Return the ids of the tasks that have a bullet noted."""
        return [task_id for task_id, text in self.stored.items() if _BULLET in text]

    def after(
        self, tasks: Mapping[str, Task | None], shown: Mapping[str, bytes], bullets: Mapping[str, bytes] | None
    ) -> Self:
        """Return the receipts once ``tasks`` are as given, None for one that is gone.

        ``shown`` are the entries that are in the file now, by id, and ``bullets`` those that became tasks in this call,
        beside the ones that are noted; None if no such bullet is in the file any more.
        """
        stored = dict(self.stored)
        for task_id, task in tasks.items():
            digests: list[str] = [digest_of(shown[task_id])] if task_id in shown else []
            if bullets is not None:
                digests += [word for word in self.stored.get(task_id, "").split() if word.startswith(_BULLET)]
                digests += [_BULLET + digest_of(bullets[task_id])] if task_id in bullets else []
            if task is not None and task.is_active:
                digests.append(digest_of(render_entry(task)))
            stored[task_id] = " ".join(dict.fromkeys(digests))
            if not digests:
                del stored[task_id]
        return Receipts(stored)

    def missing(self, shown: Container[str]) -> list[str]:
        """Return the ids of the tasks that had an entry, or were about to get one, and are not ``shown``."""
        return [task_id for task_id, text in self.stored.items() if _BULLET not in text and task_id not in shown]

    def outdated(self, shown: Mapping[str, bytes], active: Container[str]) -> list[str]:
        """Return the ids of the tasks whose receipts name an entry that is not ``shown`` any more."""
        hidden = self.stored.keys() - shown.keys()
        return [task_id for task_id in hidden if task_id not in active or " " in self.stored[task_id]]


def digest_of(text: bytes) -> str:
    """Return the digest of an entry or a bullet, its lines joined by line feeds."""
    return blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()

"""Answers that are kept as long as the files they were made from are the same (TM-75 to TM-77)."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from task_core.bounds import size_of
from taskmaster_mcp.core.items import JsonObject

__all__ = ["Cache"]

_MAX_ENTRIES: Final = 200

_MAX_BYTES: Final = 16_000_000


class _Entry(NamedTuple):
    revision: Hashable
    data: JsonObject
    size: int


class Cache:
    """The answers last used, 200 of them in 16 MB; an answer is never older than its files."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._size = 0
        self._hits = self._misses = self._invalidations = 0

    def get_cached_or_execute(
        self, key: Hashable, revision: Callable[[], Hashable], action: Callable[[], JsonObject]
    ) -> tuple[JsonObject, bool]:
        """Return the answer for ``key``, and whether it was kept; else it is the result of ``action``.

        ``revision`` returns the state of the files. Nobody may change what is returned.
        """
        now = revision()
        with self._guard:
            entry = self._entries.get(key)
            if entry and entry.revision == now:
                self._entries.move_to_end(key)
                self._hits += 1
                return entry.data, True
            self._misses += 1
        data = action()
        # If a file changed meanwhile, it is not known which state the answer is of.
        if revision() == now:
            self._keep(key, _Entry(now, data, size_of(data)))
        return data, False

    def statistics(self) -> JsonObject:
        """Return how the cache was used."""
        with self._guard:
            return {
                "hits": self._hits,
                "misses": self._misses,
                "invalidations": self._invalidations,
                "size": len(self._entries),
                "maxSize": _MAX_ENTRIES,
                "ttl": None,
            }

    def _keep(self, key: Hashable, entry: _Entry) -> None:
        with self._guard:
            if old := self._entries.pop(key, None):
                self._size -= old.size
                self._invalidations += 1
            self._entries[key] = entry
            self._size += entry.size
            while len(self._entries) > _MAX_ENTRIES or self._size > _MAX_BYTES:
                _, oldest = self._entries.popitem(last=False)
                self._size -= oldest.size

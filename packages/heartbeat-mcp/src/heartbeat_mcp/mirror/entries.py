"""The entries of the section: renders them, remembers them in receipts, and knows all that are due.

The receipts, kept in the store in the same transaction as the tasks, record the digest of each entry that the server
wrote (HB-12).
"""

import re
from collections import Counter
from collections.abc import Container, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from hashlib import blake2b
from operator import itemgetter
from typing import Final, NamedTuple, Self

from pydantic import JsonValue

from heartbeat_mcp.mirror.escaping import escape, escape_within
from heartbeat_mcp.models import ACTIVE, SECTION, HeartbeatStatus, HeartbeatTask
from task_core.store import Selection, Store

__all__ = [
    "ActiveEntries",
    "Entry",
    "Receipts",
    "digest_of",
    "overflow_count",
    "overflow_line",
    "render_entry",
]

_MAX_SUMMARY: Final = 80
"""Characters of the request that the first line of an entry shows (HB-10)."""

_MAX_TEXT: Final = 400
"""Characters of the request, the result and each idea that an entry shows (HB-10)."""

_FIRST_LINE: Final = re.compile(r"\S[^\n\v\f\r\x85\u2028\u2029]{0,80}")
_OVERFLOW: Final = re.compile(rb"\((\d{1,9}) more tasks?: task_list shows (?:it|them)\)")


class Entry(NamedTuple):
    """The entry of a task in the section: its lines, joined by line feeds."""

    task_id: str
    is_running: bool
    text: bytes


def render_entry(task: HeartbeatTask) -> bytes:
    """Return the entry for ``task``, its lines joined by line feeds."""
    task_id = escape(task.id)
    status = task.status.value
    ideas = [f"    - {escape_within(idea, _MAX_TEXT)}" for idea in task.ideas if idea]
    lines = [
        f"- [{status}] {task_id}: {_summary(task.raw_user_request)}".rstrip(" "),
        *_line("Raw User Request", escape_within(task.raw_user_request, _MAX_TEXT)),
        *_line("Raw Reference", escape(task.raw_reference or "")),
        *(["  - Idea:", *ideas] if ideas else []),
        f"  - Status: {status}",
        *_line("Result", escape_within(task.result or "", _MAX_TEXT)),
        *_line("Result File", escape(task.result_file or "")),
        f"  <!-- task_id: {task_id} -->",
    ]
    return "\n".join(lines).encode()


def _summary(request: str) -> str:
    first = _FIRST_LINE.search(request)
    return escape_within(first[0].rstrip(), _MAX_SUMMARY) if first else ""


def _line(name: str, value: str) -> list[str]:
    return [f"  - {name}: {value}"] if value else []


def overflow_line(count: int) -> bytes:
    """Return the line that replaces the ``count`` tasks for which there was no room (HB-14)."""
    return b"(%d more task%s: task_list shows %s)" % (count, *((b"", b"it") if count == 1 else (b"s", b"them")))


def overflow_count(line: bytes) -> int | None:
    """Return how many tasks ``line`` replaces, or None if it is not such a line."""
    found = _OVERFLOW.fullmatch(line)
    return int(found[1]) if found else None


_DIGEST_BYTES: Final = 6

_BULLET: Final = "-"
"""The prefix of the digest of a bullet that became the task."""


class Receipts:
    """The immutable receipts of one committed state: for each id its digests as one text, separated by blanks."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        self.stored = stored

    @classmethod
    def from_fields(cls, fields: Mapping[str, JsonValue]) -> Self | None:
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

    def find_bullets(self) -> list[str]:
        """Return the ids of the tasks that have a bullet noted."""
        return [task_id for task_id, text in self.stored.items() if _BULLET in text]

    def build_next(
        self, tasks: Mapping[str, HeartbeatTask | None], shown: Mapping[str, bytes], bullets: Mapping[str, bytes] | None
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

    def find_missing(self, shown: Container[str]) -> list[str]:
        """Return the ids of the tasks that had an entry, or were about to get one, and are not ``shown``."""
        return [task_id for task_id, text in self.stored.items() if _BULLET not in text and task_id not in shown]

    def find_outdated(self, shown: Mapping[str, bytes], active: Container[str]) -> list[str]:
        """Return the ids of the tasks whose receipts name an entry that is not ``shown`` any more."""
        hidden = self.stored.keys() - shown.keys()
        return [task_id for task_id in hidden if task_id not in active or " " in self.stored[task_id]]


def digest_of(text: bytes) -> str:
    """Return the digest of an entry or a bullet, its lines joined by line feeds."""
    return blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()


_AT_A_TIME: Final = 1_000
"""Changed tasks fetched at a time."""


class ActiveEntries:
    """The entries in the section for a store's Pending and Running tasks; used by one thread at a time."""

    def __init__(self, store: Store[HeartbeatTask]) -> None:
        self._store = store
        self._token: str | None = None
        self._entries: dict[str, tuple[tuple[datetime, str], Entry]] = {}

    @property
    def ids(self) -> AbstractSet[str]:
        """The ids of the tasks whose entries ``current`` last returned."""
        return self._entries.keys()

    def is_current(self) -> bool:
        """Return whether nobody has changed the store since ``current``."""
        return self._store.changes(None, 0).token == self._token

    def current(self) -> list[Entry]:
        """Return the entries of the tasks as they are committed now, the oldest task first."""
        more = True
        while more:
            found = self._store.changes(self._token, _AT_A_TIME)
            if self._token is None or found.reset:
                with self._store.read() as tasks:
                    active = tasks.select(Selection(states=ACTIVE))
                self._entries = {task.id: _make_entry(task) for task in active}
            for task_id, task in found.records:
                self._entries.pop(task_id, None)
                if task is not None and task.is_active:
                    self._entries[task_id] = _make_entry(task)
            self._token, more = found.token, found.more
        return [entry for _, entry in sorted(self._entries.values(), key=itemgetter(0))]


def _make_entry(task: HeartbeatTask) -> tuple[tuple[datetime, str], Entry]:
    return (task.created_at, task.id), Entry(task.id, task.status is HeartbeatStatus.RUNNING, render_entry(task))

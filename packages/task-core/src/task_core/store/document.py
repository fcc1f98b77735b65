"""Records in one JSON document, which people read and edit too, and which many processes share (ST-1, ST-3, L2, EN-6).

``MemoryDatabase`` has an index of the document.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Generic

from typing_extensions import override

from task_core.document_file import LockedFile
from task_core.document_file.source import Source
from task_core.errors import DuplicateId, StoreUnreadable
from task_core.files import Wait
from task_core.history.changes import Change, needle_of
from task_core.history.history_file import HistoryFile
from task_core.models import Clock, RecordT
from task_core.store.base import ROOTS
from task_core.store.codec import Codec, Decoded
from task_core.store.collection import Collection, ListRow
from task_core.store.database import Connection, MemoryDatabase
from task_core.store.statements import SQL
from task_core.store.transaction import Transaction
from task_core.warning_list import WarningList

__all__ = ["DocumentDatabase"]

_NOTES: Final = "store notes"
"""Cause of the warning that some of the document is read differently than it is written."""

_MAX_NOTES: Final = 3
"""Notes on one document that a warning repeats; the others are counted."""


class DocumentDatabase(MemoryDatabase, Generic[RecordT]):
    """The rows of the JSON document at ``path``; ``LockedFile`` describes ``may_start_anew``."""

    def __init__(
        self,
        path: Path,
        codec: Codec[RecordT],
        warnings: WarningList,
        clock: Clock,
        *,
        may_start_anew: bool = False,
        fsync: bool = True,
    ) -> None:
        self._file = LockedFile(path, codec, warnings, clock, may_start_anew=may_start_anew, fsync=fsync)
        self.name = self._file.name
        super().__init__()
        self._codec = codec
        self._warnings = warnings
        self._clock = clock
        self._is_loaded = False
        self._nothing = ListRow("", codec.kind.name, codec.kind.version)
        self._blocks: dict[str, bytes] = {}
        self._notes = ""
        self._changes: list[Change] = []
        """those of the present transactions"""
        is_private = codec.is_private
        self._history = HistoryFile(self._file, warnings, clock, lambda: self.history_days, is_private=is_private)

    @contextmanager
    @override
    def reading(self) -> Iterator[Connection]:
        self._file.refresh(self._take)
        with super().reading() as session:
            yield session

    @override
    def begin(self, wait: Wait) -> Connection:
        self._file.begin(wait, self._take)
        return super().begin(wait)

    @override
    def keep(self, work: Transaction[Any]) -> None:
        self._changes += work.history

    @override
    def find_changes(
        self, records: Collection[Any], task_id: str, before: int, limit: int, clock: Clock
    ) -> list[Change]:
        return self._history.find([needle_of(task_id)], before, limit)

    @override
    def commit(self, records: Collection[Any], changed: set[str]) -> None:
        blocks = self._changed_blocks(records, changed)
        self._history.begin_save()
        self._file.replace(self._codec.document(blocks, records.fields))
        self._history.end_save(self._changes)
        self._note(())  # the save has corrected whatever was reported
        self._blocks = blocks
        super().commit(records, changed)

    @override
    def end(self) -> None:
        self._changes = []
        self._file.end(super().end)

    @override
    def can_answer_now(self) -> bool:
        with suppress(StoreUnreadable):
            return self._file.is_current()
        return False

    @override
    def give_up(self) -> None:
        self._file.give_up()

    def _changed_blocks(self, records: Collection[Any], changed: set[str]) -> dict[str, bytes]:
        """Return the blocks of the document; encoding only those that changed keeps a save of a long list fast."""
        blocks = dict(self._blocks)
        roots: set[str] = set()
        for name in changed:
            if name in records:
                roots.add(next((above.id for above in records.ancestors(name)), name))
        for name in changed - roots:
            blocks.pop(name, None)
        for root in sorted(roots, key=lambda name: records.row(name).position):
            blocks[root] = self._codec.block([node for node, _ in records.subtree(root)])
        return {root: blocks[root] for root in records.child_ids(ROOTS)} if ROOTS in changed else blocks

    # From the document to the rows

    def _take(self, source: Source | None) -> None:
        """Make the rows match a document, decoding and changing no more of them than necessary."""
        if not source:
            self._take_decoded(Decoded())
            return
        try:
            notes = self._take_decoded(self._codec.decode_again(source, self._blocks))
        except DuplicateId:  # a new block repeats the id of a subtask in a known one
            notes = self._take_decoded(self._codec.decode(source))
        self._note(notes)

    def _take_decoded(self, decoded: Decoded[RecordT]) -> tuple[str, ...]:
        """Make the rows match, and return the notes on what was read."""
        self._main.run("BEGIN")
        self._main.log = [] if self._is_loaded else None
        try:
            new_list = {"id": secrets.token_hex(6), "version": self._codec.kind.version}
            self._main.run(SQL.ADD_LIST, self._nothing.key | new_list)
            row = self._nothing.reload(self._main)
            work: Transaction[RecordT] = Transaction(self._codec.kind, self._main, row, self._clock)
            if self._is_loaded:
                decoded.apply(work, self._blocks)
                work.end_change()
            else:
                work.load(entry for records in decoded.records.values() for entry in records)
            work.set_fields(decoded.fields)
            work.finish()
            super().commit(work, work.changed)
            self._history.take(lambda: work.history)
            self._is_loaded = True
            self._blocks = decoded.blocks
        finally:
            super().end()
        return decoded.notes

    def _note(self, notes: tuple[str, ...]) -> None:
        text = " ".join(notes[:_MAX_NOTES])
        if text != self._notes:
            self._warnings.settle(_NOTES)
        self._notes = text
        if text:
            more = f" {len(notes) - _MAX_NOTES} more." if len(notes) > _MAX_NOTES else ""
            self._warnings.add(_NOTES, f"{self._file.name}: {text}{more}")

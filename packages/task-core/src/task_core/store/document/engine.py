"""The engine with one JSON document that many processes share (EN-6); the rows of ``MemoryDatabase`` are its index."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Generic

from typing_extensions import override

from task_core.document_file.locked_file import LockedFile
from task_core.document_file.source import Source
from task_core.errors import DuplicateId, StoreUnreadable
from task_core.files import Wait
from task_core.models import Clock, RecordT
from task_core.store.base import ROOTS
from task_core.store.collection import Collection, ListRow
from task_core.store.database import Connection, MemoryDatabase
from task_core.store.document.codec import Codec, Decoded
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
    def commit(self, records: Collection[Any], changed: set[str]) -> None:
        blocks = self._changed_blocks(records, changed)
        self._file.replace(self._codec.document(blocks, records.fields))
        if self._notes:
            self._settle_notes()  # the save has corrected whatever they reported
        self._blocks = blocks
        super().commit(records, changed)

    @override
    def end(self) -> None:
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
                self._apply(work, decoded)
            else:
                work.load(entry for records in decoded.records.values() for entry in records)
            work.set_fields(decoded.fields)
            work.finish()
            super().commit(work, work.changed)
            self._is_loaded = True
            self._blocks = decoded.blocks
        finally:
            super().end()
        return decoded.notes

    def _apply(self, work: Transaction[RecordT], new: Decoded[RecordT]) -> None:
        """Change, add and remove the records in which a document differs from the previous one."""
        old, is_tree = self._blocks, self._codec.kind.is_tree
        changed = [root for root, block in new.blocks.items() if old.get(root) != block]
        gone = {*old} - {*new.blocks} | ({*changed} & {*old} if is_tree else set())
        for root in gone:
            work.remove(root)
        for root in changed:
            if root in old and not is_tree:
                work.replace(new.records[root][0][0])
                continue
            for record, parent in new.records[root]:
                work.add(record, parent)
        stays = [root for root in old if root not in gone]
        known = set(stays)
        if [*new.blocks] != [*stays, *(root for root in changed if root not in known)]:
            # The order of a list means nothing, so there nobody needs to know.
            kept = [root for root in new.blocks if root in known] if is_tree else stays
            work.arrange(new.blocks, [root for place, root in zip(stays, kept, strict=True) if root != place])

    def _note(self, notes: tuple[str, ...]) -> None:
        text = " ".join(notes[:_MAX_NOTES])
        if text != self._notes:
            self._settle_notes()
        if text:
            more = f" {len(notes) - _MAX_NOTES} more." if len(notes) > _MAX_NOTES else ""
            self._notes = text
            self._warnings.add(_NOTES, f"{self._file.name}: {text}{more}")

    def _settle_notes(self) -> None:
        self._notes = ""
        self._warnings.settle(_NOTES)

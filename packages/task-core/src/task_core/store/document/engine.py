"""The engine with one JSON document, replaced atomically and shared by many processes (EN-6).

The rows of ``MemoryDatabase`` are its index; the document is the store. Under the lock: compare the file's identity
with what was last read, take in the differences, apply the transactions, write once, and only then show others the
rows and answer (``guides: D1 to D7, C1 to C4``). Bytes that are not understood are left alone (ST-3).
"""

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from typing_extensions import override

from task_core.durable import FolderNotSynced, replace, replace_file, sweep_temporary
from task_core.errors import DuplicateId, StoreDamaged, StoreUnreadable, StoreWriteFailed
from task_core.files import FileIdentity, HeldFile, Wait, describe, identify, open_held
from task_core.models import Clock, Record, day_of
from task_core.store.base import ROOTS
from task_core.store.collection import Collection, ListRow
from task_core.store.database import Connection, MemoryDatabase
from task_core.store.document.codec import Codec, Decoded
from task_core.store.document.generations import Generations
from task_core.store.document.source import Source
from task_core.store.statements import SQL
from task_core.store.transaction import Transaction
from task_core.warning_list import WarningList

__all__ = ["DocumentDatabase"]

RecordT = TypeVar("RecordT", bound=Record)

_REST_SECONDS: Final = 5.0
"""Seconds since its last change after which a document is assumed to be finished, not half written (ST-5)."""

_NOTES: Final = "store notes"
"""Cause of the warning that some of the document is read differently than it is written."""

_MAX_NOTES: Final = 3
"""Notes on one document that a warning repeats; the others are counted."""


class DocumentDatabase(MemoryDatabase, Generic[RecordT]):
    """The rows of the JSON document at ``path``.

    With ``may_start_anew``, a document that only a crash can have left is kept aside and counts as empty: it begins
    as this server writes it and ends in the middle, or is all zero bytes (HB-16). Otherwise it is damaged.
    """

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
        self.path = Path(os.path.realpath(path))
        self.name = self.path.name
        super().__init__()
        self._codec = codec
        self._warnings = warnings
        self._clock = clock
        self._may_start_anew = may_start_anew
        self._fsync = fsync
        self._lock = codec.lock(path)
        self._replace = partial(
            replace_file, self.path, fsync=fsync, rename=self._keep_and_replace, is_private=codec.is_private
        )
        self._generations = Generations(self.path, clock, warnings)
        self._guard = threading.Lock()
        self._is_at_work = False
        self._is_loaded = False
        self._is_swept = False
        self._file: HeldFile | None = None
        self._nothing = ListRow("", codec.kind.name, codec.kind.version)
        self._blocks: dict[str, bytes] = {}
        self._notes = ""

    @contextmanager
    @override
    def reading(self) -> Iterator[Connection]:
        if not self._is_current():
            with self._guard:  # so that only one thread reads what many want
                # While this process writes, the file stays as it was when the lock was taken.
                if not (self._is_at_work or self._is_current()):
                    self._look()
        with super().reading() as session:
            yield session

    @override
    def begin(self, wait: Wait) -> Connection:
        self._lock.acquire(wait)
        try:
            with self._guard:
                if not self._is_swept:
                    self._is_swept = sweep_temporary(self.path)
                if not self._is_current():
                    self._look(may_start_anew=self._may_start_anew)
                self._is_at_work = True
            return super().begin(wait)
        except BaseException:  # KeyboardInterrupt too: release the lock, then raise again
            self.end()
            raise

    @override
    def commit(self, records: Collection[Any], changed: set[str], *, moves_roots: bool) -> None:
        blocks = self._changed_blocks(records, changed, moves_roots=moves_roots)
        old = self._file
        try:
            self._file = self._replace(self._codec.document(blocks, records.fields), over=self._identity)
        except OSError as error:
            self._is_swept = False
            is_undone = not isinstance(error, FolderNotSynced) or self._put_back()
            cause = describe(error) if is_undone else f"{describe(error)}, and the change could not be undone"
            raise StoreWriteFailed(self.name, cause, is_unknown=not is_undone) from error
        if moment := self._generations.undated:
            self._generations.date_newest(moment)
        if old is None:
            self._generations.settle_missing()
        if self._notes:
            self._settle_notes()  # the save has corrected whatever they reported
        self._blocks = blocks
        super().commit(records, changed, moves_roots=moves_roots)
        if old:
            old.close()

    @override
    def end(self) -> None:
        with self._guard:  # another thread may be reading the document that this one could not read
            super().end()
            self._is_at_work = False
        self._lock.release()

    @override
    def is_at_hand(self) -> bool:
        with suppress(StoreUnreadable):
            return self._is_current()
        return False

    @override
    def give_up(self) -> None:
        self._lock.give_up()

    # Writing

    def _changed_blocks(self, records: Collection[Any], changed: set[str], *, moves_roots: bool) -> dict[str, bytes]:
        blocks = dict(self._blocks)
        roots: set[str] = set()
        for name in changed:
            if name in records:
                roots.add(next((above.id for above in records.ancestors(name)), name))
        for name in changed - roots:
            blocks.pop(name, None)
        for root in sorted(roots, key=lambda name: records.row(name).position):
            blocks[root] = self._codec.block([node for node, _ in records.subtree(root)])
        if moves_roots:
            return {root: blocks[root] for root in records.child_ids(ROOTS)}
        return blocks

    def _keep_and_replace(self, new: str, path: str) -> None:
        if self._generations.kept_on != day_of(self._clock()):
            self._generations.keep()
        replace(new, path)

    def _put_back(self) -> bool:
        """Undo a replacement whose durability is unknown, so that a failed call has changed nothing (ERR-2).

        Return whether that was possible.
        """
        with suppress(OSError):
            if self._file is None:
                self.path.unlink()
            else:
                with suppress(FolderNotSynced):
                    replace_file(self.path, self._file.read(), fsync=self._fsync).close()
            return True
        return False

    # Reading

    @property
    def _identity(self) -> FileIdentity | None:
        return self._file.identity if self._file else None

    def _is_current(self) -> bool:
        """Return whether the rows match the file; it costs one stat (D7)."""
        try:
            return self._is_loaded and identify(self.path) == self._identity
        except OSError as error:
            raise StoreUnreadable(self.name, describe(error)) from error

    def _look(self, *, may_start_anew: bool = False) -> None:
        """Make the rows match the file.

        Raises:
            TaskError: it cannot be read, or is not a complete, valid document.
        """
        file: HeldFile | None = None
        try:
            with suppress(FileNotFoundError):
                file = open_held(self.path)
            if file is None:
                self._generations.note_missing()
                self._take(Decoded())
            else:
                self._generations.settle_missing()
                self._take_data(file.read(), file.identity, may_start_anew=may_start_anew)
        except BaseException as error:  # KeyboardInterrupt too: close the new file and keep the old; raised again
            if file:
                file.close()
            if isinstance(error, OSError):
                raise StoreUnreadable(self.name, describe(error)) from error
            raise
        old, self._file = self._file, file
        self._is_loaded = True
        if old:
            old.close()

    def _take_data(self, data: bytes, identity: FileIdentity, *, may_start_anew: bool) -> None:
        is_at_rest = abs(self._clock().timestamp() - identity.mtime_ns / 1e9) >= _REST_SECONDS
        if not data.strip():
            if not is_at_rest or self._generations.newest.exists():
                expected = "a document; perhaps another program is writing it"
                raise StoreDamaged(self.name, "nothing but white space", expected, 1, 1)
            self._take(Decoded())
            return
        try:
            self._take_source(Source(self.name, data))
        except StoreDamaged as damage:
            is_torn = damage.is_torn and self._codec.head.startswith(data[: len(self._codec.head)])
            if not (may_start_anew and is_at_rest and (is_torn or not data.strip(b"\0"))):
                raise
            self._generations.save_damaged_copy(data, damage)
            self._take(Decoded())

    def _take_source(self, source: Source) -> None:
        try:
            self._take(decoded := self._codec.decode(source, {block: root for root, block in self._blocks.items()}))
        except DuplicateId:  # blocks that are each valid contradict each other: the strict reader says where
            self._take(decoded := self._codec.decode_any(source))
        text = " ".join(decoded.notes[:_MAX_NOTES])
        if text != self._notes:
            self._settle_notes()
        if text:
            more = f" {len(decoded.notes) - _MAX_NOTES} more." if len(decoded.notes) > _MAX_NOTES else ""
            self._notes = text
            self._warnings.add(_NOTES, f"{self.name}: {text}{more}")

    def _settle_notes(self) -> None:
        self._notes = ""
        self._warnings.settle(_NOTES)

    # From the document to the rows

    def _take(self, decoded: Decoded[RecordT]) -> None:
        """Make the rows match a document, changing no more of them than necessary."""
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
                work.load(entry for records in decoded.fresh.values() for entry in records)
            work.set_fields(decoded.fields)
            work.finish()
            super().commit(work, work.changed, moves_roots=work.moves_roots)
            self._blocks = decoded.blocks
        finally:
            super().end()

    def _apply(self, work: Transaction[RecordT], new: Decoded[RecordT]) -> None:
        """Change, add and remove the records in which a document differs from the previous one."""
        old, is_tree = self._blocks, self._codec.kind.is_tree
        changed = [root for root, block in new.blocks.items() if old.get(root) != block]
        gone = {*old} - {*new.blocks} | ({*changed} & {*old} if is_tree else set())
        for root in gone:
            work.remove(root)
        for root in changed:
            if root in old and not is_tree:
                work.replace(new.fresh[root][0][0])
                continue
            for record, parent in new.fresh[root]:
                work.add(record, parent)
        stays = [root for root in old if root not in gone]
        known = set(stays)
        if [*new.blocks] != [*stays, *(root for root in changed if root not in known)]:
            # The order of a list means nothing, so there nobody needs to know.
            kept = [root for root in new.blocks if root in known] if is_tree else stays
            work.arrange(new.blocks, [root for place, root in zip(stays, kept, strict=True) if root != place])

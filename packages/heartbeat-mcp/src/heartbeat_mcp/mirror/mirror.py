"""The mirror of the tasks in a section of HEARTBEAT.md (HB-9, HB-12, HB-13, HB-15)."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Final

from heartbeat_mcp.mirror.document import Document, read_document
from heartbeat_mcp.mirror.entries import Entries, Run
from heartbeat_mcp.mirror.escape import escape
from heartbeat_mcp.mirror.found import FoundTask
from heartbeat_mcp.mirror.layout import lay_out
from heartbeat_mcp.mirror.reconcile import Memory, Reading, reconcile
from heartbeat_mcp.mirror.units import Part
from heartbeat_mcp.models import Task
from task_core.files import (
    FileChanged,
    FileIdentity,
    HeldFile,
    describe,
    identify,
    open_held,
    read_file,
    replace_file,
    replace_held,
    sweep_temporary,
)
from task_core.store.base import Collection
from task_core.text import shorten
from task_core.warning_list import WarningList

__all__ = ["Mirror"]

_SETTLE_SECONDS: Final = 0.1
"""How long ago somebody must have changed the file in place before it is read, in seconds: longer than a save takes."""

_SETTLE_TRIES: Final = 40
"""How often a file that goes on changing is looked at again, four times in each settle time: for a second in all."""

_TRIES: Final = 5
"""How often a write is begun anew because somebody changed the file meanwhile."""

_FAILED: Final = "mirror: file"
"""Cause of the warning that the file could not be read or written."""

_OVERRIDDEN: Final = "mirror: override"
"""Cause of the warning that a change made by hand was taken back."""

_MOST_NAMED: Final = 120
"""Characters of task ids that a warning shows at most."""

_ANY_WRITE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
"""Bits of a mode; a file without any of them is read-only even for root."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
"""The moment from which file systems count."""

_FIRST: Final = (datetime.min.replace(tzinfo=timezone.utc) - _EPOCH) // timedelta(microseconds=1)
"""The first moment of the calendar, in microseconds from there on."""

_LAST: Final = (datetime.max.replace(tzinfo=timezone.utc) - _EPOCH) // timedelta(microseconds=1)
"""The last one."""

_UTF_16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
"""How a file begins whose text is not made of bytes as this server writes them."""


class Mirror:
    """Keeps the section of HEARTBEAT.md in step with the store, and finds what a person wrote there.

    The caller holds the lock of the store around ``additions``, ``recover`` and ``write``.
    """

    def __init__(
        self,
        path: Path,
        warnings: WarningList,
        *,
        section: str = "TODO",
        max_chars: int = 0,
        enabled: bool = True,
        fsync: bool = True,
        settle_seconds: float = _SETTLE_SECONDS,
    ) -> None:
        """Mirror into the section called ``section`` of the file at ``path``.

        ``max_chars`` is the most characters that the section takes below its heading, 0 for no limit (HB-14). With
        ``enabled`` off the file is never written, and read only to recover (HB-13). What somebody changed in place less
        than ``settle_seconds`` ago is not read yet.
        """
        self._path = path
        self._warnings = warnings
        self._name = section
        self._max_chars = max_chars
        self._enabled = enabled
        self._fsync = fsync
        self._settle_seconds = settle_seconds
        self._backup = path.with_name(f"{path.name}.bak")
        self._entries = Entries()
        self._memory = Memory()
        self._document: Document | None = None
        self._settled: HeldFile | None = None
        self._seen: FileIdentity | None = None
        self._is_swept = False

    def is_current(self) -> bool:
        """Return whether the file is as this process left it, with nothing to take in and no write to try again.

        It costs one stat. A mirror that is not enabled is always current.
        """
        if not self._enabled:
            return True
        settled = self._settled
        try:
            return settled is not None and identify(self._path) == settled.identity
        except OSError:
            return False

    def additions(self, tasks: Collection[Task]) -> list[FoundTask]:
        """Return what a person added to the section since ``tasks`` were written there, in its order (HB-12).

        One with an id is an entry whose task is not among ``tasks``. The caller takes them in, warns, and writes.
        Nothing is found in a file that cannot be read, nor by a mirror that is not enabled.
        """
        if not self._enabled:
            return []
        try:
            reading, _ = self._read(self._entries.of(tasks))
        except OSError:
            return []
        plan = reconcile(reading, tasks, self._memory)
        self._memory = self._memory.after(plan, frozenset(task.id for task in tasks))
        return plan.found

    def recover(self) -> list[FoundTask]:
        """Return every task in the section, in its order, for a store that is lost (HB-15); also when not enabled.

        A file that cannot be read gives none, and a warning.
        """
        self._memory = Memory(seen=frozenset())
        try:
            reading, _ = self._read()
        except OSError as error:
            self._warn("could not be read", error)
            return []
        return reconcile(reading, Collection({}), self._memory, is_recovery=True).found

    @property
    def adopted(self) -> frozenset[str]:
        """The ids of tasks whose bullets still stand in the file: without these tasks they would be taken in again."""
        return frozenset(adoption.task_id for found in self._memory.adopted.values() for adoption in found)

    def holds(self, task_id: str) -> bool:
        """Return whether an entry was made for the id, or a ``<!-- task_id: … -->`` comment of the file has it.

        A new id must be another one (C4, HB-1). A file that cannot be read holds none, and none holds any for a mirror
        that is not enabled.
        """
        if not self._enabled:
            return False
        if self._entries.has_made(task_id):
            return True
        if self._document and self.is_current():
            return task_id in self._document.ids
        try:
            reading, _ = self._read()
        except OSError:
            return False
        return task_id in reading.document.ids

    def write(self, tasks: Collection[Task]) -> None:
        """Bring the section in step with ``tasks``; a failure becomes a warning and is tried again (HB-13)."""
        if not self._enabled:
            return
        self._settled = None
        if not self._is_swept:
            self._is_swept = sweep_temporary(self._path) and sweep_temporary(self._backup)
        try:
            for _ in range(_TRIES - 1):
                with suppress(FileChanged):
                    self._bring_in_step(tasks)
                    return
            self._bring_in_step(tasks)
        except OSError as error:
            self._warn("could not be written", error)

    def _read(self, entries: Run | None = None) -> tuple[Reading, HeldFile | None]:
        """Return the document and the file that it was read from, None where there is none yet.

        What stands there of ``entries`` need not be parsed, nor need the document that was last written or read.
        """
        try:
            held, data = self._settled_file()
        except FileNotFoundError:
            return Reading(read_document(b"", self._name)), None
        if data.startswith(_UTF_16_MARKS):
            raise OSError(errno.EILSEQ, "the text is UTF-16, not UTF-8")
        document = self._document
        if document is None or not document.is_just(data):
            document = self._document = read_document(data, self._name, entries)
            self._settled = None
        return Reading(document, _moment(held.identity.mtime_ns)), held

    def _settled_file(self) -> tuple[HeldFile, bytes]:
        """Return the file and its content once nobody writes in it: an editor that saves in place empties it first."""
        held = open_held(self._path)
        data = held.read()
        for _ in range(_SETTLE_TRIES):
            if not self._may_be_torn(held, data):
                break
            time.sleep(self._settle_seconds / 4)  # an editor gives no word when it has written all
            held = open_held(self._path)
            data = held.read()
        self._seen = held.identity
        return held, data

    def _may_be_torn(self, held: HeldFile, data: bytes) -> bool:
        """Whether somebody may be about to write more: servers replace the file, so it is an editor's in-place save."""
        if held.identity == self._seen:
            return False
        is_same_file = self._seen is not None and held.identity[:2] == self._seen[:2]
        age = time.time() - held.identity.mtime_ns / 1e9
        return (is_same_file or not data.strip()) and 0 <= age < self._settle_seconds

    def _bring_in_step(self, tasks: Collection[Task]) -> None:
        active = self._entries.of(tasks)
        reading, held = self._read(active)
        old = reading.document
        plan = reconcile(reading, tasks, self._memory, is_saved=True)
        self._memory = self._memory.after(plan, self._memory.seen)
        new = lay_out(old, plan.kept, active, self._max_chars)
        if plan.overridden:
            self._keep_old(old, plan.overridden)
        if new is not old:
            held = self._replace(held, new.parts)
        self._remember(new, held)

    def _replace(self, held: HeldFile | None, parts: Sequence[bytes]) -> HeldFile:
        # A rename needs leave to write in the folder only, but who made the file read-only means it.
        if held and not (self._path.stat().st_mode & _ANY_WRITE and os.access(self._path, os.W_OK)):
            raise OSError(errno.EACCES, "the file is read-only")
        over = held.identity if held else None
        # The store is on disk by now. Should a power cut bring the former section back, the next start mends it.
        return replace_held(self._path, parts, over=over, fsync=self._fsync, fsync_folder=False)

    def _keep_old(self, document: Document, task_ids: Sequence[str]) -> None:
        """Add the section as it was to the backup, unless it stands there already."""
        backup = self._backup
        # A link planted here would have the text of the section written somewhere else (S4).
        if backup.is_symlink():
            backup.unlink()
        text = document.section.heading + document.body
        kept = read_file(backup)[0] if backup.exists() else b""
        if text not in kept:
            gap = b"\n" if kept and not kept.endswith(b"\n") else b""
            replace_file(backup, kept + gap + text, fsync=self._fsync)
        named = shorten(", ".join(map(escape, dict.fromkeys(task_ids))), _MOST_NAMED)
        self._warnings.add(
            _OVERRIDDEN,
            f"{self._path.name} said other things of {named} than the store, which has authority; the section as it "
            f"was is in {backup.name}. Change tasks with task_update.",
        )

    def _remember(self, document: Document, held: HeldFile | None) -> None:
        singles = [unit for unit in document.units if unit.part is Part.ENTRY]
        self._memory = Memory(
            [unit.run for unit in document.units if unit.run],
            {unit.item.closing_id: unit.text for unit in singles if unit.item and unit.item.closing_id},
        )
        self._document = document
        self._settled = None if document.has_new_bullets else held
        self._seen = held.identity if held else None
        for cause in (_FAILED, _OVERRIDDEN):
            self._warnings.settle(cause)

    def _warn(self, what: str, error: OSError) -> None:
        name = self._path.name
        self._warnings.add(
            _FAILED, f"{name} {what} ({describe(error)}). The tasks are safe in the store; the next call tries again."
        )


def _moment(nanoseconds: int) -> datetime:
    """Return the moment, or the first or last of the calendar: file systems hold times beyond its years."""
    return _EPOCH + timedelta(microseconds=min(max(nanoseconds // 1000, _FIRST), _LAST))

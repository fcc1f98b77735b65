"""The file HEARTBEAT.md: read when it has changed, written when the section must show something else (HB-9).

The caller holds the lock of the file around ``look``, ``settle`` and ``write``.
"""

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from heartbeat_mcp.mirror.access import FileInUse, is_at_rest, make_rename, read_at_rest, write_in_place
from heartbeat_mcp.mirror.document import Document, Entry, Frame, read_document
from heartbeat_mcp.mirror.markdown import find_similar_heading
from heartbeat_mcp.mirror.reading import Reading
from heartbeat_mcp.mirror.reports import CONFLICT, FAILED, REMOVED, FileReports, keep_section
from heartbeat_mcp.mirror.section import Part
from task_core.durable import FileChanged, replace_file, sweep_temporary
from task_core.files import FileIdentity, HeldFile, identify
from task_core.models import Clock
from task_core.warning_list import WarningList

__all__ = ["Mirror"]

_LOST_TIME: Final = timedelta(seconds=30)
"""The time for which a file that is blank, or has lost its text outside the section, may be half written (HB-18)."""

_NOT_REPLACEABLE: Final = frozenset({errno.EBUSY, errno.EXDEV})
"""Error numbers of a rename over a single file that is mounted, as into a container."""

_ANY_WRITE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
"""The write bits of a file mode; a file without any of them counts as read-only even for root."""


@dataclass(eq=False)
class Mirror:
    """Knows what the section of HEARTBEAT.md shows, and makes it show something else."""

    path: Path
    warnings: WarningList
    section: str
    max_chars: int
    """The most characters of the section below its heading, 0 for no limit (HB-14)."""
    fsync: bool
    clock: Clock

    def __post_init__(self) -> None:
        self.reports = FileReports(self.path.name, self.section, self.warnings)
        self._backup = self.path.with_name(f"{self.path.name}.bak")
        self._held: HeldFile | None = None
        self._data = b""
        self._is_known = False
        self._lost_at: datetime | None = None
        self._was_filled = False
        self._document = read_document(b"", self.section)
        self._reading: Reading | None = None
        self._frame: Frame | None = None
        self._texts: list[bytes] = []
        self._is_swept = False
        self._is_gone = False
        self._is_to_be_kept = False
        self.shown: Mapping[str, bytes] = {}
        """The entries in the file, by the ids of their tasks."""
        self.is_written = False
        """True if the section showed what it should when the file was last read."""
        self._waiting_since: datetime | None = None
        self.is_waiting = False
        """True while others write the file, so that it must be read again soon (HB-18)."""

    def is_current(self) -> bool:
        """Return whether the file is as this process left it, with nothing to take in or to write: one stat."""
        try:
            # Another thread may read the file in between, and ``_read`` sets these two in the opposite order.
            return identify(self.path) == self._identity and self.is_written
        except OSError:
            return False

    def look(self) -> Document | None:
        """Return the document if it changed since it was settled, else None; also None if it must not be touched.

        A file that cannot be read, or whose section has merge conflict markers, gives a warning; one that others are
        writing is left alone, and ``is_waiting`` is set.
        """
        try:
            if not self._is_known or identify(self.path) != self._identity:
                self._read()
        except FileInUse:
            self.wait()
            return None
        except OSError as error:
            self._fail("could not be read", error)
            self._is_known = False
            return None
        if lines := self._document.conflicts:
            self.reports.report_conflict(lines)
            return None
        self.warnings.settle(CONFLICT)
        return None if self._frame else self._document

    def keep(self) -> None:
        """Put the section that ``look`` last returned into the backup, now or at the latest before it is replaced."""
        self._is_to_be_kept = True
        with suppress(OSError):  # nothing is replaced before it is kept
            self._keep()

    def _keep(self) -> None:
        section = self._document.section
        keep_section(self._backup, section.heading + section.body, self.clock(), fsync=self.fsync)
        self._is_to_be_kept = False

    def forget(self) -> None:
        """Let the next ``look`` read the file again, even if it has not changed."""
        self._is_known = False

    def wait(self) -> None:
        """Leave the file alone until the next ``look``: others are writing it."""
        if not self.is_waiting:
            self._waiting_since = self.clock()
        self._is_known, self.is_written, self.is_waiting = False, False, True
        self._frame = None

    @property
    def waited(self) -> timedelta:
        """The time for which others have been writing the file, while it ``is_waiting``."""
        now = self.clock()
        return now - (self._waiting_since or now)

    def holds(self, task_id: str) -> bool:
        """Return whether the file had a ``<!-- task_id: … -->`` comment with the id when it was last read."""
        return task_id in self._document.ids

    def settle(self, reading: Reading) -> None:
        """Accept ``reading`` of the document that ``look`` last returned: nothing in it is left to take in."""
        self._reading = reading
        self._frame = Frame(self._document, reading.kept)
        self.shown = reading.shown
        self._texts = [unit.text for unit in self._document.units if unit.part is not Part.LIST_END]

    def write(self, entries: Sequence[Entry], *, fsync_folder: bool = False) -> bool:
        """Make the section show ``entries`` in this order; return whether the file must be looked at again first.

        Without ``fsync_folder`` a power cut may bring back the previous section. A failure becomes a warning (HB-13).
        """
        frame, reading = self._frame, self._reading
        if frame is None:
            return False
        if self._is_left_alone(entries):
            self.is_written = True
            return False
        data, texts = frame.fill(entries, self.max_chars)
        try:
            if not self._is_swept:
                self._is_swept = sweep_temporary(self.path) and sweep_temporary(self._backup)
            if self._is_to_be_kept or (reading and reading.overridden):
                self._keep()
            self._replace_if_different(data, texts, fsync_folder=fsync_folder)
        except (FileChanged, FileInUse):
            self.forget()
            return True
        except OSError as error:
            self._fail("could not be written", error)
            return False
        self.shown = {entry.task_id: entry.text for entry in entries}
        if reading:
            self.reports.report_reading(reading, self.shown)
        self._reading = None
        self._texts = texts
        self.is_written = True
        self.warnings.settle(FAILED)
        self.warnings.settle(REMOVED)
        return False

    def _fail(self, what: str, error: OSError) -> None:
        self.is_written = self.is_waiting = False
        self.reports.report_failure(what, error)

    @property
    def is_known(self) -> bool:
        """True if the file could be read the last time, and may be written."""
        return self._is_known and not self._document.conflicts

    @property
    def is_missing(self) -> bool:
        """True if the last read found no file."""
        return self._is_known and not self._held

    def _is_left_alone(self, entries: Sequence[Entry]) -> bool:
        """Return whether nothing is to be written: the first task adds the section, and a start a file that is gone."""
        if self._is_gone:
            self.reports.report_removal("the server creates it again at its next start")
        return self._is_gone or (self._document.section.is_new and self._held is not None and not entries)

    @property
    def _identity(self) -> FileIdentity | None:
        return self._held.identity if self._held else None

    def _read(self) -> None:
        held, data = None, b""
        with suppress(FileNotFoundError):
            held, data = read_at_rest(self.path)
        document = read_document(data, self.section)
        if held and self._may_be_half(document, held):
            raise FileInUse
        self._is_known, self.is_written, self.is_waiting = True, False, False
        self._is_gone = held is None and (self._is_gone or bool(self._held and self.shown))
        self._hold(held, data)
        self._document, self._frame = document, None

    def _may_be_half(self, document: Document, held: HeldFile) -> bool:
        """Return whether whoever wrote the file may still be about to write the rest of it.

        A file that was blank from the beginning was never filled: it is new.
        """
        is_blank = not document.data.strip()
        if is_blank and not self._was_filled and is_at_rest(held):
            return False
        self._was_filled = self._was_filled or not is_blank
        if not (is_blank or self._document.has_text_around) or document.has_text_around:
            self._lost_at = None
            return False
        now = self.clock()
        self._lost_at = self._lost_at or now
        return abs(now - self._lost_at) < _LOST_TIME

    def _hold(self, held: HeldFile | None, data: bytes) -> None:
        old, self._held, self._data = self._held, held, data
        if old:
            old.close()

    def _replace_if_different(self, data: bytes, texts: Sequence[bytes], *, fsync_folder: bool) -> None:
        is_new, before = self._document.section.is_new, self._data
        if is_new or texts != self._texts:
            self._replace(data, fsync_folder=fsync_folder)
        if is_new and (similar := find_similar_heading(before)):
            self.reports.report_similar(similar)

    def _replace(self, data: bytes, *, fsync_folder: bool) -> None:
        old = self._held
        # A rename needs write permission for the folder only, but a file that was made read-only should stay as it is.
        if old and not (self.path.stat().st_mode & _ANY_WRITE and os.access(self.path, os.W_OK)):
            raise OSError(errno.EACCES, "the file is read-only")
        # The store is on disk by now. If a power cut brings back the previous section, the next start corrects it.
        rename = make_rename(old, self._data)
        try:
            held = replace_file(self.path, data, fsync=self.fsync, fsync_folder=fsync_folder, rename=rename)
        except OSError as error:
            if not old or error.errno not in _NOT_REPLACEABLE:
                raise
            held = write_in_place(self.path, old, self._data, data, fsync=self.fsync)
        self._hold(held, data)
        self._document = self._document.written()

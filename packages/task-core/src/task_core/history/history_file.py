"""The history of a document: ``NAME.history.jsonl`` beside it, one change a line, the oldest first (AG-4).

The document is the authority: a line is written after it is in place, is not synced, and a damaged one is skipped.
"""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from task_core.durable import replace_file, write_new
from task_core.files import NEW_FLAGS, close, describe, read_file, require_regular, write_all
from task_core.history.changes import MAX_BYTES, OUTSIDE, Change
from task_core.models import Clock, format_timestamp, from_microseconds, microseconds
from task_core.text import pluralize
from task_core.warning_list import WarningList

__all__ = ["HISTORY_SUFFIX", "DatedDocument", "HistoryFile", "Stamp", "append_lines"]

_FLAGS: Final = os.O_RDWR | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | NEW_FLAGS

HISTORY_SUFFIX: Final = ".history.jsonl"
"""The suffix to the name of the document."""

_END: Final = re.compile(rb'"number":(\d{1,19}),"document":\[(\d{1,19}),(\d{1,19})\]\}\s*\Z')
"""The end of a line: the number of the change, and the state of the document that it left."""

_NO_CHANGE: Final = re.compile(rb'\{"number":')
"""The start of a line that only has the end."""

_END_BYTES: Final = 128
"""More than the end of a line has."""

_START: Final = re.compile(rb'\{"at":"([^"]+)"')

_TRIMMED_EVERY: Final = 256
"""Changes between two looks for those that are too old."""

_MAX_OUTSIDE: Final = 100
"""Edits by others, the last ones, that a process which only reads keeps until somebody notes them."""

_SLACK: Final = 1_000_000
"""Bytes beyond the bound after which the oldest changes are dropped, so that not every change rewrites the file."""


class Stamp(NamedTuple):
    """A state of a document; without a file both are 0."""

    size: int
    mtime_ns: int


class _Last(NamedTuple):
    number: int
    stamp: Stamp


class DatedDocument(Protocol):
    """A document in a state that its history can name."""

    path: Path

    @property
    def stamp(self) -> Stamp:
        """The state in which it was read or written."""


class HistoryFile:
    """The history of ``document``, and the edits by others that it may lack; its writer holds the document's lock."""

    def __init__(
        self,
        document: DatedDocument,
        warnings: WarningList,
        clock: Clock,
        days: Callable[[], float],
        *,
        is_private: bool,
    ) -> None:
        """Keep changes for as many ``days`` as are returned; 0: not at all."""
        self._document = document
        self._warnings = warnings
        self._clock = clock
        self._days = days
        self._is_private = is_private
        self._outside: list[Change] | None = None
        """the edits since the last that another process has noted; None before the first reading"""
        self._is_noted = False
        """true if the history tells of everything that was read"""

    @property
    def path(self) -> Path:
        """The path of the history."""
        document = self._document.path
        return document.with_name(document.name + HISTORY_SUFFIX)

    @property
    def is_kept(self) -> bool:
        """True if what changes replace is kept."""
        return self._days() > 0

    def take(self, compare: Callable[[], list[Change]]) -> None:
        """Remember the edits by others that ``compare`` finds, before the document is in the state that was read."""
        if not self.is_kept:
            return
        if self._outside is None:  # nobody may have noted what led to the state at first
            self._outside = [Change(microseconds(self._clock()), OUTSIDE, "", [])]
        else:
            if self._outside and self._has_state():
                self._outside = []  # other servers have made these changes, and noted them
            self._outside = [*self._outside, *compare()][-_MAX_OUTSIDE:]
        self._is_noted = False

    def begin_save(self) -> None:
        """Add the edits by others, unless another process has, before the document is replaced.

        A change without steps means that the document was edited while no server ran. It is left out of a new history.
        """
        if not self.is_kept or self._is_noted:
            return
        last = self._last()
        changes = [change for change in self._outside or () if last or change.steps]
        if changes and not (last and last.stamp == self._document.stamp):
            self.end_save(changes)
        self._outside, self._is_noted = [], True

    def end_save(self, changes: list[Change]) -> None:
        """Number and add ``changes``, which led to the state of the document; a failure is a warning.

        Without changes only the state is noted: the server has changed something beside the tasks.
        """
        if not self.is_kept or not (changes or os.path.lexists(self.path)):
            return
        stamp = self._document.stamp

        def make_lines(end: bytes) -> bytes:
            last = self._parse_end(end)
            before = last.number if last else 0
            lines = [] if changes else [b'{"number":%d,"document":[%d,%d]}\n' % (before, *stamp)]
            for number, change in enumerate(changes, before + 1):
                change.number = number
                head = b'{"at":"%b",' % format_timestamp(from_microseconds(change.at)).encode()
                text = change.to_json()[1:-1]
                lines.append(b'%b%b,"number":%d,"document":[%d,%d]}\n' % (head, text, number, *stamp))
            return b"".join(lines)

        try:
            size = append_lines(self.path, make_lines, fsync=False, is_private=self._is_private)
            if size > MAX_BYTES + _SLACK or any(change.number % _TRIMMED_EVERY == 0 for change in changes):
                with suppress(OSError):  # the next change tries again
                    self._trim()
        except OSError as error:
            message = f"{self.path.name} cannot be written ({describe(error)}), so the last change cannot be undone."
            for change in changes:
                change.number = 0  # another change has it, or will have it
            self._warnings.add("history", message)
        else:
            self._warnings.settle("history")

    def find(self, needles: Sequence[str], before: int, limit: int) -> list[Change]:
        """Return at most ``limit`` changes whose text has one of ``needles``, below ``before``, newest first.

        A file that cannot be read, or a line that is not a change, becomes a warning.
        """
        found: list[Change] = []
        wanted = [needle.encode() for needle in needles]
        bad = 0
        oldest = self._oldest()
        for line in reversed(self._lines()):
            end = _END.search(line)
            if not any(it in line for it in wanted) or _NO_CHANGE.match(line) or (end and int(end[1]) >= before):
                continue
            change = _parse(line)
            bad += change is None
            if change and change.at >= oldest:
                found.append(change)
            if len(found) == limit:
                break
        if bad:
            self._warnings.add("history lines", f"{self.path.name}: {pluralize(bad, 'damaged line')} skipped.")
        return found

    def _lines(self) -> list[bytes]:
        try:
            return [line for line in read_file(self.path)[0].split(b"\n") if line.strip()]
        except FileNotFoundError:
            return []
        except OSError as error:
            self._warnings.add("history read", f"{self.path.name} cannot be read ({describe(error)}).")
            return []

    def _has_state(self) -> bool:
        """Return whether some change left the document in its present state."""
        end = b'"document":[%d,%d]}' % self._document.stamp
        return any(line.rstrip().endswith(end) for line in self._lines())

    def _last(self) -> _Last | None:
        end = b""
        with suppress(OSError):
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | NEW_FLAGS)
            try:
                size = require_regular(os.fstat(descriptor)).st_size
                end = _read_end(descriptor, size)
            finally:
                close(descriptor)
        return self._parse_end(end)

    def _parse_end(self, end: bytes) -> _Last | None:
        """Return the number and the stamp of the last change, if there is one, from the last bytes of the file."""
        found = _END.search(end)
        if end and not found:  # the last line is damaged
            found = next(filter(None, map(_END.search, reversed(self._lines()))), None)
        return _Last(int(found[1]), Stamp(int(found[2]), int(found[3]))) if found else None

    def _oldest(self) -> int:
        return microseconds(self._clock()) - int(self._days() * 24 * 3600 * 1_000_000)

    def _trim(self) -> None:
        """Drop what is too old, and what is beyond the bound; the last change stays, for its number.

        A damaged line is not too old: the changes before it may still be undone.
        """
        data, identity = read_file(self.path)
        lines, oldest, size = data.splitlines(keepends=True), self._oldest(), 0
        kept: list[bytes] = []
        for line in reversed(lines):
            size += len(line)
            if kept and (size > MAX_BYTES or 0 < _moment(line) < oldest):
                break
            kept.append(line)
        if len(kept) < len(lines):
            data = b"".join(reversed(kept))
            replace_file(self.path, data, over=identity, fsync=False, is_private=self._is_private).close()


def append_lines(path: Path, make: Callable[[bytes], bytes], *, fsync: bool = True, is_private: bool = True) -> int:
    """Append to the file at ``path``, or to a new one, and return its size; after an error it is unchanged.

    ``make`` returns the whole lines to append, given the last bytes of the file. A new file that is not private gets
    the access of its folder. It raises ``OSError``.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        data = make(b"")
        if is_private:
            write_new(path, data, fsync=fsync)
        else:
            replace_file(path, data, over=None, fsync=fsync, is_private=False).close()
        return len(data)
    try:
        size = require_regular(os.fstat(descriptor)).st_size
        end = _read_end(descriptor, size)
        # A line cut off by a power cut must not swallow the next one.
        data = (b"\n" if end and not end.endswith(b"\n") else b"") + make(end)
        try:
            write_all(descriptor, data, fsync=fsync)
        except BaseException:  # KeyboardInterrupt too: take back half a line, then raise again
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            raise
        return size + len(data)
    finally:
        close(descriptor)


def _read_end(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, max(size - _END_BYTES, 0), os.SEEK_SET)
    return os.read(descriptor, _END_BYTES)


def _parse(line: bytes) -> Change | None:
    end, moment = _END.search(line), _moment(line)
    with suppress(ValueError):
        return Change.parse(int(end[1]), moment, line) if end and moment else None
    return None


def _moment(line: bytes) -> int:
    """Return when a change was made, or 0 for a damaged line."""
    found = _START.match(line)
    with suppress(ValueError):
        return microseconds(datetime.fromisoformat(found[1].decode())) if found else 0
    return 0

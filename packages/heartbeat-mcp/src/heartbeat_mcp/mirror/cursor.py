"""A reading position in one line of Markdown, counted in bytes and in columns (CommonMark 0.31, section 2.2)."""

import re
from typing import Final

__all__ = ["BLANK", "Cursor", "dedent"]

BLANK: Final = b" \t"
"""The bytes that indent a line and end a marker."""

_TAB_STOP: Final = 4
"""Columns from one tab stop to the next."""

_BLANKS: Final = re.compile(rb"[ \t]*")


class Cursor:
    """Walks along a line while its containers are removed one by one; the steps together take linear time."""

    __slots__ = ("_breaks", "column", "content_end", "line", "mark", "mark_column", "position")

    def __init__(self, line: bytes) -> None:
        """Start at the beginning of ``line``, which has no line end."""
        self.line = line
        self.content_end = len(line.rstrip(BLANK))
        self.position = 0
        self.column = 0
        self._breaks: dict[bytes, int] = {}
        self._find_mark()

    @property
    def indent(self) -> int:
        """Columns of blanks before the next character."""
        return self.mark_column - self.column

    @property
    def is_blank(self) -> bool:
        """Whether nothing but blanks is left."""
        return self.mark == len(self.line)

    @property
    def byte(self) -> bytes:
        """The next byte that is not a blank; empty at the end."""
        return self.line[self.mark : self.mark + 1]

    def skip_columns(self, columns: int) -> None:
        """Skip ``columns`` of blanks; this may end within a tab."""
        while columns > 0 and self.position < self.mark:
            width = 1
            if self.line[self.position] == 0x09:
                width = _TAB_STOP - self.column % _TAB_STOP
            if width > columns:
                self.column += columns
                return
            self.column += width
            self.position += 1
            columns -= width

    def skip_marker(self, length: int) -> None:
        """Skip the blanks and then ``length`` bytes, none of them a tab."""
        self.position = self.mark + length
        self.column = self.mark_column + length
        self._find_mark()

    def is_thematic_break(self) -> bool:
        """Whether the rest is a rule: three or more of the same ``*``, ``-`` or ``_``, perhaps with blanks between."""
        mark = self.byte
        if not mark or mark not in b"*-_":
            return False
        start = self._breaks.get(mark)
        if start is None:
            start = self._breaks[mark] = len(self.line.rstrip(mark + BLANK))
        return self.mark >= start and self.line.count(mark, self.mark) >= 3

    def rest(self) -> bytes:
        """Return what is left, with its indentation in spaces, so that it keeps its width at another column."""
        return b" " * self.indent + self.line[self.mark :]

    def _find_mark(self) -> None:
        line, start = self.line, self.position
        blanks = _BLANKS.match(line, start)
        end = blanks.end() if blanks else start
        self.mark = end
        if line.find(b"\t", start, end) < 0:
            self.mark_column = self.column + end - start
            return
        column = self.column
        for byte in line[start:end]:
            column += _TAB_STOP - column % _TAB_STOP if byte == 0x09 else 1
        self.mark_column = column


def dedent(line: bytes, columns: int) -> bytes:
    """Return ``line`` with at most ``columns`` of its indentation taken off."""
    cursor = Cursor(line)
    cursor.skip_columns(columns)
    return cursor.rest()

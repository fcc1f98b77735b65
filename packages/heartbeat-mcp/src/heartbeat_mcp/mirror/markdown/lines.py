"""The lines of a block: columns and tabs, and the blocks of HTML (CommonMark 0.31.2)."""

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["BLANK", "LINE", "Cursor", "HtmlStart", "dedent", "find_html_start"]

BLANK: Final = b" \t"
"""The bytes that indent a line and end a marker."""

LINE: Final = re.compile(rb"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
"""A line with its line end."""

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
        """True if nothing but blanks is left."""
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
        """True if the rest is a rule: three or more of the same ``*``, ``-`` or ``_``, perhaps with blanks between."""
        mark = self.byte
        if not mark or mark not in b"*-_":
            return False
        start = self._breaks.get(mark)
        if start is None:
            start = self._breaks[mark] = len(self.line.rstrip(mark + BLANK))
        return self.mark >= start and self.line.count(mark, self.mark) >= 3

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
    text = line.lstrip(BLANK)
    indent = len(line[: len(line) - len(text)].expandtabs(_TAB_STOP))
    return b" " * max(indent - columns, 0) + text


_BLOCK_TAGS: Final = (
    "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link "
    "main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead "
    "title tr track ul"
)
"""Names of the tags that begin a block whenever they are first on a line."""


@dataclass(frozen=True)
class HtmlStart:
    """The beginning and the end of an HTML block."""

    opening: re.Pattern[bytes]
    closing: re.Pattern[bytes] | None = None
    """Ends the block on the line where it matches; without it, a blank line ends the block."""
    interrupts: bool = True
    """True if the block may begin right after the text of a paragraph."""


_NAME: Final = rb"[a-z][a-z0-9-]*"
_ATTRIBUTE: Final = rb"""[ \t]+[a-z_:][a-z0-9_.:-]*(?:[ \t]*=[ \t]*(?:[^ \t"'=<>`]+|'[^']*'|"[^"]*"))?"""

_STARTS: Final = (
    HtmlStart(
        re.compile(rb"<(?:script|pre|style|textarea)(?:[ \t>]|\Z)", re.IGNORECASE),
        re.compile(rb"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
    HtmlStart(re.compile(rb"<!--"), re.compile(rb"-->")),
    HtmlStart(re.compile(rb"<\?"), re.compile(rb"\?>")),
    HtmlStart(re.compile(rb"<![a-z]", re.IGNORECASE), re.compile(rb">")),
    HtmlStart(re.compile(rb"<!\[CDATA\["), re.compile(rb"\]\]>")),
    HtmlStart(re.compile(rb"</?(?:%s)(?:[ \t]|/?>|\Z)" % b"|".join(_BLOCK_TAGS.encode().split()), re.IGNORECASE)),
    HtmlStart(
        re.compile(rb"(?:<%s(?:%s)*[ \t]*/?>|</%s[ \t]*>)[ \t]*\Z" % (_NAME, _ATTRIBUTE, _NAME), re.IGNORECASE),
        interrupts=False,
    ),
)
"""The seven kinds, in the order in which they are tried."""


def find_html_start(line: bytes, position: int) -> HtmlStart | None:
    """Return the kind of HTML block that begins at ``position`` of ``line``, if one does."""
    return next((start for start in _STARTS if start.opening.match(line, position)), None)

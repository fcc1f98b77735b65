"""The blocks of a Markdown document, as far as they decide what is a heading or a bullet, and what hides one.

A line-by-line reading of CommonMark 0.31 (appendix "A parsing strategy") with all its containers and leaves, except
that definitions of links are text. It works on bytes and takes time in proportion to the input, whatever that is.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final, Self

from heartbeat_mcp.mirror.markdown.lines import Cursor, HtmlStart, find_html_start

__all__ = ["Block", "BlockKind", "scan"]

_CODE_INDENT: Final = 4
"""Columns of indentation that make indented code (CommonMark 0.31, section 4.4)."""

_ATX: Final = re.compile(rb"(#{1,6})(?:[ \t]|\Z)")
_SETEXT: Final = re.compile(rb"(=+|-+)[ \t]*\Z")
_FENCE: Final = re.compile(rb"(`{3,})[^`]*\Z|(~{3,})")
_FENCE_END: Final = re.compile(rb"(`{3,}|~{3,})[ \t]*\Z")
_MARKER: Final = re.compile(rb"(?:[-+*]|([0-9]{1,9})[.)])(?=[ \t]|\Z)")


class BlockKind(Enum):
    """The kind of a block at the top level of a document, as far as it matters here."""

    ATX = auto()
    SETEXT = auto()
    PARAGRAPH = auto()
    BULLET = auto()
    """One item of a bullet list, with everything in it."""
    OTHER = auto()


@dataclass
class Block:
    """A run of lines that make one block at the top level of a document."""

    kind: BlockKind
    start: int
    """The number of the first line, counted from 0."""
    end: int = 0
    """The number of the line after the last one that is not blank."""
    level: int = 0
    """The level of a heading, 1 to 6."""
    offset: int = 0
    """The columns before the content of a bullet."""
    is_open: bool = False
    """True if a fence or an HTML block runs on to the end of the document."""

    @property
    def is_heading(self) -> bool:
        """True if the block is a heading of either form."""
        return self.kind in (BlockKind.ATX, BlockKind.SETEXT)

    def moved(self, lines: int) -> Self:
        """Return the same block, ``lines`` lines further down."""
        return replace(self, start=self.start + lines, end=self.end + lines)


def scan(lines: Iterable[bytes]) -> list[Block]:
    """Return the top-level blocks of ``lines``, which have no line ends, in order; blank lines are between them."""
    scanner = _Scanner()
    for number, line in enumerate(lines):
        scanner.read(number, line)
    return scanner.finish()


@dataclass
class _Container:
    """A block quote, or a list item whose content begins at column ``offset``."""

    offset: int | None
    empty_at: int = -1
    """number of the line on which an item began without content"""


@dataclass
class _Paragraph:
    pass


@dataclass
class _Fence:
    marker: bytes


@dataclass
class _IndentedCode:
    pass


_Leaf = _Paragraph | _Fence | _IndentedCode | HtmlStart


class _Scanner:
    """The state between two lines: the open containers, and the open leaf in the last of them."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._containers: list[_Container] = []
        self._quotes: list[int] = []
        self._leaf: _Leaf | None = None
        self._number = 0

    def finish(self) -> list[Block]:
        """Return the blocks that were read."""
        if self._blocks and not self._containers:
            leaf = self._leaf
            self._blocks[-1].is_open = isinstance(leaf, _Fence) or (isinstance(leaf, HtmlStart) and bool(leaf.closing))
        return self._blocks

    def read(self, number: int, line: bytes) -> None:
        """Take in the next line."""
        self._number = number
        cursor = Cursor(line)
        is_blank = cursor.is_blank
        depth = self._match_containers(cursor)
        if depth < len(self._containers):
            if cursor.is_blank:
                self._close_to(depth)
            else:
                self._start_blocks(cursor, depth, is_matched=False)
        elif not self._continue_leaf(cursor):
            self._start_blocks(cursor, depth, is_matched=True)
        if not is_blank:
            self._blocks[-1].end = number + 1

    def _match_containers(self, cursor: Cursor) -> int:
        depth = 0
        while depth < len(self._containers):
            if cursor.is_blank:
                return self._match_blank(depth)
            container = self._containers[depth]
            if container.offset is None:
                if cursor.indent >= _CODE_INDENT or cursor.byte != b">":
                    break
                _skip_quote_marker(cursor)
            elif cursor.indent >= container.offset:
                cursor.skip_columns(container.offset)
            else:
                break
            depth += 1
        return depth

    def _match_blank(self, depth: int) -> int:
        """Return the depth that the blank rest of a line reaches: through all items, up to the next quote."""
        following = bisect_left(self._quotes, depth)
        if following < len(self._quotes):
            return self._quotes[following]
        is_still_empty = self._containers[-1].empty_at == self._number - 1
        return len(self._containers) - is_still_empty

    def _continue_leaf(self, cursor: Cursor) -> bool:
        """Give the line to the open leaf, or close the leaf; return whether the line is finished."""
        leaf = self._leaf
        if isinstance(leaf, _Fence):
            self._continue_fence(cursor, leaf)
            return True
        if isinstance(leaf, HtmlStart):
            return self._continue_html(cursor, leaf)
        if isinstance(leaf, _IndentedCode):
            if cursor.is_blank or cursor.indent >= _CODE_INDENT:
                return True
            self._leaf = None
        elif cursor.is_blank:
            self._leaf = None
        return cursor.is_blank

    def _continue_fence(self, cursor: Cursor, fence: _Fence) -> None:
        closing = _FENCE_END.match(cursor.line, cursor.mark)
        if closing and cursor.indent < _CODE_INDENT and closing[1].startswith(fence.marker):
            self._leaf = None

    def _continue_html(self, cursor: Cursor, start: HtmlStart) -> bool:
        if cursor.is_blank if start.closing is None else start.closing.search(cursor.line, cursor.position):
            self._leaf = None
        return True

    def _start_blocks(self, cursor: Cursor, depth: int, *, is_matched: bool) -> None:
        """Open the containers and the leaf that begin on the line, or continue the paragraph."""
        while cursor.indent < _CODE_INDENT:
            if cursor.byte == b">":
                self._open_container(depth, _Container(None), BlockKind.OTHER)
                _skip_quote_marker(cursor)
            elif self._start_leaf(cursor, depth, is_matched=is_matched):
                return
            elif not self._open_item(cursor, depth, is_matched=is_matched):
                break
            depth += 1
            is_matched = True
        self._take_text(cursor, depth)

    def _take_text(self, cursor: Cursor, depth: int) -> None:
        if isinstance(self._leaf, _Paragraph):
            return  # also a lazy line: the containers that did not match stay open
        if cursor.is_blank:
            self._close_to(depth)
        elif cursor.indent >= _CODE_INDENT:
            self._open_leaf(depth, _IndentedCode(), BlockKind.OTHER)
        else:
            self._open_leaf(depth, _Paragraph(), BlockKind.PARAGRAPH)

    def _start_leaf(self, cursor: Cursor, depth: int, *, is_matched: bool) -> bool:
        line, mark = cursor.line, cursor.mark
        if atx := _ATX.match(line, mark):
            self._open_leaf(depth, None, BlockKind.ATX, len(atx[1]))
        elif fence := _FENCE.match(line, mark):
            self._open_leaf(depth, _Fence(fence[1] or fence[2]), BlockKind.OTHER)
        elif cursor.byte == b"<":
            return self._start_html(cursor, depth)
        elif is_matched and isinstance(self._leaf, _Paragraph) and (underline := _SETEXT.match(line, mark)):
            self._underline(underline[1])
        elif cursor.is_thematic_break():
            self._open_leaf(depth, None, BlockKind.OTHER)
        else:
            return False
        return True

    def _start_html(self, cursor: Cursor, depth: int) -> bool:
        start = find_html_start(cursor.line, cursor.mark)
        if start is None or (isinstance(self._leaf, _Paragraph) and not start.interrupts):
            return False
        is_closed = start.closing is not None and start.closing.search(cursor.line, cursor.mark)
        self._open_leaf(depth, None if is_closed else start, BlockKind.OTHER)
        return True

    def _underline(self, underline: bytes) -> None:
        """Turn the paragraph into a heading."""
        self._leaf = None
        if not self._containers:
            self._blocks[-1].kind = BlockKind.SETEXT
            self._blocks[-1].level = 1 if underline.startswith(b"=") else 2

    def _open_item(self, cursor: Cursor, depth: int, *, is_matched: bool) -> bool:
        marker = _MARKER.match(cursor.line, cursor.mark)
        if marker is None:
            return False
        has_content = marker.end() < cursor.content_end
        if is_matched and isinstance(self._leaf, _Paragraph) and (not has_content or int(marker[1] or 1) != 1):
            return False
        length = marker.end() - marker.start()
        offset = cursor.indent + length
        cursor.skip_marker(length)
        padding = cursor.indent if has_content and cursor.indent <= _CODE_INDENT else 1
        cursor.skip_columns(padding)
        item = _Container(offset + padding, -1 if has_content else self._number)
        self._open_container(depth, item, BlockKind.OTHER if marker[1] else BlockKind.BULLET)
        return True

    def _open_container(self, depth: int, container: _Container, kind: BlockKind) -> None:
        self._close_to(depth)
        if depth == 0:
            self._blocks.append(Block(kind, self._number, offset=container.offset or 0))
        if container.offset is None:
            self._quotes.append(depth)
        self._containers.append(container)

    def _open_leaf(self, depth: int, leaf: _Leaf | None, kind: BlockKind, level: int = 0) -> None:
        self._close_to(depth)
        self._leaf = leaf
        if depth == 0:
            self._blocks.append(Block(kind, self._number, level=level))

    def _close_to(self, depth: int) -> None:
        del self._containers[depth:]
        del self._quotes[bisect_left(self._quotes, depth) :]
        self._leaf = None


def _skip_quote_marker(cursor: Cursor) -> None:
    cursor.skip_marker(1)
    if cursor.indent:
        cursor.skip_columns(1)

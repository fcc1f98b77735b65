"""Where the section of the tasks is in HEARTBEAT.md, or where a new one goes (HB-8)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from heartbeat_mcp.mirror.blocks import Block, BlockKind, scan
from heartbeat_mcp.mirror.cursor import BLANK

__all__ = ["Section", "find_newline", "locate_section"]

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_LINE: Final = re.compile(rb"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_LINE_END: Final = re.compile(rb"\r\n?|\n")

_CONTINUED: Final = re.compile(r"[^\w\s]|\s+[–—:(-]")
"""What may follow the name of the section in its heading: real files say ``## TODO – List below…``."""


@dataclass(frozen=True)
class Section:
    """A document cut into the server's part and the rest; joined again, it is what was read."""

    before: bytes
    """everything up to the end of the heading"""
    heading: bytes
    """the heading with its line end"""
    body: bytes
    """what is below the heading"""
    after: bytes
    """everything from the next heading of level 1 or 2 on"""
    newline: bytes
    """the line end for lines that are written"""
    is_new: bool = False
    """whether the document has no such section yet"""

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines of the body with their line ends."""
        return _LINE.findall(self.body)


def locate_section(data: bytes, name: str) -> tuple[Section, list[Block]]:
    """Return the section called ``name`` of the document ``data``, or the place for a new one, and its blocks.

    The blocks are numbered by the lines of the section.
    """
    mark = _BYTE_ORDER_MARK if data.startswith(_BYTE_ORDER_MARK) else b""
    lines = _LINE.findall(data, len(mark))
    bare = [line.rstrip(b"\r\n") for line in lines]
    front = _front_matter_length(bare)
    blocks = _moved(scan(bare[front:]), front)
    newline = find_newline(data)
    index = _find_heading(bare, blocks, name)
    if index is None:
        return _new_section(mark, lines, blocks, f"## {name}".encode() + newline, newline)
    first = blocks[index].end
    ends = (block.start for block in blocks[index + 1 :] if block.is_heading and block.level <= 2)
    last = next(ends, len(lines))
    before, body, after = (b"".join(part) for part in (lines[:first], lines[first:last], lines[last:]))
    inside = [block for block in blocks[index + 1 :] if block.start < last]
    return Section(mark + before, lines[first - 1], body, after, newline), _moved(inside, -first)


def find_newline(data: bytes) -> bytes:
    """Return the line end of the first line of ``data``, or a line feed if it has none."""
    line_end = _LINE_END.search(data)
    return line_end[0] if line_end else b"\n"


def _new_section(
    mark: bytes, lines: list[bytes], blocks: list[Block], heading: bytes, newline: bytes
) -> tuple[Section, list[Block]]:
    # A block that is still open at the end would swallow a heading after it, so the section goes before that block.
    inside: list[Block] = blocks[-1:] if blocks and blocks[-1].is_open else []
    first = inside[0].start if inside else len(lines)
    before = mark + b"".join(lines[:first])
    if first and not before.endswith((b"\r", b"\n")):
        before += newline
    if first and lines[first - 1].strip(BLANK + b"\r\n"):
        before += newline
    section = Section(before + heading, heading, b"".join(lines[first:]), b"", newline, is_new=True)
    return section, _moved(inside, -first)


def _moved(blocks: Sequence[Block], lines: int) -> list[Block]:
    return [block.moved(lines) for block in blocks]


def _front_matter_length(bare: list[bytes]) -> int:
    """Return how many lines at the start are YAML front matter, which has no blank line right after its ``---``."""
    if len(bare) < 2 or bare[0].rstrip(BLANK) != b"---" or not bare[1].strip(BLANK):
        return 0
    ends = (number for number, line in enumerate(bare[1:], 2) if line.rstrip(BLANK) in (b"---", b"..."))
    return next(ends, 0)


def _find_heading(bare: list[bytes], blocks: list[Block], name: str) -> int | None:
    headings = [
        (index, _heading_text(bare[block.start]))
        for index, block in enumerate(blocks)
        if block.kind is BlockKind.ATX and block.level == 2
    ]
    wanted = _heading_text(f"## {name}".encode())
    exact = (index for index, text in headings if text == wanted)
    continued = (index for index, text in headings if text.startswith(wanted) and _CONTINUED.match(text, len(wanted)))
    return next(exact, next(continued, None))


def _heading_text(line: bytes) -> str:
    text = line.strip(BLANK)[2:].strip(BLANK)
    without = text.rstrip(b"#")
    if not without or without.endswith((b" ", b"\t")):
        text = without.rstrip(BLANK)
    return text.decode(errors="replace").casefold()

"""Where the section of the tasks lies in HEARTBEAT.md, or where a new one goes (HB-8)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from heartbeat_mcp.mirror.blocks import Block, BlockKind, scan
from heartbeat_mcp.mirror.cursor import BLANK

__all__ = ["Section", "locate_section"]

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_LINE: Final = re.compile(rb"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_LINE_END: Final = re.compile(rb"\r\n?|\n")

_CONTINUED: Final = re.compile(r"[^\w\s]|\s+[–—:(-]")
"""What may stand behind the name of the section in its heading: real files say ``## TODO – List below…``."""


@dataclass(frozen=True)
class Section:
    """A document cut into what is the server's and what is not; joined again, it is what was read."""

    before: bytes
    """everything up to the end of the heading"""
    heading: bytes
    """the heading with its line end"""
    lines: tuple[bytes, ...]
    """what stands below the heading, with line ends"""
    blocks: tuple[Block, ...]
    """the blocks of ``lines``, numbered from the first of these"""
    after: bytes
    """everything from the next heading of level 1 or 2 on"""
    newline: bytes
    """the line end for lines that are written"""
    is_new: bool = False
    """whether the document has no such section yet"""


def locate_section(data: bytes, name: str) -> Section:
    """Return the section called ``name`` of the document ``data``, or the place for a new one."""
    mark = _BYTE_ORDER_MARK if data.startswith(_BYTE_ORDER_MARK) else b""
    lines = _LINE.findall(data, len(mark))
    bare = [line.rstrip(b"\r\n") for line in lines]
    skipped = _front_matter_length(bare)
    blocks = scan(bare[skipped:])
    for block in blocks:
        block.start += skipped
        block.end += skipped
    newline = _newline(data)
    index = _find_heading(bare, blocks, name)
    if index is None:
        return _new_section(mark, lines, blocks, f"## {name}".encode() + newline, newline)
    return _cut(mark, lines, blocks, index, newline)


def _cut(mark: bytes, lines: list[bytes], blocks: list[Block], index: int, newline: bytes) -> Section:
    first = blocks[index].end
    ends = (block for block in blocks[index + 1 :] if block.is_heading and block.level <= 2)
    last = next((block.start for block in ends), len(lines))
    return Section(
        before=mark + b"".join(lines[:first]),
        heading=lines[first - 1],
        lines=tuple(lines[first:last]),
        blocks=_moved(blocks[index + 1 :], first, last),
        after=b"".join(lines[last:]),
        newline=newline,
    )


def _new_section(mark: bytes, lines: list[bytes], blocks: list[Block], heading: bytes, newline: bytes) -> Section:
    # What is left open at the end would swallow a heading behind it, so the section goes before that.
    at = blocks[-1].start if blocks and blocks[-1].is_open else len(lines)
    before = mark + b"".join(lines[:at])
    if at and not before.endswith((b"\r", b"\n")):
        before += newline
    if blocks and at and lines[at - 1].strip(BLANK + b"\r\n"):
        before += newline
    body = tuple(lines[at:])
    return Section(before + heading, heading, body, _moved(blocks[-1:], at, len(lines)), b"", newline, is_new=True)


def _moved(blocks: Sequence[Block], first: int, last: int) -> tuple[Block, ...]:
    inside = [block for block in blocks if first <= block.start < last]
    for block in inside:
        block.start -= first
        block.end -= first
    return tuple(inside)


def _newline(data: bytes) -> bytes:
    found = _LINE_END.search(data)
    return found[0] if found else b"\n"


def _front_matter_length(bare: list[bytes]) -> int:
    """Return how many lines at the start are YAML front matter: from ``---``, no blank line below it, to its end."""
    if len(bare) < 2 or bare[0].rstrip(BLANK) != b"---" or not bare[1].strip(BLANK):
        return 0
    ends = (number for number, line in enumerate(bare[1:], 2) if line.rstrip(BLANK) in (b"---", b"..."))
    return next(ends, 0)


def _find_heading(bare: list[bytes], blocks: list[Block], name: str) -> int | None:
    headings = [
        (index, _heading_text(bare[block.start]).casefold())
        for index, block in enumerate(blocks)
        if block.kind is BlockKind.ATX and block.level == 2
    ]
    wanted = _heading_text(f"## {name}".encode()).casefold()
    exact = (index for index, text in headings if text == wanted)
    continued = (
        index for index, text in headings if text.startswith(wanted) and _CONTINUED.match(text, len(wanted))
    )
    return next(exact, next(continued, None))


def _heading_text(line: bytes) -> str:
    text = line.strip(BLANK)[2:].strip(BLANK)
    without = text.rstrip(b"#")
    if not without or without.endswith((b" ", b"\t")):
        text = without.rstrip(BLANK)
    return text.decode(errors="replace")

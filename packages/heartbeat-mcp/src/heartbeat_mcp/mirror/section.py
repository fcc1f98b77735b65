"""The section of HEARTBEAT.md: where it is in the file, and the units of which it consists (HB-8, HB-12)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property
from typing import Final

from heartbeat_mcp.mirror.entries import is_overflow
from heartbeat_mcp.mirror.items import Item, is_closing_comment, parse_task, read_item
from heartbeat_mcp.mirror.markdown import BLANK, LINE, Block, BlockKind, dedent, find_heading, scan

__all__ = [
    "LIST_END",
    "Part",
    "TaskSection",
    "Unit",
    "locate_section",
    "read_units",
]

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_LINE_END: Final = re.compile(rb"\r\n?|\n")

_BOLD: Final = re.compile(r"(\*\*|__).+\1|<(b|strong)>.+</\2>")

_FORBIDS: Final = re.compile(
    r"\b(?:never|not|avoid|forbidden|prohibited|out of scope|off[- ]limits|nie|niemals|nicht|verboten|nunca|jamais"
    r"|prohibid[oa]s?|interdite?s?)\b|n['\u2019]t\b|不要|不得|勿|禁止|ない",
    re.IGNORECASE,
)
"""A word that turns the bullets below it into their contrary."""


@dataclass(frozen=True)
class TaskSection:
    """A document cut into the server's part and the rest; joined again, it is what was read."""

    before: bytes
    """Everything up to the end of the heading."""
    heading: bytes
    """The lines of the heading with their line ends."""
    body: bytes
    """The text below the heading."""
    after: bytes
    """Everything from the next heading of level 1 or 2 on."""
    newline: bytes
    """The line end of the first line of the document, or a line feed: for lines that are written."""
    is_new: bool = False
    """True if the document has no such section yet."""

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines of the body with their line ends."""
        return LINE.findall(self.body)


def locate_section(data: bytes, name: str) -> tuple[TaskSection, list[Block]]:
    """Return the section called ``name`` of the document ``data``, or the place for a new one, and its blocks.

    The blocks are numbered by the lines of the section.
    """
    mark = _BYTE_ORDER_MARK if data.startswith(_BYTE_ORDER_MARK) else b""
    lines = LINE.findall(data, len(mark))
    bare = [line.rstrip(b"\r\n") for line in lines]
    front = _front_matter_length(bare)
    blocks = _moved(scan(bare[front:]), front)
    line_end = _LINE_END.search(data)
    newline = line_end[0] if line_end else b"\n"
    index = find_heading(bare, blocks, name)
    if index is None:
        # A block that is still open at the end would swallow a heading after it, so the section goes before that block.
        inside = [] if scan([*bare[front:], b"", b"# x"])[-1].is_heading else blocks[-1:]
        return _new_section(mark, lines, inside, f"## {name}".encode() + newline, newline)
    first = blocks[index].end
    ends = (block.start for block in blocks[index + 1 :] if block.is_heading and block.level <= 2)
    last = next(ends, len(lines))
    before, body, after = (b"".join(part) for part in (lines[:first], lines[first:last], lines[last:]))
    inside = [block for block in blocks[index + 1 :] if block.start < last]
    heading = b"".join(lines[blocks[index].start : first])
    return TaskSection(mark + before, heading, body, after, newline), _moved(inside, -first)


def _new_section(
    mark: bytes, lines: list[bytes], inside: list[Block], heading: bytes, newline: bytes
) -> tuple[TaskSection, list[Block]]:
    first = inside[0].start if inside else len(lines)
    before = mark + b"".join(lines[:first])
    if first and not before.endswith((b"\r", b"\n")):
        before += newline
    if first and lines[first - 1].strip(BLANK + b"\r\n"):
        before += newline
    section = TaskSection(before + heading, heading, b"".join(lines[first:]), b"", newline, is_new=True)
    return section, _moved(inside, -first)


def _moved(blocks: Sequence[Block], lines: int) -> list[Block]:
    return [block.moved(lines) for block in blocks]


def _front_matter_length(bare: list[bytes]) -> int:
    """Return how many lines at the start are YAML front matter, which has no blank line right after its ``---``."""
    if len(bare) < 2 or bare[0].rstrip(BLANK) != b"---" or not bare[1].strip(BLANK):
        return 0
    ends = (number for number, line in enumerate(bare[1:], 2) if line.rstrip(BLANK) in (b"---", b"..."))
    return next(ends, 0)


LIST_END: Final = b"<!-- end of list -->"
"""Separates a list from indented text, which would otherwise become part of the last item."""


class Part(Enum):
    """The role of a unit in the section."""

    ENTRY = auto()
    """An entry, which its first line and closing comment show to be one that the server wrote (H5)."""
    BULLET = auto()
    """A person's bullet, to be taken in."""
    OVERFLOW = auto()
    """The line for the tasks for which there was no room (HB-14)."""
    LIST_END = auto()
    """A line that the server adds to end a list."""
    TEXT = auto()
    """Everything else, which stays."""


@dataclass(frozen=True)
class Unit:
    """A run of lines of the section that belong together."""

    part: Part
    start: int
    """The number of its first line in the section, counted from 0."""
    end: int
    """The number of the line after its last one."""
    text: bytes
    """Its lines without blanks at their ends, joined by line feeds."""
    item: Item | None = None
    """The bullet that the unit is."""
    is_set_apart: bool = False
    """True under a heading of level 3 or more."""


def read_units(section_lines: Sequence[bytes], blocks: Sequence[Block]) -> list[Unit]:
    """Return the units in the ``blocks`` of a section, in order; only blank lines are between them.

    Bullets under a label mean little without it, or the contrary ("Never do:"), so they are text like the label.
    """
    lines = [line.rstrip(BLANK + b"\r\n") for line in section_lines]
    is_set_apart = is_labelled = False
    units: list[Unit] = []
    for block in blocks:
        is_set_apart = is_set_apart or block.is_heading
        if block.kind is BlockKind.PARAGRAPH:
            is_labelled = _is_label(lines[block.end - 1])
            units.extend(_read_paragraph(block, lines))
        else:
            for unit in _read_block(block, lines, is_set_apart=is_set_apart):
                is_labelled = (is_labelled and unit.part is not Part.ENTRY) or _is_label_unit(unit)
                units.append(replace(unit, part=Part.TEXT) if is_labelled and unit.part is Part.BULLET else unit)
    return units


def _is_label(line: bytes) -> bool:
    """Return whether a line of text announces the bullets below it: it ends in a colon, is bold, or forbids."""
    text = line.decode(errors="replace").strip().lstrip("> ")
    return bool(_BOLD.fullmatch(text) or _ends_in_colon(text) or _FORBIDS.search(text))


def _is_label_unit(unit: Unit) -> bool:
    """Return whether a quote or other text, or a bullet of one line that forbids, announces the bullets below it."""
    if unit.item is None:
        return not unit.text.startswith(b"<!--") and _is_label(unit.text.rpartition(b"\n")[2])
    if unit.part is not Part.BULLET or b"\n" in unit.text:
        return False
    return _ends_in_colon(unit.item.title) and bool(_FORBIDS.search(unit.item.title))


def _ends_in_colon(text: str) -> bool:
    return text.rstrip("*_~` ").endswith((":", "\uff1a"))


def _read_paragraph(block: Block, lines: Sequence[bytes]) -> Iterator[Unit]:
    """Cut the server's line out of a paragraph to which a person may have added lines."""
    start = block.start
    for number in range(block.start, block.end):
        if is_overflow(lines[number]):
            yield from _text(start, number, lines)
            yield Unit(Part.OVERFLOW, number, number + 1, lines[number])
            start = number + 1
    yield from _text(start, block.end, lines)


def _text(start: int, end: int, lines: Sequence[bytes]) -> Iterator[Unit]:
    # Without the line above it, a line that was text may become code or an item.
    for block in scan(lines[start:end]):
        text = lines[start + block.start : start + block.end]
        yield Unit(Part.TEXT, start + block.start, start + block.end, b"\n".join(text))


def _read_block(block: Block, lines: Sequence[bytes], *, is_set_apart: bool) -> Iterator[Unit]:
    text = b"\n".join(lines[block.start : block.end])
    if block.kind is not BlockKind.BULLET:
        yield Unit(Part.LIST_END if text == LIST_END else Part.TEXT, block.start, block.end, text)
        return
    item = read_item(text.decode(errors="surrogateescape"), block.offset)
    part = _part_of(item, is_set_apart=is_set_apart)
    if part is Part.ENTRY and (below := _find_blocks_below(block, lines)):
        end = max(number for number in range(block.start, below[0].start) if lines[number]) + 1
        yield from _read_block(replace(block, end=end), lines, is_set_apart=is_set_apart)
        for other in below:
            inside = [dedent(line, block.offset) for line in lines[other.start : other.end]]
            for unit in _read_block(replace(other, start=0, end=len(inside)), inside, is_set_apart=is_set_apart):
                yield replace(unit, start=other.start + unit.start, end=other.start + unit.end)
        return
    yield Unit(part, block.start, block.end, text, item, is_set_apart)


def _find_blocks_below(entry: Block, lines: Sequence[bytes]) -> list[Block]:
    """Return the blocks of an entry from the first bullet or label on that a person added below its closing comment.

    Editors indent such a line by themselves. A field of the entry is not one.
    """
    comment = next(number for number in range(entry.start, entry.end) if is_closing_comment(lines[number]))
    blocks = _moved(scan([dedent(line, entry.offset) for line in lines[comment + 1 : entry.end]]), comment + 1)
    for index, block in enumerate(blocks):
        first = dedent(lines[block.start], entry.offset).decode(errors="surrogateescape")
        is_bullet = block.kind is BlockKind.BULLET and not read_item(f" {first}", block.offset).is_stray_field
        if is_bullet or (block.kind is BlockKind.PARAGRAPH and _is_label(lines[block.end - 1])):
            return blocks[index:]
    return []


def _part_of(item: Item, *, is_set_apart: bool) -> Part:
    if item.is_template or item.is_stray_field or item.is_placeholder:
        return Part.TEXT
    if item.closing_id is not None:
        return Part.ENTRY if item.is_entry else Part.TEXT
    # The store cannot keep bytes that are not UTF-8, so a bullet with such bytes stays where it is.
    is_taken = not is_set_apart and item.is_well_formed and parse_task(item).raw_user_request.strip()
    return Part.BULLET if is_taken else Part.TEXT

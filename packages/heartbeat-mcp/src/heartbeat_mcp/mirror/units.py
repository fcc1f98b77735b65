"""The body of the section cut into units: entries, new bullets, the server's own lines, and other text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from heartbeat_mcp.mirror.blocks import Block, BlockKind, scan
from heartbeat_mcp.mirror.cursor import BLANK
from heartbeat_mcp.mirror.entries import overflow_count
from heartbeat_mcp.mirror.found import found_task
from heartbeat_mcp.mirror.items import Item, read_item

__all__ = ["LIST_END", "Part", "Unit", "read_units"]

LIST_END: Final = b"<!-- end of list -->"
"""Separates a list from indented text, which would otherwise become part of the last item."""


class Part(Enum):
    """The role of a unit in the section."""

    ENTRY = auto()
    """recognized by its first line and closing comment as one that the server wrote (H5)"""
    BULLET = auto()
    """a person's bullet, to be taken in"""
    OVERFLOW = auto()
    """the line for the tasks for which there was no room (HB-14)"""
    LIST_END = auto()
    """a line that the server adds where needed"""
    TEXT = auto()
    """everything else, which stays"""


@dataclass(frozen=True)
class Unit:
    """A run of lines of the section that belong together."""

    part: Part
    start: int
    """number of its first line in the section, counted from 0"""
    end: int
    """number of the line after its last one"""
    text: bytes
    """its lines without blanks at their ends, joined by line feeds"""
    item: Item | None = None
    """of a bullet"""
    is_set_apart: bool = False
    """whether it is under a heading of level 3 or more"""


def read_units(section_lines: Sequence[bytes], blocks: Sequence[Block]) -> list[Unit]:
    """Return the units in the ``blocks`` of a section, in order; only blank lines are between them."""
    lines = [line.rstrip(BLANK + b"\r\n") for line in section_lines]
    is_set_apart = False
    units: list[Unit] = []
    for block in blocks:
        is_set_apart = is_set_apart or block.is_heading
        if block.kind is BlockKind.PARAGRAPH:
            units.extend(_read_paragraph(block, lines))
        else:
            units.append(_read_block(block, lines, is_set_apart=is_set_apart))
    return units


def _read_paragraph(block: Block, lines: Sequence[bytes]) -> Iterator[Unit]:
    """Cut the server's line out of a paragraph to which a person may have added lines."""
    start = block.start
    for number in range(block.start, block.end):
        if overflow_count(lines[number]) is not None:
            yield from _text(start, number, lines)
            yield Unit(Part.OVERFLOW, number, number + 1, lines[number])
            start = number + 1
    yield from _text(start, block.end, lines)


def _text(start: int, end: int, lines: Sequence[bytes]) -> Iterator[Unit]:
    # Without the line above it, a line that was text may become code or an item.
    for block in scan(lines[start:end]):
        text = lines[start + block.start : start + block.end]
        yield Unit(Part.TEXT, start + block.start, start + block.end, b"\n".join(text))


def _read_block(block: Block, lines: Sequence[bytes], *, is_set_apart: bool) -> Unit:
    text = b"\n".join(lines[block.start : block.end])
    if block.kind is not BlockKind.BULLET:
        return Unit(Part.LIST_END if text == LIST_END else Part.TEXT, block.start, block.end, text)
    item = read_item(text.decode(errors="surrogateescape"), block.offset)
    return Unit(_part_of(item, is_set_apart=is_set_apart), block.start, block.end, text, item, is_set_apart)


def _part_of(item: Item, *, is_set_apart: bool) -> Part:
    if item.is_template or item.is_stray_field:
        return Part.TEXT
    if item.closing_id is not None:
        return Part.ENTRY if item.is_entry else Part.TEXT
    # The store cannot keep bytes that are not UTF-8, so a bullet with such bytes stays where it is.
    is_taken = not is_set_apart and item.is_well_formed and found_task(item).raw_user_request.strip()
    return Part.BULLET if is_taken else Part.TEXT

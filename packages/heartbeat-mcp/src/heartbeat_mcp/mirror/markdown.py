"""The blocks of a Markdown document, as far as they decide what is a heading or a bullet, and its section of tasks.

markdown-it-py reads them by CommonMark, except that definitions of links are text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final, Self

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["BLANK", "LINE", "Block", "BlockKind", "dedent", "find_heading", "find_similar_heading", "scan"]

BLANK: Final = b" \t"
"""The bytes that indent a line and end a marker."""

LINE: Final = re.compile(rb"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
"""A line with its line end."""

_TAB_STOP: Final = 4
"""Columns from one tab stop to the next."""

_BULLET: Final = re.compile(rb"( *[-+*])((?: {1,4}(?=[^ ]))?)")
"""The marker of a bullet, and the blanks before its content; five blanks or more are one and indented code."""

_NO_BLANKS: Final = bytes.maketrans(b"\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0", b"\x01" * 8)
"""Replaces what is a blank in regular expressions of Python, but not in Markdown."""

_MAX_NESTING: Final = 100
"""Levels of quotes and lists that are read; a list has two."""

_PARSER: Final = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).disable("reference")
_PARSER.parse("")  # compiles the rules, before several threads use them


class BlockKind(Enum):
    """The kind of a block at the top level of a document, as far as it matters here."""

    ATX = auto()
    SETEXT = auto()
    PARAGRAPH = auto()
    BULLET = auto()
    """One item of a bullet list, with everything in it."""
    OTHER = auto()


@dataclass(frozen=True)
class Block:
    """A run of lines that make one block at the top level of a document."""

    kind: BlockKind
    start: int
    """The number of the first line, counted from 0."""
    end: int
    """The number of the line after the last one that is not blank."""
    level: int = 0
    """The level of a heading, 1 to 6."""
    offset: int = 0
    """The columns before the content of a bullet."""
    is_cut: bool = False
    """True if something in it is nested too deep to be read, so that its end is not known."""

    @property
    def is_heading(self) -> bool:
        """True if the block is a heading of either form."""
        return self.kind in (BlockKind.ATX, BlockKind.SETEXT)

    def moved(self, lines: int) -> Self:
        """Return the same block, ``lines`` lines further down."""
        return replace(self, start=self.start + lines, end=self.end + lines)


def scan(lines: Sequence[bytes]) -> list[Block]:
    """Return the top-level blocks of ``lines``, which have no line ends, in order; blank lines are between them."""
    tokens: list[Token] = []
    # Latin-1 keeps every byte one character, and all that has a meaning in Markdown is ASCII.
    _PARSER.block.parse(b"\n".join(lines).translate(_NO_BLANKS).decode("latin-1"), _PARSER, {}, tokens)
    top = (token for token in tokens if token.level == (token.type == "list_item_open") and "_list_" not in token.type)
    blocks = [_make_block(token, token.map[0], token.map[1], lines) for token in top if token.map]
    if any(token.level >= _MAX_NESTING - 1 for token in tokens):
        blocks[-1] = replace(blocks[-1], is_cut=True)
    return blocks


def _make_block(token: Token, start: int, end: int, lines: Sequence[bytes]) -> Block:
    while not lines[end - 1].strip(BLANK):
        end -= 1
    if token.type == "heading_open":
        kind = BlockKind.ATX if token.markup.startswith("#") else BlockKind.SETEXT
        return Block(kind, start, end, level=int(token.tag[1]))
    if token.type == "list_item_open" and (bullet := _BULLET.match(lines[start].expandtabs(_TAB_STOP))):
        return Block(BlockKind.BULLET, start, end, offset=bullet.end() + (not bullet[2]))
    return Block(BlockKind.PARAGRAPH if token.type == "paragraph_open" else BlockKind.OTHER, start, end)


def dedent(line: bytes, columns: int) -> bytes:
    """Return ``line`` with at most ``columns`` of its indentation taken off."""
    text = line.lstrip(BLANK)
    indent = len(line[: len(line) - len(text)].expandtabs(_TAB_STOP))
    return b" " * max(indent - columns, 0) + text


_CONTINUED: Final = re.compile(r"[^\w\s]|\s+[–—:(-]")
"""The possible texts after the name of the section in its heading: real files say ``## TODO – List below…``."""

_EMPHASIS: Final = re.compile(r"\A(\*{1,3}|_{1,3}|`+|~~)(?=\S)(.+?)(?<=\S)\1")

_NOT_LETTERS: Final = re.compile(r"[\W_]")

_SIMILAR: Final = frozenset({
    "todo", "todos", "todolist", "todolists", "mytodo", "mytodos", "opentodos", "task", "tasks", "mytasks", "tasklist",
    "activetasks", "currenttasks", "opentasks", "pendingtasks", "actionitems", "aufgaben", "tareas", "tâches",
    "待办", "待办事项", "待办列表", "待办清单", "任务", "任务列表", "任务清单", "待辦", "待辦事項",
    "やること", "やることリスト", "タスク", "タスク一覧", "할일",
})  # fmt: skip
"""Names of sections in which people list their tasks, without blanks and marks."""


def find_heading(lines: Sequence[bytes], blocks: Sequence[Block], name: str) -> int | None:
    """Return the index of the block that is the heading of the section called ``name``, or None."""
    headings = [
        (index, _EMPHASIS.sub(r"\2", _read_text(lines, block)).casefold())
        for index, block in enumerate(blocks)
        if block.is_heading and block.level == 2
    ]
    wanted = name.casefold()
    exact = (index for index, text in headings if text == wanted)
    continued = (index for index, text in headings if text.startswith(wanted) and _CONTINUED.match(text, len(wanted)))
    return next(exact, next(continued, None))


def find_similar_heading(data: bytes) -> str:
    """Return the text of the first heading that people use for tasks under another name, or nothing."""
    lines = [line.rstrip(b"\r\n") for line in LINE.findall(data)]
    headings = (_read_text(lines, block) for block in scan(lines) if block.is_heading and block.level <= 3)
    return next((text for text in headings if _NOT_LETTERS.sub("", text).casefold() in _SIMILAR), "")


def _read_text(lines: Sequence[bytes], block: Block) -> str:
    if block.kind is BlockKind.SETEXT:
        text = b" ".join(line.strip(BLANK) for line in lines[block.start : block.end - 1])
        return text.decode(errors="replace")
    text = lines[block.start].strip(BLANK)[block.level :].strip(BLANK)
    without = text.rstrip(b"#")
    if not without or without.endswith((b" ", b"\t")):
        text = without.rstrip(BLANK)
    return text.decode(errors="replace")

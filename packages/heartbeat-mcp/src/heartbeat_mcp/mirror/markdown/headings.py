"""Headings of a document, and the one under which people want the tasks (HB-8)."""

import re
from collections.abc import Sequence
from typing import Final

from heartbeat_mcp.mirror.markdown.blocks import BLANK, LINE, Block, BlockKind, scan

__all__ = ["find_heading", "find_similar_heading"]

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

"""Notation of lists in Markdown: headings, items, boxes and the signs for states."""

import re
from collections.abc import Mapping
from typing import Final

from task_formats.fields import STATES, normalize
from task_formats.record import State

__all__ = [
    "BOX",
    "BOXES",
    "EMOJI",
    "ESCAPED",
    "ID",
    "ITEM",
    "MARKS",
    "SIGNS",
    "find_state",
    "follow_fence",
    "is_rule",
    "take_heading",
    "take_mark",
]

_BULLET = r"(?:[-*+]|\d{1,9}[.)])"

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
ITEM: Final = re.compile(rf"([ \t]*){_BULLET}[ \t]+(?:\[(.?)\](?:[ \t]+|$))?(.*)", re.ASCII)
BOX: Final = re.compile(rf"[ \t]*{_BULLET}[ \t]+\[.?\](?:[ \t]|$)", re.ASCII)
ESCAPED: Final = re.compile(rf"([ \t]*)\\(?=\\*(?:{BOX.pattern}|{_FENCE.pattern}))", re.ASCII)
ID: Final = re.compile(r"<!-- id: ((?:(?!-->).)+) -->")

MARKS: Final[Mapping[str, State]] = {
    **dict.fromkeys(("", " "), "open"),
    **dict.fromkeys(("x", "X"), "done"),
    "/": "active",
    **dict.fromkeys(("-", "~"), "cancelled"),
}
"""States by what is in a box."""

EMOJI: Final[Mapping[str, State]] = {
    **dict.fromkeys("✅☑✔", "done"),
    **dict.fromkeys("🚧🔄⏳🏃", "active"),
    **dict.fromkeys("❌🚫", "cancelled"),
    **dict.fromkeys("🔒⛔", "blocked"),
    **dict.fromkeys("⏸💤", "deferred"),
    **dict.fromkeys("👀🔍", "review"),
    **dict.fromkeys("⬜☐🔲📋", "open"),
}
"""States by the emoji at an edge of an item, or in its box."""

BOXES: Final[Mapping[State, str]] = {"open": " ", "done": "x", "active": "/", "cancelled": "-"}
"""The character to write into a box."""

SIGNS: Final[Mapping[State, str]] = {
    "open": "⬜",
    "active": "🔄",
    "blocked": "🔒",
    "deferred": "⏸",
    "review": "👀",
    "done": "✅",
    "cancelled": "❌",
}
"""The emoji to write for each state, where its box is not enough."""

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_STRUCK = re.compile(r"~~(.+)~~")
_DONE_WORDS = frozenset({"完成", "已完成", "完了", "✅"})


def take_heading(line: str) -> tuple[int, str] | None:
    """Return the level and the text of a heading; None if ``line`` is not one."""
    match = _HEADING.fullmatch(line)
    return (len(match[1]), match[2].rstrip(" \t#")) if match else None


def is_rule(line: str) -> bool:
    """Return True for a line such as ``---`` or ``* * *``, which separates."""
    return re.fullmatch(r"([-*_])\1\1+", "".join(line.split())) is not None


def find_state(heading: str) -> State | None:
    """Return the state that a heading such as "Done" gives the items below it."""
    word = normalize(heading.strip(" *_:"))
    return "done" if word in _DONE_WORDS else STATES.get(word)


def follow_fence(fence: str, line: str) -> str:
    """Return the fence that is open after ``line``, blank if none is; ``fence`` was open before it."""
    found = _FENCE.match(line)
    if not found:
        return fence
    rest = line[found.end() :].strip()
    if fence:
        return "" if found[1].startswith(fence) and not rest else fence
    return "" if found[1][0] in rest else found[1]


def take_mark(text: str) -> tuple[str, State | None]:
    """Return the title without an emoji at its edge and without strike-through, and the state that these give."""
    marks = [(emoji + variant, state) for emoji, state in EMOJI.items() for variant in ("\ufe0f", "")]
    for take in (str.removeprefix, str.removesuffix):
        for mark, state in marks:
            rest = take(text, mark).strip()
            if rest != text and rest:
                return rest, state
    if (struck := _STRUCK.fullmatch(text)) and struck[1].strip():
        return struck[1].strip(), "cancelled"
    return text, None

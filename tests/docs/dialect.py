"""Turns a document as forges read it (CommonMark) into what Python-Markdown, which mkdocs uses, reads the same way."""

from __future__ import annotations

import re
from typing import Final

from markdown_it import MarkdownIt

__all__ = ["to_python_markdown"]

_MARKER: Final = re.compile(r" *(?:[-*+]|\d+[.)]) +")
_WIDTH: Final = 4
"""The spaces of one level of a list, whatever its marker."""


def to_python_markdown(text: str) -> str:
    """Return ``text`` with its lists indented by four, a blank line before each, and Markdown within ``<details>``."""
    lines = text.replace("<details>", "<details markdown>").splitlines()
    tokens = MarkdownIt().enable("table").parse(text)
    offsets: dict[int, list[int]] = {}
    begun: set[int] = set()
    for token in tokens:
        if token.type in {"bullet_list_open", "ordered_list_open"} and token.map and token.map[0] not in offsets:
            begun.add(token.map[0])
        if token.type == "list_item_open" and token.map:
            start, end = token.map
            marker = _MARKER.match(lines[start])
            assert marker, f"no item of a list: {lines[start]}"
            for number in range(start + 1, end):
                offsets.setdefault(number, []).append(marker.end())
    return "".join(
        ("\n" if number in begun and number and lines[number - 1].strip() else "")
        + _indent(line, offsets.get(number, []))
        + "\n"
        for number, line in enumerate(lines)
    )


def _indent(line: str, offsets: list[int]) -> str:
    """Return a line of the innermost of these items, each given by the column of its text."""
    if not line.strip():
        return ""
    if not offsets:
        return line
    spaces = len(line) - len(line.lstrip(" "))
    return " " * (_WIDTH * len(offsets) + max(0, spaces - offsets[-1])) + line.lstrip(" ")

"""Texts of tasks that are meant to do something to whoever looks at them."""

from __future__ import annotations

from typing import Final

__all__ = ["HOSTILE"]

HOSTILE: Final = {
    "a colour": "\x1b[31mred\x1b[0m",
    "the cursor is moved": "\x1b[2J\x1b[1;1Hgone",
    "a title of the window": "\x1b]0;owned\x07",
    "a link": "\x1b]8;;https://example.org\x1b\\here\x1b]8;;\x1b\\",
    "an 8-bit escape": "\x9b31mred\x9d0;owned\x9c",
    "a query that the terminal answers": "\x1b[6n\x05",
    "an overwritten line": "harmless\rrm -rf /\b\b\b",
    "a line more": "one\ntwo\x0bthree\x0cfour\x85five\u2028six\u2029seven",
    "a column more": "one\ttwo",
    "text turned around": "\u202egnp.exe\u202c \u2066a\u2069\u200f",
    "hidden text": "a\u200b\u2060\ufeff\U000e0041b",
    "zero": "a\0b",
    "markup": "[bold red]big[/bold red] [link=https://example.org]here[/link] [/] [@click=app.bell]x[/]",
    "emoji by name": ":bomb: :skull:",
    "Markdown": "# Head\n![](https://example.org/pixel.png) `code` <script>alert(1)</script>",
    "a path to a log": "\x1b]1337;File=inline=1:AAAA\x07",
    "wide characters": "漢字の作業 🏳️‍🌈 👩‍👩‍👧‍👦 ﷽",
    "marks on marks": "Z" + "\u0301\u0353" * 200,
    "very long": "x" * 100_000,
    "blank": " \t\n ",
    "empty": "",
}
"""What each does, and the text."""

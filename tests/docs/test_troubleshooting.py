"""``docs/troubleshooting.md`` quotes messages: each is one that the code can write, word for word."""

from __future__ import annotations

import re

from tests.docs.messages import all_messages
from tests.docs.repository import DOCS

SETTING = re.compile(r"[A-Z_]+=\S+|[\w./-]+")
"""What is code but not a message: a name, a path, or a setting with its value."""


def quotes() -> list[str]:
    """Return the messages in the first column of every table."""
    cells = re.findall(r"(?m)^\| ([^|]+) \|", (DOCS / "troubleshooting.md").read_text("utf-8"))
    return [code for cell in cells for code in re.findall(r"`([^`]+)`", cell) if not SETTING.fullmatch(code)]


def is_written(quote: str) -> bool:
    """Return whether one text of the code holds what is quoted; what fills it in may be anything."""
    return any(quote.strip(" …") in text for text in all_messages())


def test_every_message_is_one_that_the_code_can_write() -> None:
    assert [quote for quote in quotes() if not is_written(quote)] == []


def test_most_rows_quote_a_message() -> None:
    assert len(quotes()) > 40


def test_a_message_that_was_reworded_is_found() -> None:
    assert is_written("The store was locked for … seconds, so nothing was changed.")
    assert not is_written("The store has been locked for … seconds")

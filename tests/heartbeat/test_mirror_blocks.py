"""Which lines of a document are headings and bullets, and which only look so (HB-8, H2)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from heartbeat_mcp.mirror.markdown import BlockKind, scan
from tests.heartbeat.mirror_board import Board, make_task


def headings(text: str) -> list[tuple[int, int]]:
    """Return line and level of each heading."""
    return [(block.start, block.level) for block in scan(text.encode().split(b"\n")) if block.is_heading]


def bullets(text: str) -> list[tuple[int, int]]:
    """Return first line and line behind the end of each bullet."""
    blocks = scan(text.encode().split(b"\n"))
    return [(block.start, block.end) for block in blocks if block.kind is BlockKind.BULLET]


def test_what_is_a_blank_in_python_alone_ends_no_name_of_an_element() -> None:
    for odd in "\x0b\x0c\x1c\x1f\x85\xa0":
        assert headings(f"<div{odd}>\n# x") == [(1, 1)]


@pytest.mark.requirement("HB-8", "H2")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```\n# x\n```", id="fence"),
        pytest.param("- ```\n  # x\n  ```", id="fence in a list"),
        pytest.param("text\n```\n# x", id="fence right after text, never closed"),
        pytest.param("<!--\n# x\n\n# x\n-->", id="comment over several lines"),
        pytest.param("<div>\n# x\n</div>\n# x", id="HTML until a blank line"),
        pytest.param("> # x\n> ## y\n>### z", id="quote"),
        pytest.param("    # x\n\n\t# x\n  \t# x", id="indented code"),
        pytest.param("- a\n  # x\n\n  # x", id="in a list item"),
        pytest.param("- # x\n1. # x\n1) - # x", id="first in a list item"),
        pytest.param("text\n    # x\n\t===", id="lines of a paragraph are never code"),
        pytest.param("#x\n#\u00a0x\n####### x\n\\# x", id="no heading at all"),
        pytest.param("===\n\n---\n\n===", id="underline below nothing"),
    ],
)
def test_what_only_looks_like_a_heading_does_not_count(text: str) -> None:
    assert [found for found in headings(text) if found[1] <= 2] == []


@pytest.mark.requirement("HB-8", "H2")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("# a\n##\tb ##\n   ### c\n#\n###### f", [(0, 1), (1, 2), (2, 3), (3, 1), (4, 6)], id="ATX"),
        pytest.param("a\n===\nb\n--\nc\nd\n-", [(0, 1), (2, 2), (4, 2)], id="setext, of several lines too"),
        pytest.param("text\n# a\ntext\n## b", [(1, 1), (3, 2)], id="ATX interrupts text"),
        pytest.param("> ```\n# a", [(1, 1)], id="a fence ends with its quote"),
        pytest.param("- ```\n# a", [(1, 1)], id="a fence ends with its item"),
        pytest.param("- a\n\n # b", [(2, 1)], id="less indented than the item"),
        pytest.param("<!-- a -->\n# b\n<!-->\n# c", [(1, 1), (3, 1)], id="a comment ends on its line"),
        pytest.param("- <!-- a\n# b\n-->", [(1, 1)], id="a comment ends with its item"),
        pytest.param("***\n# a\n- - -\n# b\n_ _\n# c", [(1, 1), (3, 1), (5, 1)], id="after a rule"),
        pytest.param("[a]: /url\nb\n===", [(0, 1)], id="definitions of links are text"),
        pytest.param("| a |\n| - |\n---", [(0, 2)], id="CommonMark has no tables"),
    ],
)
def test_headings_are_found(text: str, expected: list[tuple[int, int]]) -> None:
    assert headings(text) == expected


@pytest.mark.requirement("HB-12")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("- a\n* b\n+ c", [(0, 1), (1, 2), (2, 3)], id="every marker"),
        pytest.param("- a\n  - b\n\n    c\n\n- d", [(0, 4), (5, 6)], id="with all that stands in it"),
        pytest.param("- a\nlazy\n   b\n - c", [(0, 3), (3, 4)], id="with lazy lines"),
        pytest.param("-a\n\\- b\n1. c\n> - d\n    - e", [], id="no bullets of the document"),
        pytest.param("- - -\n* * *\n***", [], id="rules"),
        pytest.param("```\n- a\n```\n<!--\n- b\n-->", [], id="hidden"),
        pytest.param("-\n\n\n-\tb", [(0, 1), (3, 4)], id="empty, and behind a tab"),
    ],
)
def test_bullets_are_found_with_their_lines(text: str, expected: list[tuple[int, int]]) -> None:
    assert bullets(text) == expected


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "quotes": lambda size: b">" * size + b"\n" * size,
    "items and blank lines": lambda size: b"- " * size + b"x" + b"\n" * size,
    "nearly a rule": lambda size: b"* " * size + b"a",
    "nearly a rule twice": lambda size: b"- " * size + b"x" + b" -" * size,
    "tabs": lambda size: b"-\t" * size + b"x\n" + b"\t" * size + b"y",
    "nested lists again and again": lambda size: (b"- " * 150 + b"x" + b"\n" * 150) * (size // 300),
    "brackets": lambda size: b"[" * size + b"\n===",
    "lines of brackets": lambda size: b"[\n" * size + b"===",
    "attributes": lambda size: b"<a" + b" a" * size + b"<",
    "blanks in a tag": lambda size: b"<a " + b" " * size + b"<",
    "quotes in a tag": lambda size: b"<a" + b' a="' * size,
    "comments": lambda size: b"<!--\n" * size,
    "fences": lambda size: b"`" * size + b"a`\n" + b"```\n~~~\n" * size,
    "closing hashes": lambda size: b"## " + b" #" * size + b" x",
}
"""Documents that a careless reading takes quadratic time for, by their size."""


def steps_of(data: bytes) -> int:
    """Return how many functions are called to read the document, built-in ones too."""
    steps = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal steps
        steps += event in {"call", "c_call"}

    lines = data.split(b"\n")
    sys.setprofile(count)
    try:
        scan(lines)
    finally:
        sys.setprofile(None)
    return steps


@pytest.mark.requirement("HB-8")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_of_twice_the_size_takes_twice_the_steps(name: str) -> None:
    once, twice = (steps_of(HOSTILE[name](size)) for size in (300, 600))
    assert twice <= 2.1 * once + 100


@pytest.mark.long
@pytest.mark.requirement("HB-8")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_large_hostile_document_is_read_at_all(name: str) -> None:
    scan(HOSTILE[name](60_000).split(b"\n"))  # a quadratic search in one expression would take minutes


@pytest.mark.requirement("HB-8", "HB-12")
@pytest.mark.parametrize("text", ["{}\n\n## TODO\n\n- buy milk\n", "## TODO\n\n{}\n\n# end\n"])
def test_a_file_with_lists_nested_too_deep_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    data = text.replace("{}", "- " * 60 + "x").encode()
    board = Board.of(tmp_path, data)
    board.call(board.process(), make_task("cool-apple", "eat"))
    assert board.data == data
    assert "nested too deep" in " ".join(board.warnings.take())


@pytest.mark.requirement("HB-8")
def test_lists_nested_too_deep_below_the_section_do_not_matter(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n\n# end\n\n" + "- " * 60 + "x\n")
    board.call(board.process(), make_task("cool-apple", "eat"))
    assert b"task_id: cool-apple" in board.data
    assert board.data.endswith(b"# end\n\n" + b"- " * 60 + b"x\n")

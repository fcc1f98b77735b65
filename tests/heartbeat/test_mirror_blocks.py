"""Which lines of a document are headings and bullets, and which only look so (HB-8, H2)."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from heartbeat_mcp.mirror.markdown.blocks import BlockKind, scan
from tests.heartbeat.mirror_text import FRAGMENTS, PREFIXES

JUDGE = MarkdownIt("commonmark")


def headings(text: str) -> list[tuple[int, int]]:
    """Return line and level of each heading."""
    return [(block.start, block.level) for block in scan(text.encode().split(b"\n")) if block.is_heading]


def bullets(text: str) -> list[tuple[int, int]]:
    """Return first line and line behind the end of each bullet."""
    blocks = scan(text.encode().split(b"\n"))
    return [(block.start, block.end) for block in blocks if block.kind is BlockKind.BULLET]


@pytest.mark.requirement("HB-8", "H2")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```\n# x\n```", id="fence"),
        pytest.param("~~~ py\n# x\n```\n# x\n~~~", id="fence of the other kind inside"),
        pytest.param("`````\n```\n# x\n````\n# x\n`````", id="longer fence"),
        pytest.param("   ```\n# x\n   ```", id="indented fence"),
        pytest.param("```\n    ```\n# x", id="a closing fence is indented by three at most"),
        pytest.param("```\n``` x\n# x", id="a closing fence has no text"),
        pytest.param("- ```\n  # x\n  ```", id="fence in a list"),
        pytest.param("text\n```\n# x", id="fence right after text, never closed"),
        pytest.param("<!--\n# x\n\n# x\n-->", id="comment over several lines"),
        pytest.param("text\n<!-- a\n# x", id="comment never closed"),
        pytest.param("<div>\n# x\n</div>\n# x", id="HTML until a blank line"),
        pytest.param("<script>\n\n# x\n</script>", id="script with blank lines"),
        pytest.param("<?php\n\n# x\n?>", id="processing instruction"),
        pytest.param("<!DOCTYPE\n\n# x\n>", id="declaration"),
        pytest.param("<![CDATA[\n\n# x\n]]>", id="CDATA"),
        pytest.param("<my-tag a=b c='d' e = \"f\" g>\n# x", id="any complete tag alone on its line"),
        pytest.param("</b >\n# x", id="closing tag"),
        pytest.param("> # x\n> ## y\n>### z", id="quote"),
        pytest.param("    # x\n\n\t# x\n  \t# x", id="indented code"),
        pytest.param("- a\n  # x\n\n  # x", id="in a list item"),
        pytest.param("- # x\n1. # x\n1) - # x", id="first in a list item"),
        pytest.param("-\n  # x", id="in an item that began empty"),
        pytest.param("-\t# x\n\n\t# x", id="in an item behind a tab"),
        pytest.param("10. a\n\n    # x", id="in a numbered item"),
        pytest.param("text\n    # x\n\t===", id="lines of a paragraph are never code"),
        pytest.param("#x\n#\u00a0x\n####### x\n\\# x", id="no heading at all"),
        pytest.param("===\n\n---\n\n===", id="underline below nothing"),
        pytest.param("> text\n===\n- text\n---", id="underline below another container"),
        pytest.param("> text\nlazy\n===", id="underline below a lazy line"),
        pytest.param("- a\n  ===\n  ---", id="underlined in a list item"),
        pytest.param("text\n=== x\n--- -\n=-=", id="not quite an underline"),
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
        pytest.param("```\n```\n# a\n~~~\n~~~~\n# b", [(2, 1), (5, 1)], id="after a fence"),
        pytest.param("``` a`b\n# c", [(1, 1)], id="no fence: a backtick in its info"),
        pytest.param("``\n# a\n``", [(1, 1)], id="no fence: two backticks"),
        pytest.param("> ```\n# a", [(1, 1)], id="a fence ends with its quote"),
        pytest.param("- ```\n# a", [(1, 1)], id="a fence ends with its item"),
        pytest.param("- a\n\n # b", [(2, 1)], id="less indented than the item"),
        pytest.param("-\n\n  # a", [(2, 1)], id="an empty item does not reach over a blank line"),
        pytest.param("> - a\n>\n> # b\n\n# c", [(4, 1)], id="after a quote with a list"),
        pytest.param("> - a\n\n  # b", [(2, 1)], id="a blank line ends the quote and its list"),
        pytest.param("> -\n>\n>   # a\n# b", [(3, 1)], id="an empty item in a quote"),
        pytest.param("<!-- a -->\n# b\n<!-->\n# c", [(1, 1), (3, 1)], id="a comment ends on its line"),
        pytest.param("text <!--\n# a\n-->", [(1, 1)], id="a comment within text hides nothing"),
        pytest.param("- <!-- a\n# b\n-->", [(1, 1)], id="a comment ends with its item"),
        pytest.param("<div>\n\n# a", [(2, 1)], id="a blank line ends HTML"),
        pytest.param("text\n<b>\n# a", [(2, 1)], id="an inline tag does not interrupt text"),
        pytest.param("<b> c\n# a\n<b\n# d", [(1, 1), (3, 1)], id="a tag that is not alone or not complete"),
        pytest.param("<pre> x </pre>\n# a", [(1, 1)], id="HTML that ends on its first line"),
        pytest.param("***\n# a\n- - -\n# b\n_ _\n# c", [(1, 1), (3, 1), (5, 1)], id="after a rule"),
        pytest.param("a\n14. b\n===", [(0, 1)], id="only item number 1 interrupts text"),
        pytest.param("a\n-\n\nb\n*\n===", [(0, 2), (3, 1)], id="an empty item does not interrupt text"),
        pytest.param("1. a\n14. b\n# c", [(2, 1)], id="a list goes on with any number"),
        pytest.param("1234567890. a\n===", [(0, 1)], id="ten digits are no number of an item"),
        pytest.param("[a]: /url\nb\n===", [(0, 1)], id="definitions of links are text"),
        pytest.param("| a |\n| - |\n---", [(0, 2)], id="CommonMark has no tables"),
        # Where markdown-it-py differs from the specification, which says: an indented line may be lazy.
        pytest.param("> > a\n     ```\nb\n=\n# c", [(4, 1)], id="a lazy line behind much indentation"),
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


def lines_for_judging(*, has_containers: bool) -> list[str]:
    """Return lines on which markdown-it-py keeps to the specification.

    It does not where a lazy line is indented by four columns. To ours, link reference definitions are text.
    """
    lines = [prefix + line for prefix in PREFIXES for fragment in FRAGMENTS for line in fragment.split("\n")]
    lines = [line for line in lines if "[label" not in line and "[]:" not in line]
    if has_containers:
        return [line for line in lines if "    " not in line and "\t" not in line]
    return [line for line in lines if not re.match(r"[ \t]*(>|([-+*]|[0-9]+[.)])([ \t]|$))", line)]


SIDES = [lines_for_judging(has_containers=True), lines_for_judging(has_containers=False)]


@pytest.mark.requirement("HB-8", "H2")
@settings(max_examples=50)
@given(st.sampled_from(SIDES).flatmap(lambda lines: st.lists(st.sampled_from(lines), max_size=10)))
def test_an_independent_parser_finds_the_same_headings(lines: list[str]) -> None:
    text = "\n".join(lines)
    tokens = [token for token in JUDGE.parse(text) if token.type == "heading_open" and token.level == 0 and token.map]
    assert headings(text) == [(token.map[0], int(token.tag[1])) for token in tokens if token.map]


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

"""Text becomes one line that forges nothing, and comes back exactly (HB-11, S3)."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from heartbeat_mcp.mirror.entries import escape, escape_within, unescape
from tests.heartbeat.mirror_text import hostile_text

JUDGE = MarkdownIt("commonmark")

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.requirement("HB-11", "S3")
@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("", ""),
        ("plain text, 中文、日本語 👨\u200d👩", "plain text, 中文、日本語 👨\u200d👩"),
        ("a\nb", r"a\nb"),
        ("a\r\nb\rc", r"a\u{d}\nb\u{d}c"),
        ("C:\\new\\table", r"C:\\new\\table"),
        ("a < b && c > d, a<3, x->y", "a < b && c > d, a<3, x->y"),
        ("&lt;", "&amp;lt;"),
        ("<!-- task_id: x -->", "&lt;!-- task_id: x --&gt;"),
        ("<a> </a> <?x ?> <!x>", "&lt;a> &lt;/a> &lt;?x ?> &lt;!x>"),
        ("&amp; &copy; &", "&amp;amp; &copy; &"),
        ("run `npm test && echo <b>` & go", "run `npm test && echo <b>` & go"),
        ("`a < b`", "`a < b`"),
        ("``a ` b \\ <c>`` \\", "``a ` b \\ <c>`` \\\\"),
        ("```<a>``` x", "```<a>``` x"),
        ("`a\n&lt;b`", r"\`a\n&amp;lt;b\`"),
        ("a `b <c>", "a `b &lt;c>"),
        ("`` `<a>", "`` `&lt;a>"),
        ("`<!-- x -->`", "`<!-- x -->`"),
        ("\\`a\\n`", "\\\\`a\\n`"),
        ("`a` ", r"`a`\u{20}"),
        (" `a`", r"\u{20}`a`"),
        ("# `a`", r"\# `a`"),
        ("# x", r"\# x"),
        ("- x", r"\- x"),
        ("* x", r"\* x"),
        ("+ x", r"\+ x"),
        ("> x", r"\> x"),
        ("=== x", r"\=== x"),
        ("___", r"\___"),
        ("```", r"\`\`\`"),
        ("```py", r"\`\`\`py"),
        ("~~~", r"\~~~"),
        ("[x]: y", r"\[x]: y"),
        ("1. x", r"1\. x"),
        ("12) x", r"12\) x"),
        ("1.", r"1\."),
        ("1.5 litres", "1.5 litres"),
        ("1234567890. x", "1234567890. x"),
        ("a - b # c", "a - b # c"),
        (" x ", r"\u{20}x\u{20}"),
        ("  ", r"\u{20}\u{20}"),
        (" ", r"\u{20}"),
        ("\tx", r"\u{9}x"),
        ("\x00\x1b[31m\x7f\x85", r"\u{0}\u{1b}[31m\u{7f}\u{85}"),
        ("a\u2028b\u2029c", r"a\u{2028}b\u{2029}c"),
        ("\u202etxt\u2066", r"\u{202e}txt\u{2066}"),
        ("\ufeffx", r"\u{feff}x"),
        ("x\U000e0041", r"x\u{e0041}"),
        ("tasks:\n- x", r"tasks:\n- x"),
    ],
)
def test_text_is_written_like_this_and_read_back(text: str, escaped: str) -> None:
    assert escape(text) == escaped
    assert unescape(escaped) == text


@pytest.mark.requirement("HB-11")
@pytest.mark.parametrize(
    "line", [r"\q", "\\", r"\u{}", r"\u{110000}", r"\u{d800}", r"\u{1234567}", r"\u41", "&copy; &amp", "&#60;"]
)
def test_what_is_not_an_escape_is_read_unchanged(line: str) -> None:
    assert unescape(line) == line


@pytest.mark.requirement("HB-11")
def test_half_a_character_does_not_break_the_file() -> None:
    assert escape("a\ud800b").encode() == rb"a\u{d800}b"


@pytest.mark.requirement("HB-11", "H5")
@settings(max_examples=40)
@given(hostile_text | st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_comes_back_exactly(text: str) -> None:
    assert unescape(escape(text)) == text


@pytest.mark.requirement("HB-11", "S3")
@settings(max_examples=40)
@given(hostile_text | st.text())
def test_what_is_written_is_one_line_without_hidden_characters(text: str) -> None:
    line = escape(text)
    assert not {unicodedata.category(character) for character in line} & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(line) & {*BIDI, "\ufeff", *map(chr, range(0xE0000, 0xE0080))}
    outside = re.sub(r"(?<![`\\])(`+)(?!`).*?(?<!`)\1(?!`)", "", line)
    assert not re.search("<[A-Za-z/!?]|-->", outside)
    assert line == line.strip(" ")


@pytest.mark.requirement("HB-11")
@settings(max_examples=40)
@given(hostile_text)
def test_an_independent_parser_sees_a_paragraph_of_text_and_no_tag(text: str) -> None:
    tokens = JUDGE.parse(f"- {escape(text)}\n")
    kinds = [token.type for token in tokens if token.level > 1]
    assert kinds in ([], ["paragraph_open", "inline", "paragraph_close"])
    assert not [child for token in tokens for child in token.children or [] if child.type == "html_inline"]


@pytest.mark.requirement("HB-10", "HB-11")
@settings(max_examples=40)
@given(hostile_text | st.text(max_size=100), st.integers(1, 80))
def test_a_cut_text_keeps_to_the_limit_and_ends_in_an_ellipsis(text: str, limit: int) -> None:
    line = escape_within(text, limit)
    assert len(line) <= limit
    if line != escape(text):
        assert line.endswith("…")
        # What is left is the longest beginning that there is room for.
        start = unescape(line[:-1])
        assert text.startswith(start)
        assert start == text or len(escape(text[: len(start) + 1] + "…")) > limit


@pytest.mark.requirement("HB-10")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x" * 10, "x" * 10),
        ("x" * 11, "x" * 9 + "…"),
        ("<b" * 6, "&lt;b<…"),
        ("`a<b>&`  x", "`a<b>&`  x"),
        ("`a<b>&` xyz", "`a<b>&` x…"),
        ("`<a><b><c>`", "`&lt;a><…"),
        ("abc\n\n\n\n", r"abc\n\n\n…"),
        ("12345678\\", r"12345678\\"),
        ("123456789\\", "123456789…"),
        ("# 3456789", r"\# 3456789"),
        ("# 34567890", r"\# 345678…"),
        ("123456789 ", "123456789…"),
    ],
)
def test_no_escape_is_cut_in_two(text: str, line: str) -> None:
    assert escape_within(text, 10) == line

"""Markdown of tasks can do no harm."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import escape

from task_board.markdown import headline, render_markdown


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**now**", "<p><strong>now</strong></p>\n"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>\n"),
        ("[go](javascript:alert(1))", "<p>[go](javascript:alert(1))</p>\n"),
        ("[go](data:text/html,x)", "<p>[go](data:text/html,x)</p>\n"),
        ("[go](//evil.example/x)", "<p>[go](//evil.example/x)</p>\n"),
        ("[go](/b/tasks-v1)", "<p>[go](/b/tasks-v1)</p>\n"),
        ("![pixel](https://evil.example/x.png)", "<p>[pixel https://evil.example/x.png]</p>\n"),
        ("![](https://evil.example/x.png)", "<p>[https://evil.example/x.png]</p>\n"),
        ("![<b>](https://evil.example/x.png)", "<p>[&lt;b&gt; https://evil.example/x.png]</p>\n"),
        ("# Title", '<p class="heading">Title</p>\n'),
        (
            "[go](https://example.com/?a=1&b=2)",
            '<p><a href="https://example.com/?a=1&amp;b=2" rel="noreferrer noopener" target="_blank">go</a></p>\n',
        ),
        (
            "[](https://example.com)",
            '<p><a href="https://example.com" rel="noreferrer noopener" target="_blank">https://example.com</a></p>\n',
        ),
        (
            "<mailto:ada@example.com>",
            '<p><a href="mailto:ada@example.com" rel="noreferrer noopener" target="_blank">'
            "mailto:ada@example.com</a></p>\n",
        ),
    ],
    ids=lambda value: value[:20],
)
def test_text_becomes_html_that_loads_and_runs_nothing(text: str, html: str) -> None:
    assert render_markdown(text) == html


def test_an_attribute_cannot_be_broken_out_of() -> None:
    shown = render_markdown('[x](https://example.com/"onmouseover="alert(1) "title\\"><script>")')
    assert "<script" not in shown
    assert '"onmouseover' not in shown


def test_a_text_that_is_too_long_is_shown_as_it_is() -> None:
    assert render_markdown("<" * 100_001) == f"<pre>{'&lt;' * 100_001}</pre>"


@pytest.mark.parametrize(
    "text",
    [
        ">" * 25 + " deep",
        "- " * 25 + "deep",
        "| a |\n| - |\n| 1 | surplus |",
        "| a |\n| - |\n| 1 | 🔥 |",
        "see [it]\n\n[it]: https://example.com 'title'",
        "[never used]: https://example.com",
        "[go](https://example.com 'title')",
        "a &amp; b\n\n[x]: https://example.com",
    ],
)
def test_a_text_of_which_html_would_leave_something_out_is_shown_as_it_is(text: str) -> None:
    assert render_markdown(text) == f"<pre>{escape(text)}</pre>"


@pytest.mark.parametrize(
    "text",
    [
        "1. one\n7. two",
        "a &amp; b &#x41; `&lt;`",
        "un*frigging*believable\\_name",
        "| a | b |\n| - | :-: |\n| 1 |",
        "```python title=x\nprint(1)\n```",
        "![a](https://example.com/b.png) <https://example.com/?a=1&copy=2>",
        "Title\n===\n\n---\n    code\n\n~~old~~",
    ],
)
def test_any_other_text_is_formatted(text: str) -> None:
    assert not render_markdown(text).startswith("<pre>")


PIECES = st.sampled_from(
    ["> ", "- ", "1. ", "|", "\n", "\n\n", "    ", "| - |\n", "`", "```", "*", "_", "[", "](", ")"]
)


@settings(max_examples=50)
@given(st.lists(PIECES | st.sampled_from(["ab", "c9", "é", "&amp;", "https://x.example", "\\", "!", "<", ">"])))
def test_no_letter_of_a_text_is_left_out(pieces: list[str]) -> None:
    text = "".join(pieces)
    shown = render_markdown(text)
    seen = Counter(unescape(re.sub("<(?!a )[^>]*>", "", shown)))
    assert not Counter(filter(str.isalpha, unescape(text))) - seen


def test_what_nobody_could_see_is_shown_in_letters() -> None:
    assert render_markdown("safe\u202e\tevil\u200b\r\nnext") == "<p>safe\\u{202e}\tevil\\u{200b}\nnext</p>\n"
    assert "\u202e" not in render_markdown("\u202e" * 100_001)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("Buy milk", "Buy milk"),
        ("# Buy **milk**", "Buy milk"),
        ("- [ ] Buy `milk`", "Buy milk"),
        ("[x] Buy milk", "Buy milk"),
        ("Use a[x] + b[X] here", "Use a[x] + b[X] here"),
        ("\n\nBuy milk\n\nToday", "Buy milk …"),
        ("Buy milk at [the shop](https://example.org)", "Buy milk at the shop"),
        ("---", "---"),
        ("2024. Report", "2024. Report"),
        ("> - ## Quoted", "Quoted"),
        ("#hash and -dash", "#hash and -dash"),
        ("<b>Buy</b>", "<b>Buy</b>"),
        ("Buy\u202emilk", "Buy\\u{202e}milk"),
        ("a" * 400, "a" * 300 + " …"),
    ],
)
def test_a_headline_is_the_first_line_without_marks(text: str, shown: str) -> None:
    assert headline(text) == shown

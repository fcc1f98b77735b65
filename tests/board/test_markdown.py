"""Markdown of tasks can do no harm."""

from __future__ import annotations

import pytest

from task_board.markdown import render_markdown


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
        ("![pixel](https://evil.example/x.png)", "<p>[pixel]</p>\n"),
        ("![](https://evil.example/x.png)", "<p>[https://evil.example/x.png]</p>\n"),
        ("![<b>](https://evil.example/x.png)", "<p>[&lt;b&gt;]</p>\n"),
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


def test_deep_nesting_ends() -> None:
    assert render_markdown(">" * 5_000 + " deep").count("<blockquote>") < 100

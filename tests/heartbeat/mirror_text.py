"""Strategies for documents and texts that try to lead the mirror astray."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["documents", "hostile_text", "markdown"]

FRAGMENTS = (
    "", "", "", " ", "\t", "text", "more text", "  text", "    code", "\tcode", "      deep",
    "# one", "## two", "### three", "   ## two", "    ## two", "##two", "## two ##", "\\## two", "####### seven",
    "===", "---", "--", "-", "=", "  ---", "    ---", "***", "* * *", "_ _ _", "- - -",
    "- item", "* item", "+ item", " - item", "  - item", "   - item", "    - item", "-\titem", "-     code", "1. one",
    "2. two", "14) x", "- [ ] box", "- [x] done", "- [Running] run", "- [Pending/Running/Complete] id: template",
    "- [Fail] lost", "  more of it", "> quote", ">", "> > quote", "> - item", "- > quote", "- # head", "- ## two",
    "```", "````", "~~~", "``` py", "```a`b", "   ```", "    ```", "> ```", "- ```", "  ```", "  ~~~",
    "<!--", "-->", "<!-- x -->", "text <!--", "  <!-- y -->", "<div>", "</div>", "<a href='x'>", "<a href='x'> y",
    "<pre>", "</pre>", "<script>", "</script>", "<?php", "?>", "<!DOCTYPE x>", "<![CDATA[", "]]>", "</b >",
    "[label]: /url", "[label]:", "/url", '"title"', "'begin", "end'", "[label]: <a b> 'title'", "[label", "[]: x",
    "| a | b |", "| --- | --- |", "(3 more tasks: task_list shows them)", "tasks:", "...",
    "- [Running] cool-apple: title", "  - Raw User Request: hello", "  - Status: Running", "  - Idea:", "    - idea",
    "  <!-- task_id: cool-apple -->", "  <!-- task_id: wild-coral -->", "- [Pending] wild-coral: title",
    "- [Pending] wild-coral: title\n  - Raw User Request: title\n  - Status: Pending\n  <!-- task_id: wild-coral -->",
    "- [Pending] cool-apple: hey\n  - Raw User Request: hey\n  - Status: Pending\n  <!-- task_id: cool-apple -->",
    "- [Pending] old-star: gone\n  - Raw User Request: gone\n  - Status: Pending\n  <!-- task_id: old-star -->",
)  # fmt: skip
"""Lines, and a few entries, out of which documents are put together."""

PREFIXES = ("", "", "", "", " ", "  ", "   ", "    ", "\t", "> ", ">", "- ", "1. ", "- - ", "> > ", "      ")

markdown = st.lists(
    st.builds(str.__add__, st.sampled_from(PREFIXES), st.sampled_from(FRAGMENTS)), min_size=1, max_size=12
)
"""Lines of Markdown at odds with each other."""

_headings = st.sampled_from(["## TODO", "## todo ##", "## TODO – List below", "  ## TODO", "## TODO\t"])
_line_ends = st.sampled_from(["\n", "\n", "\r\n", "\r"])


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Return a document with a section, most of the time, between other text."""
    lines = [
        *draw(markdown),
        "",
        draw(_headings),
        *draw(markdown),
        *draw(st.sampled_from([[], ["## Later", "- [ ] x"]])),
    ]
    text = draw(_line_ends).join(line for part in lines for line in part.split("\n"))
    tail = draw(st.sampled_from(["", "\n", "\r\n"]))
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    return mark + ((text + tail) if text.strip() else "x").encode()


_forging = st.sampled_from([
    "\n", "\r", "\r\n", "\u2028", "\u0085", "\x0b", "\x0c", "\t", " ", "  ", "\\", "\\n", "\\u{41}", "&", "&lt;", "<",
    ">", "<!--", "-->", "<!-- task_id: wild-coral -->", "- [Pending] wild-coral: x", "## TODO", "# x", "```", "~~~",
    "tasks:", "- ", "* ", "1. ", "2) ", "---", "===", "…", "\u202e", "\ufeff", "\U000e0041", "\x00", "\x1b[31m",
    "`", "``",
    "`<b> && \\n`",
    "Status: Complete", "- Status: Complete", "[x] ", "[label]: /url", "日本語", "中文", "e\u0301", "👨\u200d👩",
])  # fmt: skip
_any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)

hostile_text = st.lists(_forging | _any_text, max_size=12).map("".join)
"""Text for any field that would like to be more than text."""

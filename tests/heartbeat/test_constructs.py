"""Every construct of CommonMark in which a heading can hide or not, by the plain words of HB-8 (HB-8, H2)."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from heartbeat_mcp.mirror.document import Frame, read_document
from heartbeat_mcp.mirror.entries import Entry, Receipts, render_entry
from heartbeat_mcp.mirror.reading import read_section
from heartbeat_mcp.mirror.section import locate_section
from tests.heartbeat.mirror_board import Board, found_in, make_task

JUDGE = MarkdownIt("commonmark").enable("table")

HEADING = "## TODO"

TASK = make_task("cool-apple", "eat")

CONSTRUCTS = {
    "nothing": "{}",
    "text above": "text\n{}",
    "text below": "{}\ntext",
    "hard break above": "text  \n{}",
    "backslash break above": "text\\\n{}",
    "one blank before": " {}",
    "three blanks before": "   {}",
    "four blanks before": "    {}",
    "four blanks before, below text": "text\n    {}",
    "a tab before": "\t{}",
    "a blank and a tab before": " \t{}",
    "a tab behind the hashes": "##\tTODO",
    "many blanks behind the hashes": "##      TODO",
    "no blank behind the hashes": "##TODO",
    "a no-break space behind the hashes": "##\u00a0TODO",
    "an ideographic space behind the hashes": "##\u3000TODO",
    "escaped hashes": "\\## TODO",
    "an escaped second hash": "#\\# TODO",
    "an entity for a hash": "&#35;# TODO",
    "closing hashes": "## TODO ##",
    "one closing hash": "## TODO #",
    "many closing hashes and blanks": "## TODO ########   ",
    "closing hashes without a blank": "## TODO##",
    "an escaped closing hash": "## TODO \\#",
    "a tab before closing hashes": "## TODO\t##",
    "text behind closing hashes": "## TODO ## x",
    "an empty heading above": "##\n{}",
    "only hashes above": "## ##\n{}",
    "level 1": "# TODO",
    "level 3": "### TODO",
    "level 7": "####### TODO",
    "emphasis": "## *TODO*",
    "an entity in the name": "## TOD&#79;",
    "an escape in the name": "## TOD\\O",
    "setext of level 2": "TODO\n----",
    "setext of level 1": "TODO\n====",
    "setext around the line": "{}\n---",
    "setext of an indented line": "    TODO\n----",
    "fence": "```\n{}\n```",
    "fence of tildes": "~~~\n{}\n~~~",
    "fence with info": "```md\n{}\n```",
    "fence with tildes in its info": "~~~ a~~~\n{}\n~~~",
    "fence of tildes with backticks in its info": "~~~ `x`\n{}\n~~~",
    "no fence: a backtick in its info": "``` a`b\n{}\n",
    "fence that another kind does not close": "```\n~~~\n{}\n```",
    "fence that a shorter one does not close": "````\n```\n{}\n````",
    "fence that a longer one closes": "```\n`````\n{}",
    "fence that one with info does not close": "```\n``` x\n{}\n```",
    "fence that one with a tab behind closes": "```\n```\t\n{}",
    "fence that an indented one does not close": "```\n    ```\n{}\n```",
    "fence indented by three": "   ```\n{}\n   ```",
    "fence indented by four": "    ```\n{}\n    ```",
    "fence of two": "``\n{}\n``",
    "fence never closed": "```\n{}",
    "fence never closed in a quote": "> ```\n{}",
    "fence never closed in an item": "- ```\n{}",
    "fence in an item": "- ```\n  {}\n  ```",
    "fence closed outside its item": "- ```\n```\n{}\n```",
    "fence with blank lines": "```\n\n{}\n\n```",
    "code span over the line": "`a\n{}\nb`",
    "indented code above": "    code\n{}",
    "indented code around": "    a\n\n    {}\n\n    b",
    "script": "<script>\n{}\n\n{}\n</script>",
    "pre": "<pre>\n{}\n</pre>",
    "pre in capitals, closed on its line": "<PRE>x</PRE>\n{}",
    "style, closed by another": "<style>\n</script>\n{}",
    "textarea": "<textarea>\n\n{}\n\n</textarea>",
    "pre never closed": "<pre>\n\n{}",
    "comment": "<!--\n{}\n-->",
    "comment with blank lines": "<!--\n\n{}\n\n-->",
    "comment on one line": "<!-- x -->\n{}",
    "comment with text behind it": "<!-- x --> text\n{}",
    "comment below text": "text\n<!--\n{}\n-->",
    "comment within text": "text <!--\n{}\n-->",
    "comment indented by three": "   <!--\n{}\n-->",
    "comment indented by four": "    <!--\n{}\n    -->",
    "comment of dashes alone": "<!-->\n{}\n-->",
    "comment with dashes": "<!-- a -- b\n{}\n-->",
    "comment never closed": "<!--\n{}",
    "processing instruction": "<?php\n{}\n?>",
    "processing instruction with blank lines": "<?\n\n{}\n?>",
    "declaration": "<!DOCTYPE\n{}\n>",
    "declaration in small letters": "<!x\n\n{}\n>",
    "CDATA": "<![CDATA[\n{}\n]]>",
    "CDATA with blank lines": "<![CDATA[\n\n{}\n]]>",
    "block tag": "<div>\n{}\n</div>",
    "block tag and a blank line": "<div>\n\n{}\n\n</div>",
    "block tag below text": "text\n<table>\n{}",
    "details with its summary": "<details><summary>x</summary>\n\n{}\n\n</details>",
    "details without a blank line": "<details>\n<summary>x</summary>\n{}\n</details>",
    "closing block tag": "</div>\n{}",
    "broken block tag": "<div x=\n{}",
    "any tag alone": "<x-y>\n{}",
    "any tag with attributes": "<a href='x' b = \"c\" d>\n{}",
    "any closing tag": "</a >\n{}",
    "any tag with text behind it": "<a> x\n{}",
    "any tag below text": "text\n<a>\n{}",
    "any tag over two lines": "<a\nhref='x'>\n{}",
    "autolink": "<http://example.org>\n{}",
    "quote": "> {}",
    "quote without a blank": ">{}",
    "quote in a quote": "> > {}",
    "quote above": "> text\n{}",
    "quote and a lazy setext line": "> TODO\n----",
    "quote that ends": "> text\n\n{}",
    "alert": "> [!NOTE]\n> {}",
    "alert above": "> [!NOTE]\n> text\n{}",
    "item": "- {}",
    "item with a star": "* {}",
    "item with a plus": "+ {}",
    "item with a number": "1. {}",
    "item with a parenthesis": "3) {}",
    "item with ten digits": "1234567890. {}",
    "box": "- [ ] {}",
    "item around": "- a\n  {}",
    "item around, loose": "- a\n\n  {}",
    "item above": "- a\n{}",
    "item above, less indented": "- a\n {}",
    "item above, blank line, indented by one": "- a\n\n {}",
    "nested item": "- a\n  - b\n    {}",
    "nested item, loose": "- a\n\n  - b\n\n    {}",
    "nested item above": "- a\n  - b\n{}",
    "numbered item around": "10. a\n\n    {}",
    "numbered item around, too little": "10. a\n\n   {}",
    "item with a tab": "-\ta\n\n\t{}",
    "item with code": "-     a\n\n  {}",
    "empty item": "-\n  {}",
    "empty item and a blank line": "-\n\n  {}",
    "item in a quote": "> - a\n>\n>   {}",
    "quote in an item": "- > a\n  {}",
    "quote in an item, lazy": "- > a\n{}",
    "item that a rule ends": "- a\n***\n{}",
    "rule above": "---\n\n{}",
    "rule of stars above": "* * *\n{}",
    "rule below": "{}\n***",
    "definition above": "[a]: /b\n{}",
    "definition over two lines above": "[a]:\n/b\n'c'\n{}",
    "definition with the line for its title": "[a]: /b '\n{}\n'",
    "definition with the line for its label": "[a\n{}\n]: /b",
    "footnote above": "[^1]: text\n{}",
    "footnote around": "[^1]: text\n\n    {}",
    "table above": "| a |\n| - |\n| b |\n{}",
    "table around": "| a |\n| - |\n| {} |",
    "definition list": "term\n: {}",
    "admonition of three exclamation marks": '!!! note\n    {}',
    "admonition of three colons": "::: note\n{}\n:::",
    "fenced admonition": "```{note}\n{}\n```",
    "mathematics": "$$\n{}\n$$",
    "a vertical tab in the line": "##\vTODO",
    "a form feed above": "\f\n{}",
    "a line separator above": "text\u2028{}",
    "a next line above": "text\u0085{}",
}  # fmt: skip
"""Each with ``{}`` in place of the heading of the section, or of what looks like it."""


def names_of_judge(text: str) -> dict[int, str]:
    """Return the text of each heading of level 2 by its last line, without emphasis around it."""
    tokens = JUDGE.parse(text)
    found = [(one, other) for one, other in pairwise(tokens) if one.type == "heading_open" and one.tag == "h2"]
    marks = re.compile(r"^([*_`]{1,3})(.+?)\1")
    return {one.map[1] - 1: marks.sub(r"\2", other.content) for one, other in found if one.map and one.level == 0}


def section_of_judge(text: str) -> int | None:
    """Return the line of the section by the tokens of markdown-it-py and the plain words of HB-8."""
    names = names_of_judge(text)
    exact = (line for line, name in names.items() if name == "TODO")
    continued = (line for line, name in names.items() if re.match(r"TODO(?:[^\w\s]|\s+[–—:(-])", name))
    return next(exact, next(continued, None))


def filled(data: bytes) -> bytes:
    """Return the document with the entry of one task in its section, as the server would write it."""
    document = read_document(data, "TODO")
    reading = read_section(document.units, Receipts({}), lambda _: None, lambda _: "")
    entry = Entry(TASK.id, is_running=False, text=render_entry(TASK))
    return Frame(document, reading.kept).fill([entry], max_chars=0)[0]


@pytest.mark.requirement("HB-8", "HB-9", "H1", "H2")
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_the_section_is_the_heading_that_counts_and_the_rest_stays(name: str) -> None:
    text = f"# A\n\n{CONSTRUCTS[name].replace('{}', HEADING)}\n\n# B\n\ntext\n"
    place = section_of_judge(text)
    for newline in (b"\n", b"\r\n", b"\r"):
        data = text.encode().replace(b"\n", newline)
        section, _ = locate_section(data, "TODO")
        assert section.is_new == (place is None)
        if place is not None:
            assert section.before.count(newline) == place + 1
        written = filled(data)
        assert written.startswith(section.before)
        assert written.endswith(section.after)
        assert written.count(b"task_id: cool-apple") == 1
        assert filled(written) == written
        assert [found.id for found in found_in(written)] == ["cool-apple"]


ENCODINGS = {
    "byte order mark": b"\xef\xbb\xbf# A\n\n## TODO\n\n# B\n",
    "byte order mark right before the heading": b"\xef\xbb\xbf## TODO\n\n# B\n",
    "NUL": b"\x00\n## TODO\n\n# B\x00\n\x00",
    "no UTF-8": b"\xff\xfa\n## TODO\n\n# B \x80\n\xc3",
    "overlong UTF-8": b"\xc0\xaf\n## TODO\n\n# B\n",
    "surrogates in UTF-8": b"\xed\xa0\x80\n## TODO\n\n# B\n",
    "Latin-1": "Stra\u00dfe\n## TODO\n\n# \u00dcbung\n".encode("latin-1"),
    "Shift JIS": "\u65e5\u672c\u8a9e\n## TODO\n\n# \u8868\n".encode("shift_jis"),
    "GB 18030": "\u4e2d\u6587\n## TODO\n\n# \u8868\n".encode("gb18030"),
    "line ends of all kinds": b"a\r\nb\nc\rd\n## TODO\r\n\r\n# B\re\r\n",
    "CR CR LF": b"a\r\r\n## TODO\r\r\n\r\r\n# B\r\r\n",
    "no final line end": b"## TODO\n\n# B",
    "no line end at all": b"## TODO",
    "blanks alone": b"  \n\t\n",
    "front matter": b"---\ntitle: x\n## TODO\n---\n\n## TODO\n\n# B\n",
    "front matter with dots": b"---\ntitle: x\n...\n## TODO\n\n# B\n",
    "front matter behind a byte order mark": b"\xef\xbb\xbf---\na: b\n## TODO\n---\n## TODO\n\n# B\n",
    "front matter that does not end": b"---\na: b\n## TODO\n\n# B\n",
    "front matter of TOML": b"+++\na = 'b'\n+++\n## TODO\n\n# B\n",
    "a long line": b"x" * 100_000 + b"\n## TODO\n\n# B\n",
    "control characters": bytes(range(1, 9)) + b"\x0b\x0c\x1b[31m\n## TODO\n\n# B\n",
}


@pytest.mark.requirement("HB-8", "HB-9", "H1")
@pytest.mark.parametrize("name", ENCODINGS)
def test_bytes_of_any_kind_around_the_section_stay(tmp_path: Path, name: str) -> None:
    data = ENCODINGS[name]
    board = Board.of(tmp_path, data)
    process = board.process()
    if name == "blanks alone":
        os.utime(board.path, (0, 0))
    board.call(process, make_task("cool-apple", "eat"))
    section, _ = locate_section(data, "TODO")
    assert section.is_new == (name == "blanks alone")
    assert board.data.startswith(section.before)
    assert board.data.endswith(section.after)
    board.call(process, board.finished("cool-apple"))
    assert b"".join(board.data.split()) == b"".join((section.before + section.body + section.after).split())

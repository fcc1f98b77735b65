"""Where the section lies, and that nothing else in the file changes by a single byte (HB-8, HB-9, H1, H2)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from heartbeat_mcp.mirror.document import read_document
from heartbeat_mcp.mirror.section import TaskSection, locate_section
from tests.heartbeat.mirror_board import Board, make_task

MARK = b"\xef\xbb\xbf"


def locate(text: str, name: str = "TODO") -> TaskSection:
    return locate_section(text.encode(), name)[0]


@pytest.mark.requirement("HB-8", "H2")
@pytest.mark.parametrize(
    "heading",
    [
        "## TODO",
        "## todo",
        "##   ToDo   ",
        "   ## TODO",
        "##\tTODO\t",
        "## TODO ##",
        "## TODO ####### ",
        "## TODO – List below the open tasks",
        "## TODO — open",
        "## TODO - open",
        "## TODO (do not modify by hand)",
        "## TODO  : open",
        "## TODO: open",
        "## TODO:",
        "## TODO！",
        "## TODO#",
        "## TODO…",
        "## **TODO**",
        "## __ToDo__ – open",
        "## `TODO`",
        "## *TODO*: open ##",
        "TODO\n----",
        "**TODO**\n---",
        "todo – List\n  -",
    ],
)
def test_a_heading_with_the_name_is_the_section(heading: str) -> None:
    section = locate(f"# A\n\n{heading}\n- x\n\n# B\n")
    assert not section.is_new
    assert (section.heading, section.body, section.after) == (f"{heading}\n".encode(), b"- x\n\n", b"# B\n")


@pytest.mark.requirement("HB-8", "H2")
@pytest.mark.parametrize(
    "text",
    [
        "## TODO later",
        "## TODOs",
        "## TODO_list",
        "## TODO2",
        "## TODO后",
        "## My TODO",
        "## TO DO",
        "## TODO \\# x",
        "##TODO",
        "# TODO",
        "### TODO",
        "TODO\n====",
        "## **TODO** later",
        "## *TODO",
        "    ## TODO",
        "\t## TODO",
        "> ## TODO",
        "- ## TODO",
        "- a\n\n  ## TODO",
        "1. a\n   ## TODO",
        "```\n## TODO\n```",
        "~~~~\n~~~\n## TODO\n~~~~",
        "- ```\n  ## TODO\n  ```",
        "<!--\n## TODO\n-->",
        "<!-- x\n\n## TODO\n\n-->",
        "<details>\n## TODO\n</details>",
        "---\n## TODO\n---",
        "---\ntitle: x\n\n## TODO\n...\n",
        "\\## TODO",
    ],
)
def test_what_is_not_a_heading_with_the_name_is_not_the_section(text: str) -> None:
    section = locate(text)
    assert section.is_new
    assert section.before.startswith(text.encode())
    assert section.before.endswith(b"\n\n## TODO\n")


@pytest.mark.requirement("HB-8", "H2")
@pytest.mark.parametrize(
    ("text", "name", "heading"),
    [
        pytest.param("## TODO (a)\n## todo\n## TODO\n", "TODO", "## todo\n", id="an exact one before one with more"),
        pytest.param("## TODO (a)\n## TODO: b\n", "TODO", "## TODO (a)\n", id="the first with more"),
        pytest.param("## TODO\n## TODO\n", "TODO", "## TODO\n", id="the first of two"),
        pytest.param("## TODO\n## 待办（今天）\n", "待办", "## 待办（今天）\n", id="Chinese"),
        pytest.param("## やること\n", "やること", "## やること\n", id="Japanese"),
        pytest.param("## Straße\n", "STRASSE", "## Straße\n", id="any case of any script"),
        pytest.param("## C# ##\n## C#\n", "C#", "## C# ##\n", id="a name that ends in a hash"),
        pytest.param("---\n\n## TODO\n---\n", "TODO", "## TODO\n", id="a rule is no front matter before a blank line"),
        pytest.param("---\na: b\n## TODO\n", "TODO", "## TODO\n", id="front matter has an end"),
        pytest.param("---\na: b\n---\n## TODO\n", "TODO", "## TODO\n", id="after front matter"),
        pytest.param("---\n---\n## TODO\n", "TODO", "## TODO\n", id="after empty front matter"),
        pytest.param("---", "TODO", "## TODO\n", id="a file of one rule"),
    ],
)
def test_one_of_several_headings_is_chosen(text: str, name: str, heading: str) -> None:
    assert locate(text, name).heading == heading.encode()


@pytest.mark.requirement("HB-8")
def test_the_chosen_heading_is_the_first_of_its_kind() -> None:
    assert locate("## TODO\na\n## TODO\nb\n").body == b"a\n"
    assert locate("---\na: b\n## TODO\n---\n## TODO\nb\n").body == b"b\n"


@pytest.mark.requirement("HB-8", "H2")
@pytest.mark.parametrize(
    ("following", "is_end"),
    [
        ("# x", True),
        ("## x", True),
        ("   ## x", True),
        ("x\n===", True),
        ("x\ny\n---", True),
        ("### x", False),
        ("###### x", False),
        ("---", False),
        ("    # x", False),
        ("```\n# x\n```", False),
        ("> # x", False),
        ("- # x", False),
        ("<!--\n# x\n-->", False),
        ("#x", False),
    ],
)
def test_the_section_ends_before_the_next_heading_of_level_one_or_two(following: str, *, is_end: bool) -> None:
    section = locate(f"## TODO\ntext\n\n{following}\n")
    whole = f"text\n\n{following}\n".encode()
    assert section.body + section.after == whole
    assert bool(section.after) is is_end


@pytest.mark.requirement("HB-8", "HB-9")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", b"## TODO\n", id="empty"),
        pytest.param(MARK, MARK + b"## TODO\n", id="a mark alone"),
        pytest.param(b"\n\n", b"\n\n## TODO\n", id="blank lines"),
        pytest.param(b"x", b"x\n\n## TODO\n", id="no final newline"),
        pytest.param(b"x\n", b"x\n\n## TODO\n", id="final newline"),
        pytest.param(b"x\n\n", b"x\n\n## TODO\n", id="final blank line"),
        pytest.param(b"x\r\n", b"x\r\n\r\n## TODO\r\n", id="CRLF"),
        pytest.param(b"x\ry", b"x\ry\r\r## TODO\r", id="CR alone"),
        pytest.param(b"- x\n  - y", b"- x\n  - y\n\n## TODO\n", id="after a list"),
        pytest.param(b"x\n```\ny\n", b"x\n\n## TODO\n```\ny\n", id="before a fence that does not end"),
        pytest.param(b"x\n\n<!-- y\n\n", b"x\n\n## TODO\n<!-- y\n\n", id="before a comment that does not end"),
        pytest.param(MARK + b"```\ny", MARK + b"## TODO\n```\ny", id="before a fence at the very start"),
        pytest.param(b"- ```\n  y", b"- ```\n  y\n\n## TODO\n", id="after a fence that ends with its list"),
        pytest.param(b"<div>\nx", b"<div>\nx\n\n## TODO\n", id="after HTML that a blank line ends"),
    ],
)
def test_a_missing_section_is_added_once(tmp_path: Path, data: bytes, expected: bytes) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    board.path.write_bytes(data)
    os.utime(board.path, (0, 0))
    process = board.process()
    board.call(process)
    assert board.data == data  # a call without a task adds no section
    assert process.is_current()
    board.call(process, make_task("cool-apple", "eat"))
    board.call(process, board.finished("cool-apple"))
    assert board.data == expected
    assert not read_document(board.data, "TODO").section.is_new
    board.call(board.process())
    assert board.data == expected


@pytest.mark.requirement("HB-8", "HB-12", "WARN-1")
@pytest.mark.parametrize(
    "heading",
    [
        "## To-Do",
        "# TODO",
        "## TODO List",
        "## 待办",
        "## Active Tasks",
        "### Tasks",
        "## **My to-dos**",
        "My\ntasks\n----",
    ],
)
def test_a_section_that_is_added_beside_a_heading_for_tasks_is_reported_once(tmp_path: Path, heading: str) -> None:
    board = Board.of(tmp_path, f"# Beat\n\n{heading}\n- one\n")
    process = board.process()
    assert board.call(process) == []
    assert board.warnings.take() == []
    for number in range(2):
        board.call(process, make_task(f"new-{number}", "eat"))
    (warning,) = board.warnings.take()
    name = " ".join(heading.strip("# -").split())
    assert warning.startswith(f"HEARTBEAT.md has the heading '{name}', but tasks are in a new section, '## TODO'.")
    assert f"HEARTBEAT_SECTION to '{name}'" in warning
    assert board.text.startswith(f"# Beat\n\n{heading}\n- one\n\n## TODO\n- [Pending] new-0")


@pytest.mark.requirement("HB-8")
def test_no_other_heading_is_reported(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "# Beat\n\n## Routine\n- one\n\n## TODO later\n")
    board.call(board.process(), make_task("cool-apple", "eat"))
    assert board.warnings.take() == []

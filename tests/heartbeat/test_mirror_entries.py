"""What an entry looks like, and how bullets of a person and of the server are read (HB-10, HB-12, HB-15)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from heartbeat_mcp.mirror.entries import is_overflow, overflow_line, render_entry
from heartbeat_mcp.mirror.items import FoundTask, find_ids
from heartbeat_mcp.models import HeartbeatStatus
from tests.heartbeat.mirror_board import Board, found_in, make_task
from tests.heartbeat.mirror_text import hostile_text

JUDGE = MarkdownIt("commonmark")

FULL = """\
- [Running] cool-apple: write the login page
  - Raw User Request: write the login page\\nwith a captcha
  - Raw Reference: docs/auth.md
  - Idea:
    - use JWT
    - \\# a captcha <3
  - Status: Running
  - Result: half done
  - Result File: out/result.md
  <!-- task_id: cool-apple -->"""


@pytest.mark.requirement("HB-10", "HB-11")
def test_an_entry_has_a_line_for_each_field_that_is_not_empty() -> None:
    full = make_task(
        "cool-apple",
        "write the login page\nwith a captcha",
        status="Running",
        raw_reference="docs/auth.md",
        ideas=["use JWT", "", "# a captcha <3"],
        result="half done",
        result_file="out/result.md",
    )
    assert render_entry(full).decode() == FULL
    bare = make_task("wild-coral", "x", raw_reference="", ideas=[""], result="")
    assert render_entry(bare).decode() == (
        "- [Pending] wild-coral: x\n  - Raw User Request: x\n  - Status: Pending\n  <!-- task_id: wild-coral -->"
    )


@pytest.mark.requirement("HB-10")
@pytest.mark.parametrize(
    ("request_text", "summary"),
    [
        ("first\nsecond", " first"),
        ("\n \t\n  first  \nsecond", " first"),
        ("first\u2028second", " first"),
        ("first\rsecond", " first"),
        ("x" * 80, " " + "x" * 80),
        ("x" * 81, " " + "x" * 79 + "…"),
        ("x" * 79 + " " * 20 + "y", " " + "x" * 79),
        ("<a" * 81, " " + "&lt;a" * 15 + "<…"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_the_first_line_shows_the_first_words_of_the_request(request_text: str, summary: str) -> None:
    assert render_entry(make_task("a-b", request_text)).decode().split("\n")[0] == f"- [Pending] a-b:{summary}"


@pytest.mark.requirement("HB-10")
def test_request_result_and_ideas_are_cut_at_four_hundred_characters() -> None:
    text = "x" * 401
    task = make_task("a-b", text, ideas=[text, "y" * 400], result="<a" * 200, raw_reference="r" * 1024)
    lines = render_entry(task).decode().split("\n")
    assert f"  - Raw User Request: {'x' * 399}…" in lines
    assert f"    - {'x' * 399}…" in lines
    assert f"    - {'y' * 400}" in lines
    assert f"  - Result: {'&lt;a' * 79}<…" in lines
    assert f"  - Raw Reference: {'r' * 1024}" in lines


@pytest.mark.requirement("HB-11", "H5")
@settings(max_examples=40)
@given(hostile_text)
def test_no_text_adds_a_line_or_a_block_to_its_entry(text: str) -> None:
    task = make_task("a-b", text, raw_reference=text, ideas=[text, "x"], result=text, result_file=text)
    entry = render_entry(task).decode()
    assert len(entry.splitlines()) == 5 + 5 * bool(text)
    assert not re.search(r"(?m)^\s*(tasks:|#|```|~~~)", entry)
    tokens = JUDGE.parse(entry)
    kinds = [token.type.removesuffix("_open").removesuffix("_close") for token in tokens]
    assert {*kinds} <= {"bullet_list", "list_item", "paragraph", "inline", "html_block"}
    assert kinds.count("html_block") == 1
    assert [part for token in tokens for part in token.children or () if part.type == "html_inline"] == []


@pytest.mark.requirement("HB-14")
@pytest.mark.parametrize("count", [1, 2, 12, 10_000])
def test_the_line_for_tasks_without_room_says_how_many_and_how_to_see_them(count: int) -> None:
    line = overflow_line(count)
    assert str(count) in line.decode()
    assert b"task_list" in line
    assert is_overflow(line)
    assert not is_overflow(line + b" x")


@pytest.mark.requirement("C4", "HB-1")
def test_ids_are_found_wherever_they_stand() -> None:
    data = b"<!-- task_id: a-b --><!--task_id:c-d-->\r> <!-- task_id: e-f -->\n```\n<!-- task_id:  g&amp;h\t-->"
    others = b"<!-- task_id: -->\n<!-- task_id: x\ny -->\n<!-- task_id: <!-- task_id: z -->\n<!-- id: q -->"
    assert find_ids(data + b"\n" + others) == {"a-b", "c-d", "e-f", "g&h", "z"}


@pytest.mark.requirement("C4")
def test_ids_are_looked_for_in_linear_time() -> None:
    assert find_ids(b"<!-- task_id:" + b" " * 500_000) == frozenset()
    assert find_ids(b"<!-- task_id:" * 100_000) == frozenset()
    assert find_ids(b"<!--" + b"\t" * 500_000 + b"task_id:" + b"-" * 500_000) == frozenset()


def found(
    status: str,
    request: str,
    reference: str | None = None,
    ideas: tuple[str, ...] = (),
    result: str | None = None,
    result_file: str | None = None,
) -> FoundTask:
    return FoundTask(None, HeartbeatStatus(status), request, reference, ideas, result, result_file)


BULLETS = [
    pytest.param("- buy milk", found("Pending", "buy milk"), id="plain"),
    pytest.param("* buy milk", found("Pending", "buy milk"), id="star"),
    pytest.param("   +\tbuy milk  ", found("Pending", "buy milk"), id="plus, indented"),
    pytest.param("- [ ] buy milk", found("Pending", "buy milk"), id="open box"),
    pytest.param("- [] buy milk", found("Pending", "buy milk"), id="box without a blank"),
    pytest.param("- [x] buy milk", found("Complete", "buy milk"), id="ticked box"),
    pytest.param("- [Done] buy milk", found("Complete", "buy milk"), id="another word for Complete"),
    pytest.param("- [COMPLETED] buy milk", found("Complete", "buy milk"), id="and one more"),
    pytest.param("- [X]\tbuy milk", found("Complete", "buy milk"), id="ticked box, capital"),
    pytest.param("- [Running] buy milk", found("Running", "buy milk"), id="status"),
    pytest.param("- [/] buy milk", found("Running", "[/] buy milk"), id="a mark for what was begun"),
    pytest.param("- [-] buy milk", found("Fail", "[-] buy milk"), id="a mark for what was canceled"),
    pytest.param("* [~] buy milk", found("Fail", "[~] buy milk"), id="another one"),
    pytest.param("- ~~buy milk~~", found("Fail", "~~buy milk~~"), id="struck out"),
    pytest.param("- [ ] ~~buy milk~~", found("Fail", "~~buy milk~~"), id="struck out behind a box"),
    pytest.param("- [x] ~~buy milk~~", found("Complete", "~~buy milk~~"), id="struck out and done"),
    pytest.param("- ~~buy~~ milk", found("Pending", "~~buy~~ milk"), id="a word struck out"),
    pytest.param("- [-](a) b", found("Pending", "[-](a) b"), id="a link on a mark"),
    pytest.param("- none of it", found("Pending", "none of it"), id="more than a placeholder"),
    pytest.param(
        "- [ ] Ship\n  - [x] write\n  - [ ] review",
        found("Pending", "Ship\n- [x] write\n- [ ] review"),
        id="nested boxes",
    ),
    pytest.param("- [ FAIL ] buy milk", found("Fail", "buy milk"), id="status in any case"),
    pytest.param("- [pending]买牛奶", found("Pending", "买牛奶"), id="status without a blank"),
    pytest.param("- [Urgent] buy milk", found("Pending", "[Urgent] buy milk"), id="another word in brackets"),
    pytest.param("- [x](http://a) read", found("Pending", "[x](http://a) read"), id="link"),
    pytest.param("- [Pending](a) [b]", found("Pending", "[Pending](a) [b]"), id="link on a status"),
    pytest.param("- [Complete]: x", found("Pending", "[Complete]: x"), id="definition"),
    pytest.param("- fix C:\\new &lt; \\# x", found("Pending", "fix C:\\new &lt; \\# x"), id="nothing is unescaped"),
    pytest.param("- cool-apple: eat", found("Pending", "cool-apple: eat"), id="an id without a status"),
    pytest.param("- [Running] cool-apple: eat", found("Running", "cool-apple: eat"), id="an id without a request"),
    pytest.param("- a\n  b\nlazy\n\n  c", found("Pending", "a\nb\nlazy\n\nc"), id="several lines and paragraphs"),
    pytest.param("- [ ] a\n  - [x] b\n    - c\n  1. d", found("Pending", "a\n- [x] b\n  - c\n1. d"), id="lists inside"),
    pytest.param("- ```\n  - Status: Fail\n  ```", found("Pending", "```\n- Status: Fail\n```"), id="code"),
    pytest.param("-     code", found("Pending", "code"), id="indented code"),
    pytest.param("- > quote", found("Pending", "> quote"), id="quote"),
    pytest.param("- - a\n  - Status: Fail", found("Fail", "- a"), id="a bullet in a bullet"),
    pytest.param("- a\n  - Status: running", found("Running", "a"), id="status as a field"),
    pytest.param("- [ ] a\n  - Status: Fail", found("Fail", "a"), id="a field goes before an empty box"),
    pytest.param("- [x] a\n  - Status: Fail", found("Complete", "a"), id="a bracket goes before a field"),
    pytest.param("- a\n  - Status: soon", found("Pending", "a\n- Status: soon"), id="a status that is none"),
    pytest.param("- a\n  - Result: b\n  - Result: c", found("Pending", "a\n- Result: c", None, (), "b"), id="twice"),
    pytest.param(
        "- a\n  - Raw Reference: r\n  - Idea: i\n  - Result: s\n  - Result File: f",
        found("Pending", "a", "r", ("i",), "s", "f"),
        id="all fields",
    ),
    pytest.param(
        "- a\n  - [Required] Raw Reference: r\n"
        "  * [Optional]  IDEAS：\n    - i\n      j\n    + k\n    l\n  - RESULT: s",
        found("Pending", "a", "r", ("i\nj", "k\nl"), "s"),
        id="prefixes, another case, a wide colon, ideas of several lines",
    ),
    pytest.param("- a\n  - Idea: b\n    c\n\n    d", found("Pending", "a", None, ("b", "c", "d")), id="ideas as text"),
    pytest.param("- a\n  - Result: b\n    c", found("Pending", "a", None, (), "b\nc"), id="a field of several lines"),
    pytest.param("- a\n\n  - Result: b\n\n  c", found("Pending", "a\nc", None, (), "b"), id="blank lines between"),
    pytest.param("- ab\n  - Raw User Request: abc", found("Pending", "abc"), id="a title that begins the request"),
    pytest.param("- ab…\n  - Raw User Request: abc", found("Pending", "abc"), id="a title that was cut"),
    pytest.param("-\n  - Raw User Request: abc", found("Pending", "abc"), id="no title"),
    pytest.param("- x\n  - Raw User Request: a\n\n  y", found("Pending", "a", None, ("x", "y")), id="a title besides"),
]


@pytest.mark.requirement("HB-12", "HB-15", "H3")
@pytest.mark.parametrize(("bullet", "expected"), BULLETS)
def test_a_bullet_of_a_person_is_read_whole(bullet: str, expected: FoundTask) -> None:
    assert found_in(f"## TODO\n{bullet}\n", is_recovery=False) == [expected]


@pytest.mark.requirement("HB-12", "H3")
@pytest.mark.parametrize(
    "text",
    [
        "-",
        "- [ ]",
        "- [x]",
        "- [Pending]",
        "- (none)",
        "- None.",
        "- [ ] _(no tasks yet)_",
        "* …",
        "- ---x---\n- ...".partition("\n")[2],
        "- n/a",
        "- Placeholder, append below",
        "- _none yet_",
        "- Nothing here for now.",
        "- （无）",
        "- [-]",
        "*",
        "- [Pending/Running/Complete/Fail] id: description\n  - Raw User Request: …",
        "- [Pending/Running/…] cool-apple: x\n  <!-- task_id: cool-apple -->",
        "- [Pending | Running] x",
        "- [Pending、Running] x",
        "1. buy milk",
        "a paragraph",
        "- - -",
        "> - quoted",
        "    - code",
        "```\n- fenced\n```",
        "<!--\n- hidden\n-->",
        "### More\n- of the same\n- [x] and more",
        "- [Running] a: b\n  <!-- task_id: c -->",
        "- [Running] a-b\n  c\n  <!-- task_id: a -->",
        "- buy milk\n  <!-- task_id: cool-apple -->",
        "- buy milk\n  <!-- task_id: -->",
        "| a | b |\n| - | - |",
    ],
)
def test_what_is_not_a_new_bullet_stays_text(tmp_path: Path, text: str) -> None:
    board = Board.of(tmp_path, f"## TODO\n{text}\n")
    assert board.call(board.process(), make_task("a-b", "x")) == []
    entry = render_entry(make_task("a-b", "x")).decode()
    list_end = "<!-- end of list -->\n" if text.startswith(" ") else ""
    assert board.text == f"## TODO\n{entry}\n\n{list_end}{text}\n"


@pytest.mark.requirement("HB-15", "H5")
@pytest.mark.parametrize(
    ("bullet", "expected"),
    [
        pytest.param(
            FULL,
            FoundTask(
                "cool-apple",
                HeartbeatStatus.RUNNING,
                "write the login page\nwith a captcha",
                "docs/auth.md",
                ("use JWT", "# a captcha <3"),
                "half done",
                "out/result.md",
            ),
            id="of the server",
        ),
        pytest.param(
            "- [Done!] cool-apple: a &lt;\n\n   - [Required] Status: Fail\n\t<!--task_id:cool-apple-->\n  more",
            FoundTask("cool-apple", HeartbeatStatus.FAIL, "a <\nmore"),
            id="changed beyond its form",
        ),
        pytest.param(
            "- [Pending] cool-apple: log in\n  - Raw User Request: 写登录\n  - Idea: JWT\n"
            "  <!-- task_id: cool-apple -->",
            FoundTask("cool-apple", HeartbeatStatus.PENDING, "写登录", ideas=("log in", "JWT")),
            id="with a title of its own, as in the source",
        ),
        pytest.param(
            "- [Pending] cool-apple: a &lt;b\n  - Raw User Request: a &lt;b&gt;\n  <!-- task_id: cool-apple -->",
            FoundTask("cool-apple", HeartbeatStatus.PENDING, "a <b>"),
            id="with a title that begins the request",
        ),
        pytest.param(
            "- [Running] cool-apple: log in\n  - Raw User Request: 写\n  - Due: today\n  note\n"
            "  <!-- task_id: cool-apple -->",
            FoundTask("cool-apple", HeartbeatStatus.RUNNING, "写", ideas=("log in", "- Due: today\nnote")),
            id="with lines that are no fields",
        ),
        pytest.param(
            "- [Running] 任务: 写登录\n  - Raw User Request: 写\n  <!-- task_id: 任务 -->",
            FoundTask("任务", HeartbeatStatus.RUNNING, "写", ideas=("写登录",)),
            id="any id",
        ),
        pytest.param(
            "- [Running] cool-apple: short\n  - Raw User Request: long\n  - Status: Running",
            FoundTask("cool-apple", HeartbeatStatus.RUNNING, "long", ideas=("short",)),
            id="without its comment",
        ),
        pytest.param("- buy milk", FoundTask(None, HeartbeatStatus.PENDING, "buy milk"), id="of a person"),
    ],
)
def test_a_recovery_finds_every_form_of_entry(bullet: str, expected: FoundTask) -> None:
    assert found_in(f"# A\n\n## TODO\n{bullet}\n\n## B\n- not this\n") == [expected]


@pytest.mark.requirement("HB-15", "L2")
def test_a_recovery_drops_no_task_that_has_the_id_of_another(tmp_path: Path) -> None:
    entries = [render_entry(make_task("a-b", text)).decode() for text in ("x", "y", "x")]
    named = "- [Pending] a-b: z\n  - Raw User Request: z"
    board = Board.of(tmp_path, "\n".join(["## TODO", *entries, named, ""]), is_lost=True)
    found = board.call(board.process())
    assert [(task.id == "a-b", task.raw_user_request) for task in found] == [(True, "x"), (False, "y"), (False, "z")]


@pytest.mark.requirement("HB-15", "HB-12")
def test_the_title_of_an_entry_in_the_form_of_the_source_is_an_idea_after_the_first_start(tmp_path: Path) -> None:
    entry = "- [Pending] cool-apple: log in\n  - Raw User Request: 写登录\n  <!-- task_id: cool-apple -->"
    board = Board.of(tmp_path, f"## TODO\n{entry}\n", is_lost=True)
    (task,) = board.call(board.process())
    assert (task.id, task.raw_user_request, task.ideas) == ("cool-apple", "写登录", ("log in",))
    assert "log in" in board.text

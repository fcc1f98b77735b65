"""Lists and summaries are short, safe, and say what they leave out (RES-3, RES-4)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from task_core.server.overview import MAX_TEXT, render_list, render_summary
from task_core.view import Line, Section


@pytest.mark.requirement("RES-4")
def test_a_list_counts_what_it_leaves_out() -> None:
    assert render_list([{"id": "a"}], 3) == {"tasks": [{"id": "a"}], "total": 3, "left_out": 2}
    assert render_list([{"id": "a", "tasks": [{"id": "b"}]}], 3, 2)["left_out"] == 1


@pytest.mark.requirement("RES-3")
def test_a_summary_has_the_counts_and_a_line_for_each_task() -> None:
    sections = {"Active": Section([Line("a1", "todo", "Walls", "high")], 1), "Next": Section([], 0)}
    assert render_summary({"todo": 2, "done": 0, "active": 1}, sections, "list") == (
        "# Tasks\n\n3 in all: 2 todo, 1 active.\n\n## Active\n- a1: Walls (high)\n\n## Next\nNone.\n"
    )


@pytest.mark.requirement("RES-3")
def test_a_summary_of_nothing_says_so() -> None:
    assert render_summary({"todo": 0}, {}, "list") == "# Tasks\n\nThere are none.\n"


@pytest.mark.requirement("RES-4")
def test_a_section_has_ten_tasks_and_counts_the_others() -> None:
    section = Section([Line(f"t{n}", "todo", "x") for n in range(12)], 1_000_000)
    text = render_summary({"todo": 1_000_000}, {"Next": section}, "list_tasks")
    assert "- t9: x\n- … and 999990 more, which list_tasks shows\n" in text
    assert "t10" not in text


@pytest.mark.requirement("RES-4", "S3")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\n\n# b\u2028- c", r"a \# b - c", id="line breaks"),
        pytest.param("a\x0b\x0c\x1c\x1d\x1e\x85\u2029\u3000\xa0b\n", "a b", id="every line break, wide blanks"),
        pytest.param("a\u202eb\u200b\x1bc", r"a\\u{202e}b\\u{200b}\\u{1b}c", id="bidi, zero width, control"),
        pytest.param("[x](http://e) <img> `c` **b**", r"\[x\](http://e) \<img\> \`c\` \*\*b\*\*", id="markup"),
        pytest.param(" " * 9_000 + "late", "late", id="blanks first"),
        pytest.param("\ud800", r"\\u{d800}", id="half a character"),
    ],
)
def test_the_text_of_a_task_is_made_safe(text: str, shown: str) -> None:
    assert f"- t: {shown}\n" in render_summary({"todo": 1}, {"Next": Section([Line("t", "todo", text)], 1)}, "list")


@pytest.mark.requirement("RES-4", "S3")
@settings(max_examples=40)
@given(task_id=st.text(min_size=1), text=st.text(), note=st.text())
def test_no_text_adds_a_line_or_a_heading_or_a_link(task_id: str, text: str, note: str) -> None:
    made = render_summary({"todo": 1}, {"Next": Section([Line(task_id, "todo", text, note)], 1)}, "list")
    kinds = [token.type for token in MarkdownIt().parse(made)]
    inside = {child.type for token in MarkdownIt().parse(made) for child in token.children or ()}
    assert made.count("\n") == len("# Tasks\n\n1\n\n## Next\n- t\n".splitlines())
    assert kinds.count("heading_open") == 2
    assert "html_block" not in kinds
    # An underscore stays: ids have it, and a slanted word forges nothing.
    assert {kind.removesuffix("_open").removesuffix("_close") for kind in inside} <= {
        "text",
        "text_special",
        "em",
        "strong",
    }


@pytest.mark.requirement("RES-4")
@settings(max_examples=25)
@given(text=st.text(min_size=MAX_TEXT, max_size=4 * MAX_TEXT))
def test_a_line_stays_short_whatever_it_says(text: str) -> None:
    made = render_summary({"todo": 1}, {"Next": Section([Line("t", "todo", text)], 1)}, "list")
    assert len(made.splitlines()[-1]) <= 2 * MAX_TEXT + len("- t: ")

"""Text for people and models: short, visible, and the nearest names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from task_core.text import address_people, escape_invisible, fold, nearest, shorten


@pytest.mark.parametrize(
    ("text", "short"),
    [("", ""), ("abc", "abc"), ("abcd", "abcd"), ("abcde", "abc…")],
    ids=["empty", "short", "exact", "cut"],
)
def test_text_is_cut_to_the_limit_and_says_so(text: str, short: str) -> None:
    assert shorten(text, 4) == short


@pytest.mark.requirement("S3", "HB-11")
@pytest.mark.parametrize(
    ("character", "escaped"),
    [
        ("\0", r"\u{0}"),
        ("\t", r"\u{9}"),
        ("\n", r"\u{a}"),
        ("\x1b", r"\u{1b}"),
        ("\x7f", r"\u{7f}"),
        ("\x85", r"\u{85}"),
        ("\u061c", r"\u{61c}"),
        ("\u200b", r"\u{200b}"),
        ("\u200e", r"\u{200e}"),
        ("\u200f", r"\u{200f}"),
        ("\u2028", r"\u{2028}"),
        ("\u2029", r"\u{2029}"),
        ("\u202a", r"\u{202a}"),
        ("\u202e", r"\u{202e}"),
        ("\u2060", r"\u{2060}"),
        ("\u2066", r"\u{2066}"),
        ("\u2069", r"\u{2069}"),
        ("\ufeff", r"\u{feff}"),
        ("\U000e0000", r"\u{e0000}"),
        ("\U000e0041", r"\u{e0041}"),
        ("\U000e007f", r"\u{e007f}"),
        ("\ud800", r"\u{d800}"),
    ],
    ids=ascii,
)
def test_what_cannot_be_seen_is_written_out(character: str, escaped: str) -> None:
    assert escape_invisible(f"a{character}b") == f"a{escaped}b"


@pytest.mark.requirement("S3")
@pytest.mark.parametrize("text", ["", "a b", "é ß 任务 مهمة", "a\\b", "👩\u200d🚀", "می\u200cخواهم", "\xa0", "\xad"])
def test_what_can_be_seen_and_what_scripts_need_stays(text: str) -> None:
    assert escape_invisible(text) == text


@given(st.text(st.characters(exclude_characters="\\")))
def test_escaped_text_is_harmless_and_can_be_read_back(text: str) -> None:
    escaped = escape_invisible(text)
    assert re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", escaped) is None
    assert re.sub(r"\\u\{([0-9a-f]+)\}", lambda match: chr(int(match[1], 16)), escaped) == text


@pytest.mark.requirement("ERR-4")
@pytest.mark.parametrize(
    ("name", "near"),
    [
        pytest.param("stauts", ["status"], id="swapped"),
        pytest.param("raw_refrence", ["raw_reference"], id="left-out"),
        pytest.param("STATUS", ["status"], id="other-case"),
        pytest.param("xyzzy", [], id="nothing-near"),
        pytest.param("", [], id="empty"),
        pytest.param("statuses", ["status"], id="longer"),
    ],
)
def test_a_slip_finds_the_name_that_was_meant(name: str, near: list[str]) -> None:
    assert nearest(name, ["id", "status", "raw_reference", "ideas"]) == near


@pytest.mark.requirement("ERR-4")
def test_at_most_three_come_back_the_nearest_first_and_equal_ones_in_reverse_order() -> None:
    for known in (["task", "tsks", "tasks", "taskss"], ["tsks", "taskss", "tasks", "task"]):
        assert nearest("tasks", known) == ["tasks", "taskss", "tsks"]


def test_the_name_comes_back_as_it_is_written() -> None:
    assert nearest("task_01abc", ["task_01ABC"]) == ["task_01ABC"]


def test_names_less_alike_than_the_cutoff_are_left_out() -> None:
    assert nearest("stat", ["status"], cutoff=0.9) == []


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        pytest.param("Straße", "strasse", id="sharp s"),
        pytest.param("ÉTÉ", "été", id="accents"),
        pytest.param("E\u0301", "é", id="a letter and its accent"),
        pytest.param("ﬁne ①", "fine 1", id="ligature and circled digit"),
        pytest.param("a\0b", "a b", id="NUL, where a database would end the text"),
    ],
)
def test_words_are_compared_in_one_form(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("name", "near"),
    [("x" * 100_000, ["x" * 150]), ("", []), ("-", [])],
    ids=["long", "empty", "sign"],
)
def test_the_beginning_of_a_long_name_is_compared(name: str, near: list[str]) -> None:
    assert nearest(name, ["status", "x" * 150]) == near


@pytest.mark.requirement("PE-10")
@pytest.mark.parametrize(
    ("for_model", "for_person"),
    [
        ("It is damaged. Ask the user to repair it; then call again.", "It is damaged. Repair it; then try again."),
        ("It is newer. Ask the user to update the server.", "It is newer. Update the server."),
        ("No task has the id 'c'.", "No task has the id 'c'."),
        ("It is locked. Call again in a moment.", "It is locked. Try again in a moment."),
        ("Correct 'id' and call again: give a number.", "give a number."),
        ("This argument is required.", "This is required."),
        ("Correct the arguments and call again: id: give a number.", "id: give a number."),
        ("There is no project. Call make_project to create one.", "There is no project. Ask your agent to create one."),
        ("None. Call init_one (in the set all: TOOLS=all) to create it.", "None. Ask your agent to create it."),
        ("It is 'todo'. Call startTask to start it.", "It is 'todo'."),
        ("It is 'todo'. Put it into `updates`. List the tasks.", "It is 'todo'. List the tasks."),
        ("It is the user's. Give withDependencies.", "It is the user's."),
        ("Complete first: 'Read it. Call get_it, then eat' (a1). Go on.", None),
        ("Only 'my_file' exists. Choose 'another_file'.", None),
        ("Call get_task_status first.", None),
    ],
)
def test_a_person_reads_what_to_do_where_a_model_reads_what_to_ask_for(for_model: str, for_person: str | None) -> None:
    assert address_people(for_model) == (for_person or for_model)

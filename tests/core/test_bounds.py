"""What is too large for an answer is cut, marked and still valid; pages end where an answer is full (TOOL-9)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from task_core.bounds import LISTED_TEXT, MAX_PAGE, fit, shorten_texts, size_of, take_fitting
from task_core.models import Record

pytestmark = pytest.mark.requirement("TOOL-9")

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(max_size=400)),
    lambda inner: st.one_of(st.lists(inner, max_size=30), st.dictionaries(st.text(max_size=60), inner, max_size=30)),
    max_leaves=20,
)


class Sheet(Record):
    """A record with a text, a list, and any further field."""

    text: str = ""
    parts: tuple[str, ...] = ()


@settings(max_examples=25)
@given(st.dictionaries(st.text("abc", max_size=9), VALUES, max_size=10), st.integers(2_000, 60_000), st.integers(1, 40))
def test_what_does_not_fit_is_cut_until_it_does_and_what_fits_stays(
    value: dict[str, JsonValue], room: int, times: int
) -> None:
    large: dict[str, JsonValue] = {"id": "a", **value, "many": [value] * times}
    found = fit(large, room)
    if size_of(large) <= room:
        assert found is large
    else:
        assert found["cut"] is True
        assert found["id"] == "a"
        assert size_of(found) <= max(room, 20_000)
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("x" * 4_000_000, id="text"),
        pytest.param(["x" * 2_000] * 2_000, id="list"),
        pytest.param({f"{n}": "\x01" * 2_000 for n in range(500)}, id="object"),
        pytest.param([[["x" * 100] * 100] * 100] * 4, id="lists in lists"),
        pytest.param(json.loads('{"a":' * 90 + '"' + "x" * 100_000 + '"' + "}" * 90), id="levels"),
    ],
)
def test_a_value_of_any_form_fits_a_page_once_it_is_cut(value: JsonValue) -> None:
    assert size_of(fit({"id": "x" * 500, "a": value, "b": value})) <= MAX_PAGE


def test_the_fields_that_are_kept_stay_whole_beside_those_that_are_cut() -> None:
    found = fit({"table": "x" * 9_000, "in": {"table": "y" * 9_000}, "text": "z" * 90_000}, keep=("table",))
    assert (found["table"], found["in"]) == ("x" * 9_000, {"table": "y" * 9_000})
    assert found["text"] == "z" * (LISTED_TEXT - 1) + "…"


def test_a_text_is_cut_before_a_list_loses_items() -> None:
    found = fit({"ideas": ["x" * 400] * 200})
    assert found["ideas"] == ["x" * 124 + "…"] * 200


@pytest.mark.requirement("HB-4")
def test_a_text_that_is_longer_than_a_list_shows_is_cut_even_where_there_is_room() -> None:
    assert shorten_texts(sheet := Sheet(id="a", text="x" * 2_000, parts=("y",) * 900), longest=2_000) is sheet
    cut = shorten_texts(Sheet(id="a", text="x" * 2_001, parts=("y",)), longest=2_000)
    assert (len(cut.text), cut.parts, cut.model_extra) == (2_000, ("y",), {"cut": True})


def test_a_record_is_cut_only_if_it_alone_fills_more_than_a_page() -> None:
    assert shorten_texts(sheet := Sheet(id="a", text="x" * 30_000)) is sheet
    assert shorten_texts(Sheet(id="a", text="x" * 40_000)).model_extra == {"cut": True}


@given(st.lists(st.integers(0, 500)), st.integers(1, 2_000))
def test_a_page_holds_as_many_as_fit_and_at_least_one(lengths: list[int], room: int) -> None:
    items = ["x" * length for length in lengths]
    page = take_fitting(items, room)
    assert page == items[: len(page)]
    assert len(page) >= min(1, len(items))
    assert len(page) <= 1 or size_of(page) - 1 <= room
    assert len(page) == len(items) or size_of(items[: len(page) + 1]) > room

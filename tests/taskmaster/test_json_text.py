"""Text that is changed in place keeps the bytes of all that stays the same (TM-18, TM-20)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from taskmaster_mcp.project.json_text import JsonPart, Layout, change_text, detect_layout, split_members

LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.sampled_from([1.0, 0.5])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
)
ITEMS = st.lists(
    st.builds(
        lambda fields, name: {"id": name, **fields},
        st.dictionaries(st.text("abc", max_size=2), VALUES),
        st.integers(1, 9),
    ),
    max_size=5,
)
INDENTS = st.sampled_from(["  ", "    ", "\t"])


def changed(text: str, new: JsonValue) -> str:
    return change_text(text, json.loads(text), new, detect_layout(text))


@settings(max_examples=25)
@given(VALUES, VALUES, INDENTS)
def test_the_new_text_has_the_new_value_and_its_layout(old: JsonValue, new: JsonValue, indent: str) -> None:
    text = json.dumps(old, indent=indent, ensure_ascii=False)
    found = change_text(text, old, new, Layout(indent))
    assert json.dumps(json.loads(found), sort_keys=True) == json.dumps(new, sort_keys=True)
    again = json.dumps(json.loads(found), indent=indent, ensure_ascii=False)
    assert found == again


@settings(max_examples=25)
@given(VALUES, st.sampled_from([None, 1, "\t"]), st.sampled_from(["", " ", "\r\n "]))
def test_the_same_value_keeps_every_byte(value: JsonValue, indent: int | str | None, space: str) -> None:
    text = json.dumps(value, indent=indent, separators=(f"{space},", f"{space}:{space}"))
    assert changed(text, copy.deepcopy(value)) == text


@settings(max_examples=25)
@given(ITEMS, st.data())
def test_a_changed_item_leaves_the_text_of_the_others(items: list[Any], data: st.DataObject) -> None:
    rows = [json.dumps(it, ensure_ascii=False, separators=(" , ", " :")) for it in items]
    text = "[" + " ,\n\n ".join(rows) + "\n]"
    new = copy.deepcopy(items)
    places = data.draw(st.sets(st.integers(0, max(len(items) - 1, 0)), max_size=len(items)))
    for place in places:
        new[place]["a"] = "changed"
    found = changed(text, new)
    assert json.loads(found) == new
    for place, row in enumerate(rows):
        assert place in places or row in found


@pytest.mark.requirement("TM-18", "TM-20")
@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('{"a": 1,  "b":2}', {"a": 1, "b": 3}, '{"a": 1,  "b":3}'),
        ('{"a":1,"b":2}', {"b": 2}, '{"b":2}'),
        ('{"a":1}', {"a": 1, "c": [1, {}]}, '{"a":1,"c":[1,{}]}'),
        ('{\n    "a": 1\n}', {"a": 1, "b": [2]}, '{\n    "a": 1,\n    "b": [\n        2\n    ]\n}'),
        ('{\r\n\t"a": [ 1, 2 ]\r\n}', {"a": [2]}, '{\r\n\t"a": [ 2 ]\r\n}'),
        ('{\n  "a": [1, 2]\n}', {"a": [1, 2, 3]}, '{\n  "a": [1, 2, 3]\n}'),
        ('{\n  "a": []\n}', {"a": [3]}, '{\n  "a": [\n    3\n  ]\n}'),
        ('[\n  {"id": 1},\n  {"id": 2, "x": 1.0}\n]', [{"id": 2, "x": 1.0}], '[\n  {"id": 2, "x": 1.0}\n]'),
        ("[1, 1.0, true]", [1.0, 1, True], "[1.0, 1, true]"),
        ('{"a": 1e2}', {"a": 1e2, "b": 1}, '{"a": 1e2,"b":1}'),
        ("[1 , 2 , 3 ]", [1, 4, 3], "[1 , 4, 3 ]"),
        ('{"a" : 1 , "b":2 }', {"a": 1, "b": 3}, '{"a" : 1 , "b":3 }'),
        ('{"a": [1]}', {"a": []}, '{"a": []}'),
        ("[1]", {"a": 2}, '{"a":2}'),
    ],
)
def test_what_is_added_is_laid_out_like_its_neighbours(old: str, new: JsonValue, text: str) -> None:
    assert changed(old, new) == text


def test_parts_of_an_object_and_of_a_list_are_found_where_they_are() -> None:
    text = ' { "a" : [ 1 , "]" ] , "b":{} } '
    (first, second), end = split_members(text, 1)
    assert (first, first.value) == (JsonPart("a", None, " ", '"a" : ', '[ 1 , "]" ]', " "), [1, "]"])
    assert (second.key, second.value, text[end:]) == ("b", {}, " } ")
    items, end = split_members(first.text)
    assert [(part.key, part.value, part.trail) for part in items] == [("", 1, " "), ("", "]", "")]
    assert first.text[end:] == " ]"

"""What a lenient reader of JSON would let pass is refused or reported."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from task_core.strict_json import MAX_DEPTH, NotJson, TooDeep, read

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def arrays(levels: int) -> str:
    return "[" * levels + "]" * levels


def objects(levels: int) -> str:
    return '{"a":' * (levels - 1) + "{" + "}" * levels


@given(VALUES)
def test_what_json_writes_is_read_back_as_text_and_as_bytes(value: object) -> None:
    for ensure_ascii in (True, False):
        text = json.dumps(value, ensure_ascii=ensure_ascii)
        assert read(text).value == read(text.encode()).value == json.loads(text)


@pytest.mark.requirement("TOOL-3", "L1")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param("NaN", "NaN is not a JSON number", id="nan"),
        pytest.param("[Infinity]", "Infinity is not a JSON number", id="infinity"),
        pytest.param('{"a": -Infinity}', "-Infinity is not a JSON number", id="minus-infinity"),
        pytest.param("1e400", "a number is too large for a float", id="float-overflow"),
        pytest.param("-1e400", "a number is too large for a float", id="negative-float-overflow"),
        pytest.param("9" * 5_000, "an integer has too many digits", id="integer-of-5000-digits"),
        pytest.param(b"", "Expecting value at line 1, column 1", id="empty"),
        pytest.param(" \n ", "Expecting value at line 2, column 2", id="blank"),
        pytest.param(b"\0" * 64, "Expecting value at line 1, column 1", id="zero-filled"),
        pytest.param("{'a': 1}", "Expecting property name enclosed in double quotes at line 1, column 2", id="quotes"),
        pytest.param('"a\nb"', "Invalid control character at line 1, column 3", id="raw-control-character"),
        pytest.param('"a', "Unterminated string starting at line 1, column 1", id="torn"),
        pytest.param("1 2", "Extra data at line 1, column 3", id="two-values"),
        pytest.param("\ufeff{}", "Expecting value at line 1, column 1", id="byte-order-mark"),
        pytest.param(b'"\xff"', "invalid UTF-8 at byte 1", id="invalid-utf-8"),
        pytest.param(b'"\xed\xa0\x80"', "invalid UTF-8 at byte 1", id="surrogate-in-utf-8"),
        pytest.param("{}".encode("utf-16-le"), "Expecting property name", id="utf-16"),
    ],
)
def test_what_is_not_json_is_refused_with_the_reason_and_the_place(data: str | bytes, message: str) -> None:
    with pytest.raises(NotJson) as caught:
        read(data)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 100


@pytest.mark.requirement("TOOL-3")
@pytest.mark.parametrize(
    ("text", "keys"),
    [
        pytest.param('{"a": 1, "a": 2}', ("a",), id="top-level"),
        pytest.param('[{"b": {"a": 1, "a": 1}}]', ("a",), id="nested"),
        pytest.param('{"a": 1, "b": 2, "b": 3, "a": 4, "a": 5}', ("a", "b"), id="each-named-once"),
        pytest.param('{"x": {"k": 1, "k": 2}, "y": {"k": 1, "k": 2}}', ("k",), id="in-two-objects"),
        pytest.param('{"a": 1, "\\u0061": 2}', ("a",), id="spelled-differently"),
        pytest.param('{"": 1, "": 2}', ("",), id="empty-key"),
        pytest.param('[{"a": 1}, {"a": 2}]', (), id="same-key-of-two-objects"),
        pytest.param('{"a": 1, "A": 2}', (), id="other-case"),
    ],
)
def test_repeated_keys_are_named(text: str, keys: tuple[str, ...]) -> None:
    assert read(text).duplicate_keys == keys


def test_the_last_value_of_a_repeated_key_is_kept() -> None:
    assert read('{"a": 1, "a": 2}').value == {"a": 2}


@pytest.mark.requirement("TOOL-3", "S1")
@pytest.mark.parametrize(
    ("data", "is_lone"),
    [
        pytest.param('"\\ud800"', True, id="high"),
        pytest.param(b'"\\uDFFF"', True, id="low-upper-case-bytes"),
        pytest.param('{"\\udc00\\ud800": 1}', True, id="key-in-the-wrong-order"),
        pytest.param('"\ud800"', True, id="raw"),
        pytest.param('"\\ud83d\\ude00"', False, id="pair"),
        pytest.param('"\\\\ud800"', False, id="escaped-backslash"),
        pytest.param('"\\ud7ff"', False, id="neighbour"),
        pytest.param('"\U0001f600 é"', False, id="whole-characters"),
    ],
)
def test_a_lone_surrogate_is_reported(data: str | bytes, *, is_lone: bool) -> None:
    assert read(data).has_lone_surrogate is is_lone


@pytest.mark.requirement("ST-3")
@pytest.mark.parametrize(
    ("data", "offset", "literal"),
    [
        pytest.param("[1, 2", 5, "", id="torn"),
        pytest.param('{"é": 1 2}', 8, "", id="in characters"),
        pytest.param('["é", "\xff"]'.encode("latin-1"), 2, "", id="not UTF-8"),
        pytest.param('["é", '.encode() + b'"\xff"]', 7, "", id="not UTF-8 behind what is"),
        pytest.param("[1, NaN]", 0, "NaN", id="a number that is none"),
        pytest.param("[1, 1e999]", 0, "1e999", id="a number that is too large"),
        pytest.param(f"[1, {'9' * 5_000}]", 0, "9" * 5_000, id="a number that is too long"),
    ],
)
def test_the_place_of_the_fault_is_known_by_its_offset_or_its_text(
    data: str | bytes, offset: int, literal: str
) -> None:
    with pytest.raises(NotJson) as caught:
        read(data)
    assert (caught.value.offset, caught.value.literal) == (offset, literal)


@pytest.mark.requirement("L1", "S1")
@pytest.mark.parametrize("nested", [arrays, objects])
@pytest.mark.parametrize("levels", [1, 2, MAX_DEPTH - 1, MAX_DEPTH])
def test_nesting_up_to_the_limit_is_read(nested: Callable[[int], str], levels: int) -> None:
    assert json.dumps(read(nested(levels)).value, separators=(",", ":")) == nested(levels)


@pytest.mark.requirement("L1", "S1")
@pytest.mark.parametrize("nested", [arrays, objects])
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 900, 1_100, 20_000, 500_000])
def test_nesting_past_the_limit_is_too_deep_however_deep(nested: Callable[[int], str], levels: int) -> None:
    with pytest.raises(TooDeep, match="nested deeper than 200 levels"):
        read(nested(levels))


@pytest.mark.parametrize(
    ("text", "max_depth", "fits"),
    [
        pytest.param("1", 0, True, id="scalar-has-no-level"),
        pytest.param("[]", 0, False, id="list-has-one"),
        pytest.param('[{"a": [1]}]', 3, True, id="mixed"),
        pytest.param('[{"a": [1]}]', 2, False, id="mixed-past-it"),
        pytest.param("[[], [], [], {}, {}]", 2, True, id="broad"),
        pytest.param('"[[[[[[{{{{{{"', 2, True, id="brackets-in-text"),
        pytest.param('{"a": "[[[[[[", "b": [[]]}', 3, True, id="brackets-in-text-and-lists"),
    ],
)
def test_levels_are_counted_as_the_caller_asks(text: str, max_depth: int, *, fits: bool) -> None:
    if fits:
        assert read(text, max_depth=max_depth).value == json.loads(text)
    else:
        with pytest.raises(TooDeep):
            read(text, max_depth=max_depth)


@given(st.text() | st.binary())
def test_any_input_is_read_or_refused_as_not_json(data: str | bytes) -> None:
    try:
        value = read(data).value
    except NotJson:
        return
    assert value == json.loads(data)

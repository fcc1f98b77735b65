"""The argument types of the servers: what they take, what they refuse, and what they say about it."""

import json
from functools import partial
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BeforeValidator, JsonValue, PlainValidator, TypeAdapter, ValidationError

from task_core import fields
from task_core.errors import DuplicateKey
from task_core.fields import Arguments, LongText, OneLine, TextList, decode_object
from tests.refusals import CONTROL, SURROGATE, refusal

Tag = Annotated[str, PlainValidator(partial(fields.line, maximum=5))]


class Call(Arguments):
    line: OneLine = "x"
    text: LongText | None = None
    texts: TextList = ()
    tags: Annotated[tuple[Tag, ...], BeforeValidator(partial(fields.texts, maximum=2))] = ()
    members: Annotated[dict[str, JsonValue] | None, BeforeValidator(decode_object)] = None


@pytest.mark.requirement("PE-18")
@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("in-progress", "in_progress"),
        (" In Progress ", "in_progress"),
        ("INPROGRESS", "in_progress"),
        ("Done", "done"),
        ("don", None),
        ("re do", None),
        ("", None),
        (5, None),
        (None, None),
    ],
)
def test_a_word_may_be_written_another_way_if_only_one_is_meant(value: object, word: str | None) -> None:
    assert fields.match_word(value, ["in_progress", "done", "re-do", "redo"]) == word


@pytest.mark.requirement("TOOL-2")
def test_arguments_are_closed_strict_and_frozen() -> None:
    class Strict(Arguments):
        count: int = 0

    for wrong in ({"count": "1"}, {"count": True}, {"other": 1}):
        with pytest.raises(ValidationError):
            Strict.model_validate(wrong)
    with pytest.raises(ValidationError):
        Strict().count = 1  # pyrefly: ignore  # that this is refused is the point


@pytest.mark.requirement("TOOL-2", "TOOL-3", "S1")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("", "Give it at least one character that is not blank.", id="empty"),
        pytest.param(" \u3000", "Give it at least one character that is not blank.", id="blank"),
        pytest.param("a" * 501, "Shorten it to 500 characters; it has 501.", id="long"),
        pytest.param("a\nb", CONTROL, id="line-feed"),
        pytest.param("a\r", CONTROL, id="carriage-return"),
        pytest.param("a\tb", CONTROL, id="tab"),
        pytest.param("a\0", CONTROL, id="nul"),
        pytest.param("a\x7f", CONTROL, id="del"),
        pytest.param("a\x85b", CONTROL, id="next-line"),
        pytest.param("a\u2028b", CONTROL, id="line-separator"),
        pytest.param("a\ud800", SURROGATE, id="lone-surrogate"),
        pytest.param(1, "Give text, as a JSON string.", id="number"),
        pytest.param(None, "Give text, as a JSON string.", id="null"),
        pytest.param(["a"], "Give text, as a JSON string.", id="list"),
    ],
)
def test_a_line_is_refused_with_a_sentence(value: object, message: str) -> None:
    assert refusal(Call, {"line": value}) == (("line",), message)


@pytest.mark.parametrize("value", ["a", "a" * 500, "null", "123", '{"a": 1}', "مهمة 任务 👩‍🚀", " a "])
@pytest.mark.requirement("TOOL-2")
def test_a_line_stays_as_it_is(value: str) -> None:
    assert Call(line=value).line == value


@pytest.mark.requirement("TOOL-3", "S1")
@pytest.mark.parametrize(
    ("arguments", "place", "message"),
    [
        pytest.param(
            {"text": "a" * 100_001}, ("text",), "Shorten it to 100,000 characters; it has 100,001.", id="text"
        ),
        pytest.param({"text": "\udfff"}, ("text",), SURROGATE, id="text-surrogate"),
        pytest.param({"texts": ["a"] * 201}, ("texts",), "Give at most 200 items; there are 201.", id="list"),
        pytest.param(
            {"texts": ["a", "a" * 100_001]},
            ("texts", 1),
            "Shorten it to 100,000 characters; it has 100,001.",
            id="item",
        ),
        pytest.param({"texts": ["\ud800"]}, ("texts", 0), SURROGATE, id="item-surrogate"),
        pytest.param({"texts": '["\\ud800"]'}, ("texts", 0), SURROGATE, id="item-surrogate-in-json"),
        pytest.param({"texts": "\ud800"}, ("texts", 0), SURROGATE, id="only-item-surrogate"),
        pytest.param({"tags": ["a", "b", "c"]}, ("tags",), "Give at most 2 items; there are 3.", id="own-list-limit"),
        pytest.param({"tags": ["a", "bbbbbb"]}, ("tags", 1), "Shorten it to 5 characters; it has 6.", id="own-limit"),
        pytest.param({"tags": ["a", "b\n"]}, ("tags", 1), CONTROL, id="line-in-a-list"),
    ],
)
def test_past_a_limit_the_place_and_the_limit_are_named(
    arguments: dict[str, object], place: tuple[str | int, ...], message: str
) -> None:
    assert refusal(Call, arguments) == (place, message)


@pytest.mark.requirement("TOOL-3")
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"text": "a" * 100_000}, id="text"),
        pytest.param({"text": ""}, id="empty-text"),
        pytest.param({"text": "a\nb\t\0"}, id="text-with-control-characters"),
        pytest.param({"texts": ("a",) * 200}, id="list"),
        pytest.param({"tags": ("12345", "b")}, id="own-limits"),
    ],
)
def test_up_to_the_limit_everything_is_taken_unchanged(arguments: dict[str, object]) -> None:
    [(name, value)] = arguments.items()
    assert getattr(Call.model_validate(arguments), name) == value


@pytest.mark.requirement("TOOL-2")
@pytest.mark.parametrize(
    ("value", "texts"),
    [
        pytest.param(["a", "b"], ("a", "b"), id="list"),
        pytest.param([], (), id="empty-list"),
        pytest.param("a", ("a",), id="text"),
        pytest.param("", ("",), id="empty-text"),
        pytest.param('["a", "b"]', ("a", "b"), id="json-list"),
        pytest.param("[]", (), id="empty-json-list"),
        pytest.param('["a", NaN]', ('["a", NaN]',), id="not-strictly-json"),
        pytest.param("[ ] buy milk", ("[ ] buy milk",), id="checkbox"),
        pytest.param("[" * 9_000, ("[" * 9_000,), id="brackets"),
        pytest.param("null", ("null",), id="null-as-text"),
        pytest.param("123", ("123",), id="number-as-text"),
        pytest.param('"a"', ('"a"',), id="json-text"),
        pytest.param('{"a": 1}', ('{"a": 1}',), id="json-object"),
    ],
)
def test_a_text_is_a_json_list_or_the_only_item(value: object, texts: tuple[str, ...]) -> None:
    assert Call.model_validate({"texts": value}).texts == texts


@pytest.mark.requirement("TOOL-2")
@pytest.mark.parametrize("value", [[1], [None], [["a"]], "[1]", '["a", {}]', "[null]"])
def test_an_item_of_a_wrong_type_is_refused_at_its_position(value: object) -> None:
    place, message = refusal(Call, {"texts": value})
    assert place == ("texts", 1 if value == '["a", {}]' else 0)
    assert message == "Give text, as a JSON string."


@pytest.mark.requirement("TOOL-2")
@pytest.mark.parametrize("value", [None, 1, {"a": 1}])
def test_only_a_list_or_its_text_is_a_list(value: object) -> None:
    assert refusal(Call, {"texts": value}) == (("texts",), "Give a list of strings.")


@pytest.mark.requirement("TOOL-2")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(
            "{'a': 1}",
            "Give a JSON object; this text is not JSON: "
            "Expecting property name enclosed in double quotes at line 1, column 2.",
            id="quotes",
        ),
        pytest.param('{"a": NaN}', "Give a JSON object; this text is not JSON: NaN is not a JSON number.", id="nan"),
        pytest.param("\ud800", SURROGATE, id="raw-surrogate"),
    ],
)
def test_a_text_in_place_of_an_object_is_decoded_strictly(value: object, message: str) -> None:
    assert refusal(Call, {"members": value}) == (("members",), message)


@pytest.mark.requirement("TOOL-3")
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"members": '{"a": 1, "a": 2}'}, id="object"),
        pytest.param({"texts": '[{"a": 1, "a": 2}]'}, id="list"),
        pytest.param({"members": '{"b": {"a": 1, "a": 2}}'}, id="nested"),
    ],
)
def test_a_repeated_key_in_a_json_string_is_reported_as_such(arguments: dict[str, str]) -> None:
    with pytest.raises(DuplicateKey) as caught:
        Call.model_validate(arguments)
    assert caught.value.details == {"keys": ["a"]}
    with pytest.raises(DuplicateKey):
        Call.model_validate_json(json.dumps(arguments))


@pytest.mark.requirement("TOOL-2")
def test_text_that_repeats_a_key_stays_text() -> None:
    assert Call(text='{"a": 1, "a": 2}').text == '{"a": 1, "a": 2}'


def test_arguments_from_json_are_checked_alike() -> None:
    given = {"line": "a", "texts": ["b"], "tags": '["c"]', "members": '{"d": 1}'}
    assert Call.model_validate_json(json.dumps(given)) == Call.model_validate(given)


def test_the_advice_follows_the_limit() -> None:
    short = TypeAdapter(
        Annotated[str, PlainValidator(partial(fields.text, maximum=3, advice="Put the rest in a file."))]
    )
    with pytest.raises(ValidationError, match=r"Shorten it to 3 characters; it has 4\. Put the rest in a file\."):
        short.validate_python("abcd")


@given(st.text())
def test_an_accepted_line_is_one_line(value: str) -> None:
    try:
        taken = Call(line=value).line
    except ValidationError:
        assert not value.strip() or not value.isprintable()
    else:
        assert taken.splitlines() == [value]


def test_an_object_in_json_text_is_decoded_and_all_else_left() -> None:
    assert decode_object('{"a": 1}') == {"a": 1}
    assert decode_object(1) == 1


@pytest.mark.requirement("TOOL-1", "TOOL-4")
@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (TypeAdapter(OneLine), {"type": "string", "maxLength": 500}),
        (TypeAdapter(LongText), {"type": "string", "maxLength": 100_000}),
        (TypeAdapter(TextList), {"type": "array", "items": {"type": "string"}, "maxItems": 200}),
    ],
    ids=["line", "text", "list"],
)
def test_the_schema_is_small_and_says_the_bounds(kind: TypeAdapter[object], schema: dict[str, object]) -> None:
    assert kind.json_schema() == schema

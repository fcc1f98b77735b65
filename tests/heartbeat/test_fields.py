"""Free values, extra fields and paths as arguments: what is taken, what is refused, and what is said about it."""

import json

import pytest
from pydantic import JsonValue, TypeAdapter

from heartbeat_mcp.arguments import MAX_KEYS, MAX_NESTING, FreeObject, FreeValue, PathText
from task_core.errors import DuplicateKey
from task_core.fields import Arguments
from tests.refusals import CONTROL, SURROGATE, refusal


class Call(Arguments):
    members: FreeObject | None = None
    value: FreeValue = None
    path: PathText | None = None


def nested(levels: int) -> JsonValue:
    value: JsonValue = "deep"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.requirement("TOOL-3", "S1")
@pytest.mark.parametrize(
    ("arguments", "place", "message"),
    [
        pytest.param({"path": ""}, ("path",), "Give a path or an http(s) URL, or leave it out.", id="empty-path"),
        pytest.param({"path": "é" * 513}, ("path",), "Shorten it to 1,024 bytes in UTF-8; it has 1,026.", id="path"),
        pytest.param({"path": "a\ud800"}, ("path",), SURROGATE, id="path-surrogate"),
        pytest.param({"path": 1}, ("path",), "Give text, as a JSON string.", id="path-number"),
        pytest.param(
            {"members": dict.fromkeys(map(str, range(51)))},
            ("members",),
            "Give at most 50 keys; there are 51.",
            id="keys",
        ),
        pytest.param({"members": {"a": nested(32)}}, ("members",), "Nest it at most 32 levels deep.", id="deep-object"),
        pytest.param({"value": nested(33)}, ("value",), "Nest it at most 32 levels deep.", id="deep-value"),
        pytest.param(
            {"value": [float("nan")]}, ("value",), "Give finite numbers: NaN and Infinity are not JSON.", id="nan"
        ),
        pytest.param(
            {"members": {"a": float("-inf")}},
            ("members",),
            "Give finite numbers: NaN and Infinity are not JSON.",
            id="infinity",
        ),
        pytest.param({"value": "\ud800"}, ("value",), SURROGATE, id="value-surrogate"),
        pytest.param({"value": [{"a": "\ud800"}]}, ("value",), SURROGATE, id="deep-surrogate"),
        pytest.param({"value": {"a": {"\ud800": 1}}}, ("value",), SURROGATE, id="key-surrogate"),
        pytest.param(
            {"value": ["a" * 100_001]}, ("value",), "Shorten it to 100,000 characters; it has 100,001.", id="value-text"
        ),
        pytest.param({"value": {1: 2}}, ("value",), "Give text, as a JSON string.", id="key-that-is-no-text"),
        pytest.param({"value": b"a"}, ("value",), "Give a JSON value.", id="no-json"),
        pytest.param({"members": {"a\n": 1}}, ("members",), f"Correct the name of a key: {CONTROL}", id="key-line"),
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
        pytest.param({"path": "é" * 512}, id="path"),
        pytest.param({"members": dict.fromkeys(map(str, range(MAX_KEYS)))}, id="keys"),
        pytest.param({"members": {"a": nested(MAX_NESTING - 1)}}, id="deep-object"),
        pytest.param({"value": nested(MAX_NESTING)}, id="deep-value"),
        pytest.param({"value": {"a": [1, 1.5, None, True, "x", {}]}}, id="every-kind"),
        pytest.param({"value": "null"}, id="null-as-text"),
        pytest.param({"value": '{"a": 1}'}, id="json-as-text"),
        pytest.param({"value": "[[["}, id="broken-json-as-text"),
    ],
)
def test_up_to_the_limit_everything_is_taken_unchanged(arguments: dict[str, object]) -> None:
    [(name, value)] = arguments.items()
    assert getattr(Call.model_validate(arguments), name) == value
    assert getattr(Call.model_validate_json(json.dumps(arguments)), name) == value


@pytest.mark.requirement("TOOL-2")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("[1]", "Give a JSON object.", id="list"),
        pytest.param("null", "Give a JSON object.", id="null"),
        pytest.param([], "Give a JSON object.", id="real-list"),
        pytest.param(
            "{'a': 1}",
            "Give a JSON object; this text is not JSON: "
            "Expecting property name enclosed in double quotes at line 1, column 2.",
            id="quotes",
        ),
        pytest.param('{"a": NaN}', "Give a JSON object; this text is not JSON: NaN is not a JSON number.", id="nan"),
        pytest.param('{"a": "\\ud800"}', SURROGATE, id="surrogate"),
        pytest.param("\ud800", SURROGATE, id="raw-surrogate"),
    ],
)
def test_a_text_in_place_of_an_object_is_decoded_strictly(value: object, message: str) -> None:
    assert refusal(Call, {"members": value}) == (("members",), message)
    assert Call.model_validate({"members": '{"a": [1]}'}).members == {"a": [1]}


@pytest.mark.requirement("TOOL-3")
@pytest.mark.parametrize("arguments", [{"members": '{"a": 1, "a": 2}'}, {"value": '{"b": {"a": 1, "a": 2}}'}])
def test_a_repeated_key_in_a_json_string_is_reported_as_such(arguments: dict[str, str]) -> None:
    with pytest.raises(DuplicateKey) as caught:
        Call.model_validate(arguments)
    assert caught.value.details == {"keys": ["a"]}


@pytest.mark.requirement("TOOL-1", "TOOL-4")
@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (TypeAdapter(FreeObject), {"type": "object", "maxProperties": 50}),
        (TypeAdapter(FreeValue), {}),
        (TypeAdapter(PathText), {"type": "string", "maxLength": 1_024}),
    ],
    ids=["object", "value", "path"],
)
def test_the_schema_is_small_and_says_the_bounds(kind: TypeAdapter[object], schema: dict[str, object]) -> None:
    assert kind.json_schema() == schema

"""What is wrong with the arguments of a call is said by path, with what was meant, and without their values."""

from __future__ import annotations

import json
from enum import Enum
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BeforeValidator, Field, JsonValue, field_validator

from task_core.errors import DuplicateKey, InvalidArguments
from task_core.fields import Arguments, Clearable, LongText, OneLine, TextList, decode_object, warn_of_joined_items
from task_core.server.faults import read_arguments
from task_core.server.schema import input_schema
from task_core.warning_list import WarningList


class Status(Enum):
    """The status of a task."""

    OPEN = "open"
    DONE = "done"


class Part(Arguments):
    """One of the parts."""

    name: OneLine
    size: Annotated[int, Field(ge=1)] = 1


class Whole(Arguments):
    """What the tool of these tests takes."""

    title: OneLine
    status: Status = Status.OPEN
    several: list[Status] = Field(default_factory=list)
    notes: TextList = ()
    parts: list[Part] = Field(default_factory=list)
    extra: Annotated[dict[str, JsonValue], BeforeValidator(decode_object)] = Field(default_factory=dict)
    text: LongText | None = None
    even: int = 0
    share: Annotated[float | None, Field(le=1)] = None
    quick: bool = False
    labels: Annotated[TextList | None, Clearable] = None

    @field_validator("even")
    @classmethod
    def _is_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("Give an even number.")
        return number


SCHEMA = input_schema(Whole)


def read(arguments: dict[str, JsonValue]) -> Whole:
    return read_arguments(Whole, arguments, SCHEMA)


def refused(arguments: dict[str, JsonValue]) -> InvalidArguments:
    with pytest.raises(InvalidArguments) as caught:
        read(arguments)
    return caught.value


def fields(error: InvalidArguments) -> dict[str, str]:
    listed: Any = error.details["fields"]
    return {entry["path"]: entry["message"] for entry in listed}


@pytest.mark.requirement("TOOL-2")
def test_arguments_arrive_in_their_types() -> None:
    whole = read({"title": "a", "several": ["done"], "notes": '["x"]', "parts": [{"name": "p"}], "extra": '{"k":[1]}'})
    assert whole == Whole(title="a", several=[Status.DONE], notes=("x",), parts=[Part(name="p")], extra={"k": [1]})


@pytest.mark.requirement("TOOL-2")
@pytest.mark.parametrize("text", ["null", "123", '{"a":1}', "[1]", "true"])
def test_text_that_looks_like_json_stays_text(text: str) -> None:
    assert read({"title": text, "text": text}) == Whole(title=text, text=text)


@pytest.mark.requirement("PE-17")
@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"even": "2"}, 2),
        ({"even": "-2"}, -2),
        ({"share": "0.5"}, 0.5),
        ({"share": "1"}, 1),
        ({"share": "2e-1"}, 0.2),
        ({"quick": "true"}, True),
        ({"quick": "false"}, False),
        ({"parts": [{"name": "p"}, {"name": "q", "size": "3"}]}, [Part(name="p"), Part(name="q", size=3)]),
    ],
)
def test_text_is_accepted_for_a_number_or_a_boolean(arguments: dict[str, JsonValue], value: object) -> None:
    (name,) = arguments
    assert getattr(read({"title": "a", **arguments}), name) == value


@pytest.mark.requirement("PE-17")
@pytest.mark.parametrize(
    "arguments",
    [
        *({"even": text} for text in ["", "two", " 2", "2 ", "+2", "0x2", "2.5", "NaN", "true", '"2"', "[2]", "null"]),
        *({"quick": text} for text in ["True", "TRUE", "yes", "1", "0", " true", "null", ""]),
        *({"share": text} for text in ["1e999", ".5", "Infinity", "false"]),
        {"even": ["2"]},
        {"quick": 1},
        {"parts": [{"name": 5}]},
    ],
)
def test_nothing_else_changes_its_type(arguments: dict[str, JsonValue]) -> None:
    refused({"title": "a", **arguments})


@pytest.mark.requirement("PE-17")
def test_an_error_is_about_the_number_in_the_text() -> None:
    assert fields(refused({"title": "a", "share": "2", "even": "3", "quick": "false"})) == {
        "share": "Input should be less than or equal to 1",
        "even": "Give an even number.",
    }


class Decoded(Arguments):
    """Takes its parts as JSON text too."""

    parts: Annotated[list[Part], BeforeValidator(decode_object)]


@pytest.mark.requirement("PE-17")
def test_a_number_within_json_text_keeps_its_type() -> None:
    with pytest.raises(InvalidArguments) as caught:
        read_arguments(Decoded, {"parts": '[{"name": "p", "size": "2"}]'}, {})
    assert [*fields(caught.value)] == ["parts.0.size"]


class Nested(Whole):
    """Takes the same within, too."""

    inner: Whole | None = None


def warned(arguments: JsonValue) -> list[str]:
    warnings = WarningList()
    for _ in range(2):
        warn_of_joined_items(warnings, arguments, input_schema(Nested))
    return warnings.take()


@pytest.mark.requirement("PE-17")
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"notes": "a, b"}, "'notes'"),
        ({"labels": "a,b", "notes": '"a", "b"'}, "'labels', 'notes'"),
        ({"inner": {"notes": "[a, b"}}, "'inner.notes'"),
        ({"parts": [{"name": "a, b"}], "title": "a, b", "text": "a, b", "other": "a, b", "notes": ["a, b"]}, ""),
        ({"notes": '["a", "b"]'}, ""),
        ({"parts": json.dumps(["a"] * 300)}, ""),
        ({"notes": "a b"}, ""),
        ({"labels": None}, ""),
        (None, ""),
    ],
)
def test_text_with_commas_that_became_one_item_is_reported_each_time(arguments: JsonValue, names: str) -> None:
    message = f'Text with commas was kept as one item in {names}. For several items give ["a", "b"].'
    assert warned(arguments) == [message] * (2 if names else 0)


@pytest.mark.requirement("TOOL-2", "S1")
@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        pytest.param({}, "title", id="missing"),
        pytest.param({"title": 5}, "title", id="number for text"),
        pytest.param({"title": "a", "even": "two"}, "even", id="text for a number"),
        pytest.param({"title": "a", "even": True}, "even", id="truth for a number"),
        pytest.param({"title": "a", "even": 3}, "even", id="a rule of the model"),
        pytest.param({"title": "a", "status": "gone"}, "status", id="an unknown word"),
        pytest.param({"title": "a", "several": ["open", "gone"]}, "several.1", id="an unknown word in a list"),
        pytest.param({"title": "a", "notes": ["x", 5]}, "notes.1", id="an item of a wrong type"),
        pytest.param({"title": "a", "notes": '["x", 5]'}, "notes.1", id="an item in a JSON string"),
        pytest.param({"title": "a", "notes": "\ud800"}, "arguments", id="half a character"),
        pytest.param({"title": "a", "parts": [{"name": "p"}, {}]}, "parts.1.name", id="missing within a list"),
        pytest.param({"title": "a", "parts": [{"name": "p", "size": 0}]}, "parts.0.size", id="out of bounds"),
        pytest.param({"title": "a", "parts": [{"name": "p", "siz": 1}]}, "parts.0.siz", id="unknown within a list"),
        pytest.param({"title": "a", "titel": "b"}, "titel", id="unknown"),
    ],
)
def test_an_error_names_the_path_of_the_argument(arguments: dict[str, JsonValue], path: str) -> None:
    assert path in fields(refused(arguments))


@pytest.mark.requirement("TOOL-2", "ERR-4")
@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        pytest.param({"title": "a", "titel": "b"}, "title", id="at the top"),
        pytest.param({"title": "a", "siez": 1}, "size", id="of an object within"),
        pytest.param({"title": "a", "parts": [{"name": "p", "siez": 1}]}, "size", id="within"),
    ],
)
def test_an_unknown_argument_comes_with_the_one_that_was_meant(arguments: dict[str, JsonValue], meant: str) -> None:
    error = refused(arguments)
    assert error.details["near"] == [meant]
    assert f"Did you mean '{meant}'?" in error.message


@pytest.mark.requirement("TOOL-2", "ERR-4")
@pytest.mark.parametrize(
    ("arguments", "path", "advice"),
    [
        pytest.param({"title": "a", "size": 1}, "size", "Put it in 'parts'.", id="of an object within"),
        pytest.param(
            {"title": "a", "parts": [{"name": "p", "title": "b"}]},
            "parts.0.title",
            "Put it beside 'parts'.",
            id="above",
        ),
    ],
)
def test_an_argument_in_the_wrong_place_comes_with_the_right_one(
    arguments: dict[str, JsonValue], path: str, advice: str
) -> None:
    error = refused(arguments)
    assert fields(error)[path] == f"This argument does not exist. {advice}"
    assert "near" not in error.details


def test_an_unknown_argument_that_is_like_no_other_comes_without_a_suggestion() -> None:
    error = refused({"title": "a", "zzz": 1})
    known = "title, status, several, notes, parts, extra, text, even, share, quick, labels"
    assert fields(error) == {"zzz": f"This argument does not exist. There are: {known}."}
    assert "near" not in error.details


@pytest.mark.requirement("PE-18")
@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ({"titel": "b"}, "titel", "This argument does not exist. Did you mean 'title'? There are: title, status"),
        ({"parts": [{"name": "p", "zzz": 1}]}, "parts.0.zzz", "This argument does not exist. There are: name, size."),
        ({"yyy": 1, "zzz": 1}, "zzz", "This argument does not exist."),
    ],
)
def test_an_unknown_argument_teaches_which_there_are(arguments: dict[str, JsonValue], path: str, message: str) -> None:
    found = fields(refused({"title": "a", **arguments}))[path]
    assert found.startswith(message)
    assert ("There are" in found) is ("There are" in message)


def test_a_rule_of_the_model_uses_its_own_words() -> None:
    assert fields(refused({"title": "a", "even": 1})) == {"even": "Give an even number."}


@pytest.mark.requirement("TOOL-3")
def test_a_repeated_key_in_a_json_string_is_an_error_of_its_own() -> None:
    with pytest.raises(DuplicateKey):
        read({"title": "a", "extra": '{"k":1,"k":2}'})


@pytest.mark.requirement("ERR-1", "S1")
def test_the_value_of_an_argument_is_never_repeated() -> None:
    secret = "correct horse"  # noqa: S105
    error = refused({"title": [secret], "text": {"a": secret}, "status": secret, "parts": secret, "even": secret})
    assert secret not in str((error.message, error.details))


@pytest.mark.requirement("TOOL-3", "S1")
@settings(max_examples=30)
@given(st.lists(st.text("xyz", min_size=1, max_size=300), min_size=1, max_size=40, unique=True))
def test_an_error_repeats_little_of_what_it_was_given(names: list[str]) -> None:
    error = refused({"title": "a", **dict.fromkeys(names, 1)})
    assert 1 <= len(fields(error)) <= len(names)
    assert sum(len(path) for path in fields(error)) <= 200

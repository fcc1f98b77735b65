"""Schemas that a model is shown are small, portable, and true to the models behind them."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from task_core.fields import Arguments
from task_core.server.schema import explain_invalid, input_schema, output_schema


class Colour(Enum):
    """A docstring for engineers."""

    RED = "red"
    BLUE = "blue"


class Inner(Arguments):
    """A docstring for engineers."""

    title: Annotated[str, Field(description="What it is called.")]
    default: int | None = None


class Branch(Arguments):
    """A docstring for engineers."""

    name: str
    branches: tuple[Branch, ...] = ()


class Outer(Arguments):
    """A docstring for engineers."""

    title: Annotated[str, Field(max_length=5)]
    colour: Annotated[Colour | None, Field(description="Its colour.")] = None
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    mixed: int | list[int] | None = None
    cleared: Literal["a"] | None = Field(default_factory=lambda: None)
    anything: dict[str, JsonValue] = Field(default_factory=dict)
    pair: tuple[int, str] = (1, "a")
    by_name: dict[str, Inner] | None = None


class Open(Arguments):
    """Takes any further argument."""

    model_config = ConfigDict(extra="allow")


@pytest.mark.requirement("TOOL-1", "TOOL-4")
def test_the_schema_of_arguments_has_no_noise_and_no_references() -> None:
    inner = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string", "description": "What it is called."},
            "default": {"type": "integer"},
        },
        "required": ["title"],
    }
    pair = [{"type": "integer"}, {"type": "string"}]
    assert input_schema(Outer) == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string", "maxLength": 5},
            "colour": {"type": "string", "enum": ["red", "blue"], "description": "Its colour."},
            "inner": inner,
            "many": {"type": "array", "items": inner, "default": []},
            "mixed": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
            "cleared": {"anyOf": [{"type": "string", "const": "a"}, {"type": "null"}]},
            "anything": {"type": "object", "additionalProperties": True},
            "pair": {"type": "array", "prefixItems": pair, "minItems": 2, "maxItems": 2, "default": [1, "a"]},
            "by_name": {"type": "object", "additionalProperties": inner},
        },
        "required": ["title"],
    }


@pytest.mark.requirement("TOOL-4")
def test_a_type_within_itself_is_any_object_and_needs_no_reference() -> None:
    assert input_schema(Branch) == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string"},
            "branches": {"type": "array", "items": {"type": "object"}, "default": []},
        },
        "required": ["name"],
    }


@pytest.mark.requirement("TOOL-2")
@pytest.mark.parametrize(("model", "is_open"), [(Inner, False), (Open, True)], ids=["closed", "open"])
def test_a_schema_says_whether_further_arguments_are_taken(model: type[BaseModel], *, is_open: bool) -> None:
    assert input_schema(model)["additionalProperties"] is is_open


class Shown(BaseModel):
    """A docstring for engineers."""

    id: str = Field(max_length=5, description="The id.")
    colour: Colour = Colour.RED
    inner: list[Inner]
    either: Literal["a", 1] | None = None


@pytest.mark.requirement("WARN-1", "TOOL-4")
def test_the_schema_of_a_result_is_its_shape_and_the_warnings_that_may_come_along() -> None:
    default = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    inner = {"type": "object", "properties": {"title": {"type": "string"}, "default": default}}
    assert output_schema(Shown) == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "colour": {"type": "string"},
            "inner": {"type": "array", "items": inner},
            "either": {"anyOf": [{"enum": ["a", 1]}, {"type": "null"}]},
            "warnings": {"type": "array"},
        },
    }


def test_the_names_of_properties_are_found_at_every_level() -> None:
    for name in Inner.model_fields.keys() - Outer.model_fields.keys():
        with pytest.raises(ValidationError) as caught:
            Outer.model_validate({name: 1})
        assert "Put it in 'inner'" in str(explain_invalid(caught.value, input_schema(Outer)).details)

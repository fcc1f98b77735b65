"""Schemas that a model is shown are small and say the same as the models behind them."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from task_core.fields import Arguments
from task_core.server.schema import input_schema, output_schema, property_names


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
    branches: list[Branch] = Field(default=[])


class Outer(Arguments):
    """A docstring for engineers."""

    title: Annotated[str, Field(max_length=5)]
    colour: Annotated[Colour | None, Field(description="Its colour.")] = None
    inner: Inner | None = None
    many: list[Inner] = Field(default=[])
    mixed: int | list[int] | None = None
    one: Literal["a"] | None = None
    pair: tuple[int, str] = (1, "a")
    by_name: dict[str, Inner] = Field(default={})


class Open(Arguments):
    """Takes any further argument."""

    model_config = ConfigDict(extra="allow")


def test_the_schema_of_arguments_has_no_noise_and_no_references() -> None:
    inner = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string", "description": "What it is called."},
            "default": {"type": ["integer", "null"]},
        },
        "required": ["title"],
    }
    assert input_schema(Outer) == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string", "maxLength": 5},
            "colour": {"type": ["string", "null"], "enum": ["red", "blue", None], "description": "Its colour."},
            "inner": {**inner, "type": ["object", "null"]},
            "many": {"type": "array", "items": inner, "default": []},
            "mixed": {
                "anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}, {"type": "null"}]
            },
            "one": {"anyOf": [{"type": "string", "const": "a"}, {"type": "null"}]},
            "pair": {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
                "default": [1, "a"],
            },
            "by_name": {"type": "object", "additionalProperties": inner, "default": {}},
        },
        "required": ["title"],
    }


def test_a_type_that_contains_itself_is_defined_once_and_never_at_the_root_only_by_reference() -> None:
    branch: dict[str, JsonValue] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string"},
            "branches": {"type": "array", "items": {"$ref": "#/$defs/Branch"}, "default": []},
        },
        "required": ["name"],
    }
    assert input_schema(Branch) == {**branch, "$defs": {"Branch": branch}}


@pytest.mark.parametrize(("model", "closed"), [(Inner, False), (Open, True)], ids=["closed", "open"])
def test_a_schema_says_whether_further_arguments_are_taken(model: type[BaseModel], *, closed: bool) -> None:
    assert input_schema(model)["additionalProperties"] is closed


class Shown(BaseModel):
    """A docstring for engineers."""

    id: str = Field(max_length=5, description="The id.")
    colour: Colour = Colour.RED
    inner: list[Inner]


@pytest.mark.requirement("WARN-1", "TOOL-4")
def test_the_schema_of_a_result_is_its_shape_and_the_warnings_that_may_come_along() -> None:
    inner = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "default": {"type": ["integer", "null"]}},
        "required": ["title"],
    }
    assert output_schema(Shown) == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "colour": {"type": "string", "enum": ["red", "blue"]},
            "inner": {"type": "array", "items": inner},
            "warnings": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["id", "inner"],
    }


def test_property_names_are_found_at_every_level() -> None:
    assert set(property_names(input_schema(Outer))) >= {"title", "colour", "pair", "default"}

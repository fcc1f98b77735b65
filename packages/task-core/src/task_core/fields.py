"""The argument types that every server shares, with the common limits (TOOL-2, TOOL-3, S1).

For a limit of its own a server writes ``Annotated[str, Line(200)]`` with a rule from ``task_core.rules``.
A repeated key in a JSON string leaves the validation as ``DuplicateKey``, never wrapped.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError
from typing_extensions import override

from task_core.rules import Line, Rule, Text, Texts, json_in, refused, well_formed
from task_core.strict_json import NotJson

__all__ = [
    "MAX_KEYS",
    "MAX_NESTING",
    "MAX_PATH",
    "Arguments",
    "FreeObject",
    "FreeValue",
    "LongText",
    "OneLine",
    "PathText",
    "TextList",
    "decoded_object",
]

MAX_KEYS: Final = 50
"""Keys of an object of extra fields (TOOL-3)."""

MAX_NESTING: Final = 32
"""Levels of a free value; the value itself is the first (TOOL-3)."""

MAX_PATH: Final = 1_024
"""Bytes of a path or URL in UTF-8 (TOOL-3, S2)."""


class Arguments(BaseModel):
    """The arguments of one tool, or an object within them: closed, strictly typed and frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True, slots=True)
class _Free(Rule):
    """Any JSON value within the limits; text stays text, even where it looks like JSON."""

    @override
    def check(self, value: object) -> object:
        """Return ``value`` unchanged.

        Raises:
            PydanticCustomError: it is no JSON value, or past a limit.
            DuplicateKey: it is a JSON string that repeats a key (TOOL-3).
        """
        _check_free(value, MAX_NESTING)
        if isinstance(value, str):
            with suppress(NotJson):
                json_in(value)
        return value

    @override
    def schema(self) -> JsonSchemaValue:
        """Return the schema that takes everything."""
        return {}


@dataclass(frozen=True, slots=True)
class _FreeMembers(Rule):
    """A JSON object within the limits, or a JSON string of one."""

    @override
    def check(self, value: object) -> object:
        """Return the object.

        Raises:
            PydanticCustomError: it is no JSON object, or past a limit.
            DuplicateKey: it is a JSON string that repeats a key (TOOL-3).
        """
        members = decoded_object(value)
        if not isinstance(members, dict):
            raise refused("Give a JSON object.")
        if len(members) > MAX_KEYS:
            raise refused(f"Give at most {MAX_KEYS} keys; there are {len(members):,}.")
        _check_free(members, MAX_NESTING)
        for name in members:
            _check_name(name)
        return members

    @override
    def schema(self) -> JsonSchemaValue:
        """Return the schema of an open object."""
        return {"type": "object", "maxProperties": MAX_KEYS}


@dataclass(frozen=True, slots=True)
class _Path(Rule):
    """A path or URL of 1 to 1,024 bytes; where it leads is for ``task_core.paths`` to judge."""

    @override
    def check(self, value: object) -> str:
        """Return ``value`` unchanged when its size is right."""
        path = well_formed(value)
        size = len(path.encode("utf-8"))
        if not path:
            raise refused("Give a path or an http(s) URL, or leave it out.")
        if size > MAX_PATH:
            raise refused(f"Shorten it to {MAX_PATH:,} bytes in UTF-8; it has {size:,}.")
        return path

    @override
    def schema(self) -> JsonSchemaValue:
        """Return a string schema whose limit counts characters, the nearest that a schema can say."""
        return {"type": "string", "minLength": 1, "maxLength": MAX_PATH}


OneLine = Annotated[str, Line()]
"""1 to 500 characters on one line."""

LongText = Annotated[str, Text()]
"""At most 100,000 characters."""

TextList = Annotated[tuple[str, ...], Texts()]
"""At most 200 texts."""

FreeObject = Annotated[dict[str, JsonValue], _FreeMembers()]
"""An object of at most 50 keys and 32 levels, the object itself the first."""

FreeValue = Annotated[JsonValue, _Free()]
"""Any JSON value of at most 32 levels."""

PathText = Annotated[str, _Path()]
"""A path or URL of at most 1,024 bytes."""


def decoded_object(value: object) -> object:
    """Return what stands in ``value`` when it is a JSON string in place of an object, else ``value`` itself (TOOL-2).

    Raises:
        PydanticCustomError: the string is not JSON.
        DuplicateKey: it repeats a key (TOOL-3).
    """
    if not isinstance(value, str):
        return value
    try:
        return json_in(well_formed(value))
    except NotJson as error:
        raise refused(f"Give a JSON object; this text is not JSON: {error}.") from None


def _check_name(name: object) -> None:
    try:
        Line().check(name)
    except PydanticCustomError as error:
        raise refused(f"Correct the name of a key: {error}") from None


def _check_free(value: object, levels: int) -> None:
    if isinstance(value, str):
        Text().check(value)
    elif isinstance(value, (dict, list)):
        if not levels:
            raise refused(f"Nest it at most {MAX_NESTING} levels deep.")
        for part in _parts(value):
            _check_free(part, levels - 1)
    elif isinstance(value, float) and not isfinite(value):
        raise refused("Give finite numbers: NaN and Infinity are not JSON.")
    elif not (value is None or isinstance(value, (int, float))):
        raise refused("Give a JSON value.")


def _parts(container: dict[object, object] | list[object]) -> Iterable[object]:
    if isinstance(container, list):
        return container
    for key in container:
        well_formed(key)
    return container.values()

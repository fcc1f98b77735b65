"""The types of free values and of paths in arguments (TOOL-3, S2)."""

from contextlib import suppress
from math import isfinite
from typing import Annotated, Final

from pydantic import JsonValue, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from task_core.fields import check_well_formed, decode_object, invalid_value, line, parse_json, text
from task_core.strict_json import NotJson

__all__ = ["MAX_KEYS", "MAX_NESTING", "MAX_PATH", "FreeObject", "FreeValue", "PathText"]

MAX_KEYS: Final = 50
"""Keys of an object of extra fields (TOOL-3)."""

MAX_NESTING: Final = 32
"""Levels of a free value; the value itself is the first (TOOL-3)."""

MAX_PATH: Final = 1_024
"""Bytes of a path or URL in UTF-8 (TOOL-3, S2)."""


def _free_value(value: object) -> object:
    # Text stays text, even if it looks like JSON; but text that looks like JSON must not repeat a key.
    _check_free(value, MAX_NESTING)
    if isinstance(value, str):
        with suppress(NotJson):
            parse_json(value)
    return value


def _free_object(value: object) -> object:
    members = decode_object(value)
    if not isinstance(members, dict):
        raise invalid_value("Give a JSON object.")
    if len(members) > MAX_KEYS:
        raise invalid_value(f"Give at most {MAX_KEYS} keys; there are {len(members):,}.")
    _check_free(members, MAX_NESTING)
    for name in members:
        try:
            line(name)
        except PydanticCustomError as error:
            raise invalid_value(f"Correct the name of a key: {error}") from None
    return members


def _path(value: object) -> str:
    path = check_well_formed(value)
    size = len(path.encode("utf-8"))
    if not path:
        raise invalid_value("Give a path or an http(s) URL, or leave it out.")
    if size > MAX_PATH:
        raise invalid_value(f"Shorten it to {MAX_PATH:,} bytes in UTF-8; it has {size:,}.")
    return path


def _check_free(value: object, levels: int) -> None:
    if isinstance(value, str):
        text(value)
    elif isinstance(value, (dict, list)):
        if not levels:
            raise invalid_value(f"Nest it at most {MAX_NESTING} levels deep.")
        for part in value.values() if isinstance(value, dict) else value:
            _check_free(part, levels - 1)
        for key in value if isinstance(value, dict) else ():
            check_well_formed(key)
    elif isinstance(value, float) and not isfinite(value):
        raise invalid_value("Give finite numbers: NaN and Infinity are not JSON.")
    elif not (value is None or isinstance(value, (int, float))):
        raise invalid_value("Give a JSON value.")


FreeObject = Annotated[
    dict[str, JsonValue], PlainValidator(_free_object), WithJsonSchema({"type": "object", "maxProperties": MAX_KEYS})
]
"""An object of at most 50 keys and 32 levels, the object itself the first, or a JSON string of one."""

FreeValue = Annotated[JsonValue, PlainValidator(_free_value), WithJsonSchema({})]
"""Any JSON value of at most 32 levels."""

PathText = Annotated[str, PlainValidator(_path), WithJsonSchema({"type": "string", "maxLength": MAX_PATH})]
"""A path or URL of at most 1,024 bytes; ``paths`` checks where it leads."""

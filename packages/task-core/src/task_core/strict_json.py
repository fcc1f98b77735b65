"""Strict reading of JSON: what the standard library's reader would alter, drop or invent is refused (TOOL-3, L1)."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import chain
from math import isinf
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue  # importing it would cost ten times as much as this module

__all__ = ["MAX_DEPTH", "JsonReading", "NotJson", "TooDeep", "read"]

MAX_DEPTH: Final = 200
"""Levels of nesting that are read by default: other JSON readers on the way stop there too."""

_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD]")
"""The start of every escape that can encode a surrogate."""


class NotJson(ValueError):
    """The text is not JSON; the message says what is wrong and where, on one line.

    ``offset`` counts the characters before the fault; ``literal`` is the text of an invalid number.
    """

    def __init__(self, message: str, offset: int = 0, literal: str = "") -> None:
        super().__init__(message)
        self.offset = offset
        self.literal = literal


class TooDeep(NotJson):
    """The text nests deeper than its reader allows."""

    def __init__(self, max_depth: int) -> None:
        super().__init__(f"nested deeper than {max_depth} levels")


class JsonReading(NamedTuple):
    """The value of a JSON text, and what a strict reader objects to in it.

    If a key repeats, ``value`` holds its last value, and ``duplicate_keys`` names the key once.
    """

    value: JsonValue
    duplicate_keys: tuple[str, ...]
    has_lone_surrogate: bool


def read(data: str | bytes, *, max_depth: int = MAX_DEPTH) -> JsonReading:
    """Read one JSON text, bytes as UTF-8 without a byte order mark, at most ``max_depth`` levels deep; ``[]`` has one.

    Raises:
        TooDeep: it nests deeper.
        NotJson: it is not JSON; neither are NaN, Infinity, numbers beyond the range of a float, integers with
            more digits than the interpreter reads, and invalid UTF-8.
    """
    text = _decode(data)
    repeated: list[str] = []

    def as_object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        members = dict(pairs)
        if len(members) != len(pairs):
            repeated.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return members

    numbers = {"parse_float": _read_float, "parse_int": _read_integer, "parse_constant": _refuse}
    decoder = json.JSONDecoder(object_pairs_hook=as_object, **numbers)
    try:
        value: JsonValue = decoder.decode(text)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise NotJson(f"{what} at line {error.lineno}, column {error.colno}", error.pos) from None
    except RecursionError:
        raise TooDeep(max_depth) from None
    if text.count("[") + text.count("{") > max_depth:
        _check_depth(value, max_depth)
    return JsonReading(value, tuple(dict.fromkeys(repeated)), _has_lone_surrogate(data, text, value))


def _decode(data: str | bytes) -> str:
    if isinstance(data, str):
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        start = len(data[: error.start].decode())
        raise NotJson(f"invalid UTF-8 at byte {error.start}", start) from None


def _read_float(literal: str) -> float:
    number = float(literal)
    if isinf(number):
        raise NotJson("a number is too large for a float", literal=literal)
    return number


def _read_integer(literal: str) -> int:
    try:
        return int(literal)
    except ValueError:
        raise NotJson("an integer has too many digits", literal=literal) from None


def _refuse(literal: str) -> NoReturn:
    raise NotJson(f"{literal} is not a JSON number", literal=literal)


def _check_depth(value: JsonValue, max_depth: int) -> None:
    level: Sequence[JsonValue] = [value]
    for _ in range(max_depth + 1):
        lists = [part for part in level if type(part) is list]
        dicts = [part for part in level if type(part) is dict]
        if not (lists or dicts):
            return
        level = [*chain.from_iterable(lists), *chain.from_iterable(part.values() for part in dicts)]
    raise TooDeep(max_depth)


def _has_lone_surrogate(data: str | bytes, text: str, value: JsonValue) -> bool:
    # Text decoded from bytes can hold one only as an escape; encoding is the fastest way to find it.
    try:
        if text is data:
            text.encode("utf-8")
        if _SURROGATE_ESCAPE.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False

"""Strict reading of JSON: what a lenient reader would bend, drop or invent is refused or reported (TOOL-3, L1).

The stdlib's reader does the work at its own speed; what it lets pass is caught beside it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Final, NoReturn

from pydantic import JsonValue

from task_core.errors import DuplicateKey

__all__ = ["MAX_DEPTH", "NotJson", "Reading", "TooDeep", "loads", "read"]

MAX_DEPTH: Final = 200
"""Levels of nesting that are read unless told otherwise: other JSON readers on the way stop there too."""

_CONTAINERS: Final = frozenset({dict, list})
"""The types that nest; the reader makes these very classes, and a set of them is faster than ``isinstance``."""

_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD]")
"""The start of every escape that can stand for a surrogate."""


class NotJson(ValueError):
    """The text is not JSON; the message says what is wrong and where, on one line."""


class TooDeep(NotJson):
    """The text nests deeper than its reader allows."""

    def __init__(self, max_depth: int) -> None:
        super().__init__(f"nested deeper than {max_depth} levels")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a JSON text says, and what a strict reader has against it.

    Where a key repeats, ``value`` holds what stood last, and ``duplicate_keys`` names the key once.
    """

    value: JsonValue
    duplicate_keys: tuple[str, ...]
    has_lone_surrogate: bool


def read(data: str | bytes, *, max_depth: int = MAX_DEPTH) -> Reading:
    """Read one JSON text, bytes as UTF-8 without a byte order mark, at most ``max_depth`` levels deep.

    A scalar has no level; ``[]`` has one.

    Raises:
        TooDeep: it nests deeper.
        NotJson: it is not JSON: NaN, Infinity, numbers past the range of a float, integers past the
            interpreter's limit of digits and invalid UTF-8 are not.
    """
    text = _decoded(data)
    repeated: list[str] = []

    def as_object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        members = dict(pairs)
        if len(members) != len(pairs):
            repeated.extend(_repeated_keys(pairs))
        return members

    decoder = json.JSONDecoder(object_pairs_hook=as_object, parse_float=_finite, parse_constant=_refuse_constant)
    value = _decode(decoder, text, max_depth)
    if text.count("[") + text.count("{") > max_depth:
        _check_depth(value, max_depth)
    return Reading(value, tuple(dict.fromkeys(repeated)), _has_lone_surrogate(data, text, value))


def loads(data: str | bytes, *, max_depth: int = MAX_DEPTH) -> JsonValue:
    """Return the value of one JSON text that has nothing against it.

    Raises:
        TooDeep: it nests deeper than ``max_depth`` levels.
        NotJson: it is not JSON, or it holds a lone surrogate, which could not be written again.
        DuplicateKey: an object in it names a key more than once.
    """
    reading = read(data, max_depth=max_depth)
    if reading.duplicate_keys:
        raise DuplicateKey(reading.duplicate_keys)
    if reading.has_lone_surrogate:
        raise NotJson("a lone surrogate is no character")
    return reading.value


def _decoded(data: str | bytes) -> str:
    if isinstance(data, str):
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"invalid UTF-8 at byte {error.start}") from None


def _decode(decoder: json.JSONDecoder, text: str, max_depth: int) -> JsonValue:
    try:
        value: JsonValue = decoder.decode(text)
    except NotJson:
        raise
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise NotJson(f"{what} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise TooDeep(max_depth) from None
    except ValueError:
        raise NotJson("an integer has too many digits") from None
    return value


def _finite(literal: str) -> float:
    number = float(literal)
    if isinf(number):
        raise NotJson("a number is too large for a float")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is no JSON number")


def _repeated_keys(pairs: Sequence[tuple[str, JsonValue]]) -> list[str]:
    return [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]


def _check_depth(value: JsonValue, max_depth: int) -> None:
    level: list[JsonValue] = [[value]]
    for _ in range(max_depth + 1):
        level = [child for parent in level for child in _children(parent) if type(child) in _CONTAINERS]
        if not level:
            return
    raise TooDeep(max_depth)


def _children(container: JsonValue) -> Iterable[JsonValue]:
    if isinstance(container, dict):
        return container.values()
    return container if isinstance(container, list) else ()


def _has_lone_surrogate(data: str | bytes, text: str, value: JsonValue) -> bool:
    # Text that was bytes can hold one only as an escape; encoding is the fastest way to find it.
    try:
        if text is data:
            text.encode("utf-8")
        if _SURROGATE_ESCAPE.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False

"""Rules for text arguments: a check with a message for the model, and a small JSON schema (TOOL-2, TOOL-3, S1).

A rule such as ``Line(200)`` stands in ``Annotated[str, ...]`` as the type of an argument.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema
from typing_extensions import override

from task_core import strict_json
from task_core.errors import DuplicateKey

__all__ = [
    "MAX_LINE",
    "MAX_LIST",
    "MAX_TEXT",
    "Line",
    "Rule",
    "Text",
    "Texts",
    "json_in",
    "refused",
    "well_formed",
]

MAX_LINE: Final = 500
"""Characters of a one-line field: an id, a name, a title, the name of an extra field (TOOL-3)."""

MAX_TEXT: Final = 100_000
"""Characters of a text field, and of a text within a free value (TOOL-3)."""

MAX_LIST: Final = 200
"""Items of a list (TOOL-3)."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""What no line may hold: C0, DEL, C1, and the separators that break a line."""


def refused(message: str) -> PydanticCustomError:
    """Return the error that a check raises, with a sentence for the model as its message."""
    return PydanticCustomError("refused", "{message}", {"message": message})


def well_formed(value: object) -> str:
    """Return ``value`` when it is text that UTF-8 can write.

    Raises:
        PydanticCustomError: it is no text, or holds a lone surrogate.
    """
    if not isinstance(value, str):
        raise refused("Give text, as a JSON string.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise refused("Leave out the lone surrogate: it is half a character.") from None
    return value


def json_in(text: str) -> JsonValue:
    """Return what a string argument says as JSON.

    Raises:
        NotJson: it is not JSON.
        DuplicateKey: an object in it names a key more than once (TOOL-3).
    """
    reading = strict_json.read(text)
    if reading.duplicate_keys:
        raise DuplicateKey(reading.duplicate_keys)
    return reading.value


class Rule(ABC):
    """A check of one argument, for use in ``Annotated``, together with its JSON schema."""

    @abstractmethod
    def check(self, value: object) -> object:
        """Return the argument as the tool gets it.

        Raises:
            PydanticCustomError: it breaks the rule.
        """

    @abstractmethod
    def schema(self) -> JsonSchemaValue:
        """Return the JSON schema that a model is shown."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic call the check in place of its own."""
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Let pydantic publish the small schema."""
        return self.schema()


@dataclass(frozen=True, slots=True)
class Text(Rule):
    """Text of at most ``maximum`` characters; ``advice``, a sentence, follows in the message when it is longer."""

    maximum: int = MAX_TEXT
    advice: str = ""

    @override
    def check(self, value: object) -> str:
        """Return ``value`` unchanged when it is well-formed text within the limit."""
        text = well_formed(value)
        if len(text) > self.maximum:
            raise refused(f"Shorten it to {self.maximum:,} characters; it has {len(text):,}. {self.advice}".rstrip())
        return text

    @override
    def schema(self) -> JsonSchemaValue:
        """Return a string schema with the limit."""
        return {"type": "string", "maxLength": self.maximum}


@dataclass(frozen=True, slots=True)
class Line(Rule):
    """One to ``maximum`` characters on one line, not all blank, without control characters."""

    maximum: int = MAX_LINE

    @override
    def check(self, value: object) -> str:
        """Return ``value`` unchanged when it is such a line."""
        line = Text(self.maximum).check(value)
        if not line.strip():
            raise refused("Give it at least one character that is not blank.")
        if _CONTROL.search(line):
            raise refused("Write it on one line, without line breaks, tabs and other control characters.")
        return line

    @override
    def schema(self) -> JsonSchemaValue:
        """Return a string schema with both limits."""
        return {"type": "string", "minLength": 1, "maxLength": self.maximum}


@dataclass(frozen=True, slots=True)
class Texts(Rule):
    """A list of at most ``maximum`` items that each keep the rule ``item``; the tool gets a tuple.

    A string that is a JSON list is decoded; any other string is the only item (TOOL-2).
    """

    item: Line | Text = Text()
    maximum: int = MAX_LIST

    @override
    def check(self, value: object) -> list[object]:
        """Return the items, not yet checked one by one.

        Raises:
            PydanticCustomError: ``value`` is no list and no string, or has too many items.
            DuplicateKey: a JSON string in place of the list repeats a key.
        """
        items = _listed(value)
        if len(items) > self.maximum:
            raise refused(f"Give at most {self.maximum:,} items; there are {len(items):,}.")
        return items

    @override
    def schema(self) -> JsonSchemaValue:
        """Return an array schema; that a lone string is taken too is a kindness, not an offer."""
        return {"type": "array", "items": {"type": "string"}, "maxItems": self.maximum}

    @override
    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic check the items, so that an error carries the position of the item."""
        item = self.item.__get_pydantic_core_schema__(source, handler)
        items = core_schema.tuple_schema([item], variadic_item_index=0, strict=False)
        return core_schema.no_info_before_validator_function(self.check, items)


def _listed(value: object) -> list[object]:
    if isinstance(value, str):
        return _listed_in(value)
    if isinstance(value, (list, tuple)):
        return list(value)
    raise refused("Give a list of texts.")


def _listed_in(text: str) -> list[object]:
    with suppress(strict_json.NotJson):
        decoded = json_in(text)
        if isinstance(decoded, list):
            return list(decoded)
    return [text]

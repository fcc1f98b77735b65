"""The argument types that every server shares, with the common limits, and the checks that they are made of (S1).

Each check returns what the caller sent, or raises a ``PydanticCustomError`` that says in a sentence for the model what
is wrong with it (TOOL-2, TOOL-3). A repeated key in a JSON string leaves the validation as ``DuplicateKey``.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from task_core.errors import DuplicateKey, quote_names
from task_core.strict_json import NotJson, read
from task_core.text import nearest
from task_core.warning_list import WarningList

__all__ = [
    "CLEARABLE",
    "MAX_LINE",
    "MAX_LIST",
    "MAX_TEXT",
    "Arguments",
    "AsInteger",
    "Clearable",
    "LongText",
    "OneLine",
    "PlainLine",
    "TextList",
    "as_integer",
    "at_most",
    "check_well_formed",
    "check_word",
    "decode_object",
    "invalid_value",
    "line",
    "match_word",
    "one_of",
    "parse_json",
    "text",
    "texts",
    "warn_of_joined_items",
]

MAX_LINE: Final = 500
"""Characters of a one-line field: an id, a name, a title, the name of an extra field (TOOL-3)."""

MAX_TEXT: Final = 100_000
"""Characters of a text field, and of a text within a free value (TOOL-3)."""

MAX_LIST: Final = 200
"""Items of a list (TOOL-3)."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that no line may contain: C0, DEL, C1, and the separators that break a line."""


class Arguments(BaseModel):
    """The arguments of one tool, or an object within them: closed, strictly typed and frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @property
    def given(self) -> dict[str, object]:
        """The arguments that were given, null ones too, by name; without those that are not fields."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}


def invalid_value(message: str) -> PydanticCustomError:
    """Return the error that a check raises, with a sentence for the model as its message."""
    return PydanticCustomError("refused", "{message}", {"message": message})


def check_well_formed(value: object) -> str:
    """Return ``value`` if it is text that UTF-8 can encode, without lone surrogates."""
    if not isinstance(value, str):
        raise invalid_value("Give text, as a JSON string.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise invalid_value("Leave out the lone surrogate: it is half a character.") from None
    return value


def text(value: object, *, maximum: int = MAX_TEXT, advice: str = "") -> str:
    """Return ``value`` if it is text of at most ``maximum`` characters; the error for a longer one adds ``advice``."""
    found = check_well_formed(value)
    if len(found) > maximum:
        raise invalid_value(f"Shorten it to {maximum:,} characters; it has {len(found):,}. {advice}".rstrip())
    return found


def line(value: object, *, maximum: int = MAX_LINE, advice: str = "") -> str:
    """Return ``value`` if it is such text on one line, not blank and without control characters."""
    found = text(value, maximum=maximum, advice=advice)
    if not found.strip():
        raise invalid_value("Give it at least one character that is not blank.")
    if _CONTROL.search(found):
        raise invalid_value("Write it on one line, without line breaks, tabs or other control characters.")
    return found


def match_word(value: object, words: Iterable[str]) -> str | None:
    """Return the one of ``words`` that is ``value`` but for case, hyphens, underscores and spaces, or None (PE-18)."""
    found = [word for word in words if isinstance(value, str) and _bare(word) == _bare(value)]
    return found[0] if len(found) == 1 else None


def check_word(value: object, words: Sequence[str], *, advice: str = "") -> str:
    """Return the word that ``match_word`` finds; the error has all words, the nearest one and ``advice`` (ERR-4)."""
    if found := match_word(value, words):
        return found
    near = nearest(value, words) if isinstance(value, str) else []
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise invalid_value(f"Give one of {', '.join(words)}.{hint} {advice}".rstrip())


def one_of(
    words: Iterable[str], kind: Callable[[str], object] = str, *, advice: str = ""
) -> tuple[PlainValidator, WithJsonSchema]:
    """Return the check of a word that must be one of ``words``, from which ``kind`` makes the value, and its schema."""
    names = [*map(str, words)]
    check = PlainValidator(lambda value: kind(check_word(value, names, advice=advice)))
    return check, WithJsonSchema({"type": "string", "enum": names})


def at_most(maximum: int, check: Callable[..., str] = text, **options: str) -> tuple[PlainValidator, WithJsonSchema]:
    """Return the check of a text, or of a ``line``, of so many characters, and its schema."""
    schema = {"type": "string", "maxLength": maximum}
    return PlainValidator(partial(check, maximum=maximum, **options)), WithJsonSchema(schema)


def _bare(text: str) -> str:
    return re.sub(r"[-_\s]", "", text).casefold()


def texts(value: object, *, maximum: int = MAX_LIST) -> tuple[object, ...]:
    """Return the unchecked items of a list, at most ``maximum``; a string is a JSON list or one item (TOOL-2)."""
    if isinstance(value, str):
        value = _decode_items(value)
    if not isinstance(value, (list, tuple)):
        raise invalid_value("Give a list of strings.")
    if len(value) > maximum:
        raise invalid_value(f"Give at most {maximum:,} items; there are {len(value):,}.")
    return tuple(value)


def _decode_items(text: str) -> list[JsonValue]:
    decoded: JsonValue = None
    with suppress(NotJson):
        decoded = parse_json(text)
    return decoded if isinstance(decoded, list) else [text]


def warn_of_joined_items(warnings: WarningList, arguments: JsonValue, schema: JsonValue) -> None:
    """Warn of text with commas that is one item where ``schema`` has a list; do it just before warnings are taken."""
    if paths := [*_joined_items(arguments, schema)]:
        names = quote_names(paths)
        cause = f"joined items: {names}"
        warnings.add(cause, f'Text with commas was kept as one item in {names}. For several items give ["a", "b"].')
        warnings.settle(cause)


def _joined_items(value: JsonValue, schema: JsonValue, path: str = "") -> Iterator[str]:
    node: dict[str, Any] = schema if isinstance(schema, dict) else {}
    for option in [node, *node.get("anyOf", ())]:
        if isinstance(value, dict):
            properties = option.get("properties", {})
            for name in filter(properties.__contains__, value):
                yield from _joined_items(value[name], properties[name], f"{path}.{name}".removeprefix("."))
        elif isinstance(value, list):
            for place, item in enumerate(value):
                yield from _joined_items(item, option.get("items"), f"{path}.{place}")
        elif isinstance(value, str) and option.get("type") == "array":
            yield from [path] if "," in value and _decode_items(value) == [value] else ()


def parse_json(text: str) -> JsonValue:
    """Return the value of a string argument that holds JSON, or raise ``NotJson``, or ``DuplicateKey`` (TOOL-3)."""
    reading = read(text)
    if reading.duplicate_keys:
        raise DuplicateKey(reading.duplicate_keys)
    return reading.value


def decode_object(value: object, what: str = "object") -> object:
    """Decode ``value`` if it is a JSON string in place of an object, else return it as it is (TOOL-2)."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(check_well_formed(value))
    except NotJson as error:
        raise invalid_value(f"Give a JSON {what}; this text is not JSON: {error}.") from None


def as_integer(value: object) -> object:
    """Return a number such as 5.0 as an integer: JSON has one kind of number; other values are unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


CLEARABLE: Final = "clearable"
"""The JSON schema of an argument where null has a meaning of its own, such as clearing a field."""

Clearable: Final = Field(json_schema_extra={CLEARABLE: True})
"""Shows null in the schema of an optional argument."""

AsInteger: Final = BeforeValidator(as_integer)
"""The check of an integer that accepts 5.0 too; it comes after the bounds, so that the schema shows them."""

OneLine = Annotated[str, *at_most(MAX_LINE, line)]
"""1 to 500 characters on one line."""

PlainLine = Annotated[str, PlainValidator(line), WithJsonSchema({"type": "string"})]
"""The same, for tools of which a model needs few: the schema leaves the bound to the error (AG-1)."""

LongText = Annotated[str, *at_most(MAX_TEXT)]
"""At most 100,000 characters."""

TextList = Annotated[
    tuple[LongText, ...],
    BeforeValidator(texts),
    WithJsonSchema({"type": "array", "items": {"type": "string"}, "maxItems": MAX_LIST}),
]
"""At most 200 strings."""

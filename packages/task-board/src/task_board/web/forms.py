"""Forms made from the schema of the tool that they call."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from task_core.view import Action

__all__ = ["Difference", "Field", "as_text", "collect_arguments", "compare", "make_fields", "merge"]

_LONGEST_LINE: Final = 1_024
"""Characters; a text that may be longer gets a field of several lines."""


class Field(NamedTuple):
    """One field of a form."""

    name: str
    kind: str
    """``line``, ``text``, ``list`` or ``choice``"""
    choices: Sequence[str] = ()
    limit: int | None = None
    """characters, at most"""
    is_required: bool = False
    is_clearable: bool = False
    """true if null clears it"""


class Difference(NamedTuple):
    """A field that somebody else has changed, with both versions."""

    field: Field
    theirs: str
    yours: str
    is_disputed: bool
    """true if the user has changed it too, to something else"""


def make_fields(action: Action, schema: Mapping[str, Any], one_line: Collection[str]) -> list[Field]:
    """Return the fields of an action's form, by the input schema of its tool."""
    inner: Mapping[str, Any] = schema["properties"][action.inside] if action.inside else schema
    required = inner.get("required", ())
    return [_field(name, inner["properties"][name], required, one_line) for name in action.fields]


def _field(name: str, schema: Mapping[str, Any], required: Collection[str], one_line: Collection[str]) -> Field:
    options: Sequence[Mapping[str, Any]] = schema.get("anyOf", [schema])
    kinds = [option.get("type") for option in options]
    found = next(option for option in options if option.get("type") != "null")
    limit = found.get("maxLength")
    is_line = name in one_line or "pattern" in found or (limit or _LONGEST_LINE + 1) <= _LONGEST_LINE
    kind = "list" if found.get("type") == "array" else "choice" if "enum" in found else "line" if is_line else "text"
    return Field(name, kind, found.get("enum", ()), limit, name in required, "null" in kinds)


def as_text(value: JsonValue) -> str:
    """Return a stored value as a field shows it; a list has one line for each of its items."""
    if isinstance(value, list):
        return "\n".join(map(_as_item, value))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "" if value is None else text.replace("\r\n", "\n").replace("\r", "\n")


def _as_item(value: JsonValue) -> str:
    return as_text(value).replace("\n", " ")


def collect_arguments(
    fields: Sequence[Field], now: Mapping[str, str], was: Mapping[str, str], task: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Return the arguments for the fields that differ from what they were when the form was opened."""
    return {
        field.name: _value(field, now[field.name], task.get(field.name))
        for field in fields
        if now.get(field.name, "") != was.get(field.name, "")
    }


def _value(field: Field, text: str, stored: JsonValue) -> JsonValue:
    if not text and field.is_clearable:
        return None
    return _items(text, stored if isinstance(stored, list) else ()) if field.kind == "list" else text


def _items(text: str, stored: Sequence[JsonValue]) -> list[JsonValue]:
    """Return the items of a list; a line that the user left alone stays exactly the stored item."""
    left: dict[str, list[JsonValue]] = {}
    for item in stored:
        left.setdefault(_as_item(item), []).append(item)
    found: list[JsonValue] = []
    for line in text.split("\n"):
        if left.get(line):
            found.append(left[line].pop(0))
        elif line.strip():
            found.append(line.strip())
    return found


def compare(
    fields: Sequence[Field], now: Mapping[str, str], was: Mapping[str, str], task: Mapping[str, JsonValue]
) -> list[Difference]:
    """Return the fields that have changed in the task since the form was opened."""
    found: list[Difference] = []
    for field in fields:
        theirs, old, yours = as_text(task.get(field.name)), was.get(field.name, ""), now.get(field.name, "")
        if theirs != old:
            found.append(Difference(field, theirs, yours, yours not in (old, theirs)))
    return found


def merge(differences: Sequence[Difference], now: Mapping[str, str]) -> dict[str, str]:
    """Return the contents of a form in which the user's own changes stay, and the others' are taken over."""
    return {**now, **{it.field.name: it.theirs for it in differences if not it.is_disputed}}

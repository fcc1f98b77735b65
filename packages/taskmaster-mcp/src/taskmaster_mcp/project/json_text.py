"""JSON text that is changed in place: equal values keep their bytes, whatever the layout (TM-18, TM-20)."""

import json
import re
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from pydantic import JsonValue

from taskmaster_mcp.core.stored_words import is_same

__all__ = ["DEFAULT", "JsonPart", "Layout", "change_text", "detect_layout", "split_members"]

_DECODER: Final = json.JSONDecoder()

_SPACE: Final = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class Layout:
    """The layout of new text."""

    indent: str = "  "
    """for one level; empty: everything is on one line"""
    newline: str = "\n"

    def text(self, value: JsonValue, margin: str = "") -> str:
        """Return ``value`` as text whose last line begins with ``margin``."""
        if not self.indent:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        # A line break within a string is an escape, so each one here is between two tokens.
        return json.dumps(value, ensure_ascii=False, indent=self.indent).replace("\n", self.newline + margin)

    def member(self, key: str, value: JsonValue) -> "JsonPart":
        """Return a new member of the root."""
        lead = self.newline + self.indent if self.indent else ""
        return JsonPart(key, value, lead, self.key(key), self.text(value, self.indent))

    def key(self, key: str) -> str:
        """Return a key with its colon."""
        return json.dumps(key, ensure_ascii=False) + (": " if self.indent else ":")


DEFAULT: Final = Layout()
"""The layout of a new file."""


@dataclass(frozen=True)
class JsonPart:
    """A member of an object or an item of a list, with its text."""

    key: str
    """empty for an item"""
    value: Any = field(compare=False, repr=False)
    """nobody changes it"""
    lead: str
    """the space before it"""
    name: str
    """its key with the colon; empty for an item"""
    text: str
    """its value"""
    trail: str = ""
    """the space before the comma behind it, if there is one"""

    @property
    def whole(self) -> str:
        """All its text, from the bracket or comma before it to the one after it."""
        return self.lead + self.name + self.text + self.trail

    @property
    def layout(self) -> Layout:
        """The layout of its text."""
        return detect_layout(self.whole)

    def with_value(self, value: JsonValue) -> Self:
        """Return a member of the root with another value; what is equal keeps its bytes."""
        layout = self.layout
        text = change_text(self.text, json.loads(self.text), value, layout, layout.indent)
        return replace(self, value=value, text=text)

    def with_key(self, key: str) -> Self:
        """Return a member with another key."""
        end = _DECODER.raw_decode(self.name)[1]
        return replace(self, key=key, name=json.dumps(key, ensure_ascii=False) + self.name[end:])


def detect_layout(text: str) -> Layout:
    """Return the layout of a JSON text, by its second line (TM-20)."""
    second = re.search(r"(\r?\n)([ \t]*)", text)
    return Layout(second[2], second[1]) if second else Layout("")


def split_members(text: str, start: int = 0) -> tuple[list[JsonPart], int]:
    """Return the parts of the object or list at ``start`` of valid JSON, and where the last value ends."""
    parts: list[JsonPart] = []
    begin = end = start + 1
    while text[first := _after_space(text, begin)] not in "]}":
        key, at = "", first
        if text[start] == "{":
            key, at = _DECODER.raw_decode(text, first)
            at = _after_space(text, _after_space(text, at) + 1)
        value, end = _DECODER.raw_decode(text, at)
        stop = _after_space(text, end)
        is_last = text[stop] != ","
        trail = "" if is_last else text[end:stop]
        parts.append(JsonPart(key, value, text[begin:first], text[first:at], text[at:end], trail))
        begin = stop if is_last else stop + 1
    return parts, end


def change_text(text: str, old: JsonValue, new: JsonValue, layout: Layout, margin: str = "") -> str:
    """Return the text of ``new``, which replaces the ``text`` of ``old``; its closing bracket is at ``margin``.

    What is equal keeps its bytes. Items of a list are matched by their ids, others by their value.
    """
    if is_same(old, new):
        return text
    if isinstance(old, dict) and isinstance(new, dict) and old and new:
        return _changed_object(text, new, layout, margin)
    if isinstance(old, list) and isinstance(new, list) and old and new:
        return _changed_list(text, new, layout, margin)
    return layout.text(new, margin)


def _changed_object(text: str, new: dict[str, JsonValue], layout: Layout, margin: str) -> str:
    parts, end = split_members(text)
    pieces = [_changed(part, new[part.key], part.lead, layout, margin) for part in parts if part.key in new]
    lead, known = parts[-1].lead, {part.key for part in parts}
    inner = _inner_margin(lead, layout, margin)
    pieces += [f"{lead}{layout.key(key)}{layout.text(new[key], inner)}" for key in new if key not in known]
    return "{" + ",".join(pieces) + text[end:]


def _changed_list(text: str, new: list[JsonValue], layout: Layout, margin: str) -> str:
    parts, end = split_members(text)
    waiting: dict[str, deque[JsonPart]] = {}
    for part in parts:
        waiting.setdefault(_name(part.value), deque()).append(part)
    kept = {_name(value) for value in new}
    # What was renumbered is the item of the same title whose id is gone.
    for part in parts:
        if _name(part.value) not in kept and _title(part.value):
            waiting.setdefault(_title(part.value), deque()).append(part)
    pieces = []
    for place, value in enumerate(new):
        lead = parts[min(place, len(parts) - 1)].lead
        if found := waiting.get(_name(value)) or waiting.get(_title(value)):
            pieces.append(_changed(found.popleft(), value, lead, layout, margin))
        else:
            pieces.append(lead + layout.text(value, _inner_margin(lead, layout, margin)))
    return "[" + ",".join(pieces) + text[end:]


def _changed(part: JsonPart, new: JsonValue, lead: str, layout: Layout, margin: str) -> str:
    changed = change_text(part.text, part.value, new, layout, _inner_margin(lead, layout, margin))
    return lead + part.name + changed + part.trail


def _inner_margin(lead: str, layout: Layout, margin: str) -> str:
    return lead.rpartition("\n")[2] if "\n" in lead else margin + layout.indent


def _name(value: JsonValue) -> str:
    """Return what identifies an item in the changed list."""
    if isinstance(value, dict) and "id" in value:
        return f"id {value['id']}"
    return json.dumps(value)


def _title(value: JsonValue) -> str:
    return f"title {value['title']}" if isinstance(value, dict) and "title" in value else ""


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at

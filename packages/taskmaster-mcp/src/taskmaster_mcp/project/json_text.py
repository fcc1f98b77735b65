"""JSON text that is changed in place: equal values keep their bytes, whatever the layout (TM-18, TM-20)."""

import json
import re
from collections import deque
from dataclasses import dataclass
from typing import Final, NamedTuple

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

    def member(self, key: str, value: JsonValue, margin: str = "") -> str:
        """Return a member of an object that closes at ``margin``, from the comma before it on."""
        inner = margin + self.indent
        lead = self.newline + inner if self.indent else ""
        return f"{lead}{self.key(key)}{self.text(value, inner)}"

    def key(self, key: str) -> str:
        """Return a key with its colon."""
        return json.dumps(key, ensure_ascii=False) + (": " if self.indent else ":")


DEFAULT: Final = Layout()
"""The layout of a new file."""


class JsonPart(NamedTuple):
    """A member of an object or an item of a list, within its text."""

    key: str
    """empty for an item"""
    begin: int
    """its first character, right after the bracket or comma before it"""
    start: int
    """the first character of its value"""
    end: int
    """the end of its value"""
    value: JsonValue


def detect_layout(text: str) -> Layout:
    """Return the layout of a JSON text, by its second line (TM-20)."""
    second = re.search(r"(\r?\n)([ \t]*)", text)
    return Layout(second[2], second[1]) if second else Layout("")


def split_members(text: str, start: int) -> tuple[list[JsonPart], int]:
    """Return the parts of the object or list at ``start`` of valid JSON, and where its closing bracket is."""
    is_object = text[start] == "{"
    parts: list[JsonPart] = []
    at = _after_space(text, begin := start + 1)
    while text[at] not in "]}":
        key = ""
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)
        value, end = _DECODER.raw_decode(text, at)
        parts.append(JsonPart(key, begin, at, end, value))
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, begin := at + 1)
    return parts, at


def change_text(text: str, part: JsonPart, new: JsonValue, layout: Layout, margin: str = "") -> str:
    """Return the text of ``new``, which replaces the value of ``part``; its closing bracket is at ``margin``.

    What is equal keeps its bytes. Items of a list are matched by their ids, others by their value.
    """
    old = part.value
    if is_same(old, new):
        return text[part.start : part.end]
    if isinstance(old, dict) and isinstance(new, dict) and old and new:
        return _changed_object(text, part.start, new, layout, margin)
    if isinstance(old, list) and isinstance(new, list) and old and new:
        return _changed_list(text, part.start, new, layout, margin)
    return layout.text(new, margin)


def _changed_object(text: str, start: int, new: dict[str, JsonValue], layout: Layout, margin: str) -> str:
    parts, close = split_members(text, start)
    known = {part.key for part in parts}
    pieces = []
    for part in parts:
        if part.key in new:
            lead = _lead(text, part)
            key = text[part.begin + len(lead) : part.start]
            pieces.append(lead + key + _value(text, part, new[part.key], lead, layout, margin) + _trail(text, part))
    lead = _lead(text, parts[-1])
    inner = _margin_after(lead, margin + layout.indent)
    pieces += [f"{lead}{layout.key(key)}{layout.text(new[key], inner)}" for key in new if key not in known]
    return "{" + ",".join(pieces) + text[parts[-1].end : close + 1]


def _changed_list(text: str, start: int, new: list[JsonValue], layout: Layout, margin: str) -> str:
    parts, close = split_members(text, start)
    leads = [_lead(text, part) for part in parts]
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
        lead = leads[min(place, len(leads) - 1)]
        if found := waiting.get(_name(value)) or waiting.get(_title(value)):
            part = found.popleft()
            pieces.append(lead + _value(text, part, value, lead, layout, margin) + _trail(text, part))
        else:
            pieces.append(lead + layout.text(value, _margin_after(lead, margin + layout.indent)))
    return "[" + ",".join(pieces) + text[parts[-1].end : close + 1]


def _value(text: str, part: JsonPart, new: JsonValue, lead: str, layout: Layout, margin: str) -> str:
    return change_text(text, part, new, layout, _margin_after(lead, margin + layout.indent))


def _lead(text: str, part: JsonPart) -> str:
    """Return the space before a part."""
    return text[part.begin : _after_space(text, part.begin)]


def _trail(text: str, part: JsonPart) -> str:
    """Return the space between a part and the comma after it."""
    end = _after_space(text, part.end)
    return text[part.end : end] if text[end] == "," else ""


def _margin_after(lead: str, otherwise: str) -> str:
    return lead.rpartition("\n")[2] if "\n" in lead else otherwise


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

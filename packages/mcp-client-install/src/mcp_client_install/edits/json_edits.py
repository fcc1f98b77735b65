"""Puts, changes or removes one member of JSON with comments, and leaves every other character as it is.

The number of a place in an array counts as a key; the first number that is free puts a value at its end.

Comments, and commas before a closing bracket, become blanks: Python's own parser reads the rest at the same places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn

from mcp_client_install.text import BadConfiguration, JsonValue, Key, escape_invisible, line_break, nest, shorten

__all__ = ["drop", "load", "put"]

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*[\s\S]*?\*/")
_LINE_END: Final = re.compile(r"[ \t]*[\r\n]")
_STRING: Final = r'"(?:[^"\\\r\n]|\\.)*"'
_STRING_OR_COMMENT: Final = re.compile(rf"({_STRING})|{_COMMENT.pattern}")
_STRING_OR_COMMA: Final = re.compile(rf"({_STRING}|[\[{{,][ \t\r\n]*,)|,(?=[ \t\r\n]*[\]}}])")
"""The second group of one comma is the last in an object or array; a comma that follows nothing stays an error."""


class _Member(NamedTuple):
    """The places of one member of an object or array in the text."""

    key: Key
    start: int
    value: int
    end: int
    comma: int
    """The place of the comma after it; -1 if there is none."""


def load(text: str) -> dict[str, Any]:
    """Return the content of a document; a blank one is an empty object, as it is for the clients.

    It raises ``BadConfiguration`` for anything but one complete object, and for a key that is named twice.
    """
    if _BLANK.fullmatch(text):
        return {}
    try:
        value = _DECODER.decode(_Document(text).plain)
    except (ValueError, RecursionError) as error:
        raise BadConfiguration(str(error)) from error
    if not isinstance(value, dict):
        raise BadConfiguration("the file is not a JSON object")
    return value


def put(text: str, path: Sequence[Key], value: JsonValue) -> str:
    """Return a document, whose ``path`` fits, with ``value`` at its end; what an object there has is kept."""
    if _BLANK.fullmatch(text):
        end = line_break(text)
        return text + json.dumps(nest(path, value), ensure_ascii=False, indent=2).replace("\n", end) + end
    document = _Document(text)
    found = document.find(path)
    depth = len(found)
    places = [document.root, *(member.value for member in found)]
    if depth < len(path):
        return document.insert(places[-1], path[depth], nest(path[depth + 1 :], value))
    start, end = found[-1].value, found[-1].end
    if isinstance(value, dict) and text[start] == "{":
        for key, item in value.items():
            text = put(text, [*path, key], item)
        return text
    if _DECODER.decode(document.plain[start:end]) == value:
        return text
    _, styled, _ = document.style(places[-2], nest(path[-1:], value))
    return f"{text[:start]}{styled.removeprefix(f'{_flat(path[-1])}: ')}{text[end:]}"


def drop(text: str, path: Sequence[Key]) -> str:
    """Return the document without the member at ``path``, which is there; comments around it stay."""
    document = _Document(text)
    places = [document.root, *(member.value for member in document.find(path))]
    start, stop = places[-2], document.end(places[-2])
    members = document.members(start)
    index = [member.key for member in members].index(path[-1])
    member = members[index]
    start = (members[index - 1].comma if index else start) + 1
    rest = text[member.end if member.comma < 0 else member.comma + 1 :]
    if member.comma >= 0:  # the member goes with the comma that came with it
        rest = _comments(text[member.end : member.comma], rest) + rest
    rest = _comments(text[start : member.start], rest) + rest
    end = text[stop - 1 :]
    if not index and _BLANK.fullmatch(rest.removesuffix(end)):
        return f"{text[:start]}{end}"
    is_comma_left = index and member.comma < 0
    return f"{text[: start - 1 if is_comma_left else start]}{rest}"


def _flat(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise BadConfiguration(f"the key '{shorten(escape_invisible(key), 50)}' appears twice")
        members[key] = value
    return members


def _refuse(word: str) -> NoReturn:
    raise BadConfiguration(f"{word} is not a value of JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)


class _Document:
    """A document that may not be complete; only ``plain`` can be read then."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bare = _STRING_OR_COMMENT.sub(_blank_out, text)
        """The text without comments."""
        self.plain = _STRING_OR_COMMA.sub(_blank_out, self.bare)
        """The text as JSON proper."""
        self.root = _skip(self.plain, 0)

    def end(self, at: int) -> int:
        """Return where the value that begins at a place ends."""
        return _DECODER.raw_decode(self.plain, at)[1]

    def members(self, at: int) -> list[_Member]:
        """Return the members of the object or array that begins at a place."""
        found: list[_Member] = []
        is_array = self.plain[at] == "["
        at = _skip(self.plain, at + 1)
        while self.plain[at] not in "}]":
            key, value = len(found), at
            if not is_array:
                key, colon = _DECODER.raw_decode(self.plain, at)
                value = _skip(self.plain, _skip(self.plain, colon) + 1)
            end = self.end(value)
            comma = _skip(self.bare, end)
            has_comma = self.bare[comma] == ","
            found.append(_Member(key, at, value, end, comma if has_comma else -1))
            at = _skip(self.plain, comma + has_comma)
        return found

    def find(self, path: Sequence[Key]) -> list[_Member]:
        """Return the members on a path, as far as it goes."""
        found: list[_Member] = []
        for key in path:
            at = found[-1].value if found else self.root
            member = next((member for member in self.members(at) if member.key == key), None)
            if member is None:
                break
            found.append(member)
        return found

    def insert(self, at: int, key: Key, value: JsonValue) -> str:
        """Return the text with a new member last in what is at a place, after every comment, in its style."""
        text, members, stop = self.text, self.members(at), self.end(at) - 1
        gap, member, end = self.style(at, nest([key], value))
        has_comma = members and members[-1].comma >= 0
        start = members[-1].comma + 1 if has_comma else members[-1].end if members else at + 1
        after = max((found.end() for found in _COMMENT.finditer(text, start, stop)), default=start)
        if not members and after == start:
            return f"{text[:start]}{gap}{member}{end}{text[stop:]}"
        member = f"{member}," if has_comma else member
        before = "," if members and not has_comma else ""
        return f"{text[:start]}{before}{text[start:after]}{gap or ' '}{member}{text[after:]}"

    def style(self, at: int, member: JsonValue) -> tuple[str, str, str]:
        """Return the text before a new member of what is at a place, the only ``member`` of another, and the end."""
        text, members, others = self.text, self.members(at), self.members(self.root)
        if not self._has_break(at) and (members or (others and not self._has_break(self.root))):
            return "", _flat(member)[1:-1], ""
        end, outer = line_break(text), _indent(text, at)
        first = next((_indent(text, other.start) for other in others), "")
        unit = first.removeprefix(_indent(text, self.root)) or "  "
        starts = (_line_before(text, other.start) for other in members)
        inner = next((start for start in starts if start and not start.strip(" \t")), outer + unit)
        lines = json.dumps(member, ensure_ascii=False, indent=unit).split("\n")[1:-1]
        return end + inner, f"{end}{inner}".join(line.removeprefix(unit) for line in lines), end + outer

    def _has_break(self, at: int) -> bool:
        return not {"\n", "\r"}.isdisjoint(self.text[at : self.end(at)])


def _blank_out(found: re.Match[str]) -> str:
    """Return a string as it is, and blanks for anything else."""
    return found[1] or re.sub(r"[^\r\n]", " ", found[0])


def _skip(text: str, at: int) -> int:
    """Return the place after the blanks at a place."""
    blanks = _BLANK.match(text, at)
    return blanks.end() if blanks else at


def _line_before(text: str, at: int) -> str:
    return text[max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1 : at]


def _indent(text: str, at: int) -> str:
    """Return the blanks at the beginning of the line with the character at a place."""
    line = _line_before(text, at)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _comments(gap: str, rest: str) -> str:
    """Return the comments in a gap with the blanks before them, so that none of them hides what is in the ``rest``."""
    found = [*_COMMENT.finditer(gap)]
    if not found:
        return ""
    hides = found[-1][0].startswith("//") and not _LINE_END.match(rest)
    return gap[: found[-1].end()] + (line_break(gap) if hides else "")

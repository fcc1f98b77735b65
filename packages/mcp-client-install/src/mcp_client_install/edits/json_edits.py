"""Puts, changes or removes one member of JSON with comments, and leaves every other character as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Sequence
from typing import Final, NamedTuple

from mcp_client_install.edits.lines import BadConfiguration, JsonValue, line_break, nest, position
from mcp_client_install.text import escape_invisible, shorten

__all__ = ["drop", "load", "put"]

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*[\s\S]*?\*/")
_LINE_END: Final = re.compile(r"[ \t]*[\r\n]")
_TRIVIA: Final = re.compile(rf"(?:[ \t\r\n]+|{_COMMENT.pattern})*")
_SCALAR: Final = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null'
)

_DEPTH: Final = 200
"""Levels of nesting that are read: far more than any client writes, and far less than Python can."""


class _Node(NamedTuple):
    """A value, and its place in the text."""

    start: int
    end: int
    value: JsonValue
    members: tuple[_Member, ...] | None = None
    """The members, if the value is an object."""

    def member(self, key: str) -> _Member | None:
        """Return the member of an object with this key, or None if there is none."""
        return next((member for member in self.members or () if member.key == key), None)


class _Member(NamedTuple):
    """One member of an object."""

    key: str
    start: int
    node: _Node
    comma: int
    """The place of the comma after it; -1 if there is none."""


def load(text: str) -> dict[str, JsonValue]:
    """Return the content of a document; a blank one is an empty object, as it is for the clients.

    Raises:
        BadConfiguration: it is not one complete object, or names a key twice.
    """
    if _BLANK.fullmatch(text):
        return {}
    value = _parse(text).value
    return value if isinstance(value, dict) else {}


def put(text: str, path: Sequence[str], value: JsonValue) -> str:
    """Return the document with ``value`` at ``path``; what an object there has besides is kept.

    Raises:
        BadConfiguration: as ``load``, or something on the way to ``path`` is not an object.
    """
    if _BLANK.fullmatch(text):
        end = line_break(text)
        return text + json.dumps(nest(path, value), ensure_ascii=False, indent=2).replace("\n", end) + end
    root = node = _parse(text)
    parent = root
    for depth, key in enumerate(path):
        if node.members is None:
            raise BadConfiguration(f"'{'.'.join(path[:depth])}' is not an object")
        member = node.member(key)
        if member is None:
            return _insert(text, root, node, key, nest(path[depth + 1 :], value))
        parent, node = node, member.node
    if isinstance(value, dict) and node.members is not None:
        for key, item in value.items():
            text = put(text, [*path, key], item)
        return text
    if node.value == value:
        return text
    _, styled, _ = _style(text, root, parent, {path[-1]: value})
    return f"{text[: node.start]}{styled.removeprefix(f'{_flat(path[-1])}: ')}{text[node.end :]}"


def drop(text: str, path: Sequence[str]) -> str:
    """Return the document without the member at ``path``, which is there."""
    node = _parse(text)
    *above, key = path
    for name in above:
        node = next(member.node for member in node.members or () if member.key == name)
    members = node.members or ()
    index = next(number for number, member in enumerate(members) if member.key == key)
    return _remove(text, node, members, index)


def _flat(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _insert(text: str, root: _Node, node: _Node, key: str, value: JsonValue) -> str:
    """Put a new member last, after every comment, in the style of the document."""
    members = node.members or ()
    gap, member, end = _style(text, root, node, {key: value})
    if not members:
        at = _after_comments(text, node.start + 1, node.end - 1)
        if at == node.start + 1:
            return f"{text[:at]}{gap}{member}{end}{text[node.end - 1 :]}"
        return f"{text[:at]}{gap or ' '}{member}{text[at:]}"
    last = members[-1]
    if last.comma >= 0:
        at = _after_comments(text, last.comma + 1, node.end - 1)
        return f"{text[:at]}{gap or ' '}{member},{text[at:]}"
    at = _after_comments(text, last.node.end, node.end - 1)
    return f"{text[: last.node.end]},{text[last.node.end : at]}{gap or ' '}{member}{text[at:]}"


def _style(text: str, root: _Node, node: _Node, member: dict[str, JsonValue]) -> tuple[str, str, str]:
    """Return the text before a new member of ``node``, the member itself, and the text that ends the object."""
    is_flat = not _has_break(text[node.start : node.end])
    if is_flat and (node.members or (root.members and not _has_break(text[root.start : root.end]))):
        return "", _flat(member)[1:-1], ""
    end, outer = line_break(text), _indent(text, node.start)
    first = next((_indent(text, member.start) for member in root.members or ()), "")
    unit = first.removeprefix(_indent(text, root.start)) or "  "
    inner = next(filter(None, (_own_indent(text, member.start) for member in node.members or ())), outer + unit)
    lines = json.dumps(member, ensure_ascii=False, indent=unit).split("\n")[1:-1]
    return end + inner, f"{end}{inner}".join(line.removeprefix(unit) for line in lines), end + outer


def _has_break(text: str) -> bool:
    return "\n" in text or "\r" in text


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _own_indent(text: str, at: int) -> str:
    """Return the blanks before the character ``at`` if it is the first in its line."""
    indent = _indent(text, at)
    return indent if len(indent) == at - _line_start(text, at) else ""


def _indent(text: str, at: int) -> str:
    """Return the blanks at the beginning of the line with the character ``at``."""
    line = text[_line_start(text, at) : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _remove(text: str, node: _Node, members: Sequence[_Member], index: int) -> str:
    """Take out a member with the comma that came with it; comments around it stay."""
    member = members[index]
    start = (members[index - 1].comma if index else node.start) + 1
    rest = text[member.node.end if member.comma < 0 else member.comma + 1 :]
    if member.comma >= 0:
        rest = _comments(text[member.node.end : member.comma], rest) + rest
    rest = _comments(text[start : member.start], rest) + rest
    end = text[node.end - 1 :]
    if not index and _BLANK.fullmatch(rest.removesuffix(end)):
        return f"{text[:start]}{end}"
    is_comma_left = index and member.comma < 0
    return f"{text[: start - 1 if is_comma_left else start]}{rest}"


def _comments(gap: str, rest: str) -> str:
    """Return the comments in a gap with the blanks before them, so that none of them hides what is in the ``rest``."""
    found = [*_COMMENT.finditer(gap)]
    if not found:
        return ""
    hides = found[-1][0].startswith("//") and not _LINE_END.match(rest)
    return gap[: found[-1].end()] + (line_break(gap) if hides else "")


def _parse(text: str) -> _Node:
    """Return the root of a document.

    Raises:
        BadConfiguration: it is not one complete object, or names a key twice.
    """
    reader = _JsonReader(text)
    root = reader.read_value(_DEPTH)
    if reader.skip() < len(text):
        raise reader.error("the file should end here")
    if root.members is None:
        raise BadConfiguration("the file is not a JSON object")
    return root


def _after_comments(text: str, start: int, end: int) -> int:
    """Return where the last comment between two places ends, or ``start`` if there is none."""
    return max((found.end() for found in _COMMENT.finditer(text, start, end)), default=start)


class _JsonReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def error(self, what: str) -> BadConfiguration:
        return BadConfiguration(f"{position(self._text, self._at)}: {what}")

    def skip(self) -> int:
        """Pass blanks and comments, and return the place after them."""
        found = _TRIVIA.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at

    def read_value(self, depth: int) -> _Node:
        start = self.skip()
        if not depth:
            raise self.error(f"nested more than {_DEPTH} levels deep")
        if self._takes("{"):
            return self._read_object(start, depth - 1)
        if self._takes("["):
            return self._read_array(start, depth - 1)
        value = self._read_scalar("a value")
        return _Node(start, self._at, value)

    def _takes(self, sign: str) -> bool:
        is_next = self._text.startswith(sign, self._at)
        self._at += is_next
        return is_next

    def _read_scalar(self, what: str) -> JsonValue:
        found = _SCALAR.match(self._text, self._at)
        if found is None:
            raise self.error(f"{what} is expected")
        try:
            value: JsonValue = json.loads(found[0])
        except ValueError as error:  # an escape that does not exist, or a number of thousands of digits
            raise self.error(f"{what} is expected: {error}") from error
        self._at = found.end()
        return value

    def _read_object(self, start: int, depth: int) -> _Node:
        members: dict[str, _Member] = {}
        has_comma = True
        self.skip()
        while not self._takes("}"):
            if not has_comma:
                raise self.error("a comma or } is expected")
            at, key = self._at, self._read_key(members)
            node = self.read_value(depth)
            comma = self.skip()
            has_comma = self._takes(",")
            members[key] = _Member(key, at, node, comma if has_comma else -1)
            self.skip()
        value: JsonValue = {key: member.node.value for key, member in members.items()}
        return _Node(start, self._at, value, tuple(members.values()))

    def _read_key(self, known: Container[str]) -> str:
        """Return the next key, and pass the colon after it."""
        if not self._text.startswith('"', self._at):
            raise self.error("a key in quotes is expected")
        at, key = self._at, str(self._read_scalar("a key in quotes"))
        if key in known:
            self._at = at
            raise self.error(f"the key '{shorten(escape_invisible(key), 50)}' appears twice")
        self.skip()
        if not self._takes(":"):
            raise self.error("a colon is expected")
        return key

    def _read_array(self, start: int, depth: int) -> _Node:
        items: list[JsonValue] = []
        has_comma = True
        self.skip()
        while not self._takes("]"):
            if not has_comma:
                raise self.error("a comma or ] is expected")
            items.append(self.read_value(depth).value)
            self.skip()
            has_comma = self._takes(",")
            self.skip()
        return _Node(start, self._at, items)

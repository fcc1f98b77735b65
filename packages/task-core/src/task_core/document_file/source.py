"""The text of a document, read strictly: a fault is reported with its place, and nothing is guessed (ST-3)."""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from pydantic import JsonValue, ValidationError

from task_core.errors import FOUND_LIMIT, StoreDamaged
from task_core.strict_json import NotJson, TooDeep, read

__all__ = ["Path", "Place", "Source"]

Path = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""

_MAX_DEPTH: Final = 190
"""Levels of a document: an answer puts some of its own around a task, and clients stop reading near 200."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
"""A token of JSON; there is only white space between two."""

_STRUCTURE: Final = re.compile(r"[{}\[\]:,]")
"""Characters that never follow the fault in a document that ends in the middle."""

_HALF: Final = re.compile("[\ud800-\udfff]")
"""A lone surrogate: half a character."""

_CONFLICT: Final = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: .*)?\r?$", re.MULTILINE)
"""A line with which a merge marks a conflict."""


class Place(NamedTuple):
    """A key or a value of a JSON text."""

    path: Path
    offset: int
    is_repeated_key: bool = False


class Source:
    """The bytes of the document called ``name``."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.data = data.removeprefix(BOM_UTF8)
        self.bom = "\ufeff" if len(self.data) < len(data) else ""

    @cached_property
    def text(self) -> str:
        """The bytes as UTF-8 text."""
        return self.data.decode("utf-8", "replace")

    def value(self) -> JsonValue:
        """Return the value of the document; raise ``StoreDamaged`` if it is not strict JSON or nests too deeply."""
        try:
            reading = read(self.data, max_depth=_MAX_DEPTH)
        except NotJson as error:
            raise self._not_json(error) from None
        if reading.duplicate_keys:
            repeated = next(place for place in self.places() if place.is_repeated_key)
            raise self.damaged(repeated.offset, "each key once in an object")
        if reading.has_lone_surrogate:
            raise self.damaged(self._half_character(), "whole characters, not half of one")
        return reading.value

    def damaged(self, offset: int, expected: str) -> StoreDamaged:
        """Return the error that something other than ``expected`` is at ``offset``, in characters."""
        rest = self.text[offset : offset + FOUND_LIMIT + 1]
        found = f"'{rest.splitlines()[0] or rest[0]}'" if rest.strip() else "the end of the file"
        column = offset - self.text.rfind("\n", 0, offset)
        return StoreDamaged(self.name, found, expected, self._line(offset), column)

    def wrong(self, path: Path, expected: str) -> StoreDamaged:
        """Return the error that the value at ``path``, or the container that lacks it, is not as ``expected``."""
        return self.damaged(self._offset(path), expected)

    def invalid(self, path: Path, error: ValidationError) -> StoreDamaged:
        """Return the error for the first fault of the task at ``path``."""
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "task"
        return self.wrong((*path, *first["loc"]), f"a valid task ({where}: {first['msg']})")

    def repeated_id(self, path: Path, first: Path) -> StoreDamaged:
        """Return the error that the task at ``path`` has the id of the one at ``first``."""
        line = self._line(self._offset((*first, "id")))
        return self.wrong((*path, "id"), f"an id of its own (line {line} has it already)")

    def places(self) -> Iterator[Place]:
        """Yield every key and every value in order; a member yields its key, then its value."""
        path: list[str | int] = []
        keys: list[set[str] | None] = []
        is_key = False
        for match in _TOKEN.finditer(self.text):
            word = match[0]
            if word in "}]":
                path.pop()
                keys.pop()
                is_key = False
            elif word == ",":
                is_key = keys[-1] is not None
                if not is_key:
                    path[-1] = int(path[-1]) + 1
            elif word == ":":
                is_key = False
            elif is_key and (seen := keys[-1]) is not None:
                name = str(json.loads(word))
                path[-1] = name
                yield Place(tuple(path), match.start(), name in seen)
                seen.add(name)
            else:
                yield Place(tuple(path), match.start())
                if word in "{[":
                    is_key = word == "{"
                    keys.append(set() if is_key else None)
                    path.append("" if is_key else 0)

    def _not_json(self, error: NotJson) -> StoreDamaged:
        text, is_torn = self.text, False
        if conflict := _CONFLICT.search(text):
            return self.damaged(conflict.start(), "a document without merge conflict markers")
        if isinstance(error, TooDeep):
            offset = next(at.offset for at in self.places() if len(at.path) >= _MAX_DEPTH and text[at.offset] in "{[")
        elif error.literal:
            offset = next(at.offset for at in self.places() if text.startswith(error.literal, at.offset))
        else:
            offset, rest = error.offset, text[error.offset :]
            is_in_text = str(error).startswith("Unterminated string")
            is_torn = "\n" not in rest and (is_in_text or not _STRUCTURE.search(rest))
        damaged = self.damaged(offset, f"JSON ({str(error).partition(' at line ')[0]})")
        damaged.is_torn = is_torn
        return damaged

    def _half_character(self) -> int:
        texts = (match for match in _TOKEN.finditer(self.text) if match[0].startswith('"'))
        return next(match.start() for match in texts if _HALF.search(json.loads(match[0])))

    def _offset(self, path: Path) -> int:
        best = Place((), len(self.text) - len(self.text.lstrip()))
        for place in self.places():
            if len(place.path) >= len(best.path) and place.path == path[: len(place.path)]:
                best = place
        return best.offset

    def _line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

"""Adds a server to a configuration or to AGENTS.md, and removes it again, so that every other byte stays as it was.

Each function raises ``BadConfiguration`` for a file that it cannot read, or cannot change safely.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from mcp_client_install.clients import words_of
from mcp_client_install.edits import json_edits, toml_edits
from mcp_client_install.text import BadConfiguration, JsonValue, append_block, cut_block, decode, nest

__all__ = ["GUIDES", "History", "add_entry", "add_section", "read_entry", "remove_entry", "remove_section", "trace"]

GUIDES: Final = ("AGENTS.md", "CLAUDE.md")
"""The files that agents read first, in the folder of a project."""


_LANGUAGES: Final = {".json": json_edits, ".toml": toml_edits}
"""The module for each language of configurations, by the suffix of the file; all have the same functions."""


History = tuple[bytes | None, Mapping[str, Any]]
"""The content before servers were added here, None if there was no file, and their entries in the order of adding."""


def read_entry(data: bytes | None, suffix: str, path: Sequence[str]) -> JsonValue:
    """Return the entry of a server at ``path``, or None if there is none.

    The ``suffix`` of the file says in which language ``data`` is; None is the content of no file.
    """
    value: JsonValue = _LANGUAGES[suffix].load(decode(data).removeprefix("\ufeff"))
    for depth, key in enumerate(path):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise BadConfiguration(f"'{'.'.join(path[:depth])}' is not an object")
        value = value.get(key)
    return value


def add_entry(data: bytes | None, suffix: str, path: Sequence[str], entry: dict[str, JsonValue]) -> bytes:
    """Return the configuration with ``entry`` at ``path``; what one there has besides is kept."""
    read_entry(data, suffix, path)
    language = _LANGUAGES[suffix]
    text = decode(data).removeprefix("\ufeff")
    old = language.load(text)
    expected = _merge(old, nest(path, entry))
    new = text if expected == old else language.put(text, path, entry)
    return _encode(data, _checked(language, new, expected))


def remove_entry(data: bytes, history: History | None, suffix: str, path: Sequence[str]) -> bytes | None:
    """Return the configuration without the entry at ``path``, or None if there was no file before.

    With its ``history`` it is what it would be if the entry had never been added. Otherwise only the entry goes: what
    that leaves empty may have been there before.
    """
    member, name = path
    if history and name in history[1]:
        before, added = history
        return _add_all(before, suffix, member, {other: entry for other, entry in added.items() if other != name})
    language = _LANGUAGES[suffix]
    text = decode(data).removeprefix("\ufeff")
    expected, new = language.load(text), language.drop(text, path)
    del expected[member][name]
    if not expected[member] and member not in language.load(new):  # TOML has no table without a line of its own
        del expected[member]
    return _encode(data, _checked(language, new, expected))


def trace(data: bytes | None, copies: Iterable[bytes], suffix: str, member: str) -> History | None:
    """Return how adding entries alone, to one of the ``copies`` or to no file, led to ``data``, or None.

    The oldest state counts, from which the most were added.
    """
    found: list[History] = []
    ours = {name: entry for name, entry in _entries(data, suffix, member).items() if _is_complete(entry)}
    for before in [*copies, None]:
        with suppress(BadConfiguration):  # somebody has changed the copy
            former = _entries(before, suffix, member)
            added = {name: entry for name, entry in ours.items() if name not in former}
            if _add_all(before, suffix, member, added) == data:
                found.append((before, added))
    return max(found, key=lambda history: len(history[1]), default=None)


def _add_all(data: bytes | None, suffix: str, member: str, entries: Mapping[str, Any]) -> bytes | None:
    for name, entry in entries.items():
        data = add_entry(data, suffix, [member, name], entry)
    return data


def _entries(data: bytes | None, suffix: str, member: str) -> dict[str, JsonValue]:
    entries = read_entry(data, suffix, [member])
    return entries if isinstance(entries, dict) else {}


def _is_complete(entry: JsonValue) -> bool:
    """Return whether an entry has all that is written here: a command with its whole path, and variables."""
    fields = entry if isinstance(entry, dict) else {}
    words, _ = words_of(entry)
    return Path("".join(words[:1])).is_absolute() and not {"env", "environment"}.isdisjoint(fields)


def _checked(language: ModuleType, text: str, expected: JsonValue) -> str:
    """Return the new text if it says exactly what it should: whatever an edit misunderstood is refused."""
    with suppress(BadConfiguration):
        if language.load(text) == expected:
            return text
    raise BadConfiguration("it is written in a way that cannot be changed safely")


def _merge(old: JsonValue, new: JsonValue) -> JsonValue:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return {**old, **{key: _merge(old.get(key), value) for key, value in new.items()}}


def _encode(data: bytes | None, text: str) -> bytes:
    """Return the bytes of a new text, with the byte order mark that the old ``data`` has."""
    try:
        return (BOM_UTF8 if (data or b"").startswith(BOM_UTF8) else b"") + text.encode()
    except UnicodeEncodeError as error:
        raise BadConfiguration("a path or a setting is not UTF-8 text") from error


def add_section(data: bytes | None, name: str, body: str) -> bytes:
    """Return a file for agents with a section at its end, or with a new ``body`` of the section that it has.

    ``name``: the words of its marks, which name the server and its entry.
    """
    text = decode(data)
    section = f"\n{body}\n".join(_marks(name)) + "\n"
    place = _find_section(text, name)
    if place is None:
        return append_block(text, section).encode()
    is_same = text[slice(*place)].splitlines() == section.splitlines()
    return (text if is_same else append_block(cut_block(text, *place), section)).encode()


def remove_section(data: bytes | None, name: str) -> bytes | None:
    """Return the file without the section, or None if nothing else is in it."""
    text = decode(data)
    place = _find_section(text, name)
    return (cut_block(text, *place) if place else text).encode() or None


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def _find_section(text: str, name: str) -> tuple[int, int] | None:
    begin, end = _marks(name)
    if (text.count(begin), text.count(end)) == (0, 0):
        return None
    pattern = rf"(?:\A|(?<=[\r\n])){re.escape(begin)}[\s\S]*?{re.escape(end)}[ \t]*(?:\r\n|\n|\r|\Z)"
    found = re.search(pattern, text)
    if found is None or (text.count(begin), text.count(end)) != (1, 1):
        raise BadConfiguration(f"it does not have each of the marks {begin} and {end} once, on lines of their own")
    return found.span()

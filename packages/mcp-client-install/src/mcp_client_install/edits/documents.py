"""Adds to a configuration or to AGENTS.md, and removes it again, so that every other byte stays as it was.

Each function raises ``BadConfiguration`` for a file that it cannot read, or cannot change safely.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from operator import getitem
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from mcp_client_install.clients import words_of
from mcp_client_install.edits import json_edits, toml_edits
from mcp_client_install.text import BadConfiguration, JsonValue, Key, append_block, cut_block, decode

__all__ = [
    "GUIDES",
    "History",
    "add_entry",
    "add_section",
    "read_entries",
    "read_entry",
    "remove_entries",
    "remove_section",
    "trace",
]

GUIDES: Final = ("AGENTS.md", "CLAUDE.md")
"""The files that agents read first, in the folder of a project."""


_LANGUAGES: Final = {".json": json_edits, ".toml": toml_edits}
"""The module for each language of configurations, by the suffix of the file; all have the same functions."""


History = tuple[bytes | None, Mapping[tuple[Key, ...], Any]]
"""The content before servers were added here, None if there was no file, and what was added, by its path, in order."""


def read_entry(data: bytes | None, suffix: str, path: Sequence[Key]) -> JsonValue:
    """Return the entry of a server, or whatever else is at ``path``, or None if there is nothing.

    The ``suffix`` of the file says in which language ``data`` is; None is the content of no file.
    """
    value: JsonValue = _LANGUAGES[suffix].load(decode(data).removeprefix("\ufeff"))
    for depth, key in enumerate(path):
        if value is None:
            return None
        if isinstance(key, int) and isinstance(value, list):
            value = value[key] if key < len(value) else None
        elif isinstance(key, str) and isinstance(value, dict):
            value = value.get(key)
        else:
            kind = "an object" if isinstance(key, str) else "a list"
            raise BadConfiguration(f"'{'.'.join(map(str, path[:depth]))}' is not {kind}")
    return value


def read_entries(data: bytes | None, suffix: str, path: Sequence[Key]) -> dict[tuple[Key, ...], JsonValue]:
    """Return what is in the object or list at a path, which may be empty for none, by the whole path."""
    entries = read_entry(data, suffix, path) if path else None
    pairs = enumerate(entries) if isinstance(entries, list) else entries.items() if isinstance(entries, dict) else ()
    return {(*path, key): entry for key, entry in pairs}


def add_entry(
    data: bytes | None, suffix: str, path: Sequence[Key], entry: JsonValue, head: bytes | None = None
) -> bytes:
    """Return the configuration with ``entry`` at ``path``, last in a list; what one there has besides is kept.

    A new or blank file begins as ``head``.
    """
    if head and not (data or b"").strip():
        data = head
    read_entry(data, suffix, path)
    language = _LANGUAGES[suffix]
    text = decode(data).removeprefix("\ufeff")
    old = language.load(text)
    expected = _merge(old, path, entry)
    new = text if expected == old else language.put(text, path, entry)
    return _encode(data, _checked(language, new, expected))


def remove_entries(
    data: bytes, history: History | None, suffix: str, paths: Sequence[Sequence[Key]], head: bytes | None = None
) -> bytes | None:
    """Return the configuration without the entries at ``paths``, or None if there was no file before.

    With its ``history`` it is what it would be if they had never been added; ``head`` is as for ``trace``. Otherwise
    only they go, and the lists that they leave empty: an object that they leave empty may have been there before.
    """
    gone = {*map(tuple, paths)}
    if history and gone <= history[1].keys():
        before, added = history
        return _add_all(before, suffix, {path: entry for path, entry in added.items() if path not in gone}, head)
    for path in reversed(paths):  # the places of those before it stay
        data = _remove(data, suffix, path)
    return data


def _remove(data: bytes, suffix: str, path: Sequence[Key]) -> bytes:
    language = _LANGUAGES[suffix]
    text = decode(data).removeprefix("\ufeff")
    expected, new = language.load(text), language.drop(text, path)
    *parents, member, name = path
    outer = reduce(getitem, parents, expected)
    del outer[member][name]
    if not outer[member] and suffix == ".toml" and member not in language.load(new):
        del outer[member]  # TOML has no table without a line of its own
    data = _encode(data, _checked(language, new, expected))
    return _remove(data, suffix, path[:-1]) if outer.get(member) == [] else data


def trace(
    data: bytes | None,
    copies: Iterable[bytes],
    suffix: str,
    member: str,
    event: Sequence[Key] = (),
    head: bytes | None = None,
) -> History | None:
    """Return how adding alone, to one of the ``copies`` or to no file, led to ``data``, or None.

    Servers are in ``member``, and hooks in the list at ``event``, if there is one; a new file begins as ``head``.
    The oldest state counts, from which the most were added.
    """
    found: list[History] = []
    servers, hooks = read_entries(data, suffix, [member]), read_entries(data, suffix, event)
    for before in [*copies, None]:
        with suppress(BadConfiguration):  # somebody has changed the copy
            former = {*read_entries(before, suffix, [member]), *read_entries(before, suffix, event)}
            added = {path: entry for path, entry in servers.items() if path not in former and _is_complete(entry)}
            added |= {path: entry for path, entry in hooks.items() if path not in former}
            if _add_all(before, suffix, added, head) == data:
                found.append((before, added))
    return max(found, key=lambda history: len(history[1]), default=None)


def _add_all(
    data: bytes | None, suffix: str, entries: Mapping[tuple[Key, ...], Any], head: bytes | None
) -> bytes | None:
    for path, entry in entries.items():
        data = add_entry(data, suffix, path, entry, head)
    return data


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


def _merge(old: JsonValue, path: Sequence[Key], new: JsonValue) -> JsonValue:
    """Return the value with a ``new`` one at a path, into which an old object there is merged."""
    if not path:
        for key, value in new.items() if isinstance(old, dict) and isinstance(new, dict) else ():
            old = {**old, key: _merge(old.get(key), (), value)}
        return old if isinstance(old, dict) and isinstance(new, dict) else new
    key, *rest = path
    if isinstance(key, int):
        items = old if isinstance(old, list) else []
        return [*items[:key], _merge(items[key] if key < len(items) else None, rest, new), *items[key + 1 :]]
    fields = old if isinstance(old, dict) else {}
    return {**fields, key: _merge(fields.get(key), rest, new)}


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

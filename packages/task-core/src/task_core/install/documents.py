"""Adds a server to a configuration and removes it again, so that every other byte stays as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from task_core.install import json_edits, toml_edits
from task_core.install.clients import program_of, words_of
from task_core.install.lines import BadConfiguration, decode, nest

__all__ = ["add_entry", "is_spare", "read_entry", "remove_entry"]

_BOM: Final = "\ufeff"
"""The byte order mark that some editors write first."""

_OWN_COMMANDS: Final = frozenset({"heartbeat-mcp", "hierarchy-mcp", "tasks-v1-mcp", "taskmaster-mcp", "cortex-mcp"})
"""The servers of this project: the copy of one may hold the entry of another that was uninstalled first."""

_EMPTY: Final = re.compile(r"\s*(?:\{\s*\}\s*)?")
"""An empty document."""


class _Language(NamedTuple):
    load: Callable[[str], dict[str, Any]]
    put: Callable[[str, Sequence[str], dict[str, JsonValue]], str]
    drop: Callable[[str, Sequence[str]], str]
    has_comments: Callable[[str], bool]


_LANGUAGES: Final = {
    ".json": _Language(json_edits.load, json_edits.put, json_edits.drop, json_edits.has_comments),
    ".toml": _Language(toml_edits.load, toml_edits.put, toml_edits.drop, toml_edits.has_comments),
}


def read_entry(data: bytes | None, suffix: str, path: Sequence[str]) -> JsonValue:
    """Return the entry of a server at ``path``, or None if there is none.

    The ``suffix`` of the file says in which language ``data`` is; None is the content of no file.

    Raises:
        BadConfiguration: the file cannot be read, or something on the way to ``path`` is not an object.
    """
    value: JsonValue = _LANGUAGES[suffix].load(_decode(data))
    for depth, key in enumerate(path):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise BadConfiguration(f"'{'.'.join(path[:depth])}' is not an object")
        value = value.get(key)
    return value


def add_entry(data: bytes | None, suffix: str, path: Sequence[str], entry: dict[str, JsonValue]) -> bytes:
    """Return the configuration with ``entry`` at ``path``; what one there has besides is kept.

    Raises:
        BadConfiguration: as ``read_entry``, or the file is written in a way that cannot be changed safely.
    """
    language = _LANGUAGES[suffix]
    text = _decode(data)
    old = language.load(text)
    expected = _merge(old, nest(path, entry))
    new = text if expected == old else language.put(text, path, entry)
    return _encode(data, _checked(language, new, expected))


def remove_entry(data: bytes, before: bytes | None, suffix: str, path: Sequence[str]) -> bytes | None:
    """Return the configuration without the entry at ``path``, or None if the file goes with it.

    If nothing else has changed since the entry was added, it is again what it was ``before``. Otherwise what is left
    empty goes, unless it was just as empty before.

    Raises:
        BadConfiguration: as ``add_entry``.
    """
    language = _LANGUAGES[suffix]
    text = _decode(data)
    if _is_undone_by(before, data, suffix, path):
        return before
    expected = language.load(text)
    *above, name = path
    del expected[above[0]][name]
    new = language.drop(text, path)
    former = _read_former(language, before)
    if not expected[above[0]] and former.get(above[0]) != {}:
        if above[0] in language.load(new):
            new = language.drop(new, above)
        del expected[above[0]]
    new = _checked(language, new, expected)
    is_new = before is None or former
    return None if is_new and _EMPTY.fullmatch(new) else _encode(data, new)


def is_spare(copy: bytes, data: bytes | None, suffix: str, member: str) -> bool:
    """Return whether the ``copy`` of a configuration may go: ``data`` has everything in it, except our own servers.

    Clients add to their files. A copy with comments stays: clients lose them.
    """
    language = _LANGUAGES[suffix]
    try:
        text = _decode(copy)
        old, new = language.load(text), language.load(_decode(data))
    except BadConfiguration:  # as below
        return False
    left = _entries(new, member)
    has_servers = all(left.get(name) == entry or _is_own(entry) for name, entry in _entries(old, member).items())
    is_in_new = has_servers and all(name == member or new.get(name) == value for name, value in old.items())
    return copy == data or (is_in_new and not language.has_comments(text))


def _entries(configuration: dict[str, Any], member: str) -> dict[str, JsonValue]:
    entries = configuration.get(member)
    return entries if isinstance(entries, dict) else {}


def _is_own(entry: JsonValue) -> bool:
    words, _ = words_of(entry)
    return bool(words) and program_of(words[0]) in _OWN_COMMANDS


def _read_former(language: _Language, before: bytes | None) -> dict[str, Any]:
    try:
        return language.load(_decode(before))
    except BadConfiguration:  # somebody has changed the copy
        return {}


def _is_undone_by(before: bytes | None, data: bytes, suffix: str, path: Sequence[str]) -> bool:
    entry = read_entry(data, suffix, path)
    try:
        is_new = isinstance(entry, dict) and read_entry(before, suffix, path) is None
        return is_new and add_entry(before, suffix, path, entry) == data
    except BadConfiguration:  # as above
        return False


def _checked(language: _Language, text: str, expected: JsonValue) -> str:
    """Return the new text if it says exactly what it should: whatever an edit misunderstood is refused."""
    with suppress(BadConfiguration):
        if language.load(text) == expected:
            return text
    raise BadConfiguration("it is written in a way that cannot be changed safely")


def _merge(old: JsonValue, new: JsonValue) -> JsonValue:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return {**old, **{key: _merge(old.get(key), value) for key, value in new.items()}}


def _decode(data: bytes | None) -> str:
    return decode(data).removeprefix(_BOM)


def _encode(data: bytes | None, text: str) -> bytes:
    mark = _BOM if data and data.decode("utf-8").startswith(_BOM) else ""
    try:
        return f"{mark}{text}".encode()
    except UnicodeEncodeError as error:
        raise BadConfiguration("a path or a setting is not UTF-8 text") from error

"""Puts a table at the end of TOML, changes or removes it, and leaves every other character as it is.

tomlkit would move comments and blank lines of the tables around a new one, so it gets the text of the table alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from mcp_client_install.text import BadConfiguration, append_block, cut_block, line_break, nest

__all__ = ["drop", "load", "put"]

_HEADER: Final = re.compile(r"^[ \t]*\[.*$", re.MULTILINE)
_NOTES_AT_END: Final = re.compile(r"(?:^[ \t]*(?:#[^\r\n]*)?\r?(?:\n|\Z))+\Z", re.MULTILINE)


def load(text: str) -> dict[str, Any]:
    """Return the content of a document; raise ``BadConfiguration`` if it is incomplete or names a key twice."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadConfiguration(str(error)) from error


def put(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return a document, on whose ``path`` are only tables, with ``value`` at its end; what one there has is kept.

    It raises ``BadConfiguration`` if the table at ``path`` is not written under a header of its own.
    """
    table: Any = load(text)
    for key in path:
        if key not in table:
            return append_block(text, tomlkit.dumps(nest(path, value)))
        table = table[key]
    start, stop = _find(text, path)
    return f"{text[:start]}{_change(text[start:stop], path, value)}{text[stop:]}"


def drop(text: str, path: Sequence[str]) -> str:
    """Return the document without the table at ``path``, which is there; raise as ``put`` does."""
    return cut_block(text, *_find(text, path))


def _find(text: str, path: Sequence[str]) -> tuple[int, int]:
    """Return where the tables at and below ``path`` begin and end, without the blank lines and comments after them."""
    headers = [(start, keys[: len(path)] == [*path]) for start, keys in _headers(text)]
    starts = [start for start, is_ours in headers if is_ours]
    after = [start for start, is_ours in headers if starts and start > starts[0] and not is_ours]
    stop = min(after, default=len(text))
    if not starts or starts[-1] > stop:
        raise BadConfiguration(f"'{'.'.join(path)}' is not written as a table of its own")
    notes = _NOTES_AT_END.search(text, starts[0], stop)
    return starts[0], notes.start() if notes else stop


def _headers(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield where each header of a table is, and its keys."""
    for line in _HEADER.finditer(text):
        keys: list[str] = []
        with suppress(tomllib.TOMLDecodeError):  # a line of an array may begin like a header
            table: Any = tomllib.loads(line[0].rstrip("\r"))
            while isinstance(table, dict) and table:
                (key,) = table
                keys, table = [*keys, key], table[key]
            yield line.start(), keys


def _change(block: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return the text of a table with everything in ``value``."""
    end = line_break(block)
    try:
        document = tomlkit.parse(block.replace("\r\n", "\n"))
    except TOMLKitError as error:  # a text in it has a line like a header, at which it was cut off
        raise BadConfiguration(f"'{'.'.join(path)}' cannot be changed safely") from error
    table: Any = document
    for key in path:
        table = table[key]
    _set(table, value)
    text = tomlkit.dumps(document).replace("\n", end)
    return text if block.endswith("\n") else text.removesuffix(end)


def _set(table: MutableMapping[str, Any], value: Mapping[str, Any]) -> None:
    for key, item in value.items():
        if isinstance(item, dict) and isinstance(table.get(key), dict):
            _set(table[key], item)
        elif table.get(key) != item:
            table[key] = item

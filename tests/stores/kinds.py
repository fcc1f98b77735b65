"""Every kind of file that can be in the place of a document: sound, damaged or newer (L1, L2, ST-3, ST-4)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from tests.stores.shops import MOMENT, Object, Shop

__all__ = ["DAMAGED", "NEWER", "READ", "Kind", "nested"]

Make = Callable[[Shop], bytes]


@dataclass(frozen=True)
class Kind:
    """A file, and what is read of it."""

    make: Make
    texts: tuple[str, ...] = ("one", "two")
    """The texts that are listed."""
    only: tuple[str, ...] = ()
    """The servers that have such a file; empty: all."""


LISTS: Final = ("heartbeat", "tasks-v1")
"""The servers whose document is an object with a list, and whose tasks have moments."""

TREES: Final = ("hierarchy",)
"""The server whose document is an array of trees."""


def nested(levels: int) -> JsonValue:
    """Return a list within a list, so many levels deep."""
    value: JsonValue = 0
    for _ in range(levels):
        value = [value]
    return value


def _pair(shop: Shop, **fields: JsonValue) -> tuple[Object, Object]:
    return shop.task("a", "one", **fields), shop.task("b", "two")


def _sound(shop: Shop) -> bytes:
    return shop.data(*_pair(shop))


def _with(*items: JsonValue, **fields: JsonValue) -> Make:
    """Return the two sound tasks, with ``items`` between them and ``fields`` beside."""

    def make(shop: Shop) -> bytes:
        first, second = _pair(shop)
        return shop.data(first, *items, second, **fields)

    return make


def _task_with(**fields: JsonValue) -> Make:
    return lambda shop: shop.data(*_pair(shop, **fields))


def _third(task_id: JsonValue = "c", **fields: JsonValue) -> Make:
    """Return the two sound tasks and a third one with ``fields``."""
    return lambda shop: shop.data(*_pair(shop), shop.task(task_id, **{"text": "three", **fields}))


def _bare_third(*missing: str) -> Make:
    def make(shop: Shop) -> bytes:
        third = shop.task("c", "three")
        return shop.data(*_pair(shop), {name: value for name, value in third.items() if name not in missing})

    return make


def _wrong_text(value: JsonValue) -> Make:
    return lambda shop: shop.data(*_pair(shop), shop.task("c", value))


def _around(before: bytes, after: bytes) -> Make:
    return lambda shop: before + _sound(shop) + after


def _swapped(old: bytes, new: bytes) -> Make:
    """Return the sound document with the first ``old`` in it replaced."""

    def make(shop: Shop) -> bytes:
        data = _sound(shop)
        assert old in data
        return data.replace(old, new, 1)

    return make


def _fixed(data: bytes) -> Make:
    return lambda _: data


def _encoded(codec: str) -> Make:
    return lambda shop: _sound(shop).replace(b"one", "öne".encode()).decode().encode(codec)


def _pretty(shop: Shop) -> bytes:
    text = json.dumps(shop.document(*_pair(shop)), indent=4, sort_keys=True)
    return text.replace("\n", "\r\n").encode() + b"\r\n\r\n"


def _version(value: JsonValue) -> Make:
    return lambda shop: json.dumps({"version": value, "tasks": [*_pair(shop)]}).encode()


def _other_root(value: JsonValue) -> Make:
    return lambda _: json.dumps(value).encode()


def _tasks_as(value: JsonValue) -> Make:
    return lambda _: json.dumps({"version": 1, "tasks": value}).encode()


INTERNALS: Final = (
    *("__class__", "__dict__", "__pydantic_extra__", "model_config", "model_extra", "model_fields", "changed"),
    *("to_json", "columns", "is_done", "position", "parent", "revision", "copy", "archived", "error", ""),
)
"""Names that mean something to the code, and nothing in a file."""

READ: Final[dict[str, Kind]] = {
    "a sound one": Kind(_sound),
    "a byte order mark": Kind(_around(b"\xef\xbb\xbf", b"")),
    "written anew by an editor on Windows": Kind(_pretty),
    "blanks around": Kind(_around(b" \r\n\t", b" \n\n ")),
    "no version": Kind(lambda shop: json.dumps({"tasks": [*_pair(shop)]}).encode(), only=LISTS),
    "no tasks": Kind(lambda shop: shop.data(), ()),
    "unknown fields of a task": Kind(_task_with(mood={"deep": [1, {"x": None}]}, due="friday", list=[[], {}, ""])),
    "fields with the names of our own": Kind(_task_with(**dict.fromkeys(INTERNALS, 5))),
    "unknown fields beside the tasks": Kind(_with(owner="Ann", format={"x": [1]}), only=LISTS),
    "an integer of 4,000 digits": Kind(_task_with(huge=int("9" * 4_000))),
    "numbers of every form": Kind(_task_with(numbers=[0, -0.0, 1e300, 1e-300, 2**63, -(2**64), 0.1])),
    "a text of a million characters": Kind(_task_with(note="x" * 1_000_000)),
    "nested as deep as is read": Kind(_task_with(deep=nested(187)), only=LISTS),
    "a tree with a deep field": Kind(_task_with(deep=nested(188)), only=TREES),
    "NUL and control characters": Kind(_task_with(note="a\0b\x1b[31m\x7f\u2028\u202e")),
    "characters beyond 16 bits": Kind(_task_with(note="🦊\U000e0041\U0010ffff")),
    "escaped pairs of surrogates": Kind(_swapped(b'"one"', b'"one","x":"\\ud83e\\udd8a"')),
    "a moment without a zone": Kind(_task_with(created_at="2026-03-01T12:00:00"), only=LISTS),
    "a moment of another zone": Kind(_task_with(created_at="2026-03-01T12:00:00.5+05:45"), only=LISTS),
    "a day in place of a moment": Kind(_task_with(created_at="2026-03-01"), only=LISTS),
    "a moment in seconds": Kind(_task_with(created_at=1_772_000_000), only=LISTS),
    "a moment to come": Kind(_task_with(created_at="2999-01-01T00:00:00Z"), only=LISTS),
    "the first and the last moment": Kind(
        _task_with(created_at="0001-01-01T00:00:00Z", updated_at="9999-12-31T23:59:59.999999Z"), only=LISTS
    ),
    "ids that differ by case": Kind(_third("A")),
    "ids that look the same": Kind(lambda shop: shop.data(*_pair(shop), shop.task("é"), shop.task("e\u0301"))),
    "an index that points nowhere": Kind(_with(id_to_index={"a": 99, "gone": -1}), only=("heartbeat",)),
    "an index that is no index": Kind(_with(id_to_index="?"), only=("heartbeat",)),
    "ideas that are one text": Kind(_task_with(ideas="just one"), only=("heartbeat",)),
    "a task that is finished before it was made": Kind(
        _task_with(completed_at="2001-01-01T00:00:00Z"), only=("heartbeat",)
    ),
    "more tags than may be given": Kind(_task_with(tags=["x" * 99] * 999), only=("tasks-v1",)),
    "a parent of its own parent": Kind(_task_with(parentId="a", parent="b", parents=["a"]), only=TREES),
}
"""Files whose tasks are read."""

DAMAGED: Final[dict[str, Kind]] = {
    "a package": Kind(_other_root({"name": "app", "version": "1.0.0", "scripts": {}})),
    "the tasks of another program": Kind(_other_root({"tasks": [], "owner": "me"}), only=LISTS),
    "the tasks of heartbeat-mcp": Kind(
        _other_root({"version": 1, "tasks": [], "id_to_index": {}}), only=("hierarchy", "tasks-v1")
    ),
    "a byte order mark alone": Kind(_fixed(b"\xef\xbb\xbf")),
    "zeros": Kind(_fixed(bytes(4_096))),
    "zeros at the end": Kind(_around(b"", bytes(512))),
    "random bytes": Kind(_fixed(bytes(range(256)) * 4)),
    "a database": Kind(_fixed(b"SQLite format 3\0" + bytes(84))),
    "compressed": Kind(lambda shop: gzip.compress(_sound(shop))),
    "UTF-16": Kind(_encoded("utf-16")),
    "UTF-32": Kind(_encoded("utf-32")),
    "Latin-1": Kind(_encoded("latin-1")),
    "a byte that is no UTF-8": Kind(_swapped(b"one", b"o\xffe")),
    "a surrogate in UTF-8": Kind(_swapped(b"one", b"\xed\xa0\x80")),
    "overlong UTF-8": Kind(_swapped(b"one", b"\xc0\xaf")),
    "half a character": Kind(_swapped(b'"one"', b'"\\ud83e"')),
    "half a character as a key": Kind(_swapped(b'"one"', b'"one","\\udd8a":1')),
    "a comma too many": Kind(_swapped(b"]", b",]")),
    "a comma too few": Kind(_swapped(b"}, {", b"} {")),
    "a comment of two slashes": Kind(_around(b"// mine\n", b"")),
    "a comment between stars": Kind(_around(b"", b"/* mine */")),
    "single quotes": Kind(lambda shop: _sound(shop).replace(b'"', b"'")),
    "keys without quotes": Kind(_swapped(b'"id"', b"id")),
    "a line break in a text": Kind(_swapped(b"one", b"o\ne")),
    "a NUL as it is": Kind(_swapped(b"one", b"o\0e")),
    "NaN": Kind(_swapped(b'"one"', b'"one","x":NaN')),
    "Infinity": Kind(_swapped(b'"one"', b'"one","x":-Infinity')),
    "a number past all floats": Kind(_swapped(b'"one"', b'"one","x":1e400')),
    "an integer of 5,000 digits": Kind(_swapped(b'"one"', b'"one","x":' + b"9" * 5_000)),
    "hexadecimal": Kind(_swapped(b'"one"', b'"one","x":0x10')),
    "a key twice in a task": Kind(_swapped(b'"one"', b'"one","id":"z"')),
    "a key twice deep down": Kind(_swapped(b'"one"', b'"one","x":[{"y":1,"y":1}]')),
    "a key twice at the top": Kind(_swapped(b'"version"', b'"tasks":[],"version"'), only=LISTS),
    "two documents": Kind(lambda shop: _sound(shop) + b"\n" + _sound(shop)),
    "words after it": Kind(_around(b"", b"\nthe end")),
    "a merge that was not finished": Kind(_around(b"<<<<<<< HEAD\n", b"\n=======\n>>>>>>> theirs\n")),
    "a page of a web server": Kind(_fixed(b"<!DOCTYPE html><title>502 Bad Gateway</title>")),
    "one object a line": Kind(lambda shop: b"".join(json.dumps(task).encode() + b"\n" for task in _pair(shop))),
    "100,000 open brackets": Kind(_fixed(b"[" * 100_000)),
    "100,000 open braces": Kind(_fixed(b'{"tasks":[' * 50_000)),
    "191 levels": Kind(_task_with(deep=nested(188)), only=LISTS),
    "191 levels in a tree": Kind(_task_with(deep=nested(189)), only=TREES),
    "a number": Kind(_other_root(7)),
    "a text": Kind(_other_root("tasks")),
    "null": Kind(_other_root(None)),
    "true": Kind(_other_root(value=True)),
    "an empty object": Kind(_other_root({})),
    "an array in place of the object": Kind(_other_root([{"id": "a"}]), only=LISTS),
    "an object in place of the array": Kind(_other_root({"version": 1, "tasks": []}), only=TREES),
    "a task in place of the array": Kind(_other_root({"id": "a", "name": "one", "tasks": []}), only=TREES),
    "tasks that are null": Kind(_tasks_as(None)),
    "tasks that are text": Kind(_tasks_as("[]")),
    "tasks by id": Kind(_tasks_as({"a": {"id": "a"}})),
    "a version of text": Kind(_version("1")),
    "a version of text that is newer": Kind(_version("2")),
    "a version with a point": Kind(_version(1.5)),
    "version true": Kind(_version(value=True)),
    "version null": Kind(_version(None)),
    "version 0": Kind(_version(0)),
    "version -1": Kind(_version(-1)),
    "a version that is a list": Kind(_version([2])),
    "a manifest of npm": Kind(_other_root({"name": "x", "version": "1.0.0", "scripts": {"test": "x"}})),
    "the tasks of another program, by tag": Kind(_other_root({"master": {"tasks": [{"id": 1, "title": "x"}]}})),
    "the graph of a memory server": Kind(_fixed(b'{"type":"entity","name":"x"}\n{"type":"relation"}\n')),
    "91 levels of subtasks": Kind(lambda _: (b'[{"id":"a","name":"a","tasks":' * 91)[:-9] + b"}]" * 91, only=TREES),
    "a number among the tasks": Kind(_with(7)),
    "null among the tasks": Kind(_with(None)),
    "text among the tasks": Kind(_with("buy milk")),
    "a list among the tasks": Kind(_with([])),
    "an empty object among the tasks": Kind(_with({})),
    "a task without an id": Kind(_bare_third("id")),
    "an id that is a number": Kind(_third(7)),
    "an id that is null": Kind(_third(None)),
    "an id that is a list": Kind(_third(["c"])),
    "an empty id": Kind(_third("")),
    "a text that is a number": Kind(_wrong_text(5)),
    "a text that is null": Kind(_wrong_text(None)),
    "a text that is an object": Kind(_wrong_text({"text": "three"})),
    "moments that are not there": Kind(_bare_third("created_at"), only=LISTS),
    "a moment that is no moment": Kind(_third(created_at="yesterday"), only=LISTS),
    "a day that no month has": Kind(_third(updated_at="2026-02-30T00:00:00Z"), only=LISTS),
    "a moment outside the calendar": Kind(_third(created_at="0001-01-01T00:00:00+14:00"), only=LISTS),
    "a moment after the calendar": Kind(_third(created_at="9999-12-31T23:00:00-14:00"), only=LISTS),
    "a moment past all numbers": Kind(_third(created_at=1e300), only=LISTS),
    "a moment that is null": Kind(_third(updated_at=None), only=LISTS),
    "an unknown status": Kind(_third(status="someday"), only=LISTS),
    "a status that is a number": Kind(_third(status=3), only=LISTS),
    "a status that a person made up": Kind(_task_with(status="someday"), only=TREES),
    "two tasks with one id": Kind(_third("a")),
    "ideas that are numbers": Kind(_third(ideas=[1]), only=("heartbeat",)),
    "an unknown category": Kind(_third(category="fun"), only=("tasks-v1",)),
    "a task below itself": Kind(lambda s: s.data(*_pair(s, tasks=[s.task("a")])), only=TREES),
    "subtasks that are no list": Kind(_third(tasks={"c": 1}), only=TREES),
    "the store of another server": Kind(
        _other_root({"version": 1, "tasks": [{"id": "1", "description": "x", "created_at": MOMENT}]}), only=LISTS
    ),
    "numbers of another program": Kind(_other_root([1, 2, [3]]), only=TREES),
}
"""Files that are not a complete, valid document, or have one task that is not."""

NEWER: Final[dict[str, Kind]] = {
    "the next version": Kind(_version(2)),
    "a version far ahead": Kind(_version(10**20)),
    "a newer version of another shape": Kind(_other_root({"version": 3, "records": {"a": 1}})),
}
"""Files that a later server wrote."""

"""Bounds on what a model reads in one answer: pages that end early, and tasks that are cut (TOOL-9)."""

from collections.abc import Container, Sequence
from itertools import accumulate, islice
from typing import Final, TypeVar

from pydantic import JsonValue
from pydantic_core import to_json

from task_core.models import RecordT
from task_core.text import shorten

__all__ = ["LISTED_TEXT", "MAX_ANSWER", "MAX_PAGE", "WARNING_ROOM", "fit", "shorten_texts", "size_of", "take_fitting"]

ItemT = TypeVar("ItemT")
MAX_ANSWER: Final = 40_960
"""Maximum bytes of JSON in an answer, unless the call asked for one task in full: 40 KB."""

WARNING_ROOM: Final = 4_096
"""Bytes of an answer that are left for warnings: room for at least one."""

MAX_PAGE: Final = 32_768
"""Maximum bytes of the tasks on one page; the rest is for the way to continue and for warnings."""

LISTED_TEXT: Final = 2_000
"""Characters of a text in a task that is cut."""

_MIN_TEXT: Final = 125
"""Characters at which cutting stops: ids that callers choose and timestamps stay whole."""

_MAX_ITEMS: Final = 256
"""Items of a list in a task that is cut, and levels below it."""

_MAX_KEYS: Final = 20
"""Fields of a task, and of an object in it, that are kept however small it becomes."""

_CUT: Final = "cut"
"""The field that marks what was cut."""


def size_of(value: object) -> int:
    """Return the bytes of ``value``, a record or a JSON value, as compact JSON."""
    return len(to_json(value))


def take_fitting(items: Sequence[ItemT], room: int = MAX_PAGE) -> list[ItemT]:
    """Return the first of ``items``, at least one if there are any, that have at most ``room`` bytes together."""
    sizes = accumulate(size_of(item) + 1 for item in items)
    return [item for item, size in zip(items, sizes, strict=True) if size <= room] or [*items[:1]]


def fit(
    value: dict[str, JsonValue], room: int = MAX_PAGE, *, longest: int = 0, keep: Container[str] = ()
) -> dict[str, JsonValue]:
    """Return ``value`` if it has at most ``room`` bytes, else a copy that has, marked with ``"cut": true``.

    The copy has shorter texts and lists, and fewer levels. ``id`` and the fields in ``keep`` stay whole. Texts of more
    than ``longest`` characters are cut in any case; 0 means no such limit.
    """
    found = value
    if longest and (short := _copy(value, longest, len(to_json(value)), keep)) != value:
        found = {**short, _CUT: True}
    texts, items = LISTED_TEXT, _MAX_ITEMS
    while size_of(found) > room and items:
        found = {**_copy(found, texts, items, keep), _CUT: True}
        texts, items = (texts // 2, items) if texts > _MIN_TEXT else (texts, items // 2)
    return found


def shorten_texts(record: RecordT, *, longest: int = 0) -> RecordT:
    """Return ``record`` as a list shows it: itself if it fits a page, else cut as by ``fit``."""
    if size_of(record) <= (longest or MAX_PAGE):
        return record
    whole = record.model_dump(mode="json")
    cut = fit(whole, longest=longest)
    return record if cut is whole else type(record).model_validate(cut)


def _copy(value: dict[str, JsonValue], texts: int, items: int, keep: Container[str]) -> dict[str, JsonValue]:
    def cut(part: JsonValue, level: int) -> JsonValue:
        if isinstance(part, str):
            return shorten(part, texts)
        if isinstance(part, list):
            return [cut(item, level + 1) for item in part[:items]] if level <= items else []
        if isinstance(part, dict):
            most = 0 if level > items else max(items, _MAX_KEYS) if level == 1 else items
            return {shorten(name, texts): value_of(name, child, level) for name, child in islice(part.items(), most)}
        return part

    def value_of(name: str, part: JsonValue, level: int) -> JsonValue:
        return part if name in keep else cut(part, level + 1)

    first = islice(value.items(), max(items, _MAX_KEYS))
    return {name: part if name == "id" else value_of(name, part, 0) for name, part in first}

"""Queries of lists: the selection for the store, and the cursor that continues a list (V1-2).

A cursor is a key: the values that the order compares, and the id of the last task of the page. Tasks that are added,
or changed by hand, between two pages neither appear twice nor cause others to be skipped.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Final

from task_core.errors import InvalidArguments
from task_core.store import Selection
from task_core.store.statements import Key
from task_core.text import fold
from tasks_v1_mcp.arguments import ListOrder, ListTasksArguments
from tasks_v1_mcp.models import StoredTask

__all__ = ["encode_cursor", "make_selection"]

_MAX_WORDS: Final = 50
"""Maximum words in a query."""

_MAX_NUMBER: Final = 2**63
"""The upper limit of a number in a key."""


def make_selection(arguments: ListTasksArguments) -> Selection:
    """Return the selection that ``arguments`` ask for.

    Raises:
        InvalidArguments: the cursor is damaged or belongs to another order, or there are too many words.
    """
    words = tuple(dict.fromkeys(fold(arguments.query or "").split()))
    if len(words) > _MAX_WORDS:
        raise InvalidArguments([("query", f"Give at most {_MAX_WORDS} words; there are {len(words)}.")])
    return Selection(
        states=tuple(status.value for status in arguments.status or ()),
        facets=(arguments.category.value,) if arguments.category else (),
        ranks=(arguments.priority.rank,) if arguments.priority else (),
        topic=arguments.topic_id or "",
        tags=arguments.tags_any or (),
        words=words,
        order=arguments.order_by.order,
        descending=True,
        after=None if arguments.cursor is None else _decode_key(arguments.cursor, arguments.order_by),
        limit=arguments.limit,
    )


def encode_cursor(task: StoredTask, order: ListOrder) -> str:
    """Return the cursor for what comes after ``task``, as URL-safe text."""
    return _encode((order.value, *order.order.key(task)))


def _encode(key: Sequence[object]) -> str:
    text = json.dumps(key, ensure_ascii=False, separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode_key(cursor: str, order: ListOrder) -> Key:
    try:
        name, *numbers, task_id = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        is_as_written = _encode((name, *numbers, task_id)) == cursor  # the readers are lenient
        is_whole = len(numbers) == len(order.order.value) and isinstance(task_id, str)
        if is_as_written and is_whole and name == order.value and all(map(_is_number, numbers)):
            return (*numbers, task_id)
    except (ValueError, TypeError, RecursionError):
        pass
    advice = "Give next_cursor of the previous page, unchanged, with the same order_by"
    raise InvalidArguments([("cursor", f"{advice}; or leave it out to start again.")])


def _is_number(value: object) -> bool:
    return type(value) is int and abs(value) < _MAX_NUMBER

"""Pages: as many entries as were asked for, and as fit into an answer (CX-22, CX-96)."""

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from pydantic import BaseModel
from sqlalchemy.orm import Session

from cortex_backend.problems import Problem
from cortex_backend.schemas.common import PageQuery
from cortex_backend.store.rows import Listing, list_rows

__all__ = ["MAX_ANSWER", "Page", "encode_cursor", "make_page", "read_key", "read_page"]

MAX_ANSWER: Final = 2**20
"""Bytes that an answer has at most: 1 MiB."""

_FRAME: Final = 1_000

_CURSOR: Final = re.compile(r"([1-9][0-9]{0,9})-([0-9a-f]{16})")
"""The key after which a page continues, and a digest that binds it to the list of the page."""


class Page(NamedTuple):
    """The entries of a page as JSON, how many there are on all pages, and where the next page begins."""

    entries: list[str]
    total: int
    next_cursor: str | None


def read_key(cursor: str | None, scope: str) -> int | None:
    """Return the key after which the page of a cursor begins; raise ``InvalidCursor`` for one of another list."""
    if cursor is None:
        return None
    match = _CURSOR.fullmatch(cursor)
    if not match or encode_cursor(int(match[1]), scope) != cursor:
        raise Problem("InvalidCursor")
    return int(match[1])


def encode_cursor(key: int, scope: str) -> str:
    """Return the cursor for what comes after ``key`` in the list that ``scope`` names."""
    return f"{key}-{sha256(f'{key} {scope}'.encode()).hexdigest()[:16]}"


def read_page(
    session: Session, query: PageQuery, scope: str, listing: Listing[Any], view: Callable[[Any], BaseModel]
) -> Page:
    """Return the page of a list that ``query`` asks for; ``scope`` is the name of the list in its cursors."""
    rows, total = list_rows(session, listing, read_key(query.cursor, scope) or 0, query.limit + 1)
    return make_page(rows, query.limit, total=total, scope=scope, view=view)


def make_page(
    rows: Sequence[Any],
    limit: int,
    *,
    total: int,
    scope: str,
    view: Callable[[Any], BaseModel],
) -> Page:
    """Return a page of the first ``limit`` of ``rows``, or fewer if they are too large together; one fits always."""
    entries: list[str] = []
    room = MAX_ANSWER - _FRAME
    for row in rows[:limit]:
        entry = view(row).model_dump_json(by_alias=True)
        room -= len(entry.encode()) + 1
        if room < 0:
            break
        entries.append(entry)
    is_last = len(entries) == len(rows)
    return Page(entries, total, None if is_last else encode_cursor(rows[len(entries) - 1].row.id, scope))

"""The SQL that several tables share."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import CursorResult, Select, Update, func, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.sql import ColumnExpressionArgument

from cortex_backend.models import ProjectRow, TaskRow
from cortex_backend.table_base import TableBase

__all__ = ["Listing", "add_row", "change_row", "changes_one", "count_rows", "list_rows"]

SeenT = TypeVar("SeenT")


class Listing(NamedTuple, Generic[SeenT]):
    """A list by a key that counts up: ``kind`` makes an entry of a row of ``query``."""

    kind: Callable[..., SeenT]
    query: "Select[*tuple[Any, ...]]"
    key: InstrumentedAttribute[int]


def list_rows(session: Session, listing: Listing[SeenT], after: int, limit: int) -> tuple[list[SeenT], int]:
    """Return the entries with a key above ``after``, at most ``limit``, and how many the whole list has."""
    query = listing.query
    total = session.scalars(query.with_only_columns(func.count(), maintain_column_froms=True)).one()
    rows = session.execute(query.where(listing.key > after).order_by(listing.key).limit(limit))
    return [listing.kind(*row) for row in rows], total


def add_row(session: Session, row: TableBase) -> None:
    """Add a row, which has its id afterwards."""
    session.add(row)
    session.flush()


def count_rows(session: Session, *conditions: "ColumnExpressionArgument[bool]") -> int:
    """Return how many rows of their table meet the conditions."""
    return session.scalars(select(func.count()).where(*conditions)).one()


def change_row(session: Session, row: ProjectRow | TaskRow, changes: Mapping[str, object], now: datetime) -> bool:
    """Change a row that is still of its version, and return whether it was (CX-24)."""
    table: type[ProjectRow | TaskRow] = type(row)
    query = update(table).where(table.id == row.id, table.version == row.version)
    return changes_one(session, query.values(**changes, version=table.version + 1, updated_at=now))


def changes_one(session: Session, query: Update) -> bool:
    """Run an UPDATE, and return whether it changed a row; objects in memory stay as they are."""
    result: Any = session.execute(query.execution_options(synchronize_session=False))
    return isinstance(result, CursorResult) and result.rowcount == 1

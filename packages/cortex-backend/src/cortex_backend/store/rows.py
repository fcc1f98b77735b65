"""The SQL that several tables share."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import CursorResult, Update, func, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql import ColumnExpressionArgument

from cortex_backend.models import ProjectRow, TableBase, TaskRow

__all__ = ["add_row", "change_row", "changes_one", "count_rows"]


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

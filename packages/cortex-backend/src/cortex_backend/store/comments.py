"""The SQL of comments; the caller has found their task before."""

from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from cortex_backend.models import CommentRow, UserRow

__all__ = ["SeenComment", "add_comment", "count_comments", "list_comments"]


class SeenComment(NamedTuple):
    """A comment and the name of its author."""

    row: CommentRow
    author_name: str


def list_comments(session: Session, task_id: int, after: int, limit: int) -> list[SeenComment]:
    """Return the comments on a task with an id above ``after``, oldest first, at most ``limit``."""
    query = (
        select(CommentRow, UserRow.name)
        .join(UserRow, UserRow.id == CommentRow.author_id)
        .where(CommentRow.task_id == task_id, CommentRow.id > after)
        .order_by(CommentRow.id)
        .limit(limit)
    )
    return [SeenComment(*row) for row in session.execute(query)]


def count_comments(session: Session, task_id: int) -> int:
    """Return how many comments a task has."""
    return session.scalars(select(func.count()).where(CommentRow.task_id == task_id)).one()


def add_comment(session: Session, row: CommentRow) -> None:
    """Add a comment; ``row`` has its id afterwards."""
    session.add(row)
    session.flush()

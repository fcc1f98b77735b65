"""The SQL of tasks and comments: each query holds what the caller may see (CX-26), and a page has a key (CX-22)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, exists, func, select, update
from sqlalchemy.orm import Session, aliased

from cortex_backend.models import CommentRow, MembershipRow, ProjectRow, TaskRow, UserRow
from cortex_backend.store.rows import Listing

__all__ = [
    "SeenComment",
    "SeenTask",
    "TaskFilter",
    "count_tasks",
    "find_task",
    "list_comments",
    "list_tasks",
    "release_tasks",
]

_Assignee = aliased(UserRow)
_Creator = aliased(UserRow)

_IS_MEMBER: Final = and_(MembershipRow.project_id == TaskRow.project_id, MembershipRow.user_id == bindparam("user_id"))

_SHOWN: Final = (
    select(TaskRow, ProjectRow, _Assignee.name, _Creator.name, MembershipRow.role)
    .join(MembershipRow, _IS_MEMBER)
    .join(ProjectRow, ProjectRow.id == TaskRow.project_id)
    .join(_Creator, _Creator.id == TaskRow.created_by)
    .outerjoin(_Assignee, _Assignee.id == TaskRow.assignee_id)
)
"""Tasks as the user ``user_id`` sees them."""

# Many requests ask this: to build it each time would cost more than to run it.
_ONE_SHOWN: Final = _SHOWN.where(TaskRow.id == bindparam("task_id")).execution_options(populate_existing=True)


class SeenTask(NamedTuple):
    """A task that the caller sees, with its project and the names of its people."""

    row: TaskRow
    project: ProjectRow
    assignee_name: str | None
    creator_name: str
    role: str


class TaskFilter(NamedTuple):
    """Filters of a list of tasks; an empty one does not count."""

    user_id: int
    assignee: int | Literal["any", "none"] = "any"
    project_id: int | None = None
    statuses: Sequence[str] = ()
    types: Sequence[str] = ()
    priorities: Sequence[str] = ()
    text: str = ""
    """Text in the title or the description, ignoring case; PostgreSQL knows the letters of its locale."""


def find_task(session: Session, user_id: int, task_id: int, *, is_locked: bool = False) -> SeenTask | None:
    """Return a task that the user sees; ``is_locked`` keeps the user's role as it is until the transaction ends."""
    query = _ONE_SHOWN.with_for_update(read=True, of=MembershipRow) if is_locked else _ONE_SHOWN
    row = session.execute(query, {"user_id": user_id, "task_id": task_id}).one_or_none()
    return None if row is None else SeenTask(*row)


def list_tasks(session: Session, wanted: TaskFilter, before: int | None, limit: int) -> list[SeenTask]:
    """Return the tasks of a filter with an id below ``before``, newest first, at most ``limit``."""
    # The page is chosen among tasks alone: a join would let the planner read and sort all that the user sees.
    is_seen = exists().where(_IS_MEMBER)
    ids = select(TaskRow.id).where(is_seen, *_conditions(wanted)).order_by(TaskRow.id.desc()).limit(limit)
    if before is not None:
        ids = ids.where(TaskRow.id < before)
    query = _SHOWN.where(TaskRow.id.in_(ids)).order_by(TaskRow.id.desc())
    return [SeenTask(*row) for row in session.execute(query, {"user_id": wanted.user_id})]


def count_tasks(session: Session, wanted: TaskFilter) -> int:
    """Return how many tasks a filter finds."""
    query = select(func.count(TaskRow.id)).join(MembershipRow, _IS_MEMBER).where(*_conditions(wanted))
    return session.scalars(query, {"user_id": wanted.user_id}).one()


def _conditions(wanted: TaskFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.assignee == "none":
        found.append(TaskRow.assignee_id.is_(None))
    elif wanted.assignee != "any":
        found.append(TaskRow.assignee_id == wanted.assignee)
    if wanted.project_id is not None:
        found.append(TaskRow.project_id == wanted.project_id)
    for column, words in (
        (TaskRow.status, wanted.statuses),
        (TaskRow.type, wanted.types),
        (TaskRow.priority, wanted.priorities),
    ):
        if words:
            found.append(column.in_(words))
    if wanted.text:
        text = wanted.text.lower()
        found.append(
            func.lower(TaskRow.title).contains(text, autoescape=True)
            | func.lower(TaskRow.description).contains(text, autoescape=True)
        )
    return found


def release_tasks(
    session: Session, project_id: int, user_id: int, settled: Sequence[str], now: datetime
) -> Sequence[int]:
    """Take the tasks of a user in a project, but for the settled ones, from them; return their ids."""
    query = (
        update(TaskRow)
        .where(TaskRow.project_id == project_id, TaskRow.assignee_id == user_id, TaskRow.status.not_in(settled))
        .values(assignee_id=None, version=TaskRow.version + 1, updated_at=now)
        .returning(TaskRow.id)
        .execution_options(synchronize_session=False)
    )
    return sorted(session.scalars(query))


class SeenComment(NamedTuple):
    """A comment and the name of its author."""

    row: CommentRow
    author_name: str


def list_comments(task_id: int) -> Listing[SeenComment]:
    """Return the list of the comments on a task, which the user sees."""
    query = select(CommentRow, UserRow.name).join(UserRow, UserRow.id == CommentRow.author_id)
    return Listing(SeenComment, query.where(CommentRow.task_id == task_id), CommentRow.id)

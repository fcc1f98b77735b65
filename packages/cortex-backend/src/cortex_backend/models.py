"""The tables (CX-43): rows as SQLAlchemy sees them, with every enumeration and limit as a CHECK constraint too.

No relationship is mapped, so nothing loads lazily (CX-40): what a query needs, it joins.
"""

from datetime import date, datetime
from enum import StrEnum
from typing import Final

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from cortex_backend.enums import EventKind, ForgeKind, MemberRole, PullRequestState, TaskPriority, TaskStatus, TaskType
from cortex_backend.table_base import TableBase

__all__ = [
    "MAX_ID",
    "MAX_TASKS",
    "CommentRow",
    "CounterRow",
    "EventRow",
    "IdempotencyRow",
    "InvitationRow",
    "LoginFailureRow",
    "MembershipRow",
    "ProjectRow",
    "SessionRow",
    "TaskRow",
    "UserRow",
]

MAX_ID: Final = 2**31 - 1
"""The upper limit of the id of a user, a project, a task or a comment (CX-11)."""

MAX_TASKS: Final = 100_000
"""Maximum tasks of a project (CX-96)."""


def _is_one_of(column: str, values: type[StrEnum]) -> CheckConstraint:
    """Return the constraint that ``column`` has one of ``values``."""
    listed = ", ".join(f"'{value.value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def _has_length(column: str, least: int, most: int) -> CheckConstraint:
    """Return the constraint that ``column`` has this many characters."""
    return CheckConstraint(f"length({column}) BETWEEN {least} AND {most}", name=column)


def _has_id() -> CheckConstraint:
    """Return the constraint that the id is from 1 to 2**31 - 1."""
    return CheckConstraint(f"id BETWEEN 1 AND {MAX_ID}", name="id")


class UserRow(TableBase):
    """A person who can log in (CX-10); ``email`` is case-folded."""

    __tablename__ = "users"
    __table_args__ = (
        _has_id(),
        _has_length("email", 3, 254),
        _has_length("name", 1, 100),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(String(254), unique=True)
    name: Mapped[str] = mapped_column(String(100))
    password_hash: Mapped[str] = mapped_column(String(255))
    is_active: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime]


class SessionRow(TableBase):
    """One login (CX-31), and the refresh tokens that it accepts (CX-32), as SHA-256 in hexadecimal digits.

    ``refresh_hash`` is the token in use, of generation ``generation``; ``pending_hash`` the one that replaces it when
    it is first used, of ``pending_generation``. The id is a digest of what all its tokens begin with, so that an older
    one is recognised without being stored.
    """

    __tablename__ = "sessions"
    __table_args__ = (_has_length("device", 0, 100), _has_length("id", 1, 64))

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    device: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[datetime]
    used_at: Mapped[datetime]
    ends_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    generation: Mapped[int]
    refresh_hash: Mapped[str] = mapped_column(String(64), unique=True)
    pending_generation: Mapped[int | None]
    pending_hash: Mapped[str | None] = mapped_column(String(64), unique=True)


class LoginFailureRow(TableBase):
    """A login that failed, for the limits by e-mail and by address (CX-35)."""

    __tablename__ = "login_failures"
    __table_args__ = (Index(None, "email", "at"), Index(None, "address", "at"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    at: Mapped[datetime] = mapped_column(index=True)
    email: Mapped[str] = mapped_column(String(254))
    address: Mapped[str] = mapped_column(String(45))


class CounterRow(TableBase):
    """A number under a name that all processes share; it is forgotten after ``ends_at``.

    ``events`` is the id of the newest event (CX-44); the others are rates and blocks (CX-35).
    """

    __tablename__ = "counters"

    name: Mapped[str] = mapped_column(String(400), primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)
    ends_at: Mapped[datetime | None] = mapped_column(index=True)


class ProjectRow(TableBase):
    """A project (CX-10); ``task_count`` keeps the limit of its tasks."""

    __tablename__ = "projects"
    __table_args__ = (
        _has_id(),
        _has_length("name", 1, 100),
        _has_length("repository_url", 1, 2048),
        _has_length("default_branch", 1, 255),
        CheckConstraint(f"task_count BETWEEN 0 AND {MAX_TASKS}", name="task_count"),
        CheckConstraint("version >= 1", name="version"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    repository_url: Mapped[str | None] = mapped_column(String(2048))
    default_branch: Mapped[str] = mapped_column(String(255))
    task_count: Mapped[int] = mapped_column(default=0)
    version: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class MembershipRow(TableBase):
    """The role of a user in a project (CX-10)."""

    __tablename__ = "memberships"
    __table_args__ = (_is_one_of("role", MemberRole),)

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"), primary_key=True, index=True)
    role: Mapped[str] = mapped_column(String(10))


class InvitationRow(TableBase):
    """An offer of a role in a project, which the person with the address can accept; an account may come later."""

    __tablename__ = "invitations"
    __table_args__ = (
        _has_id(),
        _has_length("email", 3, 254),
        _is_one_of("role", MemberRole),
        UniqueConstraint("project_id", "email"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    email: Mapped[str] = mapped_column(String(254), index=True)
    role: Mapped[str] = mapped_column(String(10))
    invited_by: Mapped[int] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]


class TaskRow(TableBase):
    """A task (CX-11); it has a pull request when ``pr_forge`` is not null (CX-14)."""

    __tablename__ = "tasks"
    __table_args__ = (
        _has_id(),
        _has_length("title", 1, 200),
        _has_length("description", 0, 20_000),
        _has_length("branch_name", 1, 120),
        _has_length("pr_url", 1, 2048),
        _is_one_of("type", TaskType),
        _is_one_of("priority", TaskPriority),
        _is_one_of("status", TaskStatus),
        _is_one_of("pr_forge", ForgeKind),
        _is_one_of("pr_state", PullRequestState),
        CheckConstraint("version >= 1", name="version"),
        CheckConstraint("status <> 'REVIEW' OR branch_name IS NOT NULL", name="review"),
        CheckConstraint("(pr_forge IS NULL) = (pr_state IS NULL)", name="pull_request"),
        Index(None, "project_id", "id"),
        Index(None, "assignee_id", "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    title: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(Text)
    type: Mapped[str] = mapped_column(String(10))
    priority: Mapped[str] = mapped_column(String(10))
    status: Mapped[str] = mapped_column(String(12))
    assignee_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    branch_name: Mapped[str | None] = mapped_column(String(120))
    pr_url: Mapped[str | None] = mapped_column(String(2048))
    pr_number: Mapped[int | None]
    pr_forge: Mapped[str | None] = mapped_column(String(10))
    pr_state: Mapped[str | None] = mapped_column(String(10))
    pr_head_sha: Mapped[str | None] = mapped_column(String(64))
    pr_base: Mapped[str | None] = mapped_column(String(255))
    pr_submitted_at: Mapped[datetime | None]
    deadline: Mapped[date | None]
    version: Mapped[int] = mapped_column(default=1)
    created_by: Mapped[int] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class CommentRow(TableBase):
    """A comment on a task, of at most 10,000 characters (CX-96)."""

    __tablename__ = "comments"
    __table_args__ = (
        _has_id(),
        _has_length("text", 1, 10_000),
        Index(None, "task_id", "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id"))
    author_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    text: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]


class EventRow(TableBase):
    """Something that happened (CX-44): never changed, never deleted; triggers see to it.

    ``id`` is the counter ``events`` plus 1, taken in the transaction of the change, so that ids appear in order.
    """

    __tablename__ = "events"
    __table_args__ = (
        _is_one_of("kind", EventKind),
        Index(None, "project_id", "id"),
        Index(None, "task_id", "id"),
        Index(None, "actor", "id"),
    )

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False)
    at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(String(20))
    task_id: Mapped[int | None] = mapped_column(ForeignKey("tasks.id"))
    project_id: Mapped[int | None] = mapped_column(ForeignKey("projects.id"))
    actor: Mapped[int] = mapped_column(ForeignKey("users.id"))
    session_id: Mapped[str | None] = mapped_column(String(64))
    old: Mapped[str | None] = mapped_column("from", String(40))
    new: Mapped[str | None] = mapped_column("to", String(40))


class IdempotencyRow(TableBase):
    """The first answer to a POST with an ``Idempotency-Key``, kept for 24 hours (CX-25)."""

    __tablename__ = "idempotency_keys"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    request_hash: Mapped[str] = mapped_column(String(64))
    answer: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime]

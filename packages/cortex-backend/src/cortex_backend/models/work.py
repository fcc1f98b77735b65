"""The tables of projects, tasks and what happens to them (CX-43)."""

from datetime import date, datetime
from typing import Final

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from cortex_backend.enums import (
    EventKind,
    ForgeKind,
    MemberRole,
    PullRequestState,
    TaskPriority,
    TaskStatus,
    TaskType,
)
from cortex_backend.models.base import TableBase, has_id, has_length, is_one_of

__all__ = [
    "MAX_TASKS",
    "CommentRow",
    "EventRow",
    "IdempotencyRow",
    "InvitationRow",
    "MembershipRow",
    "ProjectRow",
    "TaskRow",
]

MAX_TASKS: Final = 100_000
"""Maximum tasks of a project (CX-96)."""


class ProjectRow(TableBase):
    """A project (CX-10); ``task_count`` keeps the limit of its tasks."""

    __tablename__ = "projects"
    __table_args__ = (
        has_id(),
        has_length("name", 1, 100),
        has_length("repository_url", 1, 2048),
        has_length("default_branch", 1, 255),
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
    __table_args__ = (is_one_of("role", MemberRole),)

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"), primary_key=True, index=True)
    role: Mapped[str] = mapped_column(String(10))


class InvitationRow(TableBase):
    """An offer of a role in a project, which the person with the address can accept; an account may come later."""

    __tablename__ = "invitations"
    __table_args__ = (
        has_id(),
        has_length("email", 3, 254),
        is_one_of("role", MemberRole),
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
        has_id(),
        has_length("title", 1, 200),
        has_length("description", 0, 20_000),
        has_length("branch_name", 1, 120),
        has_length("pr_url", 1, 2048),
        is_one_of("type", TaskType),
        is_one_of("priority", TaskPriority),
        is_one_of("status", TaskStatus),
        is_one_of("pr_forge", ForgeKind),
        is_one_of("pr_state", PullRequestState),
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
        has_id(),
        has_length("text", 1, 10_000),
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
        is_one_of("kind", EventKind),
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

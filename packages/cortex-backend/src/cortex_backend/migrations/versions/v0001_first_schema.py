"""The first schema (CX-43), with triggers that keep events as they are (CX-44)."""

from functools import partial
from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy import ForeignKey, Index, Integer, String, Text

from cortex_backend.models import TableBase

__all__ = ["down_revision", "revision", "upgrade"]

revision: Final = "0001"
down_revision: Final = None

_tables: Final = sa.MetaData(naming_convention=TableBase.metadata.naming_convention)

_column: Final = partial(sa.Column, nullable=False)
_moment: Final = sa.DateTime(timezone=True)
_large: Final = sa.BigInteger().with_variant(Integer(), "sqlite")

_GUARDS: Final = {
    "sqlite": (
        "CREATE TRIGGER events_update BEFORE UPDATE ON events "
        "BEGIN SELECT RAISE(ABORT, 'events are never changed'); END",
        "CREATE TRIGGER events_delete BEFORE DELETE ON events "
        "BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END",
    ),
    "postgresql": (
        "CREATE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'events are never changed or deleted'; END $$",
        "CREATE TRIGGER events_change BEFORE UPDATE OR DELETE OR TRUNCATE ON events "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_event_change()",
    ),
}


def upgrade() -> None:
    """Create all tables, the counter of events and the triggers."""
    _tables.create_all(op.get_bind())
    op.execute("INSERT INTO counters (name, value) VALUES ('events', 0)")
    for statement in _GUARDS[op.get_bind().dialect.name]:
        op.execute(statement)


def _check(name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=name)


sa.Table(
    "counters",
    _tables,
    _column("name", String(400), primary_key=True),
    _column("value", sa.BigInteger()),
    sa.Column("ends_at", _moment, index=True),
)
sa.Table(
    "login_failures",
    _tables,
    _column("id", _large, primary_key=True),
    _column("at", _moment, index=True),
    _column("email", String(254)),
    _column("address", String(45)),
    Index(None, "address", "at"),
    Index(None, "email", "at"),
    sqlite_autoincrement=True,
)
sa.Table(
    "projects",
    _tables,
    _column("id", Integer(), primary_key=True),
    _column("name", String(100)),
    sa.Column("repository_url", String(2048)),
    _column("default_branch", String(255)),
    _column("task_count", Integer()),
    _column("version", Integer()),
    _column("created_at", _moment),
    _column("updated_at", _moment),
    _check("id", "id BETWEEN 1 AND 2147483647"),
    _check("default_branch", "length(default_branch) BETWEEN 1 AND 255"),
    _check("name", "length(name) BETWEEN 1 AND 100"),
    _check("repository_url", "length(repository_url) BETWEEN 1 AND 2048"),
    _check("task_count", "task_count BETWEEN 0 AND 100000"),
    _check("version", "version >= 1"),
    sqlite_autoincrement=True,
)
sa.Table(
    "users",
    _tables,
    _column("id", Integer(), primary_key=True),
    _column("email", String(254), unique=True),
    _column("name", String(100)),
    _column("password_hash", String(255)),
    _column("is_active", sa.Boolean()),
    _column("created_at", _moment),
    _check("id", "id BETWEEN 1 AND 2147483647"),
    _check("email", "length(email) BETWEEN 3 AND 254"),
    _check("name", "length(name) BETWEEN 1 AND 100"),
    sqlite_autoincrement=True,
)
sa.Table(
    "idempotency_keys",
    _tables,
    _column("user_id", Integer(), ForeignKey("users.id"), primary_key=True),
    _column("key", String(255), primary_key=True),
    _column("request_hash", String(64)),
    sa.Column("answer", Text()),
    _column("created_at", _moment),
)
sa.Table(
    "memberships",
    _tables,
    _column("user_id", Integer(), ForeignKey("users.id"), primary_key=True),
    _column("project_id", Integer(), ForeignKey("projects.id"), primary_key=True, index=True),
    _column("role", String(10)),
    _check("role", "role IN ('owner', 'member', 'viewer')"),
)
sa.Table(
    "sessions",
    _tables,
    _column("id", String(64), primary_key=True),
    _column("user_id", Integer(), ForeignKey("users.id"), index=True),
    _column("device", String(100)),
    _column("created_at", _moment),
    _column("used_at", _moment),
    _column("ends_at", _moment),
    sa.Column("revoked_at", _moment),
    _column("generation", Integer()),
    _column("refresh_hash", String(64), unique=True),
    sa.Column("pending_generation", Integer()),
    sa.Column("pending_hash", String(64), unique=True),
    _check("device", "length(device) BETWEEN 0 AND 100"),
    _check("id", "length(id) BETWEEN 1 AND 64"),
)
sa.Table(
    "tasks",
    _tables,
    _column("id", Integer(), primary_key=True),
    _column("project_id", Integer(), ForeignKey("projects.id")),
    _column("title", String(200)),
    _column("description", Text()),
    _column("type", String(10)),
    _column("priority", String(10)),
    _column("status", String(12)),
    sa.Column("assignee_id", Integer(), ForeignKey("users.id")),
    sa.Column("branch_name", String(120)),
    sa.Column("pr_url", String(2048)),
    sa.Column("pr_number", Integer()),
    sa.Column("pr_forge", String(10)),
    sa.Column("pr_state", String(10)),
    sa.Column("pr_head_sha", String(64)),
    sa.Column("pr_base", String(255)),
    sa.Column("pr_submitted_at", _moment),
    sa.Column("deadline", sa.Date()),
    _column("version", Integer()),
    _column("created_by", Integer(), ForeignKey("users.id")),
    _column("created_at", _moment),
    _column("updated_at", _moment),
    _check("pr_forge", "pr_forge IN ('github', 'gitlab', 'gitea', 'none')"),
    _check("pr_state", "pr_state IN ('open', 'merged', 'closed')"),
    _check("priority", "priority IN ('LOW', 'MEDIUM', 'HIGH')"),
    _check("review", "status <> 'REVIEW' OR branch_name IS NOT NULL"),
    _check("status", "status IN ('TODO', 'IN_PROGRESS', 'REVIEW', 'DONE', 'CANCELED')"),
    _check("type", "type IN ('feature', 'bug', 'docs', 'fix', 'chore', 'refactor')"),
    _check("pull_request", "(pr_forge IS NULL) = (pr_state IS NULL)"),
    _check("id", "id BETWEEN 1 AND 2147483647"),
    _check("branch_name", "length(branch_name) BETWEEN 1 AND 120"),
    _check("description", "length(description) BETWEEN 0 AND 20000"),
    _check("pr_url", "length(pr_url) BETWEEN 1 AND 2048"),
    _check("title", "length(title) BETWEEN 1 AND 200"),
    _check("version", "version >= 1"),
    Index(None, "assignee_id", "id"),
    Index(None, "project_id", "id"),
    sqlite_autoincrement=True,
)
sa.Table(
    "comments",
    _tables,
    _column("id", Integer(), primary_key=True),
    _column("task_id", Integer(), ForeignKey("tasks.id")),
    _column("author_id", Integer(), ForeignKey("users.id")),
    _column("text", Text()),
    _column("created_at", _moment),
    _check("id", "id BETWEEN 1 AND 2147483647"),
    _check("text", "length(text) BETWEEN 1 AND 10000"),
    Index(None, "task_id", "id"),
    sqlite_autoincrement=True,
)
sa.Table(
    "events",
    _tables,
    _column("id", _large, primary_key=True, autoincrement=False),
    _column("at", _moment),
    _column("kind", String(20)),
    sa.Column("task_id", Integer(), ForeignKey("tasks.id")),
    sa.Column("project_id", Integer(), ForeignKey("projects.id")),
    _column("actor", Integer(), ForeignKey("users.id")),
    sa.Column("session_id", String(64)),
    sa.Column("from", String(40)),
    sa.Column("to", String(40)),
    _check(
        "kind",
        "kind IN ('task_created', 'status_changed', 'assigned', 'branch_set', "
        "'pr_opened', 'pr_updated', 'pr_merged', 'edited', 'commented', "
        "'member_changed', 'login', 'logout', 'session_revoked', 'session_reuse')",
    ),
    Index(None, "actor", "id"),
    Index(None, "project_id", "id"),
    Index(None, "task_id", "id"),
)

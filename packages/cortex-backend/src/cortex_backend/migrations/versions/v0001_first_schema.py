"""The first schema (CX-43), with triggers that keep events as they are (CX-44)."""

from typing import Final

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: Final = "0001"
down_revision: Final = None

_MOMENT: Final = sa.DateTime(timezone=True)

_LARGE: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

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
    _create_counters()
    _create_login_failures()
    _create_projects()
    _create_users()
    _create_idempotency_keys()
    _create_memberships()
    _create_sessions()
    _create_tasks()
    _create_comments()
    _create_events()
    op.execute("INSERT INTO counters (name, value) VALUES ('events', 0)")
    for statement in _GUARDS[op.get_bind().dialect.name]:
        op.execute(statement)


def _create_counters() -> None:
    op.create_table(
        "counters",
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", _MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counters")),
    )
    op.create_index(op.f("ix_counters_ends_at"), "counters", ["ends_at"])


def _create_login_failures() -> None:
    op.create_table(
        "login_failures",
        sa.Column("id", _LARGE, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("address", sa.String(length=45), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_failures")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_login_failures_address_at"), "login_failures", ["address", "at"])
    op.create_index(op.f("ix_login_failures_at"), "login_failures", ["at"])
    op.create_index(op.f("ix_login_failures_email_at"), "login_failures", ["email", "at"])


def _create_projects() -> None:
    op.create_table(
        "projects",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("repository_url", sa.String(length=2048), nullable=True),
        sa.Column("default_branch", sa.String(length=255), nullable=False),
        sa.Column("task_count", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("updated_at", _MOMENT, nullable=False),
        sa.CheckConstraint("id BETWEEN 1 AND 2147483647", name=op.f("ck_projects_id")),
        sa.CheckConstraint("length(default_branch) BETWEEN 1 AND 255", name=op.f("ck_projects_default_branch")),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 100", name=op.f("ck_projects_name")),
        sa.CheckConstraint("length(repository_url) BETWEEN 1 AND 2048", name=op.f("ck_projects_repository_url")),
        sa.CheckConstraint("task_count BETWEEN 0 AND 100000", name=op.f("ck_projects_task_count")),
        sa.CheckConstraint("version >= 1", name=op.f("ck_projects_version")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        sqlite_autoincrement=True,
    )


def _create_users() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("password_hash", sa.String(length=255), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.CheckConstraint("id BETWEEN 1 AND 2147483647", name=op.f("ck_users_id")),
        sa.CheckConstraint("length(email) BETWEEN 3 AND 254", name=op.f("ck_users_email")),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 100", name=op.f("ck_users_name")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("email", name=op.f("uq_users_email")),
        sqlite_autoincrement=True,
    )


def _create_idempotency_keys() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("request_hash", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_idempotency_keys_user_id")),
        sa.PrimaryKeyConstraint("user_id", "key", name=op.f("pk_idempotency_keys")),
    )


def _create_memberships() -> None:
    op.create_table(
        "memberships",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.CheckConstraint("role IN ('owner', 'member', 'viewer')", name=op.f("ck_memberships_role")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_memberships_project_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_memberships_user_id")),
        sa.PrimaryKeyConstraint("user_id", "project_id", name=op.f("pk_memberships")),
    )
    op.create_index(op.f("ix_memberships_project_id"), "memberships", ["project_id"])


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("device", sa.String(length=100), nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("used_at", _MOMENT, nullable=False),
        sa.Column("ends_at", _MOMENT, nullable=False),
        sa.Column("revoked_at", _MOMENT, nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("refresh_hash", sa.String(length=64), nullable=False),
        sa.Column("pending_generation", sa.Integer(), nullable=True),
        sa.Column("pending_hash", sa.String(length=64), nullable=True),
        sa.CheckConstraint("length(device) BETWEEN 0 AND 100", name=op.f("ck_sessions_device")),
        sa.CheckConstraint("length(id) BETWEEN 1 AND 64", name=op.f("ck_sessions_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("pending_hash", name=op.f("uq_sessions_pending_hash")),
        sa.UniqueConstraint("refresh_hash", name=op.f("uq_sessions_refresh_hash")),
    )
    op.create_index(op.f("ix_sessions_user_id"), "sessions", ["user_id"])


def _create_tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("type", sa.String(length=10), nullable=False),
        sa.Column("priority", sa.String(length=10), nullable=False),
        sa.Column("status", sa.String(length=12), nullable=False),
        sa.Column("assignee_id", sa.Integer(), nullable=True),
        sa.Column("branch_name", sa.String(length=120), nullable=True),
        sa.Column("pr_url", sa.String(length=2048), nullable=True),
        sa.Column("pr_number", sa.Integer(), nullable=True),
        sa.Column("pr_forge", sa.String(length=10), nullable=True),
        sa.Column("pr_state", sa.String(length=10), nullable=True),
        sa.Column("pr_head_sha", sa.String(length=64), nullable=True),
        sa.Column("pr_base", sa.String(length=255), nullable=True),
        sa.Column("pr_submitted_at", _MOMENT, nullable=True),
        sa.Column("deadline", sa.Date(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Integer(), nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("updated_at", _MOMENT, nullable=False),
        sa.CheckConstraint("pr_forge IN ('github', 'gitlab', 'gitea', 'none')", name=op.f("ck_tasks_pr_forge")),
        sa.CheckConstraint("pr_state IN ('open', 'merged', 'closed')", name=op.f("ck_tasks_pr_state")),
        sa.CheckConstraint("priority IN ('LOW', 'MEDIUM', 'HIGH')", name=op.f("ck_tasks_priority")),
        sa.CheckConstraint("status <> 'REVIEW' OR branch_name IS NOT NULL", name=op.f("ck_tasks_review")),
        sa.CheckConstraint(
            "status IN ('TODO', 'IN_PROGRESS', 'REVIEW', 'DONE', 'CANCELED')", name=op.f("ck_tasks_status")
        ),
        sa.CheckConstraint(
            "type IN ('feature', 'bug', 'docs', 'fix', 'chore', 'refactor')", name=op.f("ck_tasks_type")
        ),
        sa.CheckConstraint("(pr_forge IS NULL) = (pr_state IS NULL)", name=op.f("ck_tasks_pull_request")),
        sa.CheckConstraint("id BETWEEN 1 AND 2147483647", name=op.f("ck_tasks_id")),
        sa.CheckConstraint("length(branch_name) BETWEEN 1 AND 120", name=op.f("ck_tasks_branch_name")),
        sa.CheckConstraint("length(description) BETWEEN 0 AND 20000", name=op.f("ck_tasks_description")),
        sa.CheckConstraint("length(pr_url) BETWEEN 1 AND 2048", name=op.f("ck_tasks_pr_url")),
        sa.CheckConstraint("length(title) BETWEEN 1 AND 200", name=op.f("ck_tasks_title")),
        sa.CheckConstraint("version >= 1", name=op.f("ck_tasks_version")),
        sa.ForeignKeyConstraint(["assignee_id"], ["users.id"], name=op.f("fk_tasks_assignee_id")),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_tasks_created_by")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_tasks_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_tasks_assignee_id_id"), "tasks", ["assignee_id", "id"])
    op.create_index(op.f("ix_tasks_project_id_id"), "tasks", ["project_id", "id"])


def _create_comments() -> None:
    op.create_table(
        "comments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("author_id", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.CheckConstraint("id BETWEEN 1 AND 2147483647", name=op.f("ck_comments_id")),
        sa.CheckConstraint("length(text) BETWEEN 1 AND 10000", name=op.f("ck_comments_text")),
        sa.ForeignKeyConstraint(["author_id"], ["users.id"], name=op.f("fk_comments_author_id")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_comments_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comments")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_comments_task_id_id"), "comments", ["task_id", "id"])


def _create_events() -> None:
    op.create_table(
        "events",
        sa.Column("id", _LARGE, autoincrement=False, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=True),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("actor", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.String(length=64), nullable=True),
        sa.Column("from", sa.String(length=40), nullable=True),
        sa.Column("to", sa.String(length=40), nullable=True),
        sa.CheckConstraint(
            "kind IN ('task_created', 'status_changed', 'assigned', 'branch_set', "
            "'pr_opened', 'pr_updated', 'pr_merged', 'edited', 'commented', "
            "'member_changed', 'login', 'logout', 'session_revoked', 'session_reuse')",
            name=op.f("ck_events_kind"),
        ),
        sa.ForeignKeyConstraint(["actor"], ["users.id"], name=op.f("fk_events_actor")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_events_project_id")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_events_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_actor_id"), "events", ["actor", "id"])
    op.create_index(op.f("ix_events_project_id_id"), "events", ["project_id", "id"])
    op.create_index(op.f("ix_events_task_id_id"), "events", ["task_id", "id"])

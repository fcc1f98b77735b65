"""Invitations: a member joins by accepting one (CX-10, CX-43)."""

from typing import Final

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision: Final = "0002"
down_revision: Final = "0001"


def upgrade() -> None:
    """Create the table of invitations; members stay members."""
    op.create_table(
        "invitations",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("project_id", sa.Integer(), sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("email", sa.String(254), nullable=False, index=True),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("invited_by", sa.Integer(), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("project_id", "email"),
        sa.CheckConstraint("id BETWEEN 1 AND 2147483647", name="id"),
        sa.CheckConstraint("length(email) BETWEEN 3 AND 254", name="email"),
        sa.CheckConstraint("role IN ('owner', 'member', 'viewer')", name="role"),
        sqlite_autoincrement=True,
    )

"""The migrations of the schema, which Alembic runs."""

from cortex_backend.migrations.versions import REVISIONS

__all__ = ["REVISIONS"]

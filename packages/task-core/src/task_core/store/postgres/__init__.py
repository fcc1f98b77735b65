"""The engine for PostgreSQL and databases that speak its protocol, imported only if it was chosen (EN-11)."""

from task_core.store.postgres.engine import PostgresDatabase
from task_core.store.postgres.pool import Pool

__all__ = ["Pool", "PostgresDatabase"]

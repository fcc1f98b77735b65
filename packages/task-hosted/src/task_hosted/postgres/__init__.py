"""The engine for PostgreSQL and databases that speak its protocol, imported only if it was chosen (EN-11)."""

from typing import Final, cast

from task_core.store import StoreSettings
from task_hosted.postgres.admin import check_store, migrate_database
from task_hosted.postgres.connection import STATEMENT_SECONDS, check_url
from task_hosted.postgres.engine import PostgresDatabase
from task_hosted.postgres.pool import Pool

__all__ = ["Pool", "PostgresDatabase", "check_store", "check_url", "migrate_database", "open_database", "open_pool"]

open_pool = Pool

_PATIENT_SECONDS: Final = 3600.0
"""Seconds that a statement of a command may take, which reads or writes everything."""


def open_database(settings: StoreSettings, kind: str, *, is_patient: bool) -> PostgresDatabase:
    """Return the list that ``settings`` name; with ``is_patient`` a statement may take an hour."""
    return PostgresDatabase(
        cast("Pool", settings.pool),
        settings.task_tenant,
        kind,
        lock_seconds=settings.task_lock_timeout,
        statement_seconds=_PATIENT_SECONDS if is_patient else STATEMENT_SECONDS,
        fsync=settings.task_fsync,
    )

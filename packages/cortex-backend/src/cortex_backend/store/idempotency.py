"""The SQL of kept answers (CX-25)."""

from datetime import datetime

from sqlalchemy import delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from cortex_backend.models import IdempotencyRow

__all__ = ["forget_old_keys", "take_key"]


def forget_old_keys(session: Session, user_id: int, before: datetime) -> None:
    """Forget the keys of a user that are older than ``before``."""
    is_old = (IdempotencyRow.user_id == user_id) & (IdempotencyRow.created_at < before)
    session.execute(delete(IdempotencyRow).where(is_old).execution_options(synchronize_session=False))


def take_key(session: Session, user_id: int, key: str, request_hash: str, now: datetime) -> tuple[IdempotencyRow, bool]:
    """Return the row of a key, and whether the key was free; wait for a transaction that is taking it."""
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = {"user_id": user_id, "key": key, "request_hash": request_hash, "created_at": now}
    query = insert(IdempotencyRow).values(row).on_conflict_do_nothing().returning(IdempotencyRow.key)
    is_new = session.execute(query).one_or_none() is not None
    return session.get_one(IdempotencyRow, (user_id, key)), is_new

"""The SQL of kept answers (CX-25)."""

from datetime import datetime

from sqlalchemy import delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from cortex_backend.models import IdempotencyRow

__all__ = ["find_kept_answer", "forget_old_keys", "keep_answer", "take_key"]


def forget_old_keys(session: Session, user_id: int, before: datetime) -> None:
    """Forget the keys of a user that are older than ``before``."""
    is_old = (IdempotencyRow.user_id == user_id) & (IdempotencyRow.created_at < before)
    session.execute(delete(IdempotencyRow).where(is_old).execution_options(synchronize_session=False))


def take_key(session: Session, user_id: int, key: str, request_hash: str, now: datetime) -> bool:
    """Take a key of a user, and return whether it was free; wait for a transaction that is taking it."""
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = {"user_id": user_id, "key": key, "request_hash": request_hash, "created_at": now}
    query = insert(IdempotencyRow).values(row).on_conflict_do_nothing().returning(IdempotencyRow.key)
    return session.execute(query).one_or_none() is not None


def find_kept_answer(session: Session, user_id: int, key: str) -> tuple[str, str]:
    """Return the hash of the request that took a key, and its answer."""
    query = select(IdempotencyRow.request_hash, IdempotencyRow.answer)
    is_row = (IdempotencyRow.user_id == user_id) & (IdempotencyRow.key == key)
    request_hash, answer = session.execute(query.where(is_row)).one()
    return request_hash, answer or ""


def keep_answer(session: Session, user_id: int, key: str, answer: str) -> None:
    """Keep the answer to the request that took a key, in the same transaction."""
    is_row = (IdempotencyRow.user_id == user_id) & (IdempotencyRow.key == key)
    session.execute(update(IdempotencyRow).where(is_row).values(answer=answer))

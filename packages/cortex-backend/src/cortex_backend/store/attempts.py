"""The SQL of limits that all processes share: failed logins, blocks and rates (CX-35)."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from cortex_backend.models import CounterRow, LoginFailureRow

__all__ = ["ADDRESS_LIMIT", "EMAIL_LIMIT", "PAIR_LIMIT", "WINDOW", "add_failure", "add_to_rate", "blocked_until"]

WINDOW: Final = timedelta(minutes=15)
"""The time in which failures are counted, and for which the first block lasts."""

_LONGEST_BLOCK: Final = timedelta(hours=1)
"""The limit of a block, and how long after its end the next one still takes twice as long."""

PAIR_LIMIT: Final = 5
ADDRESS_LIMIT: Final = 20
EMAIL_LIMIT: Final = 100
"""Failures that lead to a block: for one e-mail from one address, from one address, and for one e-mail."""


def blocked_until(db: Session, email: str, address: str, now: datetime) -> datetime | None:
    """Return when the block of ``email`` from ``address`` ends, or None if there is none."""
    names = [*_limits(email, address)]
    rows = db.scalars(select(CounterRow).where(CounterRow.name.in_(names)))
    ends = [row.ends_at - _LONGEST_BLOCK for row in rows if row.ends_at is not None]
    return max((end for end in ends if end > now), default=None)


def add_failure(db: Session, email: str, address: str, now: datetime) -> None:
    """Keep a failed login, and block what has reached its limit: for 15 minutes, then twice as long up to an hour."""
    db.execute(delete(LoginFailureRow).where(LoginFailureRow.at <= now - WINDOW))
    db.execute(delete(CounterRow).where(CounterRow.ends_at <= now))
    db.add(LoginFailureRow(at=now, email=email, address=address))
    db.flush()
    for name, (conditions, limit) in _limits(email, address).items():
        count = db.scalar(select(func.count()).select_from(LoginFailureRow).where(*conditions)) or 0
        if count >= limit:
            _block(db, name, now)


def _limits(email: str, address: str) -> Mapping[str, tuple[Sequence[ColumnElement[bool]], int]]:
    by_email, by_address = LoginFailureRow.email == email, LoginFailureRow.address == address
    return {
        f"block:pair:{address}:{email}": ([by_email, by_address], PAIR_LIMIT),
        f"block:address:{address}": ([by_address], ADDRESS_LIMIT),
        f"block:email:{email}": ([by_email], EMAIL_LIMIT),
    }


def _block(db: Session, name: str, now: datetime) -> None:
    row = db.get(CounterRow, name) or CounterRow(name=name, value=0)
    row.value += 1
    doublings = min(row.value - 1, _LONGEST_BLOCK // WINDOW)  # more make no difference, and in the end too large a time
    row.ends_at = now + min(WINDOW * 2**doublings, _LONGEST_BLOCK) + _LONGEST_BLOCK
    db.add(row)


def add_to_rate(db: Session, name: str, count: int, ends_at: datetime) -> int:
    """Add to a number that holds until ``ends_at``, and return what it is now."""
    row = db.get(CounterRow, name) or CounterRow(name=name, value=0)
    row.value = count if row.ends_at != ends_at else row.value + count
    row.ends_at = ends_at
    db.add(row)
    return row.value

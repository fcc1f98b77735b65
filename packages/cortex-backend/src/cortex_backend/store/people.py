"""The SQL of users and their sessions (CX-31, CX-32)."""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from cortex_backend.caller import Caller
from cortex_backend.enums import EventKind
from cortex_backend.models import SessionRow, UserRow
from cortex_backend.store.events import NewEvent, add_events

__all__ = [
    "IDLE",
    "MAX_EMAIL",
    "end_of",
    "end_session",
    "find_session",
    "find_user",
    "fold_email",
    "live_sessions",
    "use_session",
]

IDLE: Final = timedelta(days=30)
"""The time without use after which a session ends (CX-31)."""

MAX_EMAIL: Final = 254

_IS_LIVE: Final = (
    SessionRow.revoked_at.is_(None),
    SessionRow.ends_at > bindparam("now"),
    SessionRow.used_at > bindparam("idle_since"),
)

_WITH_USER: Final = (
    select(SessionRow, UserRow)
    .join(UserRow, UserRow.id == SessionRow.user_id)
    .where(SessionRow.id == bindparam("session_id"), *_IS_LIVE, UserRow.is_active)
)


def fold_email(email: str) -> str:
    """Return an e-mail address in the form in which addresses are compared (CX-10)."""
    return email.strip().casefold()[:MAX_EMAIL]


def find_user(db: Session, email: str) -> UserRow | None:
    """Return the user with this address, active or not."""
    return db.scalar(select(UserRow).where(UserRow.email == fold_email(email)))


def find_session(
    db: Session, session_id: str, now: datetime, *, is_locked: bool = False
) -> tuple[SessionRow, UserRow] | None:
    """Return an open session and its user, if that account is active.

    ``is_locked`` keeps others from changing the session until the transaction ends.
    """
    query = _WITH_USER.with_for_update(of=SessionRow) if is_locked else _WITH_USER
    found = db.execute(query, {"session_id": session_id, **_moments(now)}).first()
    if found is None:
        return None
    session, user = found
    return session, user


def live_sessions(db: Session, user_id: int, now: datetime) -> list[SessionRow]:
    """Return the sessions of a user that have not ended, newest first."""
    return [
        *db.scalars(
            select(SessionRow)
            .where(SessionRow.user_id == user_id, *_IS_LIVE)
            .order_by(SessionRow.created_at.desc(), SessionRow.id),
            _moments(now),
        )
    ]


def _moments(now: datetime) -> dict[str, datetime]:
    """Return the parameters of ``_IS_LIVE``."""
    return {"now": now, "idle_since": now - IDLE}


def end_of(session: SessionRow) -> datetime:
    """Return when a session ends if it is not used any more."""
    return min(session.ends_at, session.used_at + IDLE)


def use_session(db: Session, session_id: str, generation: int, now: datetime) -> None:
    """Keep that a session was used, and replace its refresh token by a pending one of this generation (CX-32)."""
    db.execute(update(SessionRow).where(SessionRow.id == session_id).values(used_at=now))
    db.execute(
        update(SessionRow)
        .where(SessionRow.id == session_id, SessionRow.pending_generation == generation)
        .values(
            generation=SessionRow.pending_generation,
            refresh_hash=SessionRow.pending_hash,
            pending_generation=None,
            pending_hash=None,
        )
        .execution_options(synchronize_session=False)
    )


def end_session(db: Session, session: SessionRow, kind: EventKind, now: datetime) -> None:
    """End a session of its user, for the reason that ``kind`` says."""
    session.revoked_at = now
    add_events(db, Caller(session.user_id, session.id), now, NewEvent(kind))

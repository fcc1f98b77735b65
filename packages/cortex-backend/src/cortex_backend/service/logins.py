"""Logging in, staying logged in, and logging out (CX-30 to CX-35)."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from sqlalchemy.orm import Session

from cortex_backend.caller import Caller
from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.enums import EventKind
from cortex_backend.models import SessionRow, UserRow
from cortex_backend.problems import Problem, not_authenticated, too_many_requests
from cortex_backend.schemas.logins import SessionEnd, SessionList, SessionView, TokenAnswer, UserView
from cortex_backend.security.access import AccessTokens, Claims
from cortex_backend.security.passwords import Passwords
from cortex_backend.security.refresh import RefreshToken
from cortex_backend.service.rates import RequestRates
from cortex_backend.store.attempts import add_failure, blocked_until
from cortex_backend.store.events import NewEvent, add_events
from cortex_backend.store.people import (
    end_of,
    end_session,
    find_session,
    find_user,
    fold_email,
    live_sessions,
    use_session,
)
from cortex_backend.store.rows import add_row

__all__ = ["LIFETIME", "MAX_SESSIONS", "Logins"]

LIFETIME: Final = timedelta(days=90)
"""The longest life of a session, however often it is used (CX-31)."""

MAX_SESSIONS: Final = 50
"""Sessions that a user may have; one more ends the oldest (CX-96)."""

_TOUCH: Final = timedelta(minutes=1)
"""The least time between two writes of the time of last use (CX-31)."""


class Logins:
    """Checks passwords and tokens; begins, refreshes and ends sessions. ``clock`` returns the present moment in UTC."""

    def __init__(self, database: CortexDatabase, tokens: AccessTokens, passwords: Passwords, clock: Clock) -> None:
        self._database = database
        self._tokens = tokens
        self._passwords = passwords
        self._clock = clock
        self._rates = RequestRates(database)

    def log_in(self, email: str, password: str, device: str, address: str) -> TokenAnswer:
        """Return the tokens of a new session on ``device``; raise ``InvalidCredentials`` or ``TooManyRequests``."""
        with self._checked(email, password, address) as (db, user):
            answer = None if user is None else self._begin(db, user, device)
        if answer is None:
            raise Problem("InvalidCredentials")
        return answer

    def _begin(self, db: Session, user: UserRow, device: str) -> TokenAnswer:
        now = self._clock()
        token = RefreshToken.new()
        for old in live_sessions(db, user.id, now)[MAX_SESSIONS - 1 :]:
            end_session(db, old, EventKind.SESSION_REVOKED, now)
        session = SessionRow(
            id=token.session_id,
            user_id=user.id,
            device=device,
            created_at=now,
            used_at=now,
            ends_at=now + LIFETIME,
            generation=token.generation,
            refresh_hash=token.digest,
        )
        add_row(db, session)
        add_events(db, Caller(user.id, session.id), now, NewEvent(EventKind.LOGIN))
        return self._tokens_for(session, user, token, now)

    @contextmanager
    def _checked(self, email: str, password: str, address: str) -> Iterator[tuple[Session, UserRow | None]]:
        """Yield a transaction with the user if the password is right, else with None; the failure is kept."""
        now, email = self._clock(), fold_email(email)
        with self._database.read() as db:
            _refuse_if_blocked(db, email, address, now)
            user = find_user(db, email)
        kept = user.password_hash if user and user.is_active else None
        is_right, better = self._passwords.check(password, kept)
        with self._database.write() as db:
            # Others may have failed meanwhile, or the user may have been changed.
            _refuse_if_blocked(db, email, address, now)
            user = find_user(db, email)
            if is_right and user and user.is_active and user.password_hash == kept:
                user.password_hash = better or user.password_hash
                yield db, user
            else:
                add_failure(db, email, address, now)
                yield db, None

    def refresh(self, text: str) -> TokenAnswer | None:
        """Return new tokens for a refresh token, which stays good until one of the new ones is used (CX-32).

        With None it is not good; if it was replaced before, its session has ended now.
        """
        now = self._clock()
        old = RefreshToken.parse(text)
        if old is None:
            return None
        with self._database.write() as db:
            found = find_session(db, old.session_id, now, is_locked=True)
            new = _rotate(db, found[0], old, now) if found else None
        return self._tokens_for(*found, new, now) if found and new else None

    def authenticate(self, token: str) -> Caller:
        """Return whose access token it is, and note the use; raise ``NotAuthenticated`` or ``TooManyRequests``."""
        now = self._clock()
        claims = self._tokens.read(token, now)
        if claims is None:
            raise not_authenticated(was_given=True)
        with self._database.read() as db:
            found = find_session(db, claims.session_id, now)
        if found is None:
            raise not_authenticated(was_given=True)
        session, user = found
        if user.id != claims.user_id or claims.generation > (session.pending_generation or session.generation):
            raise not_authenticated(was_given=True)
        self._rates.count(session.id, now)
        if session.pending_generation == claims.generation or now - session.used_at >= _TOUCH:
            with self._database.write() as db:
                use_session(db, session.id, claims.generation, now)
        return Caller(user.id, session.id, user.name)

    def end(self, caller: Caller, session_id: str, kind: EventKind = EventKind.SESSION_REVOKED) -> None:
        """End a session of the caller, for the reason that ``kind`` says; raise the problem ``NotFound``."""
        now = self._clock()
        with self._database.write() as db:
            found = [session for session in live_sessions(db, caller.user_id, now) if session.id == session_id]
            if not found:
                raise Problem("NotFound", kind="session")
            end_session(db, found[0], kind, now)

    def sessions(self, caller: Caller) -> SessionList:
        """Return the sessions of the caller that have not ended, newest first."""
        with self._database.read() as db:
            found = live_sessions(db, caller.user_id, self._clock())
        return SessionList(
            sessions=[
                SessionView(
                    id=session.id,
                    expires_at=end_of(session),
                    device=session.device,
                    created_at=session.created_at,
                    last_used_at=session.used_at,
                    is_current=session.id == caller.session_id,
                )
                for session in found
            ]
        )

    def user(self, caller: Caller) -> UserView:
        """Return the caller."""
        with self._database.read() as db:
            return UserView.model_validate(db.get_one(UserRow, caller.user_id).values())

    def change_password(self, caller: Caller, old: str, new: str, address: str) -> None:
        """Change the caller's password, and end the other sessions; raise ``WrongPassword`` or ``TooManyRequests``."""
        now, email = self._clock(), self.user(caller).email
        with self._database.read() as db:
            _refuse_if_blocked(db, email, address, now)  # hashing takes long, and is not for somebody who is blocked
        better = self._passwords.hash(new)

        with self._checked(email, old, address) as (db, user):
            if user is not None:
                user.password_hash = better
                for session in live_sessions(db, user.id, now):
                    if session.id != caller.session_id:
                        end_session(db, session, EventKind.SESSION_REVOKED, now)
        if user is None:
            raise Problem("WrongPassword")

    def _tokens_for(self, session: SessionRow, user: UserRow, refresh: RefreshToken, now: datetime) -> TokenAnswer:
        return TokenAnswer(
            access_token=self._tokens.sign(Claims(user.id, session.id, refresh.generation), now),
            refresh_token=str(refresh),
            session=SessionEnd(id=session.id, expires_at=end_of(session)),
            user=UserView.model_validate(user.values()),
        )


def _refuse_if_blocked(db: Session, email: str, address: str, now: datetime) -> None:
    until = blocked_until(db, email, address, now)
    if until is not None:
        raise too_many_requests(ceil((until - now).total_seconds()))


def _rotate(db: Session, session: SessionRow, old: RefreshToken, now: datetime) -> RefreshToken | None:
    if old.digest == session.pending_hash:
        session.generation, session.refresh_hash = old.generation, old.digest
    elif old.digest != session.refresh_hash:
        if old.generation <= session.generation:
            end_session(db, session, EventKind.SESSION_REUSE, now)
        return None
    new = RefreshToken.new(old.family, max(session.generation, session.pending_generation or 0) + 1)
    session.pending_generation, session.pending_hash, session.used_at = new.generation, new.digest, now
    return new

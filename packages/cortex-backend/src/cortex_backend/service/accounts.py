"""The accounts of users, which only the command line of the server changes (CX-36)."""

from sqlalchemy.orm import Session

from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.enums import EventKind
from cortex_backend.models import UserRow
from cortex_backend.security.passwords import MAX_PASSWORD, MIN_PASSWORD, Passwords
from cortex_backend.store.people import MAX_EMAIL, end_session, find_user, fold_email, live_sessions

__all__ = ["AccountRefused", "Accounts"]


class AccountRefused(Exception):
    """An account cannot be made or changed so; the message says what to do."""


class Accounts:
    """Makes, changes and disables accounts; ``clock`` returns the present moment in UTC."""

    def __init__(self, database: CortexDatabase, passwords: Passwords, clock: Clock) -> None:
        self._database = database
        self._passwords = passwords
        self._clock = clock

    def add(self, email: str, name: str, password: str) -> int:
        """Add a user, or enable a disabled one again, and return the id; raise ``AccountRefused``."""
        address = fold_email(email)
        if not 3 <= len(address) < MAX_EMAIL or "@" not in address or not address.isprintable():
            raise AccountRefused("Give an e-mail address, such as ada@example.com.")
        name = name.strip() or address.partition("@")[0]
        if len(name) > 100 or not name.isprintable():
            raise AccountRefused("Give a name of one line and at most 100 characters.")
        hashed = self._hash(password)
        with self._database.write() as db:
            user = find_user(db, address)
            if user is None:
                user = UserRow(email=address, created_at=self._clock())
                db.add(user)
            elif user.is_active:
                raise AccountRefused(f"{address} is a user already. Change the password with: user password.")
            user.name, user.password_hash, user.is_active = name, hashed, True
            db.flush()
            return user.id

    def disable(self, email: str) -> None:
        """Refuse a user's logins, and end all sessions at once; raise ``AccountRefused`` for an unknown e-mail."""
        with self._database.write() as db:
            user = self._find(db, email)
            user.is_active = False
            self._end_sessions(db, user)

    def set_password(self, email: str, password: str) -> None:
        """Give a user another password, and end all sessions; raise ``AccountRefused``."""
        hashed = self._hash(password)
        with self._database.write() as db:
            user = self._find(db, email)
            user.password_hash = hashed
            self._end_sessions(db, user)

    def _find(self, db: Session, email: str) -> UserRow:
        user = find_user(db, email)
        if user is None:
            raise AccountRefused(f"There is no user {fold_email(email)}.")
        return user

    def _hash(self, password: str) -> str:
        if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
            raise AccountRefused(f"A password has {MIN_PASSWORD} to {MAX_PASSWORD} characters.")
        return self._passwords.hash(password)

    def _end_sessions(self, db: Session, user: UserRow) -> None:
        now = self._clock()
        for session in live_sessions(db, user.id, now):
            end_session(db, session, EventKind.SESSION_REVOKED, now)

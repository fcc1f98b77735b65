"""The tables of people and their logins (CX-43)."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from cortex_backend.models.base import TableBase, has_id, has_length

__all__ = ["CounterRow", "LoginFailureRow", "SessionRow", "UserRow"]


class UserRow(TableBase):
    """A person who can log in (CX-10); ``email`` is case-folded."""

    __tablename__ = "users"
    __table_args__ = (
        has_id(),
        has_length("email", 3, 254),
        has_length("name", 1, 100),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(String(254), unique=True)
    name: Mapped[str] = mapped_column(String(100))
    password_hash: Mapped[str] = mapped_column(String(255))
    is_active: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime]


class SessionRow(TableBase):
    """One login (CX-31), and the refresh tokens that it accepts (CX-32), as SHA-256 in hexadecimal digits.

    ``refresh_hash`` is the token in use, of generation ``generation``; ``pending_hash`` the one that replaces it when
    it is first used, of ``pending_generation``. The id is a digest of what all its tokens begin with, so that an older
    one is recognised without being stored.
    """

    __tablename__ = "sessions"
    __table_args__ = (has_length("device", 0, 100), has_length("id", 1, 64))

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    device: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[datetime]
    used_at: Mapped[datetime]
    ends_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    generation: Mapped[int]
    refresh_hash: Mapped[str] = mapped_column(String(64), unique=True)
    pending_generation: Mapped[int | None]
    pending_hash: Mapped[str | None] = mapped_column(String(64), unique=True)


class LoginFailureRow(TableBase):
    """A login that failed, for the limits by e-mail and by address (CX-35)."""

    __tablename__ = "login_failures"
    __table_args__ = (Index(None, "email", "at"), Index(None, "address", "at"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    at: Mapped[datetime] = mapped_column(index=True)
    email: Mapped[str] = mapped_column(String(254))
    address: Mapped[str] = mapped_column(String(45))


class CounterRow(TableBase):
    """A number under a name that all processes share; it is forgotten after ``ends_at``.

    ``events`` is the id of the newest event (CX-44); the others are rates and blocks (CX-35).
    """

    __tablename__ = "counters"

    name: Mapped[str] = mapped_column(String(400), primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)
    ends_at: Mapped[datetime | None] = mapped_column(index=True)

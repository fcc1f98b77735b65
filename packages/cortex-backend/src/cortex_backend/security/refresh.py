"""Refresh tokens: their form, and the digest that is stored (CX-30, CX-32)."""

from hashlib import sha256
from secrets import token_urlsafe
from typing import NamedTuple, Self

from typing_extensions import override

__all__ = ["RefreshToken"]


class RefreshToken(NamedTuple):
    """A refresh token: 256 random bits, after the ``family`` that the tokens of a session share and a generation.

    The id of a session is a digest of its family, which only refresh tokens hold: whoever presents the family of a
    session has had one of its tokens, even if its own digest is not stored any more.
    """

    family: str
    generation: int
    secret: str

    @classmethod
    def new(cls, family: str = "", generation: int = 1) -> Self:
        """Return a new token, the first of a session unless it has a ``family``."""
        return cls(family or token_urlsafe(16), generation, token_urlsafe(32))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the token that ``text`` is, or None if it cannot be one."""
        family, generation, secret = ([*text.split("."), "", ""])[:3]
        is_one = text == f"{family}.{generation}.{secret}" and generation.isascii() and generation.isdecimal()
        return cls(family, int(generation), secret) if is_one and len(generation) < 10 else None

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return sha256(f"session:{self.family}".encode()).hexdigest()[:32]

    @property
    def digest(self) -> str:
        """The stored SHA-256 of the token, as hexadecimal digits."""
        return sha256(str(self).encode()).hexdigest()

    @override
    def __str__(self) -> str:
        """Return the token as a client keeps it."""
        return f"{self.family}.{self.generation}.{self.secret}"

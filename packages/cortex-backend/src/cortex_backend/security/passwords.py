"""Hashes and checks passwords, a few at a time (CX-34)."""

from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_urlsafe
from threading import BoundedSemaphore
from typing import Final

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from cortex_backend.problems import too_many_requests

__all__ = ["MAX_PASSWORD", "MIN_PASSWORD", "Passwords"]

MIN_PASSWORD: Final = 12
MAX_PASSWORD: Final = 128
"""Characters that a new password may have; which ones they are does not matter."""

_AT_A_TIME: Final = 2
_WAITING: Final = 8
"""Passwords that are hashed at a time, each for a fifth of a second and with 64 MiB, and those that may wait."""


class Passwords:
    """Hashes passwords with Argon2id; ``hasher`` sets the cost. ``TooManyRequests`` if too many wait for that."""

    def __init__(self, hasher: Argon2Hasher | None = None) -> None:
        self._hasher = PasswordHash([hasher or Argon2Hasher()])
        self._turns = BoundedSemaphore(_AT_A_TIME)
        self._places = BoundedSemaphore(_AT_A_TIME + _WAITING)
        self._nobodys = self._hasher.hash(token_urlsafe())

    def hash(self, password: str) -> str:
        """Return the hash to keep for ``password``."""
        with self._turn():
            return self._hasher.hash(password)

    def check(self, password: str, kept: str | None) -> tuple[bool, str | None]:
        """Return whether ``password`` has the hash ``kept``, and a new hash if that one is weaker than those of today.

        With None, for a user that does not exist, it is wrong, and finding that out takes as long.
        """
        with self._turn():
            is_right, better = self._hasher.verify_and_update(password, kept or self._nobodys)
            return is_right and kept is not None, better

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise too_many_requests(1)
        try:
            with self._turns:
                yield
        finally:
            self._places.release()

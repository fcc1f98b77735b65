"""Warnings that wait for the next tool result (WARN-1)."""

import logging
import threading
from typing import Final

from task_core.bounds import size_of
from task_core.text import escape_invisible, shorten

__all__ = ["WarningList"]

_MAX_MESSAGE: Final = 1_000
"""Characters of one warning; longer ones are cut, so that any of them fits the room that an answer leaves."""

_log = logging.getLogger(__name__)


class WarningList:
    """Collects warnings from any thread, each cause once, until a tool result takes them along."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._raised: set[str] = set()
        self._waiting: list[tuple[str, str]] = []

    def add(self, cause: str, message: str) -> None:
        """Add ``message``, escaped (S3), to the next result, unless ``cause`` was raised before and not settled."""
        message = shorten(escape_invisible(message), _MAX_MESSAGE)
        with self._guard:
            if cause in self._raised:
                return
            self._raised.add(cause)
            self._waiting.append((cause, message))
        _log.warning("%s", message)

    def settle(self, cause: str) -> None:
        """Forget ``cause``: it is fixed, so its next occurrence is reported again."""
        with self._guard:
            self._raised.discard(cause)

    def withdraw(self, cause: str) -> None:
        """Drop ``cause`` and its pending message: it did not happen. Warnings already delivered stay delivered."""
        with self._guard:
            self._raised.discard(cause)
            self._waiting = [waiting for waiting in self._waiting if waiting[0] != cause]

    def take(self, room: int | None = None) -> list[str]:
        """Return and clear the waiting warnings, oldest first: all, or those that fit ``room`` bytes of JSON."""
        taken: list[str] = []
        with self._guard:
            for _, message in self._waiting:
                if room is not None and size_of([*taken, message]) > room:
                    break
                taken.append(message)
            del self._waiting[: len(taken)]
        return taken

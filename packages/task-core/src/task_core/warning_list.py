"""Warnings that wait for the next tool result (WARN-1)."""

import logging
import threading

from task_core.text import escape_invisible

__all__ = ["WarningList"]

_log = logging.getLogger(__name__)


class WarningList:
    """Collects warnings from any thread, each cause once, until a tool result takes them along."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._raised: set[str] = set()
        self._waiting: list[tuple[str, str]] = []

    def add(self, cause: str, message: str) -> None:
        """Add ``message`` to the next result, unless ``cause`` was raised before and not settled.

        Invisible characters in it, such as control characters of a file's name, are escaped (S3).
        """
        message = escape_invisible(message)
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

    def take(self) -> list[str]:
        """Return the waiting warnings, oldest first, and clear them."""
        with self._guard:
            waiting = self._waiting
            self._waiting = []
        return [message for _, message in waiting]

"""The keyring of the system, which keeps the refresh token if there is one (CX-60)."""

import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Final

__all__ = ["Keyring"]

_KEYRING_SECONDS: Final = 3.0
"""Seconds that a call of the keyring may take: without a desktop it can wait forever."""

_SERVICE: Final = "cortex-tasks"


class Keyring:
    """The keyring of the system, if there is one; each call ends after 3 seconds."""

    def __init__(self, seconds: float = _KEYRING_SECONDS) -> None:
        self._seconds = seconds

    def get(self, origin: str) -> str | None:
        """Return the refresh token for a server, or None if there is none."""
        return self._ask(lambda library: library.get_password(_SERVICE, origin))

    def set(self, origin: str, token: str) -> bool:
        """Keep the refresh token for a server, and return whether the keyring has it then."""

        def keep(library: ModuleType) -> str | None:
            library.set_password(_SERVICE, origin, token)
            return library.get_password(_SERVICE, origin)  # there are keyrings that keep nothing

        return self._ask(keep) == token

    def delete(self, origin: str) -> None:
        """Forget the refresh token for a server."""
        self._ask(lambda library: library.delete_password(_SERVICE, origin))

    def exists(self) -> bool:
        """Return whether there is one that keeps anything."""
        return self._ask(lambda library: "yes" if library.get_keyring().priority > 0 else None) is not None

    def _ask(self, call: Callable[[ModuleType], str | None]) -> str | None:
        answers: list[str | None] = []

        def run() -> None:
            try:
                library = import_module("keyring")  # optional, and slow to import (CX-97)
            except ImportError:
                return
            with suppress(library.errors.KeyringError, OSError, RuntimeError):
                answers.append(call(library))

        worker = threading.Thread(target=run, daemon=True)
        worker.start()
        worker.join(self._seconds)
        return answers[0] if answers else None

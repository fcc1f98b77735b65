"""The load of a failover: clients that change tasks all the time, and look what became of a change in doubt (HO-10)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Final, Self

from tests.failover.channels import ChangeFailed, Channel
from tests.failover.ledger import Attempt, Fate

__all__ = ["CLIENTS", "Load", "LoadClient"]

CLIENTS: Final = 8
"""Clients at work at a time."""

_PAUSE: Final = 0.03
"""Seconds between two calls of a client: programs of a whole cluster share the machine with the clients."""

_REPEAT: Final = 0.25
"""Seconds that a client waits after a call that failed."""


class LoadClient:
    """Creates a task, gives it a title, and goes on with the next; every change has a word that no other has."""

    def __init__(self, name: str, channel: Channel, is_over: threading.Event) -> None:
        self.attempts: list[Attempt] = []
        self._doubtful: list[Attempt] = []
        self._channel = channel
        self._is_over = is_over
        self._words = (f"{name}x{number:06}" for number in count())

    def run(self) -> None:
        """Make changes until the load is over and none is in doubt that could be looked for."""
        while not self._is_over.is_set():
            task_id = self._try(self._channel.create)
            if task_id:
                self._try(lambda word: self._channel.rename(task_id, word))  # noqa: B023 - called at once
        self._channel.close()

    def _try(self, change: Callable[[str], str | None]) -> str | None:
        attempt = Attempt(next(self._words), time.monotonic())
        self.attempts.append(attempt)
        result = None
        try:
            result = change(attempt.word)
            attempt.fate = Fate.ACKNOWLEDGED
        except ChangeFailed as error:
            attempt.fate = Fate.UNKNOWN if error.is_unknown else Fate.REFUSED
            attempt.reason = str(error)
            if error.is_unknown:
                self._doubtful.append(attempt)
        attempt.settled = time.monotonic()
        if attempt.fate is Fate.ACKNOWLEDGED:
            self._look_for_doubtful()
        self._is_over.wait(_PAUSE if attempt.fate is Fate.ACKNOWLEDGED else _REPEAT)
        return result

    def _look_for_doubtful(self) -> None:
        """Look for the changes in doubt; they are settled, since one that came after them was acknowledged."""
        with suppress(ChangeFailed):
            while self._doubtful:
                self._doubtful[0].was_seen = self._channel.count(self._doubtful[0].word) > 0
                del self._doubtful[0]


class Load:
    """Eight clients, each in a thread of its own, while the block lasts."""

    def __init__(self, name: str, connect: Callable[[int], Channel], clients: int = CLIENTS) -> None:
        self._is_over = threading.Event()
        self.clients = [LoadClient(f"{name}c{number}", connect(number), self._is_over) for number in range(clients)]
        self._threads = [threading.Thread(target=client.run, name="load") for client in self.clients]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    @property
    def attempts(self) -> list[Attempt]:
        """Every change of every client."""
        return [attempt for client in self.clients for attempt in client.attempts]

    def count_acknowledged(self) -> int:
        """Return how many changes have been acknowledged so far."""
        return sum(attempt.fate is Fate.ACKNOWLEDGED for attempt in self.attempts)

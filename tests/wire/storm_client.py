"""One client of a storm: it starts server after server, keeps many calls under way, and stops or kills each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

from tests.wire.storm_ledger import Change, Ledger
from tests.wire.storm_process import Answer, Server, forked, spawned
from tests.wire.storm_servers import Kind

__all__ = ["LOCK_SECONDS", "Counts", "StormClient"]

LOCK_SECONDS: Final = 0.5
"""How long the servers of a storm wait for the lock, in seconds."""

_PAUSE_SECONDS: Final = 0.7
"""How long a server is stopped, in seconds: longer than others wait for what it may hold."""

_MOST_TASKS: Final = 30
"""Tasks that a client makes before it only changes those that it has."""


@dataclass
class Counts:
    """What was done to servers, and what became of the calls."""

    kills: int = 0
    early: int = 0
    """Kills before the server had answered anything."""
    spawned: int = 0
    """Kills of processes that were not forked."""
    pauses: int = 0
    calls: int = 0
    acknowledged: int = 0
    locked: int = 0
    """Calls that were refused because another process held the store for the whole wait."""
    unanswered: int = 0
    """Calls that were under way when their server was killed."""
    counted: int = 0
    """Calls among them whose change was found in the store."""

    def add(self, other: Counts) -> None:
        """Count in what another client counted."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


class StormClient:
    """A client with tasks of its own in the store that it shares with the others."""

    def __init__(self, kind: Kind, folder: Path, log: Path, name: str, rng: Random) -> None:
        self.counts = Counts()
        self.ledger = Ledger()
        self._kind = kind
        self._folder = folder
        self._log = log
        self._name = name
        self._rng = rng
        self._numbers = count(1)

    def run(self, goes_on: Callable[[], bool]) -> None:
        """Start servers and kill them while ``goes_on`` grants another kill.

        Raises:
            AssertionError: something acknowledged is gone, or something refused is there.
        """
        while goes_on():
            server = self.start(spawn=self._rng.random() < 0.02)
            try:
                self._live(server)
            finally:
                self._take(server.kill())
            self.counts.kills += 1
            self.counts.unanswered += self.ledger.lose(time.monotonic())
            if self._kind.engine != "json":
                self._commit()
            self.settle()

    def start(self, *, spawn: bool = False) -> Server:
        """Start a server over the folder."""
        self.counts.spawned += spawn
        environment = {**self._kind.environment(self._folder), "TASK_LOCK_TIMEOUT": str(LOCK_SECONDS)}
        return (spawned if spawn else forked)(self._kind.record.package, environment, self._log)

    def settle(self) -> None:
        """Check every task of this client against the store; none of its calls is under way."""
        found = {seen.token: seen for seen in self._kind.stored(self._folder)}
        self.counts.counted += self.ledger.settle(found)

    def _commit(self) -> None:
        """Let another server create a task.

        Where a process was killed between its write of SQLite's log and the note of that in shared memory, the others
        do not see what it wrote, and whoever comes when they have all ended does. PostgreSQL may still be at work on a
        commit whose client was killed. Any later commit puts an end to both.
        """
        acknowledged = self.counts.acknowledged
        server = self.start()
        server.greet()
        while self.counts.acknowledged == acknowledged:
            self._take(server.answers(self._send(server, [self._kind.create(self._word(), self._word)])))
        server.kill()

    def _live(self, server: Server) -> None:
        if self._rng.random() < 0.1:
            self.counts.early += 1
            time.sleep(self._rng.random() * 0.05)  # the moment of the kill, not a wait for something
            return
        server.greet()
        for is_last in (*[False] * self._rng.randrange(3), True):
            sent = self._send(server, self._batch())
            taken = self._rng.randrange(sent) if is_last else sent
            early = self._rng.randint(0, taken)
            self._take(server.answers(early))
            if self._rng.random() < 0.08:
                self._pause(server)
            if server.is_closed:
                return
            self._take(server.answers(taken - early))
        time.sleep(self._rng.random() * 0.004)  # the moment of the kill, not a wait for something

    def _pause(self, server: Server) -> None:
        self.counts.pauses += 1
        server.pause()
        time.sleep(_PAUSE_SECONDS)  # stopped for so long, which is the point
        # Some are killed while stopped.
        if self._rng.random() < 0.8:
            server.resume()
        else:
            self._take(server.kill())

    def _send(self, server: Server, batch: Iterable[Change]) -> int:
        changes = {next(self._numbers): change for change in batch}
        now = time.monotonic()
        for number, change in changes.items():
            self.ledger.send(number, change, now)
        server.ask({number: (change.tool, change.arguments) for number, change in changes.items()})
        self.counts.calls += len(changes)
        return len(changes)

    def _batch(self) -> list[Change]:
        """Return calls that can be under way together, so that what they leave does not depend on their order."""
        tasks = [(token, kept) for token, kept in self.ledger.tasks.items() if kept.id]
        creates = self._rng.randint(1, 10) if len(tasks) < _MOST_TASKS else 0
        made = [self._kind.create(self._word(), self._word) for _ in range(creates)]
        chosen = self._rng.sample(tasks, min(len(tasks), self._rng.randint(1, 12)))
        changed = [self._kind.changes(token, kept, self._word, self._rng) for token, kept in chosen]
        batch = [*made, *(change for changes in changed for change in changes)]
        self._rng.shuffle(batch)
        return batch

    def _word(self) -> str:
        return f"{self._name}-{next(self._numbers)}"

    def _take(self, answers: dict[int, Answer]) -> None:
        now = time.monotonic()
        for number, answer in answers.items():
            if not answer.is_error:
                change = self.ledger.change(number)
                self.ledger.acknowledge(number, self._kind.task_id(change, answer.content), now)
                self.counts.acknowledged += 1
            else:
                assert answer.code == "StoreLocked", answer
                self.ledger.refuse(number)
                self.counts.locked += 1

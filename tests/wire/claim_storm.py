"""Claims of server processes that are killed, stopped and ended at work (AG-12, AG-14, AG-19).

Each client knows when the claim of its server began at the latest and when it can have ended at the earliest. Two that
are certain at the same moment are a double; a living agent that is refused its own claimed task has lost it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from math import inf
from pathlib import Path
from random import Random
from threading import Event, Lock
from typing import Final

from pydantic import JsonValue

from tests.wire.storm_process import Answer, Server, forked, spawned
from tests.wire.storm_servers import TasksV1

__all__ = ["CLAIM_SECONDS", "MAX_WAIT", "ClaimResult", "claim_storm"]

MAX_WAIT: Final = 1.0
"""Seconds from a death, or from the deadline, until the orphan must be claimed."""

CLAIM_SECONDS: Final = 3.0
"""Seconds after which a claim ends in PostgreSQL, unless its agent calls again."""

_PAUSES: Final = (0.1, 0.5, 1.5)
"""Seconds for which a process is stopped; not the longest with a call under way, as all wait for what it may lock."""

_LOCK_SECONDS: Final = 60.0
"""Seconds for the lock of the store, which a stopped process may hold."""

_REFUSED: Final = frozenset({"TaskClaimed", "ClaimLost", "NotClaimed"})
"""The codes of the errors for a task that the agent does not hold."""


@dataclass
class ClaimResult:
    """The outcome of one storm of claims."""

    engine: str
    processes: int
    seconds: float = 0.0
    kills: int = 0
    stops: int = 0
    ends: int = 0
    """Processes whose input ended while they held claims, or held none."""
    claims: int = 0
    refused: int = 0
    """Calls for tasks that others held, which were refused."""
    orphans: int = 0
    """Tasks of processes that had ended, and that others claimed."""
    lapsed: int = 0
    """Claims that were lost once their deadline had gone by."""
    doubles: int = 0
    intrusions: int = 0
    """Changes of tasks that another living agent held all the while."""
    losses: int = 0
    stale: int = 0
    """Claims of orphans that were refused although the process had ended."""
    longest: float = 0.0
    """Seconds from a death, or in PostgreSQL from the deadline, until the orphan was claimed, at the most."""

    def check(self) -> None:
        """Raise ``AssertionError`` if a claim was worth nothing."""
        assert (self.doubles, self.intrusions, self.losses, self.stale) == (0, 0, 0, 0), self


@dataclass(frozen=True)
class Hold:
    """A claim as its client knows it."""

    token: str
    since: str
    """The moment of the claim, as the server tells it."""
    until: float = inf
    """When it ends at the earliest unless it is renewed, by ``time.monotonic``."""

    @property
    def is_certain(self) -> bool:
        """True if nobody else can have claimed the task by now."""
        return time.monotonic() < self.until


class Holders:
    """Registers which claims are certain, and the tasks that the dead have left."""

    def __init__(self, result: ClaimResult) -> None:
        self._result = result
        self._guard = Lock()
        self._held: dict[str, Hold] = {}
        self._left: dict[str, float] = {}
        self._seen = list[str]()

    @contextmanager
    def counting(self) -> Iterator[ClaimResult]:
        """Yield the result, to count in it while nobody else does."""
        with self._guard:
            yield self._result

    def take(self, task: str, hold: Hold) -> None:
        """Note that a claim was acknowledged, or renewed."""
        now = time.monotonic()
        with self._guard:
            before = self._held.get(task, hold)
            self._result.doubles += before.token != hold.token and before.is_certain
            self._held[task] = hold
            self._seen = [*self._seen[-30:], task]
            if (since := self._left.pop(task, None)) is not None:
                self._result.orphans += 1
                self._result.longest = max(self._result.longest, now - since)

    def leave(self, held: Mapping[str, Hold]) -> None:
        """Note that claims may end from now on."""
        with self._guard:
            for task, hold in held.items():
                if task in self._held and self._held[task].token == hold.token:
                    del self._held[task]

    def orphan(self, since: float, tasks: Iterable[str]) -> None:
        """Note that the claims on these tasks have ended at a moment, if no other has claimed them yet."""
        with self._guard:
            self._left |= {task: since for task in tasks if task not in self._held and task not in self._left}

    def is_left(self, task: str, since: float) -> bool:
        """Return whether nobody has claimed a task since its claim ended at that moment."""
        with self._guard:
            return self._left.get(task) == since

    def finish(self, task: str) -> None:
        """Note that a task that was left is finished."""
        with self._guard:
            self._left.pop(task, None)

    def holder(self, task: str) -> Hold | None:
        """Return the claim on a task that is certain."""
        with self._guard:
            hold = self._held.get(task)
        return hold if hold and hold.is_certain else None

    def draw(self, rng: Random) -> str | None:
        """Return a task that somebody has claimed of late."""
        with self._guard:
            return rng.choice(self._seen) if self._seen else None


class Heir:
    """A client whose server is there already when another one dies, and claims what that has left."""

    def __init__(self, holders: Holders, server: Server) -> None:
        self._holders = holders
        self._server = server
        self._guard = Lock()

    def claim(self, held: Mapping[str, Hold], since: float) -> None:
        """Claim each task that nobody else has claimed by now, once a moment has come, and release it."""
        time.sleep(max(0.0, since - time.monotonic()))  # until then they are not orphans
        with self._guard:
            while left := [task for task in held if self._holders.is_left(task, since)]:
                self._server.ask({number: ("claim_task", {"id": task}) for number, task in enumerate(left)})
                answers = self._server.answers(len(left))
                for number, task in enumerate(left):
                    self._take(task, answers[number], held[task])
                for number, task in enumerate(left):
                    if not answers[number].is_error:
                        self._server.call("release_task", id=task)

    def close(self) -> None:
        """End the server."""
        self._server.close()

    def _take(self, task: str, answer: Answer, dead: Hold) -> None:
        if not answer.is_error:
            hold = _hold(answer, inf)
            self._holders.take(task, hold)
            self._holders.leave({task: hold})
        elif answer.code == "TaskClaimed":
            is_stale = answer.content["error"]["details"]["since"] == dead.since
            with self._holders.counting() as result:
                result.stale += is_stale
        else:
            assert answer.code == "InvalidTransition", answer
            self._holders.finish(task)


class Worker:
    """A client that starts server after server, claims and works, and kills, stops or ends each."""

    def __init__(self, kind: TasksV1, folder: Path, holders: Holders, rng: Random, heir: Heir | None = None) -> None:
        """Let the ``heir``, if there is one, try at once to claim what the dead leave."""
        self._heir = heir
        self._kind = kind
        self._folder = folder
        self._holders = holders
        self._rng = rng
        self._numbers = count(1)
        self._held: dict[str, Hold] = {}
        """the claims of the present server, by their tasks"""
        self._called = 0.0
        """when the last call was answered"""

    @property
    def _has_deadlines(self) -> bool:
        return self._kind.engine == "postgresql"

    def run(self, is_over: Callable[[], bool]) -> None:
        """Let servers live and die until it is over."""
        while not is_over():
            server = self.start()
            try:
                for _ in range(self._rng.randrange(1, 12)):
                    self._step(server)
                self._end(server)
            finally:
                server.kill()

    def hold(self, seconds: float, is_over: Event) -> None:
        """Claim a task, stop for long while the others work, and go on with it."""
        server = self.start()
        try:
            while not self._held:
                self._claim(server, None)
            self._pause(server, seconds)
            self._work(server)
        finally:
            is_over.set()
            self._holders.leave(self._held)
            server.kill()

    def adopt(self) -> int:
        """Claim every open task, once all other processes have ended, and return how many there were."""
        server = self.start()
        try:
            page = server.call("list_tasks", limit=100, status=["pending", "in_progress"])
            for task in page["tasks"]:
                end = time.monotonic() + (CLAIM_SECONDS if self._has_deadlines else 0) + 30
                while self._ask(server, "claim_task", id=task["id"]).is_error:
                    assert time.monotonic() < end, "nobody can claim what the dead have left"
                    time.sleep(0.1)
                server.call("release_task", id=task["id"])
            return len(page["tasks"])
        finally:
            server.close()

    def start(self) -> Server:
        """Return a new server."""
        environment = {
            **self._kind.environment(self._folder),
            "TASK_EXTRA_TOOLS": "claims",
            "TASK_LOCK_TIMEOUT": str(_LOCK_SECONDS),
            "TASK_CLAIM_SECONDS": str(CLAIM_SECONDS),
        }
        start = spawned if self._rng.random() < 0.02 else forked
        server = start(self._kind.record.package, environment, self._folder.with_name("log"))
        server.greet()
        return server

    # Calls

    def _ask(self, server: Server, tool: str, **arguments: JsonValue) -> Answer:
        server.ask({0: (tool, arguments)})
        return self._receive(server)

    def _receive(self, server: Server) -> Answer:
        """Return the next answer; a warning of the end of a claim that must be there is a loss."""
        answer = server.answers(1)[0]
        self._called = time.monotonic()
        text = " ".join(answer.content.get("warnings", ()))
        with self._holders.counting() as result:
            for task, hold in self._held.items():
                result.losses += hold.is_certain and f"The claim of '{task}' has ended" in text
        return answer

    def _until(self, sent: float) -> float:
        """Return when a claim ends at the earliest that was made or renewed by a call sent at a moment."""
        return sent + 0.9 * CLAIM_SECONDS if self._has_deadlines else inf

    def _step(self, server: Server) -> None:
        what = self._rng.choice(["claim", "claim", "work", "work", "rob", "intrude", "stop", "finish", "give up"])
        if what == "claim" or not self._held:
            self._claim(server, None)
        elif what == "rob":
            self._claim(server, self._holders.draw(self._rng))
        elif what == "intrude":
            self._intrude(server)
        elif what == "work":
            self._work(server)
        elif what == "stop":
            is_long = self._has_deadlines and self._rng.random() < 0.2
            self._pause(server, CLAIM_SECONDS + 0.5 if is_long else self._rng.choice(_PAUSES))
        else:
            self._finish(server, self._rng.choice([*self._held]), is_done=what == "finish")

    def _claim(self, server: Server, task: str | None) -> None:
        """Claim a task, or the first that is free; if none is, create some."""
        sent = time.monotonic()
        answer = self._ask(server, "claim_task", **({"id": task} if task else {}))
        if answer.is_error:
            assert answer.code in {"TaskClaimed", "InvalidTransition"}, answer
            if task in self._held:
                self._drop(task)
            with self._holders.counting() as result:
                result.refused += 1
        elif claim := answer.content["claim"]:
            hold = self._held[claim["task"]] = _hold(answer, self._until(sent))
            self._holders.take(claim["task"], hold)
            with self._holders.counting() as result:
                result.claims += 1
        else:
            for _ in range(3):
                assert not self._ask(server, "create_task", title=f"Part {next(self._numbers)}").is_error

    def _work(self, server: Server) -> None:
        """Change what is held, in the name of the claim or, while it is certain, without that."""
        for task, hold in [*self._held.items()]:
            sent = time.monotonic()
            is_named = self._has_deadlines or self._rng.random() < 0.5
            by: dict[str, JsonValue] = {"agent": hold.token} if is_named else {}
            text = f"{hold.token} {next(self._numbers)}"
            self._renew(task, sent, self._ask(server, "update_task", id=task, description=text, **by))

    def _renew(self, task: str, sent: float, answer: Answer) -> None:
        """Note the answer to a call in the name of a claim."""
        if answer.is_error:
            assert answer.code in _REFUSED, answer
            self._drop(task)
        else:
            hold = self._held[task] = replace(self._held[task], until=self._until(sent))
            self._holders.take(task, hold)

    def _drop(self, task: str) -> None:
        """Note that a task was refused to its holder: that is a loss, unless the deadline may have gone by."""
        hold = self._held.pop(task)
        with self._holders.counting() as result:
            result.losses += hold.is_certain
            result.lapsed += not hold.is_certain
        self._holders.leave({task: hold})

    def _intrude(self, server: Server) -> None:
        """Change what another agent holds."""
        task = self._holders.draw(self._rng)
        if task is None or task in self._held or not (before := self._holders.holder(task)):
            return
        answer = self._ask(server, "update_task", id=task, description="not mine")
        after = self._holders.holder(task)
        with self._holders.counting() as result:
            result.refused += answer.is_error
            result.intrusions += bool(not answer.is_error and after and after.token == before.token)

    def _finish(self, server: Server, task: str, *, is_done: bool) -> None:
        """Finish a task, or give it up."""
        hold = self._held[task]
        self._holders.leave({task: hold})
        calls = [("update_task_status", {"status": status}) for status in ("in_progress", "done")]
        for tool, arguments in calls if is_done else [("release_task", dict[str, str]())]:
            answer = self._ask(server, tool, id=task, agent=hold.token, **arguments)
            if answer.is_error:
                assert answer.code in _REFUSED, answer
                self._drop(task)
                return
        del self._held[task]

    # Stops and ends

    def _pause(self, server: Server, seconds: float) -> None:
        """Stop the server, with a call under way or without, and let it go on."""
        with self._holders.counting() as result:
            result.stops += 1
        chosen = self._rng.choice([*self._held]) if self._held and self._rng.random() < 0.5 else None
        sent = time.monotonic()
        if chosen:
            seconds = min(seconds, _PAUSES[1])
            text, by = f"stopped {next(self._numbers)}", self._held[chosen].token
            server.ask({0: ("update_task", {"id": chosen, "description": text, "agent": by})})
        server.pause()
        time.sleep(seconds)  # stopped for so long, which is the point
        server.resume()
        if chosen:
            self._renew(chosen, sent, self._receive(server))
        self._work(server)

    def _end(self, server: Server) -> None:
        """Kill the server, with a call under way or without, or end its input."""
        self._holders.leave(self._held)
        is_killed = self._rng.random() < 0.7
        is_asked = is_killed and bool(self._held) and self._rng.random() < 0.5
        if is_asked:
            server.ask({0: ("update_task", {"id": self._rng.choice([*self._held]), "description": "the last words"})})
            time.sleep(self._rng.random() * 0.01)  # the moment of the kill, not a wait for something
        if is_killed:
            server.kill()
        else:
            server.close()
        since = time.monotonic()
        if self._has_deadlines:  # the last call may have been answered at any moment until the end
            since = (since if is_asked else self._called) + CLAIM_SECONDS
        self._holders.orphan(since, self._held)
        if self._heir:
            self._heir.claim(self._held, since)
        self._held = {}
        with self._holders.counting() as result:
            result.kills += is_killed
            result.ends += not is_killed


def claim_storm(kind: TasksV1, folder: Path, processes: int, seconds: float, rng: Random) -> ClaimResult:
    """Let so many processes work for so long over one store in ``folder``, one of them stopped nearly all the time.

    It raises ``AssertionError`` as ``ClaimResult.check`` does, and if something is left over at the end.
    """
    work = folder / "work"
    kind.prepare(work)
    result = ClaimResult(kind.engine, processes)
    holders, is_over = Holders(result), Event()
    heir = Heir(holders, Worker(kind, work, holders, rng).start())
    workers = [Worker(kind, work, holders, Random(rng.random()), heir) for _ in range(processes)]
    started = time.monotonic()
    with ThreadPoolExecutor(processes) as pool:
        running = [pool.submit(workers[0].hold, min(seconds, 60.0), is_over)]
        running += [
            pool.submit(worker.run, lambda: is_over.is_set() and time.monotonic() >= started + seconds)
            for worker in workers[1:]
        ]
        for each in running:
            each.result()
    heir.close()
    result.seconds = time.monotonic() - started
    assert Worker(kind, work, holders, rng).adopt()
    sessions = work / f"{kind.store}.sessions"
    assert not sessions.exists() or not any(sessions.iterdir())
    result.check()
    return result


def _hold(answer: Answer, until: float) -> Hold:
    claim = answer.content["claim"]
    return Hold(claim["token"], claim["since"], until)

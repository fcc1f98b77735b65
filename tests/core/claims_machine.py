"""A machine that compares claims, changes, deaths and restarts, in any order, with a plain model (AG-11 to AG-15).

Several stores over one file count as several processes: a session's lock belongs to the open file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar, Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from typing_extensions import override

from task_core.claims.claim import Claim, ClaimLost, NotClaimed, TaskClaimed
from task_core.claims.session_files import SessionFiles
from task_core.errors import InvalidArguments, InvalidTransition, TaskError
from task_core.history.changes import BOARD, COMMAND_LINE, made_by
from task_core.models import Columns, Record, microseconds
from task_core.store import ROOTS, Collection, Kind, ListCodec, MemoryDatabase, Store
from task_core.store.claim_register import ClaimRegister
from task_core.store.claiming import StoreClaiming
from task_core.store.document import DocumentDatabase
from task_core.store.sqlite import SqliteDatabase
from task_core.store.transaction import Transaction
from task_core.store.view import StoreView
from task_core.view import Line
from task_core.warning_list import WarningList

__all__ = ["WORLDS", "run_machine"]

NAMES: Final = [f"t{number}" for number in range(6)]

SECONDS: Final = 60
"""Until a claim ends that no process holds."""

REASON: Final = "it has been silent all day"


class Job(Record):
    """A task that is open or done."""

    state: str = "open"
    text: int = 0

    @property
    @override
    def columns(self) -> Columns:
        return Columns(self.state)


LIST: Final = Kind("jobs", Job, ("active", "open", "done"), frozenset({"done"}))

TREE: Final = replace(LIST, is_tree=True)


class JobsView(StoreView[Job]):
    """The jobs in their order, also those below others."""

    @override
    def line(self, task: Job, depth: int) -> Line:
        return Line(task.id, task.state, task.id, "", depth)

    @override
    def startable(self, tasks: Collection[Job], limit: int) -> Iterator[str]:
        return (node.id for node in tasks.nodes() if tasks.is_open(node.id))


class Process:
    """One process that works on the jobs, as far as locks can tell."""

    def __init__(self, number: int, store: Store[Job], warnings: WarningList) -> None:
        self.number = number
        self.store = store
        self.warnings = warnings
        self.claiming = StoreClaiming(store, JobsView(store))


@dataclass(frozen=True)
class Held:
    """A claim as the model has it."""

    task: str
    process: int
    """the number of the agent's process, or -1 if it has none of its own"""
    agent: str
    number: int
    note: str
    until: datetime | None
    """the deadline; without one, the claim lives as long as the process"""


class Machine(RuleBasedStateMachine):
    """Agents in several processes, with or without deadlines."""

    engine: ClassVar[str] = "json"
    processes: ClassVar[int] = 3
    has_deadlines: ClassVar[bool] = False
    is_remote: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.closing = ExitStack()
        self.path = Path(self.closing.enter_context(tempfile.TemporaryDirectory())).resolve() / "jobs"
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self.memory = MemoryDatabase()
        self.started = 0
        self.parents: dict[str, str] = {}
        """those of the jobs that there are"""
        self.done: set[str] = set()
        self.claims: dict[str, Held] = {}
        """the last one on each open job, of dead agents too"""
        self.last = 0
        """the number of the last claim"""
        self.numbers: dict[str, list[int]] = {"": [], "ann": [], "bob": []}
        self.unheard: set[tuple[int, str]] = set()
        """processes, each with the job of a claim that others have ended"""
        self.pending: set[tuple[int, str]] = set()
        """the same where the others are agents of that process: a later transaction reports it"""
        self.news: set[tuple[int, str]] = set()
        """the same of jobs that people have changed"""
        self.team = [self.start() for _ in range(self.processes)]
        self.onlooker = self.start()
        for name in NAMES[:4]:
            self.parents[name] = NAMES[0] if name == NAMES[3] and self.kind.is_tree else ROOTS
            with self.team[0].store.transaction() as work:
                work.add(Job(id=name), self.parents[name])

    @property
    def kind(self) -> Kind[Job]:
        return LIST if self.engine == "json" else TREE

    def start(self) -> Process:
        """Return one more process."""
        warnings, clock = WarningList(), lambda: self.now
        files = None
        if self.engine == "memory":
            database = self.memory
        elif self.engine == "json":
            files = SessionFiles(self.path)
            database = DocumentDatabase(self.path, ListCodec(LIST), warnings, clock, fsync=False)
        else:
            files = SessionFiles(self.path, "jobs of ann")
            database = SqliteDatabase(self.path, fsync=False)
        claims = ClaimRegister(warnings, files, seconds=SECONDS, is_shared=self.has_deadlines and not self.is_remote)
        store = Store(database, self.kind, clock=clock, claims=claims)
        self.closing.callback(store.close)
        self.started += 1
        return Process(self.started, store, warnings)

    @override
    def teardown(self) -> None:
        self.closing.close()

    # The model

    def above(self, task: str) -> list[str]:
        """Return a job and those above it."""
        found = [task]
        while self.parents.get(found[-1]):
            found.append(self.parents[found[-1]])
        return found

    def below(self, task: str) -> list[str]:
        """Return a job and those below it."""
        return [name for name in self.parents if task in self.above(name)]

    def is_living(self, held: Held) -> bool:
        is_running = held.process in {it.number for it in self.team}
        return self.now < held.until if held.until else is_running

    def living(self, *tasks: str) -> list[Held]:
        return [held for name, held in self.claims.items() if name in tasks and self.is_living(held)]

    def related(self, task: str) -> list[Held]:
        return self.living(*self.above(task), *self.below(task))

    def who(self, place: int, name: str) -> tuple[Process, tuple[int, str]]:
        """Return a process, and the agent with this name in it."""
        process = self.team[place % len(self.team)]
        return process, (-1, name or "ann") if self.is_remote else (process.number, name)

    def holds(self, agent: tuple[int, str], held: Held) -> bool:
        return agent == (held.process, held.agent)

    def renew(self, agent: tuple[int, str]) -> None:
        """Give every claim of an agent that has called the whole time again, if a tenth of it has passed."""
        for name, held in self.claims.items():
            if held.until and self.holds(agent, held) and self.now - held.until > timedelta(seconds=-0.9 * SECONDS):
                self.claims[name] = replace(held, until=self.deadline)
                self.unheard.discard((held.process, name))

    @property
    def deadline(self) -> datetime | None:
        """When a claim that is renewed now ends."""
        return self.now + timedelta(seconds=SECONDS) if self.has_deadlines else None

    def end(self, *tasks: str, by: tuple[int, str] | None) -> None:
        """End claims; the processes of others than ``by`` hear of it."""
        for held in self.living(*tasks):
            if by is None or not self.holds(by, held):
                is_shared = by is not None and by[0] == held.process
                (self.pending if is_shared else self.unheard).add((held.process, held.task))
        for name in tasks:
            self.claims.pop(name, None)

    # The calls

    def call(self, origin: tuple[str, str, str], work: Callable[[], object]) -> type[TaskError] | None:
        """Return the error of a call, or nothing; each is made at a moment of its own."""
        self.now += timedelta(microseconds=1)
        with made_by(*origin, is_remote=self.is_remote):
            try:
                work()
            except TaskError as error:
                return type(error)
        return None

    @rule(
        place=st.integers(0, 2),
        name=st.sampled_from(["", "ann", "bob"]),
        task=st.none() | st.sampled_from(NAMES),
        note=st.sampled_from(["", REASON]),
        is_forced=st.booleans(),
    )
    def claim(self, place: int, name: str, task: str | None, note: str, is_forced: bool) -> None:
        process, agent = self.who(place, name)
        if task is not None and task not in self.parents:
            return
        found = list[Claim | None]()
        work = lambda: found.append(process.claiming.claim(task or "", note, is_forced=is_forced).claim)  # noqa: E731
        error = self.call(("mcp", "claim_task", agent[1]), work)
        if error is None:
            self.renew(agent)
        if task is None:
            assert error is None
            self.check_free(found[0])
            if found[0] is None:
                return
            task = found[0].task
        others = [held for held in self.related(task) if not self.holds(agent, held)]
        if task in self.done:
            assert error is InvalidTransition
        elif others and not is_forced:
            assert error is TaskClaimed
        elif others and not note:
            assert error is InvalidArguments
        else:
            assert error is None
            (claim,) = found
            assert claim is not None
            self.take(agent, claim, note)

    def check_free(self, claim: Claim | None) -> None:
        """Check the first free job that was claimed."""
        free = [name for name in self.parents if name not in self.done and not self.related(name)]
        orphans = [name for name in free if name in self.claims]
        if claim is None:
            assert not free
        else:
            assert claim.task in (orphans or free)

    def take(self, agent: tuple[int, str], claim: Claim, note: str) -> None:
        own = next((held for held in self.living(claim.task) if self.holds(agent, held)), None)
        if own and note in ("", own.note):
            assert claim.since == own.number
        else:
            assert claim.since > self.last
            self.last = claim.since
            self.numbers[agent[1]].append(claim.since)
            self.end(*self.above(claim.task), *self.below(claim.task), by=agent)
            self.claims[claim.task] = Held(claim.task, *agent, claim.since, note, self.deadline)

    @rule(
        place=st.integers(0, 2),
        name=st.sampled_from(["", "ann", "bob"]),
        task=st.sampled_from(NAMES),
        age=st.integers(-1, 2),
    )
    def release(self, place: int, name: str, task: str, age: int) -> None:
        process, agent = self.who(place, name)
        token, is_lost = self.token(agent, age)
        error = self.call(("mcp", "release_task", token), lambda: process.claiming.release(task))
        others = [held for held in self.related(task) if not self.holds(agent, held)]
        if is_lost:
            assert error is ClaimLost
        elif (own := self.claims.get(task)) and self.holds(agent, own) and (own.until or self.is_living(own)):
            assert error is None
            del self.claims[task]
            self.renew(agent)
        else:
            assert error is (TaskClaimed if others else NotClaimed)

    def token(self, agent: tuple[int, str], age: int) -> tuple[str, bool]:
        """Return the name of an agent, with the number of a claim that it has made, and if it has ended."""
        numbers = self.numbers[agent[1]]
        if age < 0 or age >= len(numbers):
            return agent[1], False
        number = numbers[-1 - age]
        is_lost = not any(self.holds(agent, held) and held.number == number for held in self.claims.values())
        return f"{agent[1]}#{number}", is_lost

    @rule(
        place=st.integers(0, 2),
        name=st.sampled_from(["", "ann", "bob"]),
        task=st.sampled_from(NAMES),
        what=st.sampled_from(["change", "change", "complete", "reopen", "remove", "add"]),
        below=st.sampled_from(NAMES),
        age=st.integers(-1, 2),
    )
    def change(self, place: int, name: str, task: str, what: str, below: str, age: int) -> None:
        process, agent = self.who(place, name)
        work = self.work(what, task, below)
        if work is None:
            return
        token, is_lost = self.token(agent, age)
        error = self.call(("mcp", what, token), lambda: self.run(process, work))
        touched = self.touched(what, task, below)
        if is_lost:
            assert error is ClaimLost
        elif any(not self.holds(agent, held) for held in self.living(*touched)):
            assert error is TaskClaimed
        else:
            assert error is None
            self.apply(what, task, below, by=agent)
            self.renew(agent)

    @rule(
        place=st.integers(0, 2),
        by=st.sampled_from([COMMAND_LINE, BOARD]),
        task=st.sampled_from(NAMES),
        what=st.sampled_from(["change", "change", "complete", "reopen", "remove", "add"]),
        below=st.sampled_from(NAMES),
    )
    def edit(self, place: int, by: str, task: str, what: str, below: str) -> None:
        """Let a person change a job."""
        # With deadlines, a call in an agent's process is taken for one of the agent.
        process = self.onlooker if self.has_deadlines else self.team[place % len(self.team)]
        work = self.work(what, task, below)
        if work is None:
            return
        assert self.call((by, what, ""), lambda: self.run(process, work)) is None
        held = self.living(*self.touched(what, task, below))
        self.apply(what, task, below, by=None)
        self.news |= {(it.process, it.task) for it in held if it.task in self.claims}

    def run(self, process: Process, work: Callable[[Transaction[Job]], object]) -> None:
        with process.store.transaction() as jobs:
            work(jobs)

    def work(self, what: str, task: str, below: str) -> Callable[[Transaction[Job]], object] | None:
        """Return the change to be made, or nothing if it cannot be made or changes nothing."""
        if what == "add":
            parent = below if below in self.parents and self.kind.is_tree else ROOTS
            return None if task in self.parents else lambda jobs: jobs.add(Job(id=task), parent)
        if task not in self.parents or (what == "reopen") != (task in self.done):
            return None
        if what == "remove":
            return lambda jobs: jobs.remove(task)
        state = "done" if what == "complete" else "open"
        return lambda jobs: jobs.replace(jobs.get(task).changed(state=state, text=jobs.get(task).text + 1))

    def touched(self, what: str, task: str, below: str) -> list[str]:
        if what == "add":
            return self.above(below) if below in self.parents and self.kind.is_tree else []
        return [*self.above(task), *(self.below(task) if what == "remove" else ())]

    def apply(self, what: str, task: str, below: str, *, by: tuple[int, str] | None) -> None:
        match what:
            case "add":
                self.parents[task] = below if below in self.parents and self.kind.is_tree else ROOTS
            case "complete":
                self.done.add(task)
                self.end(task, by=by)
            case "reopen":
                self.done.discard(task)
            case "remove":
                gone = self.below(task)
                self.end(*gone, by=by)
                for name in gone:
                    del self.parents[name]
                    self.done.discard(name)

    # Deaths, and time

    @rule(place=st.integers(0, 2), is_killed=st.booleans())
    def die(self, place: int, is_killed: bool) -> None:
        """End a process, and start another one in its place; where there is but one, it lives on."""
        if len(self.team) == 1:
            return
        process = self.team[place % len(self.team)]
        files = process.store.claims._files  # noqa: SLF001 - only the kernel lets go of a lock like this
        if is_killed and files and files._lock:  # noqa: SLF001
            lock, files._lock = files._lock, None  # noqa: SLF001
            lock.release()
        process.store.close()
        self.team[place % len(self.team)] = self.start()

    @rule(seconds=st.sampled_from([1, 25, 61]))
    def wait(self, seconds: int) -> None:
        """Let time go by, of which nothing comes without deadlines."""
        before = {held.task for held in self.living(*self.claims)}
        self.now += timedelta(seconds=seconds)
        for name in before - {held.task for held in self.living(*self.claims)}:
            self.unheard.add((self.claims[name].process, name))

    # What must hold

    @invariant()
    def claims_are_as_the_model_has_them(self) -> None:
        moment = microseconds(self.now)
        found = [(it.task, it.agent, it.since) for it in self.onlooker.store.find_claims() if it.is_living(moment)]
        assert found == sorted(
            ((it.task, it.agent, it.number) for it in self.living(*self.claims)), key=lambda it: it[2]
        )

    @invariant()
    def processes_hear_what_others_did_to_their_claims(self) -> None:
        for process in self.team:
            with made_by("mcp", "list_changes", "nobody"), process.store.read():
                pass  # as another agent, whose call extends no claim
            heard = process.warnings.take()
            ended = {name for name in NAMES for it in heard if it.startswith(f"The claim of '{name}'")}
            changed = {name for name in NAMES for it in heard if f" changed '{name}'" in it}
            assert len(heard) >= len(ended | changed)
            expected = {name for it, name in self.unheard if it == process.number}
            pending = {name for it, name in self.pending if it == process.number}
            if self.has_deadlines:
                assert ended <= {name for _, name in self.unheard | self.pending}
            else:
                assert expected <= ended <= expected | pending
                assert changed >= {name for it, name in self.news if it == process.number}
        if not self.has_deadlines:
            self.unheard.clear()
        self.news.clear()


WORLDS: Final[dict[str, dict[str, object]]] = {
    "json": {},
    "sqlite": {"engine": "sqlite"},
    "memory": {"engine": "memory", "processes": 1},
    "deadlines": {"engine": "memory", "has_deadlines": True},
    "servers": {"has_deadlines": True, "is_remote": True},
}
"""Settings of the machine: ``deadlines`` as in PostgreSQL, ``servers`` as over HTTP, whose agents name themselves."""


def run_machine(world: str, *, examples: int, steps: int, is_searching: bool = False) -> None:
    """Run the machine; ``is_searching`` for what is there, which needs no shortest example."""
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    phases = [Phase.generate] if is_searching else [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]
    limits = settings(max_examples=examples, stateful_step_count=steps, suppress_health_check=checks, phases=phases)
    limits = settings(limits, derandomize=True, database=None, report_multiple_bugs=False) if is_searching else limits
    run_state_machine_as_test(type("Machine", (Machine,), WORLDS[world]), settings=limits)

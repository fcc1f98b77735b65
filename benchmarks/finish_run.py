"""One run of the finish rates: a team of agents on one list, their interruptions, and the truth about their work.

The agents take turns together: all send their calls, then all read their answers, so that the calls of a team are
really under way at the same time. A seed decides who is interrupted in which turn.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.finish_agent import WAIT, WORK, Agent, Answer, Json, Memory, Model, ModelAgent, Steps
from benchmarks.finish_channels import PARTS, Channel, Plan, fill_list, find_open_units, open_channel
from benchmarks.finish_lists import Condition
from benchmarks.wire import Call, CallFailed

HAZARD: Final = {"cut off": 0.006, "cleared": 0.006, "killed": 0.006}
"""Chance of each interruption in a turn of an agent."""

TURNS: Final = 25
"""Turns per unit after which a run ends, of all agents together."""

_STAGGER: Final = 3
"""Turns after which the next agent of a team begins."""


@dataclass
class Outcome:
    """The counts of one run, or of none where a list could not be tried."""

    condition: str
    group: str
    team: int
    why_not: str = ""
    units: int = 0
    done: int = 0
    twice: int = 0
    """Units that were done again, each time counted."""
    unreported: int = 0
    """Those among ``twice`` whose agent was interrupted between the work and its report, which no list can prevent."""
    early: int = 0
    """Units done before one that they need."""
    claimed: int = 0
    """Units that are done by the list, but not in truth."""
    read: int = 0
    tools: int = 0
    first: list[tuple[int, int]] = field(default_factory=list)
    """By session: the bytes and the calls before the first call that changes something, or the work."""
    sessions: int = 0
    turns: int = 0
    interruptions: dict[str, int] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """Units that nobody did."""
        return self.units - self.done


@dataclass
class _Worker:
    """An agent at work, and the counts of its session."""

    agent: Agent
    channel: Channel | None
    steps: Steps = field(init=False)
    call: Call | None = None
    """The next call of the agent, until it has nothing left to do."""
    read: int = 0
    calls: int = 0
    has_begun: bool = False
    needed: int = 1
    """Turns that its present work takes."""
    finished: str = ""
    """The unit that it has done but not yet reported."""
    parts: Counter[str] = field(default_factory=Counter)


class _Team:
    """Agents on one list, with the file of the work, from which the truth is known."""

    def __init__(
        self,
        agents: Sequence[Agent],
        condition: Condition,
        plan: Plan,
        seed: int,
        work: Path,
        connect: Callable[[], Channel | None],
    ) -> None:
        size = len(agents)
        self._plan, self._work, self._open = plan, work, connect
        self._random = Random(f"team {seed} {size}")  # noqa: S311 - not a secret
        self._durations = Random(f"durations {seed} {size}")  # noqa: S311 - not a secret
        self.outcome = Outcome(condition.name, condition.group, size, units=len(plan.needs))
        self._reported = set[str]()
        self._unreported = set[str]()
        self._workers = [self._begin(agent) for agent in agents]

    def run(self) -> Outcome:
        """Let the agents work until each finds nothing to do, or the turns are used up; return the counts."""
        active = list(self._workers)
        limit = TURNS * self.outcome.units
        for count in range(limit):
            if not active or self.outcome.turns >= limit:
                break
            self._random.shuffle(active)
            begun = [worker for worker in active if worker.agent.number * _STAGGER <= count]
            turn = [(worker, worker.call, self._send(worker, worker.call)) for worker in begun if worker.call]
            for worker, call, fate in turn:
                self._receive(worker, call, fate)
            active = [worker for worker in active if worker.call]
        for worker in self._workers:
            if worker.channel:
                worker.channel.kill()
        return self.outcome

    def count(self, is_open: set[str] | None) -> Outcome:
        """Compare the work with the units that the list still shows as open, or with what was reported."""
        lines = self._work.read_text("utf-8").split()
        claimed = self._reported if is_open is None else self._plan.needs.keys() - is_open
        self.outcome.done = len({*lines})
        self.outcome.twice = len(lines) - len({*lines})
        self.outcome.claimed = len(claimed - {*lines})
        return self.outcome

    def _begin(self, agent: Agent) -> _Worker:
        worker = _Worker(agent, self._open())
        self._start_session(worker)
        return worker

    def _start_session(self, worker: _Worker) -> None:
        worker.steps, worker.read, worker.calls, worker.has_begun = worker.agent.session(), 0, 0, False
        worker.finished = ""
        self.outcome.sessions += 1
        worker.parts.clear()
        if worker.agent.adapter is None:
            worker.read = len(worker.agent.plan.encode())
            self.outcome.read += worker.read
        worker.call = next(worker.steps, None)

    def _send(self, worker: _Worker, call: Call) -> str:
        """Send the agent's call, and return the interruption of the agent meanwhile, if there is one."""
        self.outcome.turns += call.tool != WAIT
        chance, fate = self._random.random(), ""
        for kind, share in HAZARD.items():
            if 0 <= chance < share:
                fate = kind
            chance -= share
        if call.tool == WAIT:
            return ""
        if call.tool == WORK:
            self._note_first(worker)
        if call.tool != WORK and worker.channel:
            worker.channel.post(call)
        return fate

    def _note_first(self, worker: _Worker) -> None:
        if not worker.has_begun:
            worker.has_begun = True
            self.outcome.first.append((worker.read, worker.calls))

    def _receive(self, worker: _Worker, call: Call, fate: str) -> None:
        if fate in {"cut off", "killed"}:
            self._interrupt(worker, fate)
        else:
            answer = self._answer(worker, call)
            if fate:
                self._interrupt(worker, fate)
                return
            try:
                worker.call = worker.steps.send(answer)
            except StopIteration:
                worker.call = None

    def _answer(self, worker: _Worker, call: Call) -> Answer:
        if call.tool == WORK:
            return Answer(self._do(worker, call.arguments["unit"]))
        if call.tool == WAIT or not worker.channel:
            return Answer("")
        try:
            answer = worker.channel.answer()
        except CallFailed:  # a server of another project ended by itself
            worker.channel.kill()
            worker.channel = self._open()
            answer = Answer("The server has ended.", is_error=True)
        is_change = not self._only_reads(worker, call) and not answer.is_error
        if is_change:
            self._note_first(worker)
        size = len(answer.text.encode())
        self.outcome.read += size
        worker.read, worker.calls = worker.read + size, worker.calls + 1
        if worker.finished and is_change:
            self._reported.add(worker.finished)
            worker.finished = ""
        return answer

    @staticmethod
    def _only_reads(worker: _Worker, call: Call) -> bool:
        adapter = worker.agent.adapter
        return adapter is not None and call.tool in {adapter.list.tool, adapter.brief}

    def _do(self, worker: _Worker, unit: str) -> str:
        """Do one part of a unit, and after the last add its line to the file."""
        if unit not in self._plan.needs:  # a model can ask for anything
            return "There is no such unit."
        worker.parts[unit] += 1
        if worker.parts[unit] == 1:
            worker.needed = self._durations.choice(PARTS)
        if worker.parts[unit] < worker.needed:
            return f"{unit} is not finished: call work again"
        before = {*self._work.read_text("utf-8").split()}
        self.outcome.early += bool(self._plan.needs[unit] - before)
        self.outcome.unreported += unit in before and unit in self._unreported
        with self._work.open("a", encoding="utf-8") as file:
            file.write(f"{unit}\n")
        worker.finished = unit if worker.agent.adapter else ""
        return f"done {unit}: one line added"

    def _interrupt(self, worker: _Worker, fate: str) -> None:
        self.outcome.interruptions[fate] = self.outcome.interruptions.get(fate, 0) + 1
        if worker.finished:
            self._unreported.add(worker.finished)
        if fate != "cut off":
            worker.agent.memory = Memory()
        if fate != "cleared" and worker.channel:
            (worker.channel.close if fate == "cut off" else worker.channel.kill)()
            worker.channel = self._open()
        self._start_session(worker)


def run(
    condition: Condition, size: int, *, units: int, seed: int, programs: Path, model: Model | None = None
) -> Outcome:
    """Let a team of agents work through so many units with a new list, and return the counts.

    A model plays the agents if there is one, else the script.
    """
    plan = Plan(units, seed)
    with TemporaryDirectory() as name:
        folder = Path(name)
        work = folder / "work.txt"
        work.touch()
        connect = partial(open_channel, condition, folder, programs)
        tools = list[Json]()
        if condition.adapter and (first := connect(is_new=True)):
            fill_list(condition.adapter, first, plan)
            tools = first.tools()
            first.close()
        agents = [
            ModelAgent(number, size, condition.adapter, str(plan), model=model, tools=tools)
            if model
            else Agent(number, size, condition.adapter, str(plan))
            for number in range(size)
        ]
        team = _Team(agents, condition, plan, seed, work, connect)
        team.run()
        team.outcome.tools = len(json.dumps(tools, ensure_ascii=False, separators=(",", ":")).encode()) if tools else 0
        return team.count(find_open_units(condition.adapter, connect()))

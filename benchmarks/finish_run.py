"""One run of the finish rates: a team of agents on one list, their interruptions, and the truth about their work.

The agents take turns together: all send their calls, then all read their answers, so that the calls of a team are really
under way at the same time. A seed decides who is interrupted in which turn.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol

from benchmarks.finish_agent import WAIT, WORK, Agent, Answer, Memory, Steps
from benchmarks.finish_lists import Adapter, Call, Condition, unit_of
from benchmarks.peers import ForeignClient, open_peer
from benchmarks.wire import CallFailed

__all__ = ["HAZARD", "TURNS", "MakeAgent", "Outcome", "Plan", "run"]

HAZARD: Final = {"cut off": 0.006, "cleared": 0.006, "killed": 0.006}
"""Chance of each interruption in a turn of an agent."""

TURNS: Final = 25
"""Turns per unit after which a run ends, of all agents together."""

_WINDOW: Final = 12
"""Units before a unit among which are those that it needs."""

_PARTS: Final = (1, 1, 2, 3, 8)
"""Turns that the work on a unit can take."""

_END_SECONDS: Final = 30.0


class Plan:
    """Units with what they need and how long they take, for a seed."""

    def __init__(self, count: int, seed: int) -> None:
        random = Random(f"plan {seed}")
        self.needs = dict[str, set[str]]()
        self.parts = dict[str, int]()
        for number in range(1, count + 1):
            earlier = [f"U{one:02}" for one in range(max(1, number - _WINDOW), number)]
            self.needs[f"U{number:02}"] = {*random.sample(earlier, min(len(earlier), random.randrange(3)))}
            self.parts[f"U{number:02}"] = random.choice(_PARTS)

    def text(self, unit: str) -> str:
        """Return the unit as a task."""
        needed = f" (needs {', '.join(sorted(self.needs[unit]))})" if self.needs[unit] else ""
        return f"{unit}: write section {int(unit[1:])} of the handbook{needed}"

    def __str__(self) -> str:
        return "\n".join(map(self.text, self.needs))


Json = dict[str, Any]


class Channel(Protocol):
    """The connection of one agent to its list."""

    def tools(self) -> list[Json]:
        """Return the tools, as ``tools/list`` answers."""
        ...

    def post(self, call: Call) -> None:
        """Send a call."""

    def answer(self) -> Answer:
        """Return the answer to the call that was sent last."""
        ...

    def close(self) -> None:
        """End as a client does that is closed."""

    def kill(self) -> None:
        """End as a process does that is killed."""


class _File:
    """A TODO.md, which its agents read and replace whole."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "TODO.md"
        self._call = Call("")

    def tools(self) -> list[Json]:
        text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        return [
            {"name": "read_file", "description": "Read TODO.md.", "inputSchema": {"type": "object", "properties": {}}},
            {"name": "write_file", "description": "Replace TODO.md.", "inputSchema": text},
        ]

    def post(self, call: Call) -> None:
        self._call = call

    def answer(self) -> Answer:
        call, self._call = self._call, Call("")
        if call.tool == "append_line":
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{call.arguments['text']}\n")
        elif call.tool == "write_file":
            self._path.write_text(call.arguments["text"], "utf-8")
        elif call.tool == "read_file":
            return Answer(self._path.read_text("utf-8"))
        return Answer("Written.")

    def close(self) -> None:
        self.answer()  # the call that was sent is carried out

    def kill(self) -> None:
        self._call = Call("")


class _Process:
    """A server process."""

    def __init__(self, client: ForeignClient, folder: Path) -> None:
        self._client, self._folder = client.__enter__(), folder
        self._line = b""

    def tools(self) -> list[Json]:
        tools: list[Json] = json.loads(self._client.exchange(self._client.line("tools/list")))["result"]["tools"]
        return tools

    def post(self, call: Call) -> None:
        arguments = json.loads(json.dumps(call.arguments).replace("{folder}", str(self._folder)))
        self._line = self._client.tool_line(call.tool, **arguments)
        self._client.write(self._line)

    def answer(self) -> Answer:
        found = json.loads(self._client.answer_to(self._line))
        result = found.get("result") or {"isError": True, "content": [{"type": "text", "text": str(found)}]}
        text = "\n".join(part.get("text", "") for part in result["content"])
        return Answer(text, bool(result.get("isError")))

    def close(self) -> None:
        self._client.close_input()
        with suppress(TimeoutExpired):
            self._client.exit_code(_END_SECONDS)
        self.kill()

    def kill(self) -> None:
        self._client.process.kill()
        self._client.process.wait()
        with suppress(BrokenPipeError):
            self._client.close_input()
        self._client.close_output()


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
    read: int = 0
    calls: int = 0
    has_begun: bool = False
    finished: str = ""
    """The unit that it has done but not yet reported."""
    parts: Counter[str] = field(default_factory=Counter)


MakeAgent = Callable[[Agent, list[Json]], Agent]
Channels = Callable[[], Channel | None]


class _Team:
    """Agents on one list, with the file of the work, from which the truth is known."""

    def __init__(
        self, agents: Sequence[Agent], condition: Condition, plan: Plan, seed: int, work: Path, open_channel: Channels
    ) -> None:
        size = len(agents)
        self._plan, self._work, self._open = plan, work, open_channel
        self._random = Random(f"team {seed} {size}")
        self.outcome = Outcome(condition.name, condition.group, size, units=len(plan.needs))
        self._reported = set[str]()
        self._unreported = set[str]()
        self._workers = [self._begin(agent) for agent in agents]

    def run(self) -> Outcome:
        """Let the agents work until each finds nothing to do, or the turns are used up; return the counts."""
        active = list(self._workers)
        limit = TURNS * self.outcome.units
        for _ in range(limit):
            if not active or self.outcome.turns >= limit:
                break
            self._random.shuffle(active)
            fates = [self._send(worker) for worker in active]
            for worker, fate in zip(active, fates, strict=True):
                self._receive(worker, fate)
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

    def _send(self, worker: _Worker) -> str:
        """Send the agent's call, and return what happens to the agent meanwhile, if anything does."""
        assert worker.call
        self.outcome.turns += worker.call.tool != WAIT
        chance, fate = self._random.random(), ""
        for kind, share in HAZARD.items():
            if 0 <= chance < share:
                fate = kind
            chance -= share
        if worker.call.tool == WAIT:
            return ""
        if worker.call.tool == WORK:
            self._note_first(worker)
        if worker.call.tool != WORK and worker.channel:
            worker.channel.post(worker.call)
        return fate

    def _note_first(self, worker: _Worker) -> None:
        if not worker.has_begun:
            worker.has_begun = True
            self.outcome.first.append((worker.read, worker.calls))

    def _receive(self, worker: _Worker, fate: str) -> None:
        assert worker.call
        if fate in {"cut off", "killed"}:
            self._interrupt(worker, fate)
        else:
            answer = self._answer(worker, worker.call)
            if fate:
                self._interrupt(worker, fate)
                return
            try:
                worker.call = worker.steps.send(answer)
            except StopIteration:
                worker.call = None

    def _answer(self, worker: _Worker, call: Call) -> Answer:
        if call.tool == WAIT:
            return Answer("")
        if call.tool == WORK:
            return Answer(self._do(worker, call.arguments["unit"]))
        assert worker.channel
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
        return bool(adapter) and call.tool in {adapter.list.tool, adapter.brief}

    def _do(self, worker: _Worker, unit: str) -> str:
        """Do one part of a unit, and after the last add its line to the file."""
        worker.parts[unit] += 1
        if worker.parts[unit] < self._plan.parts[unit]:
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
    condition: Condition, size: int, *, units: int, seed: int, programs: Path, make_agent: MakeAgent | None = None
) -> Outcome:
    """Let a team of agents work through so many units with a new list, and return the counts.

    ``make_agent`` takes an agent of the script and the tools of the list, and returns who plays it instead.
    """
    plan = Plan(units, seed)
    with TemporaryDirectory() as name:
        folder = Path(name)
        work = folder / "work.txt"
        work.touch()

        def open_channel(*, is_new: bool = False) -> Channel | None:
            if condition.server:
                return _Process(open_peer(condition.server, programs, folder, is_new=is_new), folder)
            return _File(folder) if condition.adapter else None

        first = open_channel(is_new=True)
        if condition.adapter and first:
            _fill(condition.adapter, first, plan)
        tools = first.tools() if first else []
        if first:
            first.close()
        agents = [Agent(number, size, condition.adapter, str(plan)) for number in range(size)]
        if make_agent:
            agents = [make_agent(agent, tools) for agent in agents]
        team = _Team(agents, condition, plan, seed, work, open_channel)
        team.run()
        team.outcome.tools = len(json.dumps(tools, ensure_ascii=False, separators=(",", ":")).encode()) if tools else 0
        return team.count(_open_units(condition.adapter, open_channel()))


def _fill(adapter: Adapter, channel: Channel, plan: Plan) -> None:
    """Add all units to the list, so that the server's own order is that of the plan."""
    units = list(enumerate(plan.needs, 1))
    for number, unit in reversed(units) if adapter.is_newest_first else units:
        answer = _ask(
            channel, adapter.create(number, plan.text(unit), sorted(int(one[1:]) for one in plan.needs[unit]))
        )
        if answer.is_error:
            raise CallFailed(answer.text)


def _open_units(adapter: Adapter | None, channel: Channel | None) -> set[str] | None:
    """Return the units that the list shows as open, or None if it does not show all."""
    if not adapter or not channel:
        return None
    found, call = set[str](), adapter.list
    while not adapter.shows_next_only:
        text = _ask(channel, call).text
        found |= {unit_of(task.text) for task in adapter.parse(text) if not task.is_done}
        if not (more := adapter.more(text)):
            break
        call = Call(call.tool, {**adapter.list.arguments, **more})
    channel.close()
    return None if adapter.shows_next_only else found


def _ask(channel: Channel, call: Call) -> Answer:
    channel.post(call)
    return channel.answer()

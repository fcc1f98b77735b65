"""Who works: a script that knows its prompt, the answers of tools, and what its memory holds, or a real model.

The model is reached through an OpenAI-compatible API: plain chat completions with tools.
"""

import json
import re
import urllib.request
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from typing_extensions import override

from benchmarks.finish_lists import Adapter, Task, needs_of, unit_of
from benchmarks.wire import Call

MEMORY: Final = 3_000
"""Bytes that an agent remembers; what it reads pushes out what it read first."""

WAIT: Final = "wait"
WORK: Final = "work"
"""The harness's own tools: do nothing for one turn, and do a part of a unit."""

_PATIENCE: Final = 6
"""Turns that an agent of a team waits for tasks in progress before it takes one for abandoned."""

_CLAIMED: Final = re.compile(r"(?m)^- (\S+): .* \(claimed by (?:you since|.*so anybody may claim it\))")
"""Tasks that this agent may take up: its own, and those of agents that are gone."""


class Answer(NamedTuple):
    """The text that a tool returned."""

    text: str
    is_error: bool = False


Steps = Generator[Call, Answer, Task | None]
Json = dict[str, Any]


class Memory:
    """Texts of a few thousand bytes in all; the oldest go first."""

    def __init__(self) -> None:
        self._texts = list[str]()

    def add(self, text: str) -> None:
        """Remember a text, as much of it as fits."""
        self._texts.append(text[:MEMORY])
        while sum(map(len, self._texts)) > MEMORY:
            del self._texts[0]

    def done(self) -> set[str]:
        """Return the units that it remembers to be done."""
        return {text[5:8] for text in self._texts if text.startswith("done ")}

    def doing(self) -> str:
        """Return the id of the task that the agent took last, if it has not finished it."""
        last = next((text for text in reversed(self._texts) if text.startswith(("doing ", "done "))), "")
        return last[6:] if last.startswith("doing ") else ""


@dataclass
class Agent:
    """One agent of a team, with its adapter; ``session`` begins anew after every interruption."""

    number: int
    team: int
    adapter: Adapter | None
    plan: str
    """The request of the user, which only an agent without a list works from."""
    memory: Memory = field(default_factory=Memory)

    def session(self) -> Steps:
        """Yield the calls of one session until the agent finds nothing left to do."""
        adapter = self.adapter
        if adapter is None:
            yield from self._work_from_memory()
            return None
        task = (yield from self._resume(adapter)) if adapter.brief else None
        while task := task or (yield from self._take(adapter)):
            self.memory.add(f"doing {task.id}")
            if (yield from self._change(adapter, task, is_start=True)):
                yield from self._work(unit_of(task.text))
                if not (yield from self._change(adapter, task)) and (
                    yield from self._change(adapter, task, is_start=True)
                ):
                    yield from self._change(adapter, task)
            task = None
        return None

    def _resume(self, adapter: Adapter) -> Steps:
        """Read the brief, and take up what this agent has claimed, or one that is gone."""
        brief = json.loads((yield Call(adapter.brief)).text)["brief"]
        self.memory.add(brief)
        for name in _CLAIMED.findall(brief):
            answer = yield Call(adapter.claim, {"id": name})
            if not answer.is_error:
                self.memory.add(answer.text)
                task = _claimed(answer.text)
                if task and (task := (yield from self._check(adapter, task))):
                    return task
        return None

    def _work(self, unit: str) -> Steps:
        while not (answer := (yield Call(WORK, {"unit": unit}))).text.startswith("done "):
            pass
        self.memory.add(answer.text)
        return None

    def _work_from_memory(self) -> Steps:
        """Do an agreed share of the plan: every second unit in a team of two."""
        units = [unit_of(line) for line in self.plan.splitlines()]
        for unit in units[self.number :: self.team]:
            if unit not in self.memory.done():
                yield from self._work(unit)
        return None

    def _change(self, adapter: Adapter, task: Task, *, is_start: bool = False) -> Generator[Call, Answer, bool]:
        """Start or finish a task; return whether the list accepted that."""
        listing = ""
        if adapter.rereads:
            listing = (yield adapter.list).text
            self.memory.add(listing)
        for call in (adapter.start if is_start else adapter.finish)(task.id, listing):
            answer = yield call
            if answer.is_error:
                return False
        return True

    def _list(self, adapter: Adapter) -> Generator[Call, Answer, dict[str, Task]]:
        """Return the open tasks by unit."""
        found, call = list[Task](), adapter.list
        while True:
            text, is_error = yield call
            if is_error:
                yield Call(WAIT)
                continue
            self.memory.add(text)
            found += adapter.parse(text)
            if not (more := adapter.more(text)):
                break
            call = Call(call.tool, {**adapter.list.arguments, **more})
        if adapter.is_newest_first:
            found.reverse()
        return {unit_of(task.text): task for task in found if not task.is_done}

    def _take(self, adapter: Adapter) -> Steps:
        """Return the task to work on next, or None if nothing is open."""
        if adapter.claim:
            return (yield from self._claim(adapter))
        waited = 0
        while tasks := (yield from self._list(adapter)):
            doing = self.memory.doing()
            can_start = [it for it in tasks.values() if adapter.shows_next_only or not needs_of(it.text) & tasks.keys()]
            started = [it for it in can_start if it.is_started]
            fresh = [it for it in can_start if not it.is_started]
            mine = [it for it in started if it.id == doing]
            first = mine or (started + fresh if self.team == 1 or waited >= _PATIENCE else fresh)
            if first:
                return first[0]
            waited += 1
            yield Call(WAIT)
        return None

    def _claim(self, adapter: Adapter) -> Steps:
        """Claim the task that the agent was at, or else whatever the list gives, if what it needs is done."""
        wanted = self.memory.doing()
        while True:
            answer = yield Call(adapter.claim, {"id": wanted} if wanted else {})
            if answer.is_error:
                if not wanted:
                    yield Call(WAIT)
                wanted = ""
                continue
            self.memory.add(answer.text)
            task = _claimed(answer.text)
            if task is None:
                if not json.loads(answer.text).get("held"):
                    return None
                yield Call(WAIT)
                continue
            if wanted or (task := (yield from self._check(adapter, task))):
                return task
            yield Call(WAIT)

    def _check(self, adapter: Adapter, task: Task) -> Steps:
        """Return the claimed task if what it needs is done; else release it, and return another that can be started."""
        if adapter.checks_needs or needs_of(task.text) <= self.memory.done():
            return task
        tasks = yield from self._list(adapter)
        if not needs_of(task.text) & tasks.keys():
            return task
        yield Call(adapter.release, {"id": task.id})
        for other in tasks.values():
            if not other.is_started and not needs_of(other.text) & tasks.keys():
                answer = yield Call(adapter.claim, {"id": other.id})
                if not answer.is_error:
                    return other
        return None


def _claimed(answer: str) -> Task | None:
    found = json.loads(answer)
    task = found.get("task")
    if not task:
        return None
    text = next(value for value in task.values() if isinstance(value, str) and re.search(r"U\d\d", value))
    return Task(str(task["id"]), text)


_SECONDS: Final = 600
"""The longest wait for one reply."""

_PROMPT: Final = (
    "You are agent {number} of {team}. All of you work through the units U01, U02 and so on, which {source} has. "
    "Do each unit once, after those that it needs: call work until it says that the unit is done, and keep the list "
    "up to date. You may have begun already. When no unit is left, answer without a call of a tool."
)

_WORK_TOOL: Final[Json] = {
    "name": WORK,
    "description": "Do a part of a unit; says whether the unit is done.",
    "inputSchema": {"type": "object", "properties": {"unit": {"type": "string"}}, "required": ["unit"]},
}


@dataclass(frozen=True)
class Model:
    """A model at an address such as ``http://127.0.0.1:8080/v1``; the key is sent if there is one."""

    url: str
    name: str
    key: str = ""

    def reply(self, messages: Sequence[Json], tools: Sequence[Json]) -> Json:
        """Return the model's next message; raise ``OSError`` if the API does not answer."""
        body = {"model": self.name, "messages": messages, "tools": tools}
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        address = f"{self.url.rstrip('/')}/chat/completions"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)  # noqa: S310 - the user's own
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310 - the user's own
            message: Json = json.load(response)["choices"][0]["message"]
        return message


@dataclass(kw_only=True)
class ModelAgent(Agent):
    """A model that gets the tools of the list, and ``work``; the conversation is its memory."""

    model: Model
    tools: Sequence[Json]
    """Tools of the list, as ``tools/list`` answers."""
    _messages: list[Json] = field(default_factory=list)
    _remembered: Memory | None = None

    @override
    def session(self) -> Steps:
        if self._remembered is not self.memory:  # new, or cleared
            source = "your list" if self.adapter else f"this plan\n{self.plan}\n"
            prompt = _PROMPT.format(number=self.number + 1, team=self.team, source=source)
            self._messages, self._remembered = [{"role": "user", "content": prompt}], self.memory
        else:
            self._messages.append({"role": "user", "content": "You were cut off. Go on."})
        tools = [_function(tool) for tool in (*self.tools, _WORK_TOOL)]
        while calls := (message := self.model.reply(self._messages, tools)).get("tool_calls"):
            answers = list[Json]()
            for call in calls:
                arguments = json.loads(call["function"]["arguments"] or "{}")
                answer = yield Call(call["function"]["name"], arguments)
                answers.append({"role": "tool", "tool_call_id": call["id"], "content": answer.text})
            self._messages += [message, *answers]
        return None


def _function(tool: Json) -> Json:
    described = {"name": tool["name"], "description": tool.get("description", ""), "parameters": tool["inputSchema"]}
    return {"type": "function", "function": described}

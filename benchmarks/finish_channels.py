"""Connections of agents to their lists, a server process or a TODO.md, and the plan of units that fills a list."""

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from subprocess import TimeoutExpired
from typing import Final

from typing_extensions import override

from benchmarks.finish_agent import Answer, Json
from benchmarks.finish_lists import Adapter, Condition, unit_of
from benchmarks.peers import ForeignClient, Peer, lay_out, open_peer
from benchmarks.wire import Call, CallFailed
from tests.wire.storm_process import forked

_WINDOW: Final = 12
"""Units before a unit among which are those that it needs."""

PARTS: Final = (1, 1, 2, 3, 8)
"""Turns that the work on a unit can take."""

_END_SECONDS: Final = 30.0
"""Seconds that a server gets to end by itself when its client is closed."""


class _FileChannel:
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


class _ServerChannel:
    """A server process."""

    def __init__(self, client: ForeignClient, folder: Path) -> None:
        self._client, self._folder = client.__enter__(), folder
        self._line = b""

    def tools(self) -> list[Json]:
        tools: list[Json] = json.loads(self._client.exchange(self._client.line("tools/list")))["result"]["tools"]
        return tools

    def post(self, call: Call) -> None:
        arguments = json.loads(json.dumps(call.arguments).replace("{folder}", str(self._folder)))
        self._line = self._client.tool_line(Call(call.tool, arguments))
        self._client.write(self._line)

    def answer(self) -> Answer:
        return _read_result(json.loads(self._client.answer_to(self._line)))

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


class _ForkedChannel:
    """A server process of ours, forked from one that has loaded it, which is cheaper than to start it anew."""

    def __init__(self, server: Peer, folder: Path) -> None:
        environment = {name: value.replace("{folder}", str(folder)) for name, value in server.environment.items()}
        self._server = forked(server.command[-1], environment, folder / "servers.log")
        self._server.greet()

    def tools(self) -> list[Json]:
        tools: list[Json] = self._server.request("tools/list", {})["tools"]
        return tools

    def post(self, call: Call) -> None:
        self._server.ask({0: (call.tool, call.arguments)})

    def answer(self) -> Answer:
        return _read_result(self._server.receive())

    def close(self) -> None:
        self._server.close()

    def kill(self) -> None:
        self._server.kill()


def _read_result(message: Json) -> Answer:
    failure: Json = {"isError": True, "content": [{"type": "text", "text": str(message)}]}
    result: Json = message.get("result") or failure
    return Answer("\n".join(part.get("text", "") for part in result["content"]), bool(result.get("isError")))


Channel = _FileChannel | _ServerChannel | _ForkedChannel
"""The connection of one agent to its list.

``post`` sends a call, and ``answer`` returns the answer to the one that was sent last. ``close`` ends as a client does
that is closed, and ``kill`` as a process does that is killed.
"""


def open_channel(condition: Condition, folder: Path, programs: Path, *, is_new: bool = False) -> Channel | None:
    """Return a connection to the list in ``folder``, which is made first if it is new; None if there is no list."""
    server = condition.server
    if server and condition.group == "ours":
        if is_new:
            lay_out(server, folder)
        return _ForkedChannel(server, folder)
    if server:
        return _ServerChannel(open_peer(server, programs, folder, is_new=is_new), folder)
    return _FileChannel(folder) if condition.adapter else None


class Plan:
    """Units with what they need, for a seed."""

    def __init__(self, count: int, seed: int) -> None:
        random = Random(f"plan {seed}")  # noqa: S311 - not a secret
        self.needs = dict[str, set[str]]()
        for number in range(1, count + 1):
            earlier = [f"U{one:02}" for one in range(max(1, number - _WINDOW), number)]
            self.needs[f"U{number:02}"] = {*random.sample(earlier, min(len(earlier), random.randrange(3)))}

    def text(self, unit: str) -> str:
        """Return the unit as a task."""
        needed = f" (needs {', '.join(sorted(self.needs[unit]))})" if self.needs[unit] else ""
        return f"{unit}: write section {int(unit[1:])} of the handbook{needed}"

    @override
    def __str__(self) -> str:
        return "\n".join(map(self.text, self.needs))


def fill_list(adapter: Adapter, channel: Channel, plan: Plan) -> None:
    """Add all units to the list, so that the server's own order is that of the plan."""
    units = list(enumerate(plan.needs, 1))
    for number, unit in reversed(units) if adapter.is_newest_first else units:
        answer = _ask(
            channel, adapter.create(number, plan.text(unit), sorted(int(one[1:]) for one in plan.needs[unit]))
        )
        if answer.is_error:
            raise CallFailed(answer.text)


def find_open_units(adapter: Adapter | None, channel: Channel | None) -> set[str] | None:
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

"""A real model in place of the script, through an OpenAI-compatible API: plain chat completions with tools."""

import json
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from typing_extensions import override

from benchmarks.finish_agent import WORK, Agent, Memory, Steps
from benchmarks.finish_lists import Call

__all__ = ["Model", "ModelAgent"]

Json = dict[str, Any]

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
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310
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

"""A stand-in for a model: speaks the HTTP interfaces of four providers, and calls the tools that a script names.

It serves this machine only, needs no network, and repeats the same play for every client.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Final, NamedTuple, cast

from typing_extensions import override

__all__ = ["ScriptedModel", "serve_model"]

Message = dict[str, Any]

_CALL: Final = "call_{}"
_USAGE: Final = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


class _Turn(NamedTuple):
    """What the model says in one answer: a call of a tool, or nothing but that it is done."""

    name: str = ""
    namespace: str = ""
    arguments: Mapping[str, Any] = {}
    number: int = 0


class ScriptedModel:
    """Calls each tool of the script once, as soon as a client offers it, and then says that it is done.

    The script has the arguments by the end of the tool's name, as clients put the name of the server before it.
    Clients that hold tools back are asked for them once, with the tool ``tool_search``.
    """

    def __init__(self, script: Mapping[str, Mapping[str, Any]]) -> None:
        self.offered: set[str] = set()
        """The names of all tools that were offered so far."""
        self.url = ""
        self._left = dict(script)
        self._has_searched = False
        self._lock = Lock()
        self._number = 0

    def turn(self, body: Message) -> _Turn:
        """Return what to answer to a request."""
        with self._lock:
            tools = [*_tools(body)]
            self.offered |= {namespace + name for namespace, name in tools}
            for end, arguments in [*self._left.items()]:
                for namespace, name in tools:
                    if name.endswith(end):
                        del self._left[end]
                        return self._call(name, namespace, arguments)
            if self._left and not self._has_searched and ("", "tool_search") in tools:
                self._has_searched = True
                return self._call("tool_search", "", {"query": " ".join(self._left)})
            return _Turn()

    def _call(self, name: str, namespace: str, arguments: Mapping[str, Any]) -> _Turn:
        self._number += 1
        return _Turn(name, namespace, arguments, self._number)


def _tools(body: Message) -> Iterator[tuple[str, str]]:
    for tool in body.get("tools", []):
        declared = tool.get("functionDeclarations") or [tool.get("function", tool)]
        if tool.get("type") == "namespace":
            declared = tool["tools"]
        for one in declared:
            yield tool["name"] if tool.get("type") == "namespace" else "", one.get("name", "")


def _messages(turn: _Turn) -> Iterator[Message]:
    """Yield the events of Anthropic's Messages."""
    block: Message = {"type": "text", "text": ""}
    delta: Message = {"type": "text_delta", "text": "Done."}
    if turn.name:
        block = {"type": "tool_use", "id": _CALL.format(turn.number), "name": turn.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
    message: Message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": _USAGE}
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "tool_use" if turn.name else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": _USAGE}
    yield {"type": "message_stop"}


def _responses(turn: _Turn) -> Iterator[Message]:
    """Yield the events of OpenAI's Responses."""
    item: Message = {"type": "message", "id": "i", "role": "assistant"}
    item |= {"content": [{"type": "output_text", "text": "Done.", "annotations": []}], "status": "completed"}
    if turn.name:
        item = {"type": "function_call", "id": "i", "call_id": _CALL.format(turn.number), "name": turn.name}
        item |= {"arguments": json.dumps(turn.arguments), "status": "completed"}
        item |= {"namespace": turn.namespace} if turn.namespace else {}
    response: Message = {"id": "r", "object": "response", "status": "completed", "output": [item], "usage": _USAGE}
    yield {"type": "response.created", "response": response | {"status": "in_progress", "output": []}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": response}


def _completions(turn: _Turn) -> Iterator[Message]:
    """Yield the events of OpenAI's Chat Completions."""
    delta: Message = {"role": "assistant", "content": "Done."}
    if turn.name:
        function = {"name": turn.name, "arguments": json.dumps(turn.arguments)}
        call = {"index": 0, "id": _CALL.format(turn.number), "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [call]}
    chunk: Message = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    reason = "tool_calls" if turn.name else "stop"
    yield chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}


def _contents(turn: _Turn) -> Iterator[Message]:
    """Yield the only event of Gemini's streamGenerateContent."""
    part: Message = {"functionCall": {"name": turn.name, "args": turn.arguments}} if turn.name else {"text": "Done."}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    yield {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2}}


_FORMS: Final = {
    "/messages": _messages,
    "/responses": _responses,
    "/chat/completions": _completions,
    ":streamGenerateContent": _contents,
}
"""The events of each interface by the end of its path."""


class _Handler(BaseHTTPRequestHandler):
    """Answers a request for a turn with a stream of events, and every other with an empty list."""

    def do_GET(self) -> None:
        self._reply(b'{"data": [], "models": []}', "application/json")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.partition("?")[0]
        events = next((form for end, form in _FORMS.items() if path.endswith(end)), None)
        if events is None:
            return self._reply(b'{"input_tokens": 1, "totalTokens": 1}', "application/json")
        turn = cast("_ModelServer", self.server).model.turn(json.loads(body))
        named = [(event.get("type"), json.dumps(event)) for event in events(turn)]
        lines = [f"event: {name}\ndata: {text}\n\n" if name else f"data: {text}\n\n" for name, text in named]
        end = "data: [DONE]\n\n" if events is _completions else ""
        return self._reply("".join([*lines, end]).encode(), "text/event-stream")

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _reply(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class _ModelServer(ThreadingHTTPServer):
    """A server on a free port of this machine."""

    daemon_threads = True

    def __init__(self, model: ScriptedModel) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model


@contextmanager
def serve_model(script: Mapping[str, Mapping[str, Any]]) -> Iterator[ScriptedModel]:
    """Serve a scripted model at its ``url`` until the context is left."""
    model = ScriptedModel(script)
    with _ModelServer(model) as server:
        model.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()

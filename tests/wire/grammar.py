"""A grammar of lines: messages of JSON-RPC that are sound, nearly so, or broken, and the answer that is due to each."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from hypothesis import strategies as st
from pydantic import JsonValue

from tests.wire.line_client import ENVELOPE, INITIALIZE, Message

__all__ = ["ECHO", "Line", "key_of", "lines"]

ECHO: Final = "Z"
"""What long texts are made of: an error may repeat 200 of them (TOOL-3)."""


class Line(NamedTuple):
    """What a client writes, without its line end, and the ids that its one answer may have; none: no answer at all."""

    data: bytes
    ids: tuple[JsonValue, ...] = ()

    @property
    def keys(self) -> set[str]:
        """The ids as they can be compared: to Python 1 and true are equal."""
        return {key_of(request_id) for request_id in self.ids}


def key_of(request_id: JsonValue) -> str:
    """Return an id as it can be compared."""
    return json.dumps(request_id)


def _without_sentinels(number: int) -> bool:
    return not 1_000 <= number < 1_000_000


IDS: Final = st.one_of(
    st.integers(-3, 9),
    st.integers().filter(_without_sentinels),
    st.sampled_from([2**53 + 1, 2**63, -(2**64), 10**300, 10**4_000]),
    st.text(max_size=6),
    st.sampled_from(["", "7", "null", "a b", "é🦊", "\0", '"', "\\", "\u2028", ECHO * 300]),
)
"""Ids that JSON-RPC allows."""

NO_IDS: Final = st.sampled_from(
    ["null", "true", "false", "1.5", "-0.0", "1e300", "7.0", "[]", "{}", "[7]", '{"id":7}']
).map(json.loads)
"""What is in the place of an id but is not one."""

SCALARS: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
    st.sampled_from(["", ECHO * 1_000, "id", "2.0", "\0", "\x1b[2J", "\u202e", "file:///etc/passwd", "task://x"]),
)

VALUES: Final = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)

METHODS: Final = st.one_of(
    st.sampled_from(
        [
            *("tools/call", "tools/call", "tools/list", "ping", "initialize", "server/discover", "resources/list"),
            *("resources/read", "resources/templates/list", "resources/subscribe", "resources/unsubscribe"),
            *("prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "sampling/createMessage"),
            *("elicitation/create", "roots/list", "tasks/get", "notifications/initialized", "notifications/cancelled"),
            *("", "rpc.discover", "__init__", "tools/call ", "TOOLS/LIST", ECHO * 1_000),
        ]
    ),
    st.text(max_size=8),
)
"""Methods of the protocol, of other eras, and of nobody; not ``subscriptions/listen``, whose answer is a stream."""

NAMES: Final = st.sampled_from(
    [
        *("name", "arguments", "uri", "cursor", "level", "ref", "argument", "protocolVersion", "capabilities"),
        *("clientInfo", "progressToken", "requestId", "reason", "id", "_meta", "task", "inputResponses", ""),
    ]
)

META: Final = st.one_of(
    st.just(ENVELOPE),
    VALUES,
    st.dictionaries(st.sampled_from([*ENVELOPE, "progressToken", "traceparent", "x/y"]), VALUES, max_size=4),
    st.tuples(st.sampled_from([*ENVELOPE]), VALUES | st.just(ECHO * 1_000)).map(lambda pair: ENVELOPE | dict([pair])),
)

TOOLS: Final = st.one_of(st.sampled_from(["listTasks", "getTask", "echo", "nothing", ""]), VALUES)

MEMBERS: Final = st.one_of(
    st.just({}),
    st.just(INITIALIZE),
    st.dictionaries(NAMES, VALUES, max_size=4),
    st.fixed_dictionaries({"name": TOOLS, "arguments": st.one_of(st.just({}), VALUES)}),
    st.fixed_dictionaries({"ref": VALUES, "argument": VALUES}),
    st.fixed_dictionaries({"uri": SCALARS}),
)


@st.composite
def params(draw: st.DrawFn) -> dict[str, JsonValue]:
    """Return parameters, as a rule with what the modern era wants to see."""
    members: dict[str, JsonValue] = draw(MEMBERS)
    return members | {"_meta": draw(META)} if draw(st.booleans()) else members


@st.composite
def written(draw: st.DrawFn, message: object) -> bytes:
    """Return a message as one of the many ways of writing JSON has it."""
    if isinstance(message, dict):
        message = dict(draw(st.permutations(list(message.items()))))
    text = json.dumps(
        message,
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\r: ")])),
    )
    before, after = draw(st.sampled_from(["", " ", "\t\r", "\r"])), draw(st.sampled_from(["", "\r", " \t"]))
    return f"{before}{text}{after}".encode()


@st.composite
def requests(draw: st.DrawFn) -> tuple[dict[str, JsonValue], JsonValue]:
    """Return a sound request and its id."""
    request_id = draw(IDS)
    message: dict[str, JsonValue] = {"jsonrpc": "2.0", "id": request_id, "method": draw(METHODS)}
    kind = draw(st.integers(0, 9))
    if kind:
        message["params"] = draw(params())
    return message, request_id


@st.composite
def sound(draw: st.DrawFn) -> Line:
    """Return a request, which is answered under its id."""
    message, request_id = draw(requests())
    return Line(draw(written(message)), (request_id,))


def notification(method: str, value: JsonValue) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": value}


def response(member: str, request_id: JsonValue, value: JsonValue) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, member: value}


@st.composite
def unanswered(draw: st.DrawFn) -> Line:
    """Return a notification, a response or a blank line, none of which is answered."""
    blanks = st.sampled_from([b"", b" ", b"\t \r", b"\r"])
    methods = st.sampled_from(
        [*(f"notifications/{name}" for name in ("initialized", "progress", "none")), "tools/list"]
    )
    cancelled = st.one_of(NO_IDS, st.just("nobody")).map(lambda value: {"requestId": value})
    messages = st.one_of(
        st.builds(notification, methods, st.one_of(params(), VALUES)),
        st.builds(notification, st.just("notifications/cancelled"), cancelled),
        st.builds(response, st.sampled_from(["result", "error"]), st.one_of(IDS, NO_IDS), VALUES),
    )
    return Line(draw(st.one_of(blanks, messages.flatmap(written))))


@st.composite
def refused(draw: st.DrawFn) -> Line:
    """Return a message with one member that is not what it must be."""
    message, request_id = draw(requests())
    name = draw(st.sampled_from(["jsonrpc", "id", "method", "params"]))
    if name == "id":
        return Line(draw(written({**message, "id": draw(NO_IDS)})), (None,))
    if name == "jsonrpc" and draw(st.booleans()):
        del message["jsonrpc"]
    elif name == "params":
        message["params"] = draw(VALUES.filter(lambda value: not isinstance(value, dict)))
    else:
        message[name] = draw(st.one_of(st.none(), st.integers(), st.sampled_from(["1.0", 2.0, [], {}, "2.0 "])))
    return Line(draw(written(message)), (request_id,))


@st.composite
def no_objects(draw: st.DrawFn) -> Line:
    """Return JSON that is not an object: a batch, or a value by itself."""
    batches = st.lists(requests().map(lambda drawn: drawn[0]), max_size=3)
    values = st.one_of(batches, VALUES.filter(lambda value: not isinstance(value, dict)))
    return Line(draw(values.flatmap(written)), (None,))


DEFECTS: Final = (
    *(b"NaN", b"-Infinity", b"1e400", b"9" * 5_000, b"01", b"+1", b".5", b"0x1", b"'x'", b"undefined", b'"\xff"'),
    *(
        b'"\xed\xa0\x80"',
        b'"\t"',
        b'"\0"',
        b'"\\x"',
        b'"\\u12"',
        b"[1,]",
        b'{"a":1,}',
        b"{a:1}",
        b"[",
        b"{",
        b'"',
        b"//",
    ),
    *(b'{"a":1 "b":2}', b"[1 2]", b'"\xc0\xaf"', b"\xef\xbb\xbf1", b"truefalse", b"[" * 201 + b"]" * 201, b"[" * 9_999),
    *(b'{"a":' * 300 + b"1" + b"}" * 300,),
)
"""Values that are none."""

QUESTIONABLE: Final = (b'"\\ud800"', b'"\\udfff\\ud800"', b'{"\\udc00":1}', b'{"a":1,"a":1}', b'[{"a":{"b":1,"b":2}}]')
"""Values that can be read and are refused."""


@st.composite
def broken(draw: st.DrawFn) -> Line:
    """Return a request with something in it that is not JSON, or that no reader should let pass."""
    message, request_id = draw(requests())
    members = [f"{json.dumps(name)}:{json.dumps(value)}".encode() for name, value in message.items()]
    members.append(b'"x":' + draw(st.sampled_from([*DEFECTS, *QUESTIONABLE])))
    return Line(b"{" + b",".join(draw(st.permutations(members))) + b"}", (request_id, None))


@st.composite
def torn(draw: st.DrawFn) -> Line:
    """Return a request that was cut, or that something else follows on its line."""
    message, request_id = draw(requests())
    data = json.dumps(message).encode()
    cut = st.integers(1, len(data) - 1).map(lambda length: data[:length])
    more = st.sampled_from([b"}", b",", b" x", b"\0", data, b"\r" + data, b"{}", b"\xef\xbb\xbf"]).map(
        lambda end: data + end
    )
    mark = st.sampled_from([b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"data: ", b"Content-Length: 9\r\r"]).map(
        lambda at: at + data
    )
    return Line(draw(st.one_of(cut, more, mark)), (request_id, None))


@st.composite
def doubled(draw: st.DrawFn) -> Line:
    """Return a request that says something twice."""
    message, request_id = draw(requests())
    members = [f"{json.dumps(name)}:{json.dumps(value)}".encode() for name, value in message.items()]
    again = draw(st.sampled_from(members))
    return Line(b"{" + b",".join(draw(st.permutations([*members, again]))) + b"}", (request_id, None))


def lines() -> st.SearchStrategy[Line]:
    """Return every kind of line."""
    return st.one_of(sound(), unanswered(), refused(), no_objects(), broken(), torn(), doubled())

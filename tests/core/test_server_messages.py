"""Whatever a client sends is read without a fault, and a request is never met with silence (P1)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    PROTOCOL_VERSION_META_KEY,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import JsonValue

from task_core.server.transports.wire import Incoming, find_id, read_message

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)
IDS = st.integers(-(10**18), 10**18) | st.text("abc-_ é:{}[],", max_size=20)


@pytest.mark.requirement("P1")
@settings(max_examples=50)
@given(st.binary(max_size=200))
def test_any_bytes_are_answered_or_passed_on(data: bytes) -> None:
    message = read_message(data)
    assert isinstance(message, JSONRPCError)
    assert message.id is None


@pytest.mark.requirement("P1")
@settings(max_examples=50)
@given(
    IDS, st.fixed_dictionaries({}, optional={"jsonrpc": SCALARS | st.just("2.0"), "method": SCALARS, "params": VALUES})
)
def test_an_object_with_an_id_is_passed_on_or_answered_with_its_id(
    request_id: int | str, members: dict[str, JsonValue]
) -> None:
    message = read_message(json.dumps({"id": request_id, **members}).encode())
    if isinstance(message, Incoming):
        assert isinstance(message.message, JSONRPCRequest)
        assert (message.message.id, message.message.method) == (request_id, members["method"])
    else:
        assert message is not None
        assert message.id == request_id


@pytest.mark.requirement("P1", "ERR-3")
@pytest.mark.parametrize(
    ("text", "code", "request_id", "said"),
    [
        pytest.param("oops", PARSE_ERROR, None, "Send JSON: Expecting value at line 1, column 1.", id="no JSON"),
        pytest.param('{"id":7,', PARSE_ERROR, 7, "Send JSON", id="broken off"),
        pytest.param('{"id":NaN}', PARSE_ERROR, None, "NaN is not a JSON number", id="no number"),
        pytest.param("[" * 9_999, INVALID_REQUEST, None, "nested deeper than 200 levels", id="deep"),
        pytest.param('{"a":' + "[" * 200 + "]" * 200 + "}", INVALID_REQUEST, None, "nests less", id="a level too deep"),
        pytest.param('{"a":[' + "{}," * 49_999, INVALID_REQUEST, None, "50,000 lists", id="a list too many"),
        pytest.param('{"a":[' + "1," * 200_000, INVALID_REQUEST, None, "200,000 values", id="a value too many"),
        pytest.param("[]", INVALID_REQUEST, None, "one JSON-RPC object at a time", id="batch"),
        pytest.param("5", INVALID_REQUEST, None, "one JSON-RPC object at a time", id="number"),
        pytest.param('{"id":7}', INVALID_REQUEST, 7, '"jsonrpc": "2.0"', id="no version"),
        pytest.param('{"jsonrpc":"2.0","id":7}', INVALID_REQUEST, 7, "name of a method", id="no method"),
        pytest.param('{"jsonrpc":"2.0","id":7,"method":7}', INVALID_REQUEST, 7, "as text", id="method of a wrong type"),
        pytest.param('{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST, None, "id as text", id="null id"),
        pytest.param('{"jsonrpc":"2.0","id":true,"method":"ping"}', INVALID_REQUEST, None, "id as text", id="true id"),
        pytest.param('{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', INVALID_REQUEST, None, "id", id="half an id"),
        pytest.param('{"id":1,"id":2,"method":"ping"}', INVALID_PARAMS, None, "'id'", id="id twice"),
        pytest.param('{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', INVALID_PARAMS, 7, "params", id="list"),
        pytest.param('{"jsonrpc":"2.0","id":7,"method":"ping","x":1,"x":1}', INVALID_PARAMS, 7, "'x'", id="key twice"),
        pytest.param(
            '{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\\udfff"}}',
            INVALID_PARAMS,
            7,
            "half a character",
            id="half a character",
        ),
    ],
)
def test_what_is_not_a_request_is_answered_with_what_is_wrong(
    text: str, code: int, request_id: int | None, said: str
) -> None:
    message = read_message(text.encode())
    assert isinstance(message, JSONRPCError)
    assert (message.error.code, message.id) == (code, request_id)
    assert said in message.error.message


CALL = '"method":"tools/call"'
UNREADABLE = {
    "first": ('{"jsonrpc":"2.0","id":7,' + CALL + ',"params":{"id":8,"x":FAULT}}', 7),
    "behind a text with quotes": ('{"method":"a\\",\\"id\\":8", "id" : -7 ,"params":{"x":FAULT}}', -7),
    "last": ("{" + CALL + ',"params":{"id":8,"x":FAULT},"jsonrpc":"2.0","id":"7"}\r', "7"),
    "behind the parameters": ("{" + CALL + ',"params":{"x":FAULT},"id":"é\\u00e9","jsonrpc":"2.0"}', "éé"),
    "within the parameters": ("{" + CALL + ',"params":{"x":FAULT,"id":8}}', None),
    "in two places": ('{"id":7,"params":FAULT,"id":8}', None),
    "twice behind the parameters": ('{"params":FAULT,"id":7,"id":8}', None),
    "before a method of that name": ('{"params":FAULT,"id":7,"method":"id"}', 7),
    "of no form": ('{"id":1.5,"params":FAULT}', None),
    "of half a character": ('{"id":"\\ud800","params":FAULT}', None),
    "of a wrong escape": ('{"id":"\\x","params":FAULT}', None),
    "of an answer": ('{"jsonrpc":"2.0","id":7,"result":FAULT}', None),
    "of an answer with a method": ('{"jsonrpc":"2.0","id":7,"result":{"method":"x","y":FAULT}}', None),
    "behind an answer": ('{"jsonrpc":"2.0","error":{"x":FAULT},"id":7}', None),
    "in a batch": ('[{"id":7,"params":FAULT}]', None),
}
"""Messages that cannot be read, by the place of the id, and the id that answers them."""


@pytest.mark.requirement("P1", "ERR-3")
@pytest.mark.parametrize(("text", "request_id"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_answered_with_the_id_that_is_plain_at_one_of_its_edges(
    text: str, request_id: int | str | None
) -> None:
    faults = ["NaN", "1e999", "1" * 5_000, "[" * 300 + "]" * 300, "[" + "[]," * 50_000 + "[]]", "[" + "1," * 200_000]
    for fault in faults:
        message = read_message(text.replace("FAULT", fault).encode())
        assert isinstance(message, JSONRPCError)
        assert message.id == request_id


@pytest.mark.requirement("P1", "ERR-3")
@pytest.mark.parametrize("arguments", ['{"id":8}', '{"id":8,"x":NaN}', '{"x":"}","id":8}', '{"x":"half,"id":8}'])
def test_the_id_of_an_argument_is_not_that_of_a_message_whose_end_is_missing(arguments: str) -> None:
    for missing in ("", '"arguments":'):
        message = read_message(("{" + CALL + ',"params":' + ("{" if missing else "") + missing + arguments).encode())
        assert isinstance(message, JSONRPCError)
        assert message.id is None


@pytest.mark.requirement("P1", "ERR-3")
@pytest.mark.parametrize(
    ("beginning", "request_id"), [(b'{"id":7,"params":{"x', 7), (b'{"params":{"x":[],"id":7}', None)]
)
def test_only_the_first_members_of_a_message_that_goes_on_have_its_id(beginning: bytes, request_id: int | None) -> None:
    assert find_id(beginning, is_whole=False) == request_id


@pytest.mark.requirement("P1")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"jsonrpc":"2.0","method":"x","params":[]}', id="parameters of a notification"),
        pytest.param('{"jsonrpc":"2.0","method":"x","a":1,"a":1}', id="a key of a notification twice"),
        pytest.param('{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":1}}', id="a key of an answer twice"),
        pytest.param('{"jsonrpc":"2.0","id":[],"result":{}}', id="the id of an answer"),
        pytest.param('{"jsonrpc":"2.0","id":1,"error":5}', id="the error of an answer"),
    ],
)
def test_what_json_rpc_lets_nobody_answer_is_dropped(text: str) -> None:
    assert read_message(text.encode()) is None


@pytest.mark.requirement("P1")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"jsonrpc":"2.0","id":1,"result":{}}', JSONRPCResponse),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}', JSONRPCError),
        ('{"jsonrpc":"2.0","method":"x"}', JSONRPCNotification),
        ('{"jsonrpc":"2.0","id":"1","method":"x","params":null}', JSONRPCRequest),
    ],
)
def test_what_is_sound_is_passed_on(text: str, kind: type) -> None:
    message = read_message(text.encode())
    assert isinstance(message, Incoming)
    assert (type(message.message), message.offence) == (kind, None)


@pytest.mark.requirement("P1", "S1")
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("[" + "{}," * 49_995 + "{}]", id="the most objects"),
        pytest.param("[" + "1," * 199_996 + "1]", id="the most values"),
        pytest.param(json.dumps("[{," * 100_000), id="brackets and commas in a text"),
        pytest.param(json.dumps('"[\\' * 100_000 + "\\"), id="brackets behind quotes in a text"),
    ],
)
def test_a_message_of_as_many_parts_as_allowed_is_passed_on(value: str) -> None:
    text = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"arguments":{{"x":{value}}}}}}}'
    assert isinstance(read_message(text.encode()), Incoming)


@pytest.mark.requirement("P1", "TOOL-3", "ERR-3")
@pytest.mark.parametrize(
    ("member", "code"),
    [('"a":1,"a":1', "DuplicateKey"), ('"a":"\\ud800"', "InvalidArguments")],
    ids=["a key twice", "half a character"],
)
def test_a_tool_call_with_a_fault_in_its_text_is_passed_on_with_it(member: str, code: str) -> None:
    text = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{member}}}}}'
    message = read_message(text.encode())
    assert isinstance(message, Incoming)
    assert message.offence
    assert message.offence.code == code
    message.message.model_dump_json()


@pytest.mark.requirement("TOOL-3")
@pytest.mark.parametrize("tail", ["", ',"x":1,"x":1'], ids=["sound", "a key twice"])
def test_an_invalid_version_is_cut_before_anything_can_repeat_it(tail: str) -> None:
    meta = json.dumps({PROTOCOL_VERSION_META_KEY: "9" * 10_000, "other": "9" * 500})
    read = read_message(f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":{meta}{tail}}}}}'.encode())
    assert isinstance(read, Incoming)
    assert isinstance(read.message, JSONRPCRequest)
    assert read.message.params is not None
    assert read.message.params["_meta"] == {PROTOCOL_VERSION_META_KEY: "9" * 199 + "…", "other": "9" * 500}

"""What is not a proper request is answered, on the same connection, and the server goes on serving (P1, ERR-3)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from pydantic import JsonValue

from tests.wire.line_client import ENVELOPE, TOY, Era, LineClient, Message

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
METHOD_NOT_FOUND: Final = -32601


@pytest.fixture(scope="module", params=["legacy", "modern"])
def client(request: pytest.FixtureRequest) -> Iterator[LineClient]:
    era: Era = request.param
    with LineClient(era) as connected:
        yield connected


def request_with(tail: str) -> bytes:
    """Return a request with id 7 whose last members are ``tail``."""
    return ('{"jsonrpc":"2.0","id":7,' + tail + "}").encode()


class Offence(NamedTuple):
    """A line, and the error that answers it."""

    line: bytes
    code: int
    answered: JsonValue


OFFENCES: Final = {
    "a word": Offence(b"hello", PARSE_ERROR, None),
    "no JSON behind the id": Offence(b'{"jsonrpc":"2.0","id":7,oops}', PARSE_ERROR, 7),
    "a line that was cut": Offence(request_with('"method":"tools/list"')[:-1], PARSE_ERROR, 7),
    "a line that was cut within the id": Offence(b'{"jsonrpc":"2.0","id":7', PARSE_ERROR, None),
    "NaN": Offence(request_with('"method":"ping","params":{"x":NaN}'), PARSE_ERROR, 7),
    "Infinity": Offence(request_with('"method":"ping","params":{"x":-Infinity}'), PARSE_ERROR, 7),
    "a number past all floats": Offence(request_with('"method":"ping","params":{"x":1e400}'), PARSE_ERROR, 7),
    "an id of 5,000 digits": Offence(
        b'{"jsonrpc":"2.0","id":' + b"1" * 5_000 + b',"method":"ping"}', PARSE_ERROR, None
    ),
    "invalid UTF-8": Offence(b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', PARSE_ERROR, 7),
    "invalid UTF-8 within the id": Offence(b'{"jsonrpc":"2.0","id":"\xff","method":"x"}', PARSE_ERROR, None),
    "an id with a lone surrogate": Offence(b'{"jsonrpc":"2.0","id":"\\ud800","method":"x"}', INVALID_REQUEST, None),
    "a byte order mark": Offence(b"\xef\xbb\xbf" + request_with('"method":"tools/list"'), PARSE_ERROR, 7),
    "an endless string of escapes": Offence(b'{"id":7,"x":"' + b"\\n" * 500_000, PARSE_ERROR, 7),
    "300 levels": Offence(request_with(f'"method":"ping","params":{"[" * 300 + "]" * 300}'), INVALID_REQUEST, 7),
    "100,000 levels": Offence(b"[" * 100_000, INVALID_REQUEST, None),
    "a batch": Offence(b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', INVALID_REQUEST, None),
    "an empty batch": Offence(b"[]", INVALID_REQUEST, None),
    "a number": Offence(b"42", INVALID_REQUEST, None),
    "null": Offence(b"null", INVALID_REQUEST, None),
    "an empty object": Offence(b"{}", INVALID_REQUEST, None),
    "no version": Offence(b'{"id":7,"method":"tools/list"}', INVALID_REQUEST, 7),
    "another version": Offence(b'{"jsonrpc":"1.0","id":7,"method":"tools/list"}', INVALID_REQUEST, 7),
    "no method": Offence(b'{"jsonrpc":"2.0","id":7}', INVALID_REQUEST, 7),
    "a method that is no text": Offence(request_with('"method":5'), INVALID_REQUEST, 7),
    "a notification without a method": Offence(b'{"jsonrpc":"2.0","method":null}', INVALID_REQUEST, None),
    "id null": Offence(b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', INVALID_REQUEST, None),
    "id true": Offence(b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', INVALID_REQUEST, None),
    "id 1.5": Offence(b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', INVALID_REQUEST, None),
    "an id that is an object": Offence(b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}', INVALID_REQUEST, None),
    "an id that is a list": Offence(b'{"jsonrpc":"2.0","id":[7],"method":"tools/list"}', INVALID_REQUEST, None),
    "params that are a list": Offence(request_with('"method":"tools/list","params":[]'), INVALID_PARAMS, 7),
    "params that are text": Offence(request_with('"method":"tools/call","params":"x"'), INVALID_PARAMS, 7),
    "a key twice": Offence(request_with('"method":"tools/list","params":{"a":1,"a":1}'), INVALID_PARAMS, 7),
    "a member twice": Offence(request_with('"method":"tools/list","method":"tools/list"'), INVALID_PARAMS, 7),
    "the same id twice": Offence(request_with('"id":7,"method":"tools/list"'), INVALID_PARAMS, None),
    "two ids": Offence(request_with('"id":8,"method":"tools/list"'), INVALID_PARAMS, None),
    "a lone surrogate": Offence(request_with('"method":"tools/list","params":{"a":"\\udfff"}'), INVALID_PARAMS, 7),
}


@pytest.mark.requirement("P1", "P2", "TOOL-3", "ERR-3", "TOOL-6")
@pytest.mark.parametrize("offence", OFFENCES.values(), ids=OFFENCES.keys())
def test_a_bad_line_gets_its_error_and_the_server_serves_on(client: LineClient, offence: Offence) -> None:
    client.write(offence.line + b"\n")
    answer = client.receive()
    assert (code_of(answer), answer["id"]) == (offence.code, offence.answered)
    assert client.call("echo", text="still here")["structuredContent"] == {"text": "still here"}


def code_of(answer: Message) -> JsonValue:
    error = answer["error"]
    assert isinstance(error, dict)
    return error["code"]


def data_of(answer: Message) -> Message:
    error = answer["error"]
    assert isinstance(error, dict)
    assert isinstance(error["data"], dict)
    return error["data"]


@pytest.mark.requirement("ERR-3")
@pytest.mark.parametrize(
    ("tail", "code"),
    [
        pytest.param('"method":"tools/list","params":{"a":1,"a":1}', "DuplicateKey", id="duplicate key"),
        pytest.param('"method":"tools/list","params":{"a":"\\ud800"}', "InvalidArguments", id="lone surrogate"),
        pytest.param('"method":"tools/list","params":[]', "InvalidArguments", id="params are a list"),
    ],
)
def test_bad_parameters_carry_the_code_of_the_error_as_data(client: LineClient, tail: str, code: str) -> None:
    client.write(request_with(tail) + b"\n")
    assert data_of(client.receive())["code"] == code


@pytest.mark.requirement("ERR-3")
def test_parameters_that_the_protocol_does_not_allow_say_which_and_why(client: LineClient) -> None:
    answer = client.request("tools/list", {"cursor": 5})
    assert code_of(answer) == INVALID_PARAMS
    assert data_of(answer)["fields"] == [{"path": "params.cursor", "message": "Input should be a valid string"}]


@pytest.mark.requirement("ERR-3")
def test_a_request_before_the_handshake_and_without_an_envelope_is_refused() -> None:
    begun = subprocess.run(TOY, input=request_with('"method":"tools/list"'), capture_output=True, check=True)
    answer = json.loads(begun.stdout)
    assert (code_of(answer), data_of(answer)) == (INVALID_PARAMS, {"code": "InvalidArguments"})


@pytest.mark.requirement("ERR-3")
def test_an_unknown_method_is_named_as_such(client: LineClient) -> None:
    assert code_of(client.request("tools/none")) == METHOD_NOT_FOUND


@pytest.mark.requirement("TOOL-3", "S1")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        pytest.param("x" * 10_000, {}, id="method"),
        pytest.param("tools/list", {"cursor": ["x" * 10_000]}, id="parameter"),
        pytest.param("tools/call", {"name": "x" * 10_000}, id="tool"),
        pytest.param("tools/call", {"name": "echo", "arguments": {"x" * 10_000: 1}}, id="argument"),
        pytest.param("tools/call", {"name": "echo", "arguments": {"text": ["x" * 10_000]}}, id="value"),
    ],
)
def test_an_error_repeats_at_most_200_characters(client: LineClient, method: str, params: Message) -> None:
    assert json.dumps(client.request(method, params)).count("x") <= 210  # some are in words such as "text"


CALLS: Final = {
    "a key twice": ('"name":"echo","arguments":{"text":"a","text":"a"}', "DuplicateKey"),
    "a key twice outside the arguments": ('"name":"echo","name":"echo","arguments":{"text":"a"}', "DuplicateKey"),
    "a lone surrogate": ('"name":"echo","arguments":{"text":"\\ud800"}', "InvalidArguments"),
    "a surrogate twice": ('"name":"echo","arguments":{"\\ud800":1,"\\ud800":1}', "InvalidArguments"),
    "no name": ('"arguments":{"text":"a"}', "InvalidArguments"),
    "a name that is no text": ('"name":5', "InvalidArguments"),
    "arguments that are a list": ('"name":"echo","arguments":[]', "InvalidArguments"),
    "arguments that are text": ('"name":"echo","arguments":"{}"', "InvalidArguments"),
    "no arguments": ('"name":"echo"', "InvalidArguments"),
    "an unknown argument": ('"name":"echo","arguments":{"text":"a","txt":"b"}', "InvalidArguments"),
    "a wrong type": ('"name":"echo","arguments":{"text":5}', "InvalidArguments"),
    "an unknown tool": ('"name":"ecko","arguments":{}', "UnknownTool"),
    "a fault in the tool": ('"name":"crash","arguments":{"text":"a"}', "InternalError"),
}


@pytest.mark.requirement("ERR-3", "P2", "TOOL-2", "TOOL-3", "TOOL-6")
@pytest.mark.parametrize(("params", "code"), CALLS.values(), ids=CALLS.keys())
def test_a_bad_call_is_a_tool_result_that_a_model_can_read(client: LineClient, params: str, code: str) -> None:
    envelope = f',"_meta":{json.dumps(ENVELOPE)}' if client.era == "modern" else ""
    client.write(request_with(f'"method":"tools/call","params":{{{params}{envelope}}}') + b"\n")
    answer = client.receive()
    result = answer["result"]
    assert isinstance(result, dict)
    error = result["structuredContent"]["error"]
    assert (answer["id"], result["isError"], error["code"]) == (7, True, code)
    assert set(error) == {"code", "message", "details"}
    assert result["content"] == [{"type": "text", "text": f"{code}: {error['message']}"}]


IGNORED: Final = {
    "nothing": b"",
    "blanks": b" \t\r",
    "a notification that nobody knows": b'{"jsonrpc":"2.0","method":"notifications/none"}',
    "a notification with a key twice": b'{"jsonrpc":"2.0","method":"notifications/none","params":{"a":1,"a":1}}',
    "a notification with bad parameters": b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}',
    "a response that nobody waits for": b'{"jsonrpc":"2.0","id":5,"result":{}}',
    "an error that nobody waits for": b'{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}',
    "a response that is none": b'{"jsonrpc":"2.0","id":5,"result":5}',
    "a response with a key twice": b'{"jsonrpc":"2.0","id":5,"result":{"a":1,"a":1}}',
}


@pytest.mark.requirement("P1")
@pytest.mark.parametrize("line", IGNORED.values(), ids=IGNORED.keys())
def test_what_json_rpc_never_answers_is_not_answered(client: LineClient, line: bytes) -> None:
    client.write(line + b"\n")
    assert client.call("echo", text="next")["structuredContent"] == {"text": "next"}


@pytest.mark.requirement("P1")
def test_a_line_may_end_as_on_windows(client: LineClient) -> None:
    client.write(client.call_line(7, "echo", text="a").replace(b"\n", b"\r\n"))
    assert client.receive()["id"] == 7


@pytest.mark.requirement("P1")
def test_a_large_integer_is_an_id_like_any_other(client: LineClient) -> None:
    client.write(client.call_line(10**300, "echo", text="a"))
    assert client.receive()["id"] == 10**300


def memory_peak(process_id: int) -> int:
    """Return the most memory that a process has had, in bytes."""
    status = Path(f"/proc/{process_id}/status").read_text("utf-8")
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


@pytest.mark.requirement("P1", "TOOL-3")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of memory")
def test_a_line_of_50_mb_is_refused_without_being_held_in_memory(client: LineClient) -> None:
    before = memory_peak(client.process.pid)
    client.write(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":"')
    for _ in range(50):
        client.write(b"x" * 1_000_000)
    client.write(b'"}}\n')
    answer = client.receive()
    assert (code_of(answer), answer["id"]) == (INVALID_REQUEST, 7)
    assert memory_peak(client.process.pid) - before < 30_000_000
    assert client.call("echo", text="a")["isError"] is False


LONG: Final = b"x" * (4 * 1024 * 1024)


@pytest.mark.requirement("P1", "TOOL-3", "ERR-3")
@pytest.mark.parametrize("size", [len(LONG) + 1, 10_000_000], ids=["a byte too many", "10 MB"])
@pytest.mark.parametrize("is_first", [True, False], ids=["the id first", "the id last"])
def test_a_line_that_is_too_long_is_refused_with_its_id(client: LineClient, size: int, *, is_first: bool) -> None:
    first, last = ('"id":7,', "") if is_first else ("", ',"id":7')
    frame = f'{{"jsonrpc":"2.0",{first}"method":"tools/call","params":{{"x":"TEXT"}}{last}}}'
    client.write(frame.replace("TEXT", "x" * (size + 4 - len(frame))).encode() + b"\n")
    answer = client.receive()
    assert (code_of(answer), answer["id"]) == (INVALID_REQUEST, 7)


@pytest.mark.requirement("TOOL-3")
def test_a_line_of_exactly_4_mib_is_read(client: LineClient) -> None:
    frame = len(client.call_line(7, "echo", text="", x="")) - 1
    client.write(client.call_line(7, "echo", text="", x="x" * (len(LONG) - frame)))
    result = client.receive()["result"]
    assert isinstance(result, dict)
    assert result["structuredContent"]["error"]["code"] == "InvalidArguments"

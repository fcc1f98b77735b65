"""Whatever a client sends is read without a fault, and a request is never met with silence (P1)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import PROTOCOL_VERSION_META_KEY, JSONRPCError, JSONRPCRequest
from pydantic import JsonValue

from task_core.server.messages import HEAD, Incoming, read_message, too_long

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)
IDS = st.integers(-(10**18), 10**18) | st.text("abc-_ é:{}[],", max_size=20)


@pytest.mark.requirement("P1")
@given(st.binary(max_size=200))
def test_any_bytes_are_answered_or_passed_on(data: bytes) -> None:
    message = read_message(data)
    assert isinstance(message, JSONRPCError)
    assert message.id is None


@pytest.mark.requirement("P1")
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


@pytest.mark.requirement("P1")
@given(IDS, st.dictionaries(st.text(), VALUES, max_size=3))
def test_the_id_is_read_from_an_object_that_breaks_off_later(
    request_id: int | str, before: dict[str, JsonValue]
) -> None:
    before.pop("id", None)
    whole = json.dumps({**before, "id": request_id, "params": {"id": -1}}, ensure_ascii=False)
    message = read_message(whole[:-2].encode())
    assert isinstance(message, JSONRPCError)
    assert message.id == request_id


@pytest.mark.requirement("P1")
def test_an_id_that_comes_too_late_in_a_broken_message_is_not_looked_for() -> None:
    message = read_message(b'{"params":"' + b"x" * HEAD + b'","id":7,oops}')
    assert isinstance(message, JSONRPCError)
    assert message.id is None


@pytest.mark.requirement("P1")
@given(IDS, VALUES)
def test_the_id_of_a_message_that_is_too_long_is_read_where_it_is_last(request_id: int | str, value: JsonValue) -> None:
    whole = json.dumps({"params": [value, "x" * HEAD], "id": request_id}, ensure_ascii=False)
    assert too_long(whole.encode(), HEAD).id == request_id


@pytest.mark.requirement("TOOL-3")
@pytest.mark.parametrize("tail", ["", ',"x":1,"x":1'], ids=["sound", "a key twice"])
def test_a_version_that_is_none_is_cut_before_anything_can_repeat_it(tail: str) -> None:
    meta = json.dumps({PROTOCOL_VERSION_META_KEY: "9" * 10_000, "other": "9" * 500})
    read = read_message(f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":{meta}{tail}}}}}'.encode())
    assert isinstance(read, Incoming)
    assert isinstance(read.message, JSONRPCRequest)
    assert read.message.params is not None
    assert read.message.params["_meta"] == {PROTOCOL_VERSION_META_KEY: "9" * 199 + "…", "other": "9" * 500}

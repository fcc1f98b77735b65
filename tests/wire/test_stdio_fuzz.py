"""Lines of a grammar, thousands of ways: each gets exactly the answer that is due, and the server lives on (P1)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.wire.grammar import ECHO, Line, key_of, lines
from tests.wire.line_client import PATIENCE, Era, LineClient, Message

SERVER = (sys.executable, "-m", "hierarchy_mcp")
"""A server that keeps its tasks in memory."""


@pytest.fixture(scope="module", params=["legacy", "modern"])
def client(request: pytest.FixtureRequest) -> Iterator[LineClient]:
    era: Era = request.param
    with LineClient(era, SERVER) as connected:
        yield connected


def write_in_pieces(client: LineClient, data: bytes, cuts: Sequence[int]) -> None:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(places):
        client.write(data[start:end])


def answers_before(client: LineClient, due: int) -> list[Message]:
    """Return what comes until so many answers are there, and the one to a call that follows them."""
    sentinel = client.line("tools/call", {"name": "listTasks", "arguments": {"depth": 0}})
    client.write(sentinel)
    wanted = json.loads(sentinel)["id"]
    found: list[Message] = []
    is_answered = False
    while len(found) < due or not is_answered:
        answer = client.receive()
        if answer.get("id") == wanted:
            assert "result" in answer
            is_answered = True
        else:
            found.append(answer)
    return found


def check_form(answer: Message) -> None:
    assert answer["jsonrpc"] == "2.0"
    assert len(answer.keys() & {"result", "error"}) == 1
    if "error" in answer:
        code = answer["error"]["code"]
        assert isinstance(code, int)
        assert code not in {0, -32603}
        assert answer["error"]["message"]
    if "error" in answer or answer["result"].get("isError"):
        told = json.dumps(answer.get("error", answer.get("result")))
        assert ECHO * 201 not in told


def check_ids(sent: Sequence[Line], answers: Sequence[Message]) -> None:
    """Every line has its answer: first those whose id is sure, then the others."""
    left = Counter(key_of(answer["id"]) for answer in answers)
    for line in sorted((line for line in sent if line.ids), key=lambda line: len(line.keys)):
        fitting = sorted(line.keys & left.keys(), key=lambda key: key == "null")
        assert fitting, f"{line} has no answer"
        left[fitting[0]] -= 1
        left += Counter()
    assert not left


@pytest.mark.requirement("P1", "P2", "ERR-3", "TOOL-3", "TOOL-6", "TOOL-7")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(sent=st.lists(lines(), min_size=1, max_size=6), cuts=st.lists(st.integers(0, 5_000), max_size=3))
def test_every_line_gets_the_answer_that_is_due(client: LineClient, sent: list[Line], cuts: list[int]) -> None:
    write_in_pieces(client, b"".join(line.data + b"\n" for line in sent), cuts)
    answers = answers_before(client, sum(bool(line.ids) for line in sent))
    for answer in answers:
        check_form(answer)
    check_ids(sent, answers)
    assert answers_before(client, 0) == []


@pytest.mark.requirement("P1", "P3", "CLI-5")
@settings(max_examples=2, suppress_health_check=[HealthCheck.too_slow])
@given(sent=st.lists(lines(), min_size=10, max_size=30))
def test_what_comes_before_any_greeting_and_is_followed_by_the_end_is_answered_too(sent: list[Line]) -> None:
    ended = subprocess.run(
        SERVER, input=b"\n".join(line.data for line in sent), capture_output=True, timeout=PATIENCE, check=True
    )
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    for answer in answers:
        check_form(answer)
    check_ids(sent, answers)

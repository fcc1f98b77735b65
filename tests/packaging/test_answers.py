"""The count of the bytes that an agent reads runs, and its page says how (TOOL-9)."""

from __future__ import annotations

import re

import pytest

from benchmarks.answers import NAMES, NUMBERS, bytes_read, document, session
from task_core.bounds import MAX_ANSWER
from tests.packaging.projects import ROOT


@pytest.mark.parametrize("server", NAMES)
def test_a_session_reads_as_many_bytes_each_time_and_never_more_than_its_calls_may(server: str) -> None:
    calls = [*session(server)]
    assert len(calls) == 20
    first = bytes_read(server, 30, ROOT)
    assert first == bytes_read(server, 30, ROOT) <= len(calls) * MAX_ANSWER


def test_a_store_of_any_number_holds_so_many_tasks() -> None:
    for number in (*range(1, 40), *NUMBERS[:4]):
        assert str(document("hierarchy", number)).count("'id'") == number
        assert str(document("tasks-v1", number)).count("'id'") == number


@pytest.mark.requirement("TOOL-9")
def test_the_page_of_answers_has_a_row_for_every_server_and_a_column_for_every_number() -> None:
    text = (ROOT / "docs" / "answers.md").read_text("utf-8")
    assert f"| server | | {' | '.join(f'{number:,}' for number in NUMBERS)} |" in text
    rows = re.findall(r"^\| (\S+) \| (before|now) \|((?: [\d,]+ \|)+)$", text, re.MULTILINE)
    assert [(server, when) for server, when, _ in rows] == [(s, when) for s in NAMES for when in ("before", "now")]
    assert {counts.count("|") for *_, counts in rows} == {len(NUMBERS)}
    assert "python -m benchmarks.answers --before" in text

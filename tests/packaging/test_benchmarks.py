"""The benchmarks run, and their page speaks of every target; what they measure is never asserted here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.growth import OPERATIONS
from benchmarks.report import NOTES, TARGETS
from benchmarks.rows import Row, Unit
from benchmarks.series import Series, in_turn
from tests.packaging.projects import ROOT


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.run", *options]
    return subprocess.run(command, capture_output=True, check=False, encoding="utf-8", timeout=120, cwd=ROOT)


def test_a_quick_part_of_the_benchmarks_runs_and_writes_its_table_where_it_is_told(tmp_path: Path) -> None:
    done = bench("--quick", "--only", "table", "sharing", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "README.md").read_text("utf-8") == done.stdout.removesuffix("\n")
    rows = [line for line in done.stdout.splitlines() if line.startswith("| table of 10,000 tasks, deep | hierarchy")]
    assert len(rows) == 1
    assert "creates with 32 in flight" in done.stdout


def test_the_page_of_the_benchmarks_names_every_target_and_the_command() -> None:
    text = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    headings = [f"## {number}. {name}\n\n{NOTES[number]}" for number, name in TARGETS.items()]
    assert [heading for heading in headings if heading not in text] == []
    assert [operation for operation in OPERATIONS if f"| {operation} | heartbeat |" not in text] == []
    assert "| command | `python3 hatchw run bench" in text


@pytest.mark.parametrize(
    ("row", "is_met"),
    [
        (Row(1, "a", "s", Unit.MILLISECONDS, Series((1.0,)), Series((10.0,)), limit=0.1), True),
        (Row(1, "a", "s", Unit.MILLISECONDS, Series((1.1,)), Series((10.0,)), limit=0.1), False),
        (Row(2, "a", "s", Unit.CALLS, Series((0.1,)), Series((0.2,)), limit=2.0), True),
        (Row(2, "a", "s", Unit.CALLS, Series((0.1,)), Series((0.1,)), limit=2.0), False),
        (Row(6, "a", "s", Unit.MEBIBYTES, Series((2.0,)), limit=1), False),
        (Row(6, "a", "s", Unit.WRITES, Series((0.0,)), limit=0), True),
        (Row(6, "a", "s", Unit.MEBIBYTES, Series((2.0,))), None),
    ],
    ids=["ratio met", "ratio missed", "rate met", "rate missed", "value missed", "nothing met", "reported"],
)
def test_a_target_is_met_only_within_its_limit(row: Row, is_met: bool | None) -> None:
    assert row.is_met is is_met


def test_what_is_compared_is_measured_in_turn_and_the_first_round_does_not_count() -> None:
    order: list[str] = []

    def note(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = in_turn({"a": lambda: note("a"), "b": lambda: note("b")}, 2)
    assert order == ["a", "b"] * 3
    assert found == {"a": Series((3.0, 5.0)), "b": Series((4.0, 6.0))}
    assert found["b"].minus(found["a"]).median == 1.0

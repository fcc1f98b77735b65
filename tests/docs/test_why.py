"""The figures in ``docs/why.md`` are those of the pages that the measurements write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.pages import fill
from benchmarks.peers import OURS, PEERS, Finding, measure, render_table
from tests.docs.repository import DOCS
from tests.packaging.projects import ROOT

WHY = (DOCS / "why.md").read_text("utf-8")


def cells(heading: str, label: str) -> list[str]:
    """Return the cells of a row in the section with a heading, without its label."""
    section = WHY.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    (row,) = [line for line in section.splitlines() if line.startswith(f"| {label} |")]
    return [cell.strip() for cell in row.strip("|").split("|")][1:]


def bench_row(start: str) -> list[str]:
    """Return the first row of the summary of the benchmarks that begins like this."""
    text = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    row = next(line for line in text.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in row.strip("|").split("|")]


def number(text: str) -> float:
    """Return the first number in a text, in milliseconds if it is a time."""
    match = re.search(r"([\d,.]+) ?(µs|ms)?", text)
    assert match, text
    return float(match[1].replace(",", "")) / (1_000 if match[2] == "µs" else 1)


@pytest.mark.parametrize(
    ("label", "start"),
    [
        ("from the start of the process to the list of tools", "1. tools/list"),
        ("the first call of a tool", "1. first tool call"),
        ("processor time of a call that reads a task, among 1,000", "2. processor time of a get among 1,000 tasks"),
        ("calls a second with 32 under way", "2. gets with 32 in flight among 1,000 tasks"),
    ],
)
def test_the_figures_beside_a_plain_server_are_those_of_the_benchmarks(label: str, start: str) -> None:
    shown, measured = cells("Beside a plain server", label), bench_row(start)[2:4]
    assert [number(text) for text in shown] == pytest.approx([number(text) for text in measured], rel=0.02)


@pytest.mark.parametrize(("label", "engine"), [("in a JSON document", "JSON"), ("in SQLite", "SQLite")])
def test_the_times_of_a_create_are_those_of_the_benchmarks(label: str, engine: str) -> None:
    shown = [number(text) for text in cells("Growth of one list", label) if text != "–"]
    measured = [number(text) for text in bench_row(f"create | tasks-v1, {engine} |")[2:] if text != "–"]
    assert shown == pytest.approx(measured, rel=0.04)


def test_the_storm_is_as_its_page_has_it() -> None:
    storm = (DOCS / "storm.md").read_text("utf-8")
    (row,) = re.findall(r"(?m)^\| acknowledged \|(.*)\|$", storm)
    assert f"of {sum(int(number(cell)) for cell in row.split('|')):,} acknowledged changes" in WHY
    assert "--kills 2000" in storm


def test_the_table_of_servers_names_each_with_the_version_to_install() -> None:
    for name in [*(peer.name for peer in OURS), *(peer.name for peer in PEERS)]:
        assert f"\n| {name} | " in WHY
    assert [peer.name for peer in PEERS if f"{peer.name}@" not in WHY] == []


@pytest.mark.long
def test_a_server_of_ours_is_measured_like_those_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "ROUNDS", 1)
    found = measure(OURS[-1], tmp_path)
    assert (found.acknowledged, found.kept) == (100, 100)
    assert found.tools == 5


def test_the_table_takes_the_place_of_the_older_one(tmp_path: Path) -> None:
    page = tmp_path / "why.md"
    page.write_text("Before\n<!-- from the run: peers -->\nold\n<!-- end -->\nAfter\n")
    fill(page, peers=render_table([Finding("a", 0.5, 3, 1_200, 100, 60)]))
    assert "| a | 0.50 s | 3 | 1,200 | 100 | **40** |" in page.read_text()
    assert "old" not in page.read_text()

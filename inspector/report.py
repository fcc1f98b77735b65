"""The cases of conformance runs: carried out side by side, printed as one table, counted for the exit code."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple
from unicodedata import east_asian_width

from inspector.inspector_cli import Answer
from inspector.pinned import install

__all__ = ["Case", "Part", "Report", "carry_out", "finish", "run"]


class Case(NamedTuple):
    """One row of the table."""

    name: str
    expected: str
    got: str
    verdict: str


@dataclass
class Report:
    """The cases of one part of a run."""

    title: str
    cases: list[Case] = field(default_factory=list)

    def case(self, name: str, expected: str, answer: Answer, **checks: bool) -> None:
        """Add a case: the outcome that is expected, the one that came, and what else must hold, each by its name."""
        wrong = [check.replace("_", " ") for check, holds in checks.items() if not holds]
        got = answer.outcome + "".join(f"; not so: {check}" for check in wrong)
        self.add(name, expected, got, is_passed=not wrong and answer.outcome == expected)
        if self.cases[-1].verdict != "pass":
            print(f"\n{self.title}: {name}\n{answer.printed}{answer.log}")

    def add(self, name: str, expected: str, got: str, *, is_passed: bool) -> None:
        """Add a case whose outcome is known."""
        self.cases.append(Case(name, expected, got, "pass" if is_passed else "FAIL"))
        print("." if is_passed else "F", end="", flush=True)


class Part(NamedTuple):
    """What can be run by itself: the title of its report, and the cases."""

    title: str
    add_cases: Callable[[Report], None]


def run(parts: Sequence[Part]) -> int:
    """Run the parts, print one table of them all, and return 1 when a case failed, else 0."""
    return finish(carry_out(parts))


def carry_out(parts: Sequence[Part]) -> list[Report]:
    """Run the parts, as many at a time as there are processors, and return their reports in the same order."""
    install()
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        return list(workers.map(_report, parts))


def finish(reports: Sequence[Report]) -> int:
    """Print one table of all reports and the counts; return 1 when a case failed, else 0."""
    _print_table(reports)
    failed = sum(case.verdict != "pass" for report in reports for case in report.cases)
    print(f"\n{sum(len(report.cases) for report in reports) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _report(part: Part) -> Report:
    report = Report(part.title)
    part.add_cases(report)
    return report


def _print_table(reports: Sequence[Report]) -> None:
    rows = [(report.title, *case) for report in reports for case in report.cases]
    table = [("", "case", "expected", "got", ""), *rows]
    widths = [max(map(_columns, column)) for column in zip(*table, strict=True)]
    print("\n")
    for row in table:
        cells = (cell + " " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _columns(text: str) -> int:
    """Return how many columns of a terminal ``text`` takes."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)

"""Run the official conformance suite against each server on HTTP, for every revision of the protocol.

Those that can be hosted are run a second time, with authorization on.

A scenario passes when at least one of its checks succeeded and none failed or warned. ``conformance_baseline.json``
names every other scenario with its reason: what may fail, with the very checks that do, and what passes without
showing anything. A scenario that newly fails, and one that is named there without need, fails the run.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from inspector.authorized import serving_authorized
from inspector.pinned import FOLDER, node_command, server_command
from inspector.report import Part, Report, carry_out, finish
from tests.servers import PROGRAMS, SERVERS, ProgramRecord, ServerRecord
from tests.wire.served import serving

__all__ = ["main"]

SUITE: Final = "@modelcontextprotocol/conformance/dist/index.js"
BASELINE: Final = FOLDER / "conformance_baseline.json"

REVISIONS: Final = ("2025-06-18", "2025-11-25", "2026-07-28")
"""The revisions of the protocol that the servers speak and the suite knows."""

SECONDS: Final = 120
"""Seconds that the suite may take with one server and one revision."""

SHAPE: Final = "wire-schema-valid"
"""The check that every scenario brings along; by itself it shows nothing of what the scenario is about."""


@dataclass(frozen=True)
class Baseline:
    """What is known of scenarios that do not simply pass, each by its name."""

    failing: Mapping[tuple[str, str], frozenset[str]]
    """By revision and name, the checks that fail or warn, with one server at least."""
    worthless: frozenset[str]
    """Scenarios whose passing shows nothing."""


@dataclass(frozen=True)
class Outcome:
    """What the checks of one scenario came to."""

    failed: frozenset[str]
    succeeded: frozenset[str]

    @property
    def text(self) -> str:
        """The checks that failed, or how many succeeded."""
        if self.failed:
            return f"fails {', '.join(sorted(self.failed))}"
        return f"{len(self.succeeded)} checks" if self.succeeded else "nothing checked"


def read_baseline(path: Path = BASELINE) -> Baseline:
    """Return the baseline that ``path`` holds."""
    document = json.loads(path.read_text("utf-8"))
    failing = {
        (revision, name): frozenset(entry["checks"])
        for name, entry in document["failing"].items()
        for revision in entry.get("revisions", REVISIONS)
    }
    return Baseline(failing, frozenset(document["worthless"]))


class Verdict(NamedTuple):
    """A row of the table: what was expected, what came, and whether that will do."""

    expected: str
    got: str
    is_passed: bool


def judge(baseline: Baseline, revision: str, name: str, outcome: Outcome | None) -> Verdict | None:
    """Return the verdict on one scenario, or None where it is just as the baseline has it."""
    if outcome is None:
        return Verdict("a result", "none", is_passed=False)
    known = baseline.failing.get((revision, name))
    if known:
        expected = f"fails within {', '.join(sorted(known))}"
        return None if outcome.failed and outcome.failed <= known else Verdict(expected, outcome.text, is_passed=False)
    if name in baseline.worthless:
        return Verdict("no failure", outcome.text, is_passed=False) if outcome.failed else None
    return Verdict("a pass", outcome.text, is_passed=bool(outcome.succeeded) and not outcome.failed)


def part(server: ProgramRecord, seen: dict[str, set[str]], *, is_hosted: bool = False) -> Part:
    """Return the run of one server over all revisions, which notes in ``seen`` what failed in each scenario."""

    def add_cases(report: Report) -> None:
        baseline = read_baseline()
        with _address(server, is_hosted=is_hosted) as url:
            for revision in REVISIONS:
                outcomes = _outcomes(url, revision)
                for name in _scenarios(revision):
                    outcome = outcomes.get(name)
                    seen.setdefault(name, set()).update(outcome.failed if outcome else ())
                    verdict = judge(baseline, revision, name, outcome)
                    if verdict:
                        report.add(f"{revision} {name}", *verdict[:2], is_passed=verdict.is_passed)

    return Part(f"{server.command}, hosted" if is_hosted else server.command, add_cases)


@contextmanager
def _address(server: ProgramRecord, *, is_hosted: bool = False) -> Iterator[str]:
    """Yield the address of a server process on a free port of this machine, with a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        if is_hosted and isinstance(server, ServerRecord):
            with serving_authorized(server, Path(folder).resolve()) as url:
                yield url
            return
        environment = {**server.environment(Path(folder).resolve()), "LOG_LEVEL": "ERROR"}
        with serving([server_command(server.command)], environment) as served:
            yield served.url


def _suite(*options: str) -> str:
    command = [*node_command(SUITE), *options]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", timeout=SECONDS)
    return done.stdout


@cache
def _scenarios(revision: str) -> list[str]:
    """Return the names of the scenarios for servers that there are for a revision."""
    return re.findall(r"^  - (\S+) \[", _suite("list", "--server", "--spec-version", revision), re.MULTILINE)


def _outcomes(url: str, revision: str) -> dict[str, Outcome]:
    """Return what each scenario of a revision came to."""
    with tempfile.TemporaryDirectory() as folder:
        _suite("server", "--url", url, "--spec-version", revision, "--suite", "all", "--output-dir", folder)
        return {
            re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", path.parent.name): _outcome(path)
            for path in Path(folder).glob("*/checks.json")
        }


def _outcome(path: Path) -> Outcome:
    checks = [(check["id"], check["status"]) for check in json.loads(path.read_text("utf-8"))]
    failed = frozenset(name for name, status in checks if status in {"FAILURE", "WARNING"})
    return Outcome(failed, frozenset(name for name, status in checks if status == "SUCCESS" and name != SHAPE))


def stale(seen: Mapping[str, set[str]]) -> Part:
    """Return the part that finds what the baseline names and no run has shown."""

    def add_cases(report: Report) -> None:
        baseline = read_baseline()
        for (_, name), checks in baseline.failing.items():
            unseen = ", ".join(sorted(checks - seen.get(name, set())))
            if unseen:
                report.add(name, "fails with some server", f"passes {unseen}", is_passed=False)
        for name in sorted(baseline.worthless):
            report.add(name, "a pass, not counted", "a pass" if name in seen else "unknown", is_passed=name in seen)

    return Part("baseline", add_cases)


def main() -> int:
    """Run everything, print one table, and return the exit code."""
    seen: dict[str, set[str]] = {}
    hosted = [server for server in SERVERS if "sqlite" in server.engines]
    parts = [*(part(server, seen) for server in PROGRAMS), *(part(server, seen, is_hosted=True) for server in hosted)]
    reports = carry_out(parts)
    return finish([*reports, *carry_out([stale(seen)])])


if __name__ == "__main__":
    sys.exit(main())

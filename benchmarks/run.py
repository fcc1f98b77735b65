"""Measure the servers and write the report: ``hatch run bench [--quick] [--only PART …] [--output FOLDER]``.

A whole run writes ``README.md`` and ``growth.json`` beside this file. A quick or partial one prints its tables, and
writes only where ``--output`` says.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from benchmarks import calls, creates, first_answer, growth, project
from benchmarks.bench import Bench
from benchmarks.growth import Growth
from benchmarks.report import report
from benchmarks.rows import Row

__all__ = ["main"]

Part = Callable[[Bench], tuple[list[Row], Growth]]


def _without_growth(part: Callable[[Bench], list[Row]]) -> Part:
    return lambda bench: (part(bench), {})


PARTS: Final[Mapping[str, Part]] = {
    "first-answer": _without_growth(first_answer.measure),
    "calls": _without_growth(calls.measure),
    "creates": _without_growth(creates.measure_creates),
    "sharing": _without_growth(creates.measure_sharing),
    "growth": growth.measure,
    "project": _without_growth(project.measure),
}
"""The parts by name, in the order of the report."""


def main() -> None:
    """Measure what the command line asks for, print it, and write it down."""
    parser = argparse.ArgumentParser(prog="hatch run bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds and small stores, only to see that it works")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[], help="parts to run; default: all")
    parser.add_argument("--output", type=Path, help="folder for the report; default: this one, for a whole run only")
    parser.add_argument("--folder", type=Path, help="folder for the stores, on the disk to measure; default: temporary")
    options = parser.parse_args()
    rows: list[Row] = []
    found: Growth = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        bench = Bench(Path(name), options.quick)
        for part in options.only or PARTS:
            started = time.monotonic()
            more, curves = PARTS[part](bench)
            rows += more
            found |= curves
            print(f"{part}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        only = ["--only", *options.only] if options.only else []
        command = " ".join(["python3 hatchw run bench", *(["--quick"] if options.quick else []), *only])
        text = report(rows, found, command)
    print(text)
    is_whole = not options.quick and not options.only
    if folder := options.output or (Path(__file__).parent if is_whole else None):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "README.md").write_text(text, "utf-8")
        if found:
            document = {"what": "median seconds by operation, server and engine, and number of tasks", **found}
            (folder / "growth.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()

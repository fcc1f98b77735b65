"""Measure the servers and write the report: ``hatch run bench [--quick] [--only PART …] [--output FOLDER]``.

A whole run writes ``README.md``, ``growth.json`` and ``growth.png`` beside this file. A quick or partial one prints its
tables, and writes only where ``--output`` says.
"""

import argparse
import json
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from benchmarks import backend, calls, command, creates, first_answer, growth, memory, project, view
from benchmarks.bench import Bench
from benchmarks.growth import Growth
from benchmarks.report import report
from benchmarks.rows import Row

__all__ = ["main"]

PARTS: Final[Mapping[str, Callable[[Bench], list[Row]]]] = {
    "first-answer": first_answer.measure,
    "calls": calls.measure,
    "creates": creates.measure_creates,
    "sharing": creates.measure_sharing,
    "memory": memory.measure,
    "project": project.measure,
    "backend": backend.measure,
    "ctx": command.measure,
    "list": view.measure,
}
"""The parts that make rows, by name, in the order of the report."""

GROWTH: Final = "growth"
"""The part that makes the chart too."""

T = TypeVar("T")


class Options(argparse.Namespace):
    """What the command line asks for."""

    quick: bool
    only: list[str] | None
    output: Path | None
    folder: Path | None
    task_master: list[str]


def main() -> None:
    """Measure what the command line asks for, print it, and write it down."""
    options = _options()
    names = options.only or [*PARTS, GROWTH]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        bench = Bench(Path(folder), options.quick, tuple(options.task_master))
        rows = [row for name in names if name in PARTS for row in _told(name, PARTS[name], bench)]
        found: Growth = {}
        if GROWTH in names:
            bars, found = _told(GROWTH, growth.measure, bench)
            rows += bars
        text = report(rows, found, _command(options), Path(folder))
    print(text)
    if options.output:
        _write(options.output, text, found)


def _options() -> Options:
    parser = argparse.ArgumentParser(prog="hatch run bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds and small stores, only to see that it works")
    parser.add_argument("--only", nargs="+", choices=[*PARTS, GROWTH], help="parts to run; default: all")
    parser.add_argument("--output", type=Path, help="folder for the report; default: this one, for a whole run only")
    parser.add_argument("--folder", type=Path, help="folder for the stores, on the disk to measure; default: temporary")
    what = "command that starts Task Master's own server, to measure it beside ours"
    parser.add_argument("--task-master", type=shlex.split, default=[], metavar="COMMAND", help=what)
    options = parser.parse_args(namespace=Options())
    if options.output is None and not options.quick and not options.only:
        options.output = Path(__file__).parent
    return options


def _command(options: Options) -> str:
    only = ["--only", *options.only] if options.only else []
    theirs = ["--task-master COMMAND"] if options.task_master else []
    return " ".join(["python3 hatchw run bench", *(["--quick"] if options.quick else []), *only, *theirs])


def _told(name: str, part: Callable[[Bench], T], bench: Bench) -> T:
    started = time.monotonic()
    found = part(bench)
    print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return found


def _write(folder: Path, text: str, found: Growth) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(text, "utf-8")
    if found:
        from benchmarks.chart import draw  # noqa: PLC0415 - only the environment of the benchmarks can draw

        document = {"what": "median seconds by operation, server or floor, and number of tasks", **found}
        (folder / "growth.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
        draw(found, folder / "growth.png")


if __name__ == "__main__":
    main()

"""Measure a hosted service, and write the page: ``hatch run bench:hosted [--quick] [--only PART …] [--output FOLDER]``.

A whole run writes ``hosted.md``, ``hosted.json`` and ``hosted.png`` beside the other benchmarks, and the figures into
``docs/scale.md``. A quick or partial one prints its tables, and writes only where ``--output`` says.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from benchmarks.bench import Bench
from benchmarks.hosted.findings import FOUND, Findings, note_facts, write_findings
from benchmarks.hosted.load import measure_load
from benchmarks.hosted.page import render_page
from benchmarks.hosted.scale import write_figures
from benchmarks.hosted.sizes import measure_sizes

__all__ = ["main"]

PARTS: Final = ("load", "sizes")
"""The names of the parts, in the order of the page."""

T = TypeVar("T")


class Options(argparse.Namespace):
    """The options of the command line."""

    quick: bool
    only: list[str] | None
    output: Path | None


def main() -> None:
    """Measure what the command line asks for, print it, and write it down."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        bench, names = Bench(Path(folder), options.quick), options.only or PARTS
        findings = Findings(
            note_facts(_command(options)),
            load=_measure("load", measure_load, bench) if "load" in names else [],
            sizes=_measure("sizes", measure_sizes, bench) if "sizes" in names else [],
        )
    print(render_page(findings))
    if options.output:
        _write(findings, options.output)
        if options.output == FOUND.parent:
            write_figures(findings)


def _options() -> Options:
    parser = argparse.ArgumentParser(prog="hatch run bench:hosted", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds and small lists, only to see that it works")
    parser.add_argument("--only", nargs="+", choices=[*PARTS], help="parts to run; default: all")
    parser.add_argument("--output", type=Path, help="folder for the report; default: its own, for a whole run only")
    options = parser.parse_args(namespace=Options())
    if options.output is None and not options.quick and not options.only:
        options.output = FOUND.parent
    return options


def _command(options: Options) -> str:
    only = ["--only", *options.only] if options.only else []
    return " ".join(["python3 hatchw run bench:hosted", *(["--quick"] if options.quick else []), *only])


def _measure(name: str, part: Callable[[Bench], T], bench: Bench) -> T:
    started = time.monotonic()
    found = part(bench)
    print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return found


def _write(findings: Findings, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hosted.md").write_text(render_page(findings), "utf-8")
    write_findings(findings, folder / FOUND.name)
    if findings.load:
        from benchmarks.hosted.chart import draw_load  # noqa: PLC0415 - only the environment of the benchmarks can draw

        draw_load(findings, folder / "hosted.png")


if __name__ == "__main__":
    main()

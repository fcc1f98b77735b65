"""Measure a hosted service, and write the page: ``hatch run bench:hosted [--quick] [--output FOLDER]``.

A whole run writes ``hosted.md``, ``hosted.json`` and ``hosted.png`` beside the other benchmarks. A quick one prints its
tables, and writes only where ``--output`` says.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.hosted.findings import FOUND, Findings, note_facts, write_findings
from benchmarks.hosted.load import measure_load
from benchmarks.hosted.page import render_page

__all__ = ["main"]


class Options(argparse.Namespace):
    """The options of the command line."""

    quick: bool
    output: Path | None


def main() -> None:
    """Measure the load, print it, and write it down."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        load = measure_load(Bench(Path(folder), options.quick))
    findings = Findings(note_facts(_command(options)), load)
    print(render_page(findings))
    if options.output:
        _write(findings, options.output)


def _options() -> Options:
    parser = argparse.ArgumentParser(prog="hatch run bench:hosted", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds and small lists, only to see that it works")
    parser.add_argument("--output", type=Path, help="folder for the report; default: its own, for a whole run only")
    options = parser.parse_args(namespace=Options())
    if options.output is None and not options.quick:
        options.output = FOUND.parent
    return options


def _command(options: Options) -> str:
    return "python3 hatchw run bench:hosted" + (" --quick" if options.quick else "")


def _write(findings: Findings, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hosted.md").write_text(render_page(findings), "utf-8")
    write_findings(findings, folder / FOUND.name)
    from benchmarks.hosted.chart import draw_load  # noqa: PLC0415 - only the environment of the benchmarks can draw

    draw_load(findings, folder / "hosted.png")


if __name__ == "__main__":
    main()

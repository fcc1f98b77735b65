"""Measure the servers and write the report: ``hatch run bench [--quick] [--only PART …] [--output FOLDER]``.

A whole run writes ``README.md`` and ``growth.json`` beside this file. A quick or partial one prints its tables, and
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
from benchmarks.pages import facts, table
from benchmarks.rows import Row
from benchmarks.subjects import Bench

TARGETS: Final = {
    1: "First answer",
    2: "Each call",
    3: "A durable create in a document",
    4: "Group commit",
    5: "From 1,000 to 1,000,000 tasks",
    7: "A large project of Task Master",
}
"""The names of the targets by number."""

NOTES: Final = {
    1: "From the spawn of the process to the answer, over a document of 100 tasks. The processes ran once before, so "
    "that Python had compiled their sources. The floor is a plain `MCPServer` with one trivial tool, a plain function.",
    2: "Processor time of the whole server process, one call after the other; then calls per second with 32 always "
    "under way. The floor is a plain `MCPServer` with one trivial tool, a plain function.",
    3: "The time until a create is on disk and answered (EN-7). The floor is a trivial call on our transport and a "
    "bare write, fsync, rename, and fsync of the folder of the same bytes, and of `HEARTBEAT.md` if there is one. "
    "`heartbeat` has all its tasks in `HEARTBEAT.md`, `heartbeat, 50 active` has 50 there and all others done. What "
    "the history adds is beside the same server with `TASK_HISTORY_DAYS=0` (AG-5).",
    4: "Creates per second with 32 in flight, against the same server with one at a time (EN-9).",
    5: "SQLite beside JSON (EN-10). The bars are those of SQLite; the floor of a change is appending 4 KiB to a file "
    "and syncing it with `fdatasync`. `heartbeat` has 50 tasks that are not done, and no `HEARTBEAT.md` beside "
    "SQLite. Start and complete work through the leaves of a forest; *start again* is `startTask` of the leaf that is "
    "active already: it finds the same leaf and answers in the same form, but writes nothing. The first call is a "
    "page of the list. Memory is the resident set after that page and three creates, less that of the same server "
    "with an empty store.",
    7: "A tasks file of 182 tasks and 914 subtasks, 1.5 MB, as large as that of Task Master's own project (TM-88). "
    "In each round another program changes the file; then come a list, the same list from the cache, and a save.",
}
"""The way that each target is measured."""

_TOP: Final = """\
# Benchmarks

What the servers cost, as ratios to a plain `MCPServer` with one trivial tool, and to bare loops over the disk, all from
the same run. The values in one row were measured alternately, in rounds; they are the medians of the rounds. No test
asserts a time. Missed targets are marked as such.

```sh
python3 hatchw run bench                     # everything, and rewrite this page: half an hour on a quiet machine, 8 GB
python3 hatchw run bench --quick             # only to see that everything works: the numbers mean little
python3 hatchw run bench --only creates      # print one part
```

The servers are processes of the installed packages on stdio; each task takes about 475 bytes in its store. A hosted
service under load has a [page of its own](hosted.md), so has [what a new user waits for](first_task.md), and
[what a model reads in a session](../docs/answers.md#a-session-of-40-calls) is on that of answers."""

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
    parser.add_argument("--output", type=Path, help="folder for the report; default: this one, for a whole run only")
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
    text = report(rows, found, " ".join(["python3 hatchw run bench", *(["--quick"] if options.quick else []), *only]))
    print(text)
    is_whole = not options.quick and not options.only
    if folder := options.output or (Path(__file__).parent if is_whole else None):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "README.md").write_text(text, "utf-8")
        if found:
            document = {"what": "median seconds by operation, server and engine, and number of tasks", **found}
            (folder / "growth.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")


def report(rows: Sequence[Row], curves: Growth, command: str) -> str:
    """Return the whole report in Markdown; ``command`` made it."""
    return "\n\n".join(_sections(rows, curves, command)) + "\n"


def _sections(rows: Sequence[Row], curves: Growth, command: str) -> Iterator[str]:
    yield _TOP
    yield facts(command, "mcp", "pydantic", "anyio", "mcp-task-core")
    met = sum(row.used <= 1 for row in rows)
    yield f"## Targets\n\n{met} of {len(rows)} measurements meet their target. The worst server of each kind:"
    worst: dict[tuple[int, str], Row] = {}
    for row in rows:
        key = row.target, row.what
        worst[key] = max(row, worst.get(key, row), key=lambda it: it.used)
    yield table(_HEAD, (_cells(row, f"{row.target}. ") for row in sorted(worst.values(), key=lambda row: row.target)))
    order = [*dict.fromkeys(row.what for row in rows)]
    for number, name in TARGETS.items():
        if its := sorted((row for row in rows if row.target == number), key=lambda row: order.index(row.what)):
            yield f"## {number}. {name}\n\n{NOTES[number]}"
            yield table(_HEAD, map(_cells, its))
        if curves and number == 5:
            yield "Medians; the data: [growth.json](growth.json)."
            sizes = sorted({size for points in curves["get"].values() for size in points})
            yield table(["milliseconds, among", "server", *(f"{it:,}" for it in sizes)], _lines(curves, sizes))


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

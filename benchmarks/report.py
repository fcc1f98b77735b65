"""The report: the measurements of every target, the floor, and whether it is met, in words and tables."""

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Final

from benchmarks.growth import OPERATIONS, Growth
from benchmarks.rows import Row

__all__ = ["NOTES", "TARGETS", "report"]

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
the same run. The values in one row were measured alternately, in rounds; they are the medians of the rounds,
and *of the least* is the ratio of the smallest values. No test asserts a time. Missed targets are marked
as such.

```sh
python3 hatchw run bench                     # everything, and rewrite this page: half an hour on a quiet machine, 8 GB
python3 hatchw run bench --quick             # only to see that everything works: the numbers mean little
python3 hatchw run bench --only creates      # print one part
```

The servers are processes of the installed packages on stdio; each task takes about 475 bytes in its store. A hosted
service under load has a [page of its own](hosted.md), so has [what a new user waits for](first_task.md), and
[what a model reads in a session](../docs/answers.md#a-session-of-40-calls) is on that of answers."""

_HEAD: Final = "| what | server | measured | floor | ratio | of the least | target | met |\n|" + " --- |" * 8

_VERDICTS: Final = {True: "yes", False: "**no**", None: "–"}


def _summary(rows: Iterable[Row]) -> str:
    """Return a table with a row for each target: that of the server with the worst result."""
    worst: dict[tuple[int, str], Row] = {}
    for row in rows:
        key = row.target, row.what
        if row.is_met is not None and (key not in worst or row.distance > worst[key].distance):
            worst[key] = row
    lines = [_line(row, f"{row.target}. ") for _, row in sorted(worst.items(), key=lambda item: item[0][0])]
    return "\n".join([_HEAD, *lines])


def report(rows: Sequence[Row], growth: Growth, command: str) -> str:
    """Return the whole report in Markdown; ``command`` made it."""
    facts = {
        "command": f"`{command}`",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "Python": platform.python_version(),
        **{name: version(name) for name in ("mcp", "pydantic", "anyio", "mcp-task-core")},
        "system": f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores",
    }
    met = [row.is_met for row in rows if row.is_met is not None]
    parts = [
        _TOP,
        "\n".join(["| this run | |\n| --- | --- |", *(f"| {name} | {value} |" for name, value in facts.items())]),
        f"## Targets\n\n{sum(met)} of {len(met)} measurements meet their target. The worst server of each kind:",
        _summary(rows),
    ]
    return "\n\n".join([*parts, *_sections(rows, growth)]) + "\n"


def _sections(rows: Sequence[Row], growth: Growth) -> Iterator[str]:
    for number, name in TARGETS.items():
        lines = [_line(row) for row in _by_what(rows) if row.target == number]
        if lines:
            yield f"## {number}. {name}\n\n{NOTES[number]}"
            yield "\n".join([_HEAD, *lines])
        if growth and number == 5:
            yield "Medians; the data: [growth.json](growth.json)."
            yield _growth_table(growth)


def _by_what(rows: Sequence[Row]) -> list[Row]:
    order = list(dict.fromkeys(row.what for row in rows))
    return sorted(rows, key=lambda row: order.index(row.what))


def _line(row: Row, before: str = "") -> str:
    floor = f"{row.unit.shown(row.floor.median)} ({row.floor_is})" if row.floor else "–"
    ratios = ["–" if ratio is None else f"{ratio:.2f}" for ratio in (row.ratio, row.least_ratio)]
    measured = row.unit.shown(row.measured.median)
    cells = [before + row.what, row.server, measured, floor, *ratios, row.target_shown, _VERDICTS[row.is_met]]
    return f"| {' | '.join(cells)} |"


def _growth_table(growth: Growth) -> str:
    sizes = sorted({size for points in growth["get"].values() for size in points})
    names = ["milliseconds, among", "server", *(f"{size:,}" for size in sizes)]
    lines = [
        f"| {operation} | {name} | {' | '.join(_milliseconds(points.get(size)) for size in sizes)} |"
        for operation in OPERATIONS
        for name, points in growth[operation].items()
    ]
    return "\n".join([f"| {' | '.join(names)} |\n|{' --- |' * len(names)}", *lines])


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1_000:,.2f}"

"""The report: every target with what was measured, its floor, and whether it is met, in words and tables."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Final

from benchmarks.growth import OPERATIONS, Growth
from benchmarks.rows import Row

__all__ = ["TARGETS", "report", "summary"]

TARGETS: Final = {
    1: "First answer",
    2: "Each call",
    3: "A durable create",
    4: "Group commit",
    5: "A change by another process",
    6: "Memory",
    7: "Growth",
    8: "Beside the targets: the table of hierarchy-mcp",
}
"""What is measured, by number."""

NOTES: Final = {
    1: "From the spawn of the process to the answer, over a store of 100 tasks. The processes ran once before, so that "
    "Python had compiled their sources. The floor is a plain `MCPServer` with one trivial tool, a plain function.",
    2: "Processor time of the whole server process, one call after the other; then calls a second with 32 always under "
    "way. The tool of the plain server is a plain function; as a coroutine, which needs no thread, it is shown too.",
    3: "The answer to a create, which is on disk by then. The floor is a trivial call on our transport and a bare "
    "write, fsync, rename, and fsync of the folder of the same bytes, of `HEARTBEAT.md` too where there is one. "
    "The server leaves the last of these, the folder after `HEARTBEAT.md`, to the system. "
    "`heartbeat` has all its tasks in `HEARTBEAT.md`, `heartbeat, 50 active` has 50 there and all others done.",
    4: "Creates a second with 32 in flight, against the same server with one at a time.",
    5: "A get once another process has changed one task. The floor is `json.loads` of the file, a record made of each "
    "task, and the same get without a change. `heartbeat` reads `HEARTBEAT.md` again as well, which changed too.",
    6: "Memory that is in use (resident set) after three creates. A large request holds a text that is too long, and "
    "is refused.",
    7: "Medians of a create, the first get after it, the first page of the list after it, and a start until its first "
    "get is answered. `heartbeat` has no pages: it lists every task that is still to be done, here all of them.",
    8: "How long making the table takes, within the process.",
}
"""How it is measured, by number."""

_TOP: Final = """\
# Benchmarks

What the servers cost, as ratios to a plain `MCPServer` with one trivial tool, and to bare loops over the disk and over
JSON, taken in the same run. What stands in one row was taken in turn, round after round; the values are medians of
the rounds, and *of the least* is the ratio of the smallest values. No test asserts a time. Targets that are missed say
so.

```sh
python3 hatchw run bench                     # all of it, and this page anew: about ten minutes, on a quiet machine
python3 hatchw run bench --quick             # that everything works: numbers to be taken lightly
python3 hatchw run bench --only creates      # one part, printed
```

The servers are processes of the installed packages on stdio; each task has about 475 bytes in its store."""

_HEAD: Final = "| what | server | measured | floor | ratio | of the least | target | met |\n|" + " --- |" * 8

_VERDICTS: Final = {True: "yes", False: "**no**", None: "–"}


def summary(rows: Iterable[Row]) -> str:
    """Return a table with a row for each target, that of the server which comes off worst."""
    worst: dict[tuple[int, str], Row] = {}
    for row in rows:
        key = row.target, row.what
        if row.is_met is not None and (key not in worst or row.distance > worst[key].distance):
            worst[key] = row
    lines = [_line(row, f"{row.target}. ") for _, row in sorted(worst.items(), key=lambda item: item[0][0])]
    return "\n".join([_HEAD, *lines])


def report(rows: Sequence[Row], growth: Growth, command: str, folder: Path) -> str:
    """Return the whole report in Markdown; ``command`` is what made it, ``folder`` where the stores were."""
    facts = [f"| {name} | {value} |" for name, value in _facts(command, folder).items()]
    parts = [
        _TOP,
        "\n".join(["| this run | |\n| --- | --- |", *facts]),
        f"## Targets\n\n{_verdict(rows)}",
        summary(rows),
    ]
    return "\n\n".join([*parts, *_sections(rows, growth)]) + "\n"


def _facts(command: str, folder: Path) -> dict[str, str]:
    return {
        "command": f"`{command}`",
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "Python": platform.python_version(),
        **{name: version(name) for name in ("mcp", "pydantic", "anyio", "mcp-task-core")},
        "system": f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores, {_file_system(folder)}",
    }


def _file_system(folder: Path) -> str:
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
    above = [(len(point), kind) for point, kind in mounts if folder.resolve().is_relative_to(point)]
    return max(above)[1]


def _verdict(rows: Sequence[Row]) -> str:
    asked = [row for row in rows if row.is_met is not None]
    met = sum(row.is_met is True for row in asked)
    return f"{met} of {len(asked)} measurements meet their target. Of each kind the server that comes off worst:"


def _sections(rows: Sequence[Row], growth: Growth) -> Iterator[str]:
    for number, name in TARGETS.items():
        lines = [_line(row) for row in _by_what(rows) if row.target == number]
        if lines:
            yield f"## {number}. {name}\n\n{NOTES[number]}"
            yield "\n".join([_HEAD, *lines])
        elif number == 7 and growth:
            yield f"## {number}. {name}\n\n{NOTES[number]} The data: [growth.json](growth.json)."
            yield "![The growth of each operation with the number of tasks](growth.png)"
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
    sizes = [size for size in next(iter(growth["get"].values())) if str(size).startswith("1")]
    names = ["milliseconds, among", "server", *(f"{size:,}" for size in sizes)]
    head = f"| {' | '.join(names)} |\n|{' --- |' * len(names)}"
    lines = [
        f"| {operation} | {name} | {' | '.join(f'{points[size] * 1_000:,.1f}' for size in sizes)} |"
        for operation in OPERATIONS
        for name, points in growth[operation].items()
    ]
    return "\n".join([head, *lines])

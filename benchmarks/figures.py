"""Draws the figures of the README, from what the benchmarks have measured: ``hatch run figures``.

The measurements are the table of ``docs/why.md`` and ``growth.json``; a test fails while the picture shows others.
"""

import json
import math
import re
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from tests.servers import SERVERS

__all__ = ["PICTURE", "draw", "main"]

ROOT: Final = Path(__file__).parents[1]
PICTURE: Final = ROOT / "docs" / "figures.svg"

_PANEL: Final = 300
"""Width of a panel, and where its bars begin and end in it."""

_BARS: Final = (148, 238)
_LINE: Final = 24
_TOP: Final = 58
_ROW: Final = re.compile(
    r"\| (?P<name>\S+) \| (?P<seconds>[\d.]+) s \| .* \| (?P<saved>\d+) \| \*\*(?P<lost>\d+)\*\* \|"
)
_GROWING: Final = "tasks-v1, SQLite"

_STYLE: Final = """\
text { font: 13px system-ui, sans-serif; fill: #e6edf3 }
.title { font-weight: bold }
.ours { fill: #56d364 }
.other { fill: #8b949e }
"""
"""On its own dark background, so that it looks the same on light and dark pages."""


class Panel(NamedTuple):
    """A group of bars: what they measure, and the name, value and text of each; the first ones are ours."""

    title: str
    subtitle: str
    bars: list[tuple[str, float, str]]
    ours: int


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(draw(), "utf-8")


def draw() -> str:
    """Return the picture as SVG: deterministic, and without anything from elsewhere."""
    panels = [*_peers((ROOT / "docs" / "why.md").read_text("utf-8")), _growth()]
    height = _TOP + _LINE * max(len(panel.bars) for panel in panels) + 12
    width = _PANEL * len(panels)
    said = "; ".join(f"{panel.title} {panel.subtitle}: {_spoken(panel)}" for panel in panels)
    frame = f'viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"'
    lines = [
        f'<svg {frame} role="img" aria-label="{escape(said)}">',
        f"<style>\n{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>',
        *(line for number, panel in enumerate(panels) for line in _drawn(panel, number * _PANEL + 16)),
        "</svg>\n",
    ]
    return "\n".join(lines)


def _spoken(panel: Panel) -> str:
    return ", ".join(f"{name} {text}" for name, _, text in panel.bars)


def _drawn(panel: Panel, left: int) -> list[str]:
    start, end = _BARS
    most = max(value for _, value, _ in panel.bars)
    lines = [
        f'<text class="title" x="{left}" y="26">{panel.title}</text>',
        f'<text x="{left}" y="44">{panel.subtitle}</text>',
    ]
    for number, (name, value, text) in enumerate(panel.bars):
        y = _TOP + number * _LINE
        size = math.ceil((end - start) * value / most)
        kind = "ours" if number < panel.ours else "other"
        lines += [
            f'<text x="{left}" y="{y + 15}">{name}</text>',
            f'<rect class="{kind}" x="{left + start - 16}" y="{y + 4}" width="{size}" height="14" rx="2"/>',
            f'<text x="{left + start - 10 + size}" y="{y + 15}">{text}</text>',
        ]
    return lines


def _peers(page: str) -> list[Panel]:
    """Return the panels about the servers in the table: ours together, by the worst of them, and each of the others."""
    rows = [match.groupdict() for match in _ROW.finditer(page)]
    own = {record.command for record in SERVERS}
    ours, others = ([row for row in rows if (row["name"] in own) is is_own] for is_own in (True, False))
    if {row["name"] for row in ours} != own or {row["saved"] for row in rows} != {"100"}:
        raise ValueError("the table of docs/why.md has another form, or servers that did not save 100 tasks")
    names = [row["name"].removeprefix("@").partition("/")[2] or row["name"] for row in others]
    seconds = [max(float(row["seconds"]) for row in ours), *(float(row["seconds"]) for row in others)]
    lost = [max(int(row["lost"]) for row in ours), *(int(row["lost"]) for row in others)]
    labels = ["ours", *names]
    return [
        Panel(
            "Tasks lost, of 100 reported as saved",
            "by two agents on one list at once",
            [(name, value, str(value)) for name, value in zip(labels, lost, strict=True)],
            1,
        ),
        Panel(
            "Seconds to the list of tools",
            "from the start of the process",
            [(name, value, f"{value:g} s") for name, value in zip(labels, seconds, strict=True)],
            1,
        ),
    ]


def _growth() -> Panel:
    points = json.loads((ROOT / "benchmarks" / "growth.json").read_text("utf-8"))["create"][_GROWING]
    bars = [(f"{int(size):,} tasks", value, f"{value * 1_000:.1f} ms") for size, value in points.items()]
    return Panel("Time to add a task, to the disk", "tasks-v1-mcp, in SQLite, among", bars, len(bars))


if __name__ == "__main__":
    main()

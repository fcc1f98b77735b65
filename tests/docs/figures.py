"""Draws the figures of the README, from the table of ``docs/why.md`` and from ``growth.json``: ``hatch run figures``.

A test fails while the picture shows other values.
"""

import json
import math
import re
from html import escape
from typing import Final, NamedTuple

from tests.packaging.projects import ROOT
from tests.servers import SERVERS

__all__ = ["PICTURE", "Panel", "draw", "draw_panels"]

PICTURE: Final = ROOT / "docs" / "figures.svg"

_WIDTH, _LINE, _TOP = 300, 24, 58
"""The width of a panel, the height of a bar, and the place of the first."""

_START, _END = 148, 238
"""The places between which bars are drawn in a panel."""

_ROW: Final = re.compile(
    r"\| (?P<name>\S+) \| (?P<seconds>[\d.]+) s \| .* \| (?P<saved>\d+) \| \*\*(?P<lost>\d+)\*\* \|"
)

_STYLE: Final = """\
text { font: 13px system-ui, sans-serif; fill: #e6edf3 }
.title { font-weight: bold }
.ours { fill: #56d364 }
.other { fill: #8b949e }
"""
"""On its own dark background, so that it looks the same on light and dark pages."""


class Panel(NamedTuple):
    """A group of bars: the name, value and text of each; the first ``ours`` are ours."""

    title: str
    subtitle: str
    bars: list[tuple[str, float, str]]
    ours: int


def draw() -> str:
    """Return the picture of the README."""
    return draw_panels([*_peers((ROOT / "docs" / "why.md").read_text("utf-8")), _growth()])


def draw_panels(panels: list[Panel]) -> str:
    """Return panels side by side as SVG: deterministic, and without anything from elsewhere."""
    height = _TOP + _LINE * max(len(panel.bars) for panel in panels) + 12
    width = _WIDTH * len(panels)
    bars = [", ".join(f"{name} {text}" for name, _, text in panel.bars) for panel in panels]
    said = "; ".join(f"{it.title} {it.subtitle}: {text}" for it, text in zip(panels, bars, strict=True))
    lines = [
        f'<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="{escape(said)}">',
        f"<style>\n{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>',
        *(line for number, panel in enumerate(panels) for line in _drawn(panel, number * _WIDTH + 16)),
        "</svg>\n",
    ]
    return "\n".join(lines)


def _drawn(panel: Panel, left: int) -> list[str]:
    most = max(value for _, value, _ in panel.bars) or 1
    lines = [
        f'<text class="title" x="{left}" y="26">{panel.title}</text>',
        f'<text x="{left}" y="44">{panel.subtitle}</text>',
    ]
    for number, (name, value, text) in enumerate(panel.bars):
        y, size = _TOP + number * _LINE, math.ceil((_END - _START) * value / most)
        kind = "ours" if number < panel.ours else "other"
        lines += [
            f'<text x="{left}" y="{y + 15}">{name}</text>',
            f'<rect class="{kind}" x="{left + _START - 16}" y="{y + 4}" width="{size}" height="14" rx="2"/>',
            f'<text x="{left + _START - 10 + size}" y="{y + 15}">{text}</text>',
        ]
    return lines


def _peers(page: str) -> list[Panel]:
    """Return the panels about the servers in the table: the worst of ours, and each of the others."""
    rows = [match.groupdict() for match in _ROW.finditer(page)]
    own = {record.command for record in SERVERS}
    ours, others = ([row for row in rows if (row["name"] in own) is is_own] for is_own in (True, False))
    if {row["name"] for row in ours} != own or {row["saved"] for row in rows} != {"100"}:
        raise ValueError("the table of docs/why.md has another form, or servers that did not save 100 tasks")
    labels = ["ours", *(row["name"].removeprefix("@").partition("/")[2] or row["name"] for row in others)]
    seconds, lost = (
        [max(float(row[key]) for row in ours), *(float(row[key]) for row in others)] for key in ("seconds", "lost")
    )
    bars = [(name, value, f"{value:g}") for name, value in zip(labels, lost, strict=True)]
    times = [(name, value, f"{value:g} s") for name, value in zip(labels, seconds, strict=True)]
    return [
        Panel("Tasks lost, of 100 reported as saved", "by two agents on one list at once", bars, 1),
        Panel("Seconds to the list of tools", "from the start of the process", times, 1),
    ]


def _growth() -> Panel:
    document = json.loads((ROOT / "benchmarks" / "growth.json").read_text("utf-8"))
    points = document["create"]["tasks-v1, SQLite"]
    bars = [(f"{int(size):,} tasks", value, f"{value * 1_000:.1f} ms") for size, value in points.items()]
    return Panel("Time to add a task, to the disk", "tasks-v1-mcp, in SQLite, among", bars, len(bars))


if __name__ == "__main__":
    PICTURE.write_text(draw(), "utf-8")

"""The chart of a failover: a panel for each event, with the changes that were acknowledged in each second."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tests.failover.observe import BEFORE, BIN, Observation

__all__ = ["draw"]

COLUMNS: Final = 4
COLOURS: Final = {"http": "tab:blue", "store": "tab:green"}
"""The colour of each way to the tasks."""

PIXELS_PER_INCH: Final = 100


def draw(seen: Sequence[Observation], path: Path) -> None:
    """Draw the chart into a PNG file at ``path``."""
    names = list(dict.fromkeys(each.name for each in seen))
    rows = ceil(len(names) / COLUMNS)
    figure = Figure(figsize=(16, 2.6 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    for number, name in enumerate(names, start=1):
        _panel(figure.add_subplot(rows, COLUMNS, number), name, [each for each in seen if each.name == name])
    figure.savefig(path, dpi=PIXELS_PER_INCH)


def _panel(axes: Axes, name: str, seen: Sequence[Observation]) -> None:
    for each in seen:
        seconds = [number * BIN - BEFORE for number in range(len(each.rate))]
        rate = [count / BIN for count in each.rate]
        axes.step(seconds, rate, where="post", color=COLOURS[each.through], label=each.through, linewidth=1)
    axes.axvspan(0, max(each.ended for each in seen), color="tab:gray", alpha=0.15, linewidth=0)
    axes.set(title=name, xlabel="seconds", ylabel="changes a second", ylim=(0, None))
    axes.grid(visible=True, alpha=0.25)
    axes.legend(fontsize="small", loc="lower right")

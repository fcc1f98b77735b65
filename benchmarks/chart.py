"""The growth as a picture: one panel for each operation, both axes logarithmic."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.growth import FLOORS, OPERATIONS, PLAIN_NAME, Growth

__all__ = ["draw"]

COLOURS: Final = {
    "heartbeat": "tab:red",
    "heartbeat, 50 active": "tab:orange",
    "hierarchy": "tab:green",
    "tasks-v1": "tab:blue",
    PLAIN_NAME: "black",
    **dict.fromkeys(FLOORS.values(), "tab:gray"),
}
"""The colour of each line; floors are dashed."""

PIXELS_PER_INCH: Final = 100


def draw(growth: Growth, path: Path) -> None:
    """Draw the chart into a PNG file at ``path``."""
    figure = Figure(figsize=(12, 9), layout="constrained")
    FigureCanvasAgg(figure)
    for number, operation in enumerate(OPERATIONS, start=1):
        _panel(figure.add_subplot(2, 2, number), operation, growth[operation])
    figure.savefig(path, dpi=PIXELS_PER_INCH)


def _panel(axes: Axes, operation: str, lines: dict[str, dict[int, float]]) -> None:
    for name in sorted(lines, key=list(COLOURS).index):
        points = lines[name]
        is_floor = name == PLAIN_NAME or name in FLOORS.values()
        milliseconds = [seconds * 1_000 for seconds in points.values()]
        style = "--" if is_floor else "-"
        axes.plot(list(points), milliseconds, style, color=COLOURS[name], marker="." if is_floor else "o", label=name)
    axes.set(title=operation, xlabel="tasks in the store", ylabel="milliseconds, median", xscale="log", yscale="log")
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend(fontsize="small")

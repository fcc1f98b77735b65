"""The growth as a picture: one panel for each operation, both axes logarithmic."""

from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.growth import APPEND, FLOORS, OPERATIONS, SUBJECTS, Growth
from benchmarks.subjects import LABELS
from task_core.store import Engine

__all__ = ["draw"]

COLOURS: Final = dict(zip((subject.name for subject in SUBJECTS), ("tab:red", "tab:green", "tab:blue"), strict=True))
"""The colour of each server; SQLite has a solid line and JSON a dashed one, floors are dotted and black or grey."""

PIXELS_PER_INCH: Final = 100


def draw(growth: Growth, path: Path) -> None:
    """Draw the chart into a PNG file at ``path``."""
    figure = Figure(figsize=(19, 9), layout="constrained")
    FigureCanvasAgg(figure)
    for number, operation in enumerate(OPERATIONS, start=1):
        _panel(figure.add_subplot(2, 4, number), operation, growth[operation])
    figure.savefig(path, dpi=PIXELS_PER_INCH)


def _panel(axes: Axes, operation: str, lines: dict[str, dict[int, float]]) -> None:
    for name, points in lines.items():
        milliseconds = [seconds * 1_000 for seconds in points.values()]
        line, colour, marker = _style(name)
        axes.plot(list(points), milliseconds, linestyle=line, color=colour, marker=marker, label=name)
    axes.set(title=operation, xlabel="tasks in the store", ylabel="milliseconds, median", xscale="log", yscale="log")
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend(fontsize="small")


def _style(name: str) -> tuple[str, str, str]:
    """Return the style of a line, its colour, and the marker of its points."""
    if name in FLOORS:
        return ":", "black" if name == APPEND else "tab:gray", ""
    subject, _, engine = name.rpartition(", ")
    return "-" if engine == LABELS[Engine.SQLITE] else "--", COLOURS[subject], "o"

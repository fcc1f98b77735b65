"""The load as a picture: calls per second and busy cores, by the number of replicas."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.hosted.findings import Findings
from benchmarks.hosted.load import ONE_STATEMENT, REPLICAS, SAME_STATEMENTS, TENANTS, spell_replicas
from benchmarks.hosted.replicas import OPERATIONS

__all__ = ["draw_load"]

COLOURS: Final = dict(zip(TENANTS, ("tab:blue", "tab:red"), strict=True))
"""The colour of each number of tenants; replicas have a solid line, pgbench a dotted one."""

CORES: Final = {"replicas": "tab:green", "database": "tab:orange", "clients": "tab:purple", "others": "lightgray"}
"""Users of the cores, and the colour of each."""

PIXELS_PER_INCH: Final = 100


def draw_load(findings: Findings, path: Path) -> None:
    """Draw the chart into a PNG file at ``path``."""
    figure = Figure(figsize=(15, 9), layout="constrained")
    FigureCanvasAgg(figure)
    for number, operation in enumerate(OPERATIONS, start=1):
        _draw_calls(figure.add_subplot(2, 3, number), findings, operation)
        _draw_cores(figure.add_subplot(2, 3, number + 3), findings, operation)
    figure.savefig(path, dpi=PIXELS_PER_INCH)


def _draw_calls(axes: Axes, findings: Findings, operation: str) -> None:
    for tenants, colour in COLOURS.items():
        name = f"{tenants} tenant{'s' * (tenants > 1)}"
        rates = [findings.find(operation, tenants, spell_replicas(number)).median("calls") for number in REPLICAS]
        axes.plot(REPLICAS, rates, "o-", color=colour, label=f"replicas, {name}")
        for by, style in ((SAME_STATEMENTS, ":"), (ONE_STATEMENT, "--")):
            if by == SAME_STATEMENTS or operation == "create":
                rate = findings.find(operation, tenants, by).median("calls")
                axes.axhline(rate, linestyle=style, color=colour, label=f"{by}, {name}")
    axes.set(title=operation, xlabel="replicas", ylabel="calls per second", yscale="log", xticks=REPLICAS)
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend(fontsize="small")


def _draw_cores(axes: Axes, findings: Findings, operation: str) -> None:
    bars = [spell_replicas(number) for number in REPLICAS]
    loads = [findings.find(operation, max(TENANTS), by) for by in (*bars, SAME_STATEMENTS)]
    base = [0.0] * len(loads)
    for name, colour in CORES.items():
        heights = [load.median(name) for load in loads]
        axes.bar([*bars, "pgbench"], heights, bottom=base, color=colour, label=name)
        base = [below + height for below, height in zip(base, heights, strict=True)]
    axes.set(title=f"{operation}, {max(TENANTS)} tenants", ylabel="busy cores")
    axes.legend(fontsize="small")

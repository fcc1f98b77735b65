"""The page of the finish rates, its tables and its chart."""

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.finish_run import Outcome
from tests.docs.figures import Panel, draw_panels

__all__ = ["PAGE", "render_table", "write_page"]

PAGE: Final = Path(__file__).parents[1] / "docs" / "finish-rates.md"

_BLOCK: Final = re.compile(r"(<!-- from the run: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

_HEAD: Final = (
    *("list", "done", "lost", "done twice", "of them unreported", "too early", "claimed, not done", "turns"),
    *("interruptions", "sessions", "read", "before the first change: median", "most", "calls", "tools"),
)
_CHART_TEAM: Final = 4


def render_table(outcomes: Sequence[Outcome]) -> str:
    """Return the counts of one size of team as Markdown."""
    rows = [_HEAD, ("---",) + ("---:",) * (len(_HEAD) - 1), *map(_row, outcomes)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(one: Outcome) -> tuple[str, ...]:
    if one.why_not:
        return (one.condition, f"NOT TESTED: {one.why_not}", *[""] * (len(_HEAD) - 2))
    read = [size for size, _ in one.first] or [0]
    return (
        *(one.condition, f"{one.done} of {one.units}", f"{one.lost}", f"{one.twice}", f"{one.unreported}"),
        *(f"{one.early}", f"{one.claimed}", f"{one.turns:,}", f"{sum(one.interruptions.values())}"),
        *(f"{one.sessions}", f"{one.read / 1_000:,.0f} KB", f"{median(read):,.0f}", f"{max(read):,}"),
        *(f"{max((calls for _, calls in one.first), default=0)}", f"{one.tools:,}"),
    )


def write_page(outcomes: Sequence[Outcome], page: Path = PAGE) -> None:
    """Put the counts into their places on the page, and draw its chart beside it."""
    tested = [one for one in outcomes if not one.why_not]
    page.with_suffix(".svg").write_text(_chart([one for one in tested if one.team == _CHART_TEAM]), "utf-8")
    parts = {"tables": _tables(outcomes), "brief": _brief(tested), "losses": _losses(tested)}
    text = _BLOCK.sub(lambda found: f"{found[1]}\n{parts[found[2]]}\n\n{found[3]}", page.read_text("utf-8"))
    page.write_text(text, "utf-8")


def _tables(outcomes: Sequence[Outcome]) -> str:
    return "\n\n".join(
        f"### {'One agent' if size == 1 else f'{size} agents'}\n\n"
        + render_table([one for one in outcomes if one.team == size])
        for size in sorted({one.team for one in outcomes})
    )


def _chart(outcomes: Sequence[Outcome]) -> str:
    ordered = sorted(outcomes, key=lambda one: one.group != "ours")
    names = [one.condition.rpartition("/")[2].replace(" + ", ", ") for one in ordered]
    ours = sum(one.group == "ours" for one in ordered)
    values = {
        "Units done again": [float(one.twice) for one in ordered],
        "Units lost": [float(one.lost) for one in ordered],
        "Kilobytes read": [round(one.read / 1_000) for one in ordered],
    }
    return draw_panels(
        [
            Panel(
                title,
                f"by {_CHART_TEAM} agents on {ordered[0].units} units",
                [(name, value, f"{value:g}") for name, value in zip(names, found, strict=True)],
                ours,
            )
            for title, found in values.items()
        ]
    )


def _brief(outcomes: Sequence[Outcome]) -> str:
    found = [pair for one in outcomes if one.condition.endswith("extras") for pair in one.first]
    alone = [size for size, calls in found if calls == 1]
    most, calls = max(size for size, _ in found), max(calls for _, calls in found)
    return (
        f"{len(found):,} sessions began with `brief`. {len(alone):,} of them went on after this one call; the others "
        f"then claimed again what it showed as theirs, or took over what an agent that is gone had claimed. At most a "
        f"session read {most:,} bytes in {calls} calls before its first change, and the longest brief that was the "
        f"only call had {max(alone):,} bytes."
    )


def _losses(outcomes: Sequence[Outcome]) -> str:
    """Return a sentence for each size of team about what did better than the worst and best of ours."""
    lines = list[str]()
    for size in sorted({one.team for one in outcomes}):
        here = [one for one in outcomes if one.team == size]
        others = [one for one in here if one.group != "ours" and not one.lost]
        for one in here:
            if one.group == "ours":
                least = [it for it in others if it.read < one.read and it.twice <= one.twice]
                if least:
                    names = ", ".join(it.condition for it in least)
                    lines.append(f"- {one.condition}, team of {size}: {names} read less and repeated no more.")
    return "\n".join(lines) or "- None in this run."

"""Finish rates of agents that are interrupted, on many kinds of lists: ``hatch run finish [FOLDER] [--write]``.

FOLDER is where npm has installed the servers of other projects (see ``benchmarks.peers``); one that is not there is
shown as not tested. ``--write`` keeps the counts in ``finish.json`` and draws the page and its chart from them;
``--draw`` only draws. ``--quick`` runs two lists with few units. ``--model URL`` lets a real model work instead of the
script.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.finish_agent import Model
from benchmarks.finish_lists import CONDITIONS, Condition
from benchmarks.finish_run import Outcome, run
from benchmarks.pages import fill, table
from tests.docs.figures import Panel, draw_panels

UNITS: Final = 60
TEAMS: Final = (1, 2, 4, 8)
"""Agents on one list."""

DATA: Final = Path(__file__).with_suffix(".json")
PAGE: Final = Path(__file__).parents[1] / "docs" / "finish-rates.md"

_HEAD: Final = (
    *("list", "done", "lost", "done twice", "of them unreported", "too early", "claimed, not done", "turns"),
    *("interruptions", "sessions", "read", "before the first change: median", "most", "calls", "tools"),
)
_CHART_TEAM: Final = 4

_QUICK_UNITS: Final = 8
_QUICK: Final = ("TODO.md", "tasks-v1 + extras")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is asked for, and print a table for each size of team."""
    parser = argparse.ArgumentParser(prog="finish", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("folder", nargs="?", default="peers", help="where npm has installed other servers")
    parser.add_argument("--quick", action="store_true", help=f"two lists, {_QUICK_UNITS} units, one agent and two")
    parser.add_argument("--seed", type=int, default=1, help="of the plan and the interruptions")
    parser.add_argument("--only", action="append", metavar="LIST", help="one list; can be repeated")
    parser.add_argument("--write", action="store_true", help="keep the counts, and draw docs/finish-rates.md")
    parser.add_argument("--draw", action="store_true", help="draw the page from the counts of the last run")
    parser.add_argument("--model", metavar="URL", help="of an OpenAI-compatible API: a model works alone")
    parser.add_argument("--model-name", default="default", help="the name that the API has for the model")
    given = parser.parse_args(arguments)
    names = given.only or (_QUICK if given.quick else [one.name for one in CONDITIONS])
    conditions = [one for one in CONDITIONS if one.name in names]
    units = _QUICK_UNITS if given.quick else UNITS
    programs = Path(given.folder).resolve() / "node_modules" / ".bin"
    if given.draw:
        outcomes = [Outcome(**one) for one in json.loads(DATA.read_text("utf-8"))]
    else:
        teams = (1,) if given.model else TEAMS[:2] if given.quick else TEAMS
        model = Model(given.model, given.model_name, os.environ.get("OPENAI_API_KEY", "")) if given.model else None
        outcomes = run_all(conditions, teams, units=units, seed=given.seed, programs=programs, model=model)
    for size in sorted({one.team for one in outcomes}):
        print(render_table([one for one in outcomes if one.team == size]), end="\n\n")
    if given.write:
        DATA.write_text(json.dumps([asdict(one) for one in outcomes], separators=(",", ":")) + "\n", "utf-8")
    if given.write or given.draw:
        write_page(outcomes)


def run_all(
    conditions: Iterable[Condition],
    teams: Sequence[int],
    *,
    units: int,
    seed: int,
    programs: Path,
    model: Model | None = None,
) -> list[Outcome]:
    """Return the outcome of every list with every size of team; as many run at once as there are processors."""

    def one(condition: Condition, size: int) -> Outcome:
        foreign = condition.server if condition.group == "other" else None
        if foreign and not (programs / foreign.command[0]).exists():
            return Outcome(condition.name, condition.group, size, why_not="not installed")
        try:
            outcome = run(condition, size, units=units, seed=seed, programs=programs, model=model)
        except Exception as error:
            if not foreign:
                raise
            outcome = Outcome(
                condition.name, condition.group, size, why_not=f"failed in the run ({type(error).__name__})"
            )
        print(f"{condition.name}, {size}: {outcome.done} of {outcome.units}", file=sys.stderr)
        return outcome

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [*pool.map(lambda pair: one(*pair), [(it, size) for it in conditions for size in teams])]


def render_table(outcomes: Sequence[Outcome]) -> str:
    """Return the counts of one size of team as Markdown."""
    return table(_HEAD, map(_row, outcomes), "---:")


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
    fill(page, tables=_tables(outcomes), brief=_brief(tested), losses=_losses(tested))


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


if __name__ == "__main__":
    main()

"""The page of the finish rates, its tables and its chart."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.finish_agent import MEMORY
from benchmarks.finish_run import HAZARD, TURNS, Outcome
from tests.docs.figures import Panel, draw_panels

__all__ = ["PAGE", "render_table", "write_page"]

PAGE: Final = Path(__file__).parents[1] / "docs" / "finish-rates.md"

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
    """Write the page and, beside it, its chart."""
    tested = [one for one in outcomes if not one.why_not]
    shown = [one for one in tested if one.team == _CHART_TEAM]
    chart = page.with_suffix(".svg")
    chart.write_text(_chart(shown), "utf-8")
    tables = [
        f"### {'One agent' if size == 1 else f'{size} agents'}\n\n"
        + render_table([one for one in outcomes if one.team == size])
        for size in sorted({one.team for one in outcomes})
    ]
    page.write_text(
        _TEXT.format(
            memory=MEMORY,
            turns=TURNS,
            hazard=sum(HAZARD.values()),
            chart=chart.name,
            tables="\n\n".join(tables),
            brief=_brief(tested),
            losses=_losses(tested),
            units=max(one.units for one in tested),
        ),
        "utf-8",
    )


def _chart(outcomes: Sequence[Outcome]) -> str:
    ordered = sorted(outcomes, key=lambda one: one.group != "ours")
    names = [one.condition.rpartition("/")[2] for one in ordered]
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
    single = sum(calls == 1 for _, calls in found)
    return (
        f"{len(found):,} sessions began with `brief`. {single:,} of them went on after this one call; the others then "
        f"claimed what the brief showed as claimed, to find out whether it was theirs. At most a session read "
        f"{max(size for size, _ in found):,} bytes in {max(calls for _, calls in found)} calls before its first change, "
        f"and the longest brief that was the only call had {max(size for size, calls in found if calls == 1):,} bytes."
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


_TEXT: Final = """# Finish rates

Agents that are cut off, cleared and killed work through {units} units, alone and in teams, with each kind of list. This page was
written by `python3 hatchw run finish peers --write`, all of it in one run.

![Units done again, units lost, and kilobytes read, by list]({chart})

## The method

- A unit is a line in a file that only the benchmark writes, so the truth is known. A unit needs up to two earlier ones, and takes 1 to 8 turns.
- One script plays every agent. It remembers {memory:,} bytes, and what it reads pushes out what it read first. It knows only its prompt and what tools
  answer; for each list an adapter has the calls that list, start, finish and claim. No model is involved.
- All agents of a team act in turns: all send their calls, then all read their answers. After {turns} turns per unit, for all
  agents together and without those in which they wait, the run ends.
- In each turn an agent is interrupted with a chance of {hazard:.1%}, in one of three ways, equally often. *Cut off*: the client is closed while a call
  is under way; the agent goes on with its memory. *Cleared*: its memory is lost, the server stays. *Killed*: `kill -9` of the server, and the
  memory is lost. The seed decides when; the same seed gives the same interruptions for all lists for as long as their agents take as many turns.
- *No list*: each agent works through a fixed share of the plan, which it reads again in each session. *TODO.md*: each edit reads the whole file, then replaces it.
  Our servers run with their usual tools, and with `TASK_EXTRA_TOOLS=all` ("extras"), where agents begin with `brief` and use claims.
- Without claims nobody knows whether a task in progress still has an agent. An agent alone takes it up again; one in a team waits for six turns and
  then takes it.

## The counts

*Done twice* counts each repetition. *Unreported* are those whose agent was interrupted after the work and before its report, which no list can
prevent. *Too early* are units done before one that they need. *Claimed, not done* are units that the list shows as done and that nobody did. *Read*
counts the answers of the list, or the plan. *Tools* are the bytes of the descriptions of the tools, which a client gives to the model in addition. The
columns *before the first change* say what a session reads, in bytes and calls, before its first claim, start, finish or work.

{tables}

## One call is enough to go on

{brief}

## Where we lose

Another list without a lost unit read less, and repeated no more units, than these of ours:

{losses}

One run has few interruptions, so differences of one or two units between lists mean little. Repeat it with other seeds.

## Repeat it

```sh
npm install --prefix peers task-master-ai@0.43.1 backlog.md@1.52.0 @kazuph/mcp-taskmanager@1.1.1 @modelcontextprotocol/server-memory@2026.8.31
python3 hatchw run finish peers --seed 1
python3 hatchw run finish --quick
```

With `--model URL` a real model works instead of the script: URL is the base of an OpenAI-compatible API (`http://127.0.0.1:8080/v1`), `--model-name` is what it
calls the model, and `OPENAI_API_KEY` is sent if it is set. The model works alone, gets the tools of the list and `work`, and is cleared at random.
"""

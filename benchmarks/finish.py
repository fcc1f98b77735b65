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
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.finish_agent import Agent
from benchmarks.finish_lists import CONDITIONS, Condition
from benchmarks.finish_model import Model, ModelAgent
from benchmarks.finish_page import render_table, write_page
from benchmarks.finish_run import MakeAgent, Outcome, run

__all__ = ["TEAMS", "UNITS", "main", "run_all"]

UNITS: Final = 60
TEAMS: Final = (1, 2, 4, 8)
"""Agents on one list."""

DATA: Final = Path(__file__).with_suffix(".json")

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
    """Return the outcome of every list with every size of team; as many run at once as there are processors.

    A model plays the agents if there is one, else the script.
    """
    make_agent: MakeAgent | None = partial(_play, model) if model else None

    def one(condition: Condition, size: int) -> Outcome:
        foreign = condition.server if condition.group == "other" else None
        if foreign and not (programs / foreign.command[0]).exists():
            return Outcome(condition.name, condition.group, size, why_not="not installed")
        try:
            outcome = run(condition, size, units=units, seed=seed, programs=programs, make_agent=make_agent)
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


def _play(model: Model, agent: Agent, tools: list[dict[str, Any]]) -> ModelAgent:
    return ModelAgent(agent.number, agent.team, agent.adapter, agent.plan, model=model, tools=tools)


if __name__ == "__main__":
    main()

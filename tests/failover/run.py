"""Fail over again and again under load, and report what became of every change (HO-10).

``python3 hatchw run failover`` runs every event; ``--event killed`` only those with this word in their names. Clients
use the service over HTTP, or the engine itself with ``--through store``. As root, each machine is in a network of its
own and can be cut off; otherwise all share the loopback address, and the events that need a network are left out.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Final

from examples.hosted.database import store_url
from examples.hosted.layout import MEMBERS, NODES, REPLICAS, Layout
from examples.hosted.main import Deployment
from examples.hosted.passwords import SERVER
from examples.hosted.reveal import reveal_programs
from examples.hosted.services import ask_for_token, issuer
from tests.failover.channels import Channel, HttpChannel, StoreChannel
from tests.failover.events import CUT, EVENTS, Event, Stage
from tests.failover.network import HOSTS, Network, is_possible
from tests.failover.observe import Observation, Timing, observe
from tests.failover.report import report

__all__ = ["main"]

_UNLIMITED: Final = {
    "TASK_CALLS_PER_SECOND": "10000",
    "TASK_CALLS_BURST": "10000",
    "TASK_CALLS_IN_FLIGHT": "100",
    "TASK_QUOTA_TASKS": "1000000",
    "LOG_LEVEL": "WARNING",
}
"""Settings with which one tenant may send all of the load."""

THROUGH: Final = ("http", "store")


def main() -> None:
    """Run the events that are asked for; the exit code is 1 if an answer was not true."""
    options = _parser().parse_args()
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # that servers are gone is the point
    has_network = is_possible()
    reveal_programs(Path(tempfile.gettempdir()), has_network=has_network)
    with tempfile.TemporaryDirectory(prefix="failover-") as folder:
        layout = Layout(Path(folder), hosts=HOSTS if has_network else {})
        layout.create()
        stage = _stage(layout, has_network=has_network)
        try:
            seen = _run(stage, options.through, options.event)
        finally:
            stage.deployment.stop()
    if options.report:
        from tests.failover.chart import draw  # noqa: PLC0415 - needs matplotlib, which the tests do not

        options.report.write_text(report(seen), "utf-8")
        draw(seen, options.report.with_suffix(".png"))
    sys.exit(not all(each.is_sound for each in seen))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--through", choices=[*THROUGH, "both"], default="http", help="default: %(default)s")
    parser.add_argument("--event", default="", help="a part of the names of the events (default: all)")
    parser.add_argument("--report", type=Path, help="a Markdown file for the result; the chart goes beside it")
    return parser


def _stage(layout: Layout, *, has_network: bool) -> Stage:
    if not has_network:
        return Stage(Deployment(layout, settings=_UNLIMITED), None)
    network = Network()
    for machine in (*MEMBERS, *NODES, *REPLICAS):
        network.add(machine)
    deployment = Deployment(layout, settings=_UNLIMITED, within=network.within)
    # The URL of the issuer names the loopback address, so each server has one on its own.
    deployment.front[1:1] = [issuer(layout, machine) for machine in REPLICAS]
    return Stage(deployment, network)


def _run(stage: Stage, through: str, part: str) -> list[Observation]:
    deployment, layout = stage.deployment, stage.deployment.layout
    (deployment.start_database if through == "store" else deployment.start)()
    seen = []
    ways = THROUGH if through == "both" else (through,)
    for number, (way, event) in enumerate(product(ways, EVENTS)):
        if part not in event.name or not _is_possible(event, way, stage):
            continue
        name = f"e{number}"
        seen.append(observe(stage, event, way, _connector(layout, way, name), Timing(), name))
        print(_line(seen[-1]), flush=True)
    return seen


def _is_possible(event: Event, way: str, stage: Stage) -> bool:
    return not (event.is_about_servers and way == "store") and (event.how != CUT or stage.network is not None)


def _connector(layout: Layout, through: str, tenant: str) -> Callable[[int], Channel]:
    """Return what connects each client of an event; they share a list that no other event has."""
    if through == "store":
        os.environ["PGPASSFILE"] = str(layout.folder / f"{SERVER}.pgpass")
        return lambda _: StoreChannel(store_url(layout), tenant)
    token = ask_for_token(layout, tenant)
    return lambda _: HttpChannel(layout.public_url, token)


def _line(seen: Observation) -> str:
    tally = seen.tally
    parts = [
        f"{seen.name}: {tally.acknowledged} acknowledged, {tally.present} present once",
        f"{len(tally.lost)} lost, {len(tally.doubled)} doubled",
        f"{len(tally.denied)} denied, {len(tally.reversed)} reversed",
        f"{tally.unknown} unknown, of them {tally.carried_out} carried out, {tally.refused} refused",
        f"gap {seen.gap:.1f} s, slowest {seen.slowest:.1f} s",
        *(f"\n    {count} x {reason}" for reason, count in seen.reasons.items()),
    ]
    return "; ".join(parts)


if __name__ == "__main__":
    main()

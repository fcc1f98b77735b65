"""Fail over again and again under load, and report what became of every change (HO-10).

``python3 hatchw run failover`` runs every event; ``--event killed`` only those with this word in their names. Clients
use the service over HTTP, or the engine itself with ``--through store``. As root, each machine is in a network of its
own and can be cut off; otherwise all share the loopback address, and the events that need a network are left out.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
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
            seen = _run(stage, options.through, [event for event in EVENTS if options.event in event.name])
        finally:
            stage.deployment.stop()
    options.data.write_text(json.dumps([asdict(each) for each in seen], indent=1), "utf-8")
    sys.exit(not all(each.tally.is_sound for each in seen))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--through", choices=THROUGH, default="http", help="default: %(default)s")
    parser.add_argument("--event", default="", help="a part of the names of the events (default: all)")
    parser.add_argument("--data", type=Path, default=Path("failover.json"), help="for what was seen (default: %(default)s)")
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


def _run(stage: Stage, through: str, events: list[Event]) -> list[Observation]:
    deployment = stage.deployment
    deployment.start_database()
    if through == "http":
        deployment.start()
    seen = []
    for number, event in enumerate(events):
        if (event.is_about_servers and through == "store") or (event.how == CUT and not stage.network):
            continue
        observation = observe(stage, event, through, _connector(stage.deployment.layout, through, number), Timing(), f"e{number}")
        seen.append(observation)
        print(_line(observation), flush=True)
    return seen


def _connector(layout: Layout, through: str, number: int) -> Callable[[int], Channel]:
    """Return what connects each client of an event; they share a list that no other event has."""
    tenant = f"event{number}"
    if through == "store":
        os.environ["PGPASSFILE"] = str(layout.folder / f"{SERVER}.pgpass")
        return lambda _: StoreChannel(store_url(layout), tenant)
    token = ask_for_token(layout, tenant)
    return lambda _: HttpChannel(layout.public_url, token)


def _line(seen: Observation) -> str:
    tally = seen.tally
    parts = [
        f"{seen.name}: {tally.acknowledged} acknowledged, {tally.present} present once",
        f"{len(tally.lost)} lost, {len(tally.doubled)} doubled, {len(tally.denied)} denied, {len(tally.reversed)} reversed",
        f"{tally.unknown} unknown, of them {tally.carried_out} carried out, {tally.refused} refused",
        f"gap {seen.gap:.1f} s, slowest {seen.slowest:.1f} s",
        *(f"\n    {count} x {reason}" for reason, count in seen.reasons.items()),
    ]
    return "; ".join(parts)


if __name__ == "__main__":
    main()

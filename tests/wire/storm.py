"""Kills and stops servers at random moments and checks that nothing they had acknowledged is lost (D2, D3, C1, C3, C5).

``python tests/wire/storm.py [--kills 1000] [--engine sqlite] [--seed N]`` runs it for long; the tests run a short form.
With ``--claims [--seconds 90]`` it is a storm of claims.
Several clients work on one store at a time, each through servers of its own that are killed with calls under way, or
are stopped for longer than others wait for the lock.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from threading import Lock
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.postgres import stop_shared_server
from tests.wire.claim_storm import claim_storm
from tests.wire.storm_client import Counts, StormClient
from tests.wire.storm_report import claim_table, report, report_claims, write_page
from tests.wire.storm_servers import ALL_ENGINES, SERVERS, Kind, TasksV1

__all__ = ["Result", "storm"]

KILLS_A_STORE: Final = 25
"""Kills over one store, so that it stays as small as a person's is, and is checked whole again and again."""


@dataclass
class Result:
    """What storms over the stores of one server on one engine showed."""

    kind: Kind
    stores: int = 0
    tasks: int = 0
    """Tasks that the stores held at the end."""
    slowest: float = 0.0
    """Seconds that the first create took after the last kill, at the most."""
    seconds: float = 0.0
    counts: Counts = field(default_factory=Counts)


class Granted:
    """Grants so many kills, whichever client asks."""

    def __init__(self, kills: int) -> None:
        self._left = kills
        self._guard = Lock()

    def __call__(self) -> bool:
        """Return whether one more is granted."""
        with self._guard:
            self._left -= 1
            return self._left >= 0


def storm(kind: Kind, folder: Path, kills: int, processes: int, rng: Random) -> Result:
    """Kill ``kills`` servers over one store in ``folder``, up to ``processes`` at work at a time, and check all.

    Raises:
        AssertionError: something acknowledged is gone, something is left over, or the files disagree.
    """
    work, log = folder / "work", folder / "log"
    kind.prepare(work)
    clients = [StormClient(kind, work, log, f"c{number}", Random(rng.random())) for number in range(processes)]
    granted = Granted(kills)
    with ThreadPoolExecutor(processes) as pool:
        for running in [pool.submit(client.run, granted) for client in clients]:
            running.result()
    return _checked(kind, clients, work, log)


def _checked(kind: Kind, clients: list[StormClient], folder: Path, log: Path) -> Result:
    """Check a store that nobody uses any more, also as a new server sees it."""
    result = Result(kind, stores=1)
    last = StormClient(kind, folder, log, "last", Random(0))
    process = last.start()
    process.greet()
    started = time.monotonic()
    change = kind.create("last-0", lambda: "last-1")
    process.call(change.tool, **change.arguments)
    result.slowest = time.monotonic() - started
    listed = kind.listed(process)
    process.close()
    for client in clients:
        client.settle()
        result.counts.add(client.counts)
    stored = kind.stored(folder)
    result.tasks = len(stored)
    assert listed == [seen.id for seen in stored]
    known = {"last-0"}.union(*(client.ledger.tasks for client in clients))
    assert sorted(seen.token for seen in stored) == sorted(known)
    kind.check_end(folder, [start for client in clients for start in client.ledger.starts])
    assert {path.name for path in folder.iterdir()} <= kind.kept
    return result


def storms(kind: Kind, kills: int, processes: int, seed: int) -> Result:
    """Run storms over one new store after the other, and return what all of them showed."""
    total = Result(kind)
    started = time.monotonic()
    for number in count():
        some = min(KILLS_A_STORE, kills - total.counts.kills)
        if not some:
            break
        with tempfile.TemporaryDirectory() as folder:
            seen = storm(kind, Path(folder), some, processes, Random(f"{seed} {kind} {number}"))
        total.stores += 1
        total.tasks += seen.tasks
        total.slowest = max(total.slowest, seen.slowest)
        total.counts.add(seen.counts)
    total.seconds = time.monotonic() - started
    return total


def claim_storms(engines: Sequence[str], processes: int, seconds: float, seed: int, page: Path | None) -> None:
    """Run a storm of claims on each engine, and print what they came to."""
    results = []
    try:
        for engine in engines:
            with tempfile.TemporaryDirectory() as folder:
                kind = TasksV1(engine)
                results.append(claim_storm(kind, Path(folder), processes, seconds, Random(f"{seed} {engine}")))
    finally:
        stop_shared_server()
    print(claim_table(results), flush=True)
    if page:
        write_page(page, report_claims(results, seconds, seed))


def main() -> None:
    """Run storms over the servers that are asked for and print what they showed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--server", choices=[*SERVERS, "all"], default="all", help="default: %(default)s")
    parser.add_argument("--engine", choices=[*ALL_ENGINES, "all"], default="all", help="default: %(default)s")
    parser.add_argument("--kills", type=int, default=1000, help="in all (default: %(default)s)")
    parser.add_argument("--processes", type=int, help="at work at a time (default: 4, 8 with --claims)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the present second")
    parser.add_argument("--claims", action="store_true", help="let processes of tasks-v1 claim tasks instead")
    parser.add_argument("--seconds", type=float, default=90, help="of claims on each engine (default: %(default)s)")
    parser.add_argument("--report", type=Path, help="a Markdown file for the result")
    options = parser.parse_args()
    servers = list(SERVERS) if options.server == "all" else [options.server]
    engines = ALL_ENGINES if options.engine == "all" else [options.engine]
    if options.claims:
        claim_storms(engines, options.processes or 8, options.seconds, options.seed, options.report)
        return
    processes = options.processes or 4
    kinds = [SERVERS[server](engine) for server in servers for engine in engines]
    shares = [len(range(start, options.kills, len(kinds))) for start in range(len(kinds))]
    results = []
    try:
        for kind, kills in zip(kinds, shares, strict=True):
            results.append(storms(kind, kills, processes, options.seed))
            print(_line(options.seed, results[-1]), flush=True)
    finally:
        stop_shared_server()
    if options.report:
        write_page(options.report, report(results, processes, options.seed))


def _line(seed: int, result: Result) -> str:
    counts = result.counts
    told = [
        f"{result.kind}, seed {seed}: {counts.kills} kills, {counts.pauses} stops, {counts.calls} calls",
        f"{counts.acknowledged} acknowledged, {counts.locked} refused as locked, {counts.unanswered} unanswered",
        f"0 lost, 0 left over, in {result.seconds:.0f} s",
        f"slowest first create after the kills {result.slowest:.2f} s",
    ]
    return "; ".join(told)


if __name__ == "__main__":
    main()

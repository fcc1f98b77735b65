"""Load on 1, 2 and 4 replicas, for 1 and 100 tenants, beside pgbench with the same statements (HO-11)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import median
from typing import Final

from benchmarks.bench import Bench
from benchmarks.hosted.client import Job, Outcome, run
from benchmarks.hosted.database import Site, copy_list, fill, open_database
from benchmarks.hosted.pgbench import run_script
from benchmarks.hosted.recording import record_calls
from benchmarks.hosted.replicas import OPERATIONS, PATH, calls_of, headers_of, serve_replicas
from benchmarks.hosted.scripts import FIRST_TENANT, Script, as_one_statement, script_of
from benchmarks.hosted.usage import OTHERS, Meter
from benchmarks.series import rounds_of
from tests.hosted.service import Issuer, start_issuer
from tests.wire.served import Served

__all__ = [
    "CLIENTS",
    "ONE_STATEMENT",
    "REPLICAS",
    "SAME_STATEMENTS",
    "TASKS",
    "TENANTS",
    "Load",
    "Throughput",
    "measure_load",
    "spell_replicas",
]

TENANTS: Final = (1, 100)

REPLICAS: Final = (1, 2, 4)

TASKS: Final = 1_000
"""Tasks of each tenant before the load begins."""

CLIENTS: Final = 16
"""Calls that are always under way, of all tenants together."""

SAME_STATEMENTS: Final = "pgbench, the same statements"
ONE_STATEMENT: Final = "pgbench, one statement"

_SPREAD: Final = 10
"""Tasks of each tenant that clients ask for."""


@dataclass(frozen=True)
class Throughput:
    """The calls of one repetition; cores are seconds of the processor in each second."""

    calls: float
    """calls in each second"""
    p95: float
    """seconds in which 95 of 100 calls were answered"""
    replicas: float
    """cores that the replicas used"""
    database: float
    """cores that PostgreSQL used"""
    clients: float
    """cores that whoever sent the calls used"""
    others: float
    """cores that everything else on the machine used"""


@dataclass(frozen=True)
class Load:
    """One operation, carried by replicas or by pgbench, round by round."""

    operation: str
    tenants: int
    by: str
    rounds: Sequence[Throughput]

    def median(self, name: str) -> float:
        """Return the median of one figure of the rounds."""
        return median(getattr(each, name) for each in self.rounds)


def measure_load(bench: Bench) -> list[Load]:
    """Return every combination, all measured in turn on one server."""
    with open_database() as site, start_issuer() as issuer:
        users = [str(number) for number in range(1, max(TENANTS) + 1)]
        tasks = bench.pick(TASKS, 50)
        fill(site.url, issuer.tenant(users[0]), tasks)
        names = [str(FIRST_TENANT + number) for number in range(max(TENANTS))]
        copy_list(site, issuer.tenant(users[0]), [*map(issuer.tenant, users[1:]), *names])
        scripts = _scripts(site, issuer, users[0])
        with serve_replicas(site.url, issuer, max(REPLICAS)) as replicas:
            stage = _Stage(site, replicas, [issuer.token(user) for user in users], bench.pick(4.0, 1.0), tasks)
            works = {**_pgbench_works(stage, scripts), **_replica_works(stage)}
            found = rounds_of(works, bench.pick(5, 1), seconds=bench.pick(1200, 60), warm_up=bench.pick(1, 0))
    return [Load(operation, tenants, by, rounds) for (operation, tenants, by), rounds in found.items()]


_Key = tuple[str, int, str]
_Works = dict[_Key, Callable[[], Throughput]]


@dataclass(frozen=True)
class _Stage:
    """The shared set-up of every measurement."""

    site: Site
    replicas: Sequence[Served]
    tokens: Sequence[str]
    """of each tenant"""
    seconds: float
    tasks: int

    def observe(self, work: Callable[[], Outcome]) -> Throughput:
        """Return what came of ``work``, and which cores were busy meanwhile."""
        replicas = [replica.process.pid for replica in self.replicas]
        meter, started = Meter({"replicas": replicas, "database": [self.site.server.pid]}), time.monotonic()
        outcome = work()
        used, elapsed = meter.read(), time.monotonic() - started
        return Throughput(
            calls=outcome.calls / outcome.seconds,
            p95=outcome.p95,
            replicas=used["replicas"] / outcome.seconds,
            database=used["database"] / outcome.seconds,
            clients=outcome.cpu / outcome.seconds,
            others=max(used[OTHERS] - outcome.cpu, 0.0) / elapsed,
        )


def _scripts(site: Site, issuer: Issuer, user: str) -> dict[str, Script]:
    recorded = {operation: record_calls(site, issuer, user, operation) for operation in OPERATIONS}
    recorded[ONE_STATEMENT] = as_one_statement(recorded["create"])
    return {
        name: script_of(calls, issuer.tenant(user), is_new=name in {"create", ONE_STATEMENT})
        for name, calls in recorded.items()
    }


def _pgbench_works(stage: _Stage, scripts: Mapping[str, Script]) -> _Works:
    run_one = partial(run_script, stage.site, clients=CLIENTS, seconds=stage.seconds, tasks=stage.tasks)
    works: _Works = {}
    for operation, tenants in product(OPERATIONS, TENANTS):
        same = partial(run_one, script=scripts[operation], tenants=tenants)
        works[operation, tenants, SAME_STATEMENTS] = partial(stage.observe, same)
    for tenants in TENANTS:
        one = partial(run_one, script=scripts[ONE_STATEMENT], tenants=tenants, is_walled=False)
        works["create", tenants, ONE_STATEMENT] = partial(stage.observe, one)
    return works


def _replica_works(stage: _Stage) -> _Works:
    works: _Works = {}
    for operation, tenants, number in product(OPERATIONS, TENANTS, REPLICAS):
        job = _job(stage, operation, tenants, number)
        works[operation, tenants, spell_replicas(number)] = partial(stage.observe, partial(run, job))
    return works


def spell_replicas(number: int) -> str:
    """Return how the report calls this many replicas."""
    return f"{number} replica{'s' * (number > 1)}"


def _job(stage: _Stage, operation: str, tenants: int, number: int) -> Job:
    bodies = [headers_of(call) for call in calls_of(operation, range(1, _SPREAD + 1))]
    requests = [(token, body) for body, _ in bodies for token in stage.tokens[:tenants]]
    addresses = [replica.address for replica in stage.replicas[:number]]
    return Job(stage.seconds, CLIENTS, addresses, PATH, bodies[0][1], requests)

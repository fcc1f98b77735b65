"""The load that replicas of tasks-v1-mcp carry, beside pgbench with the same statements (HO-11)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import median
from typing import Final

import psutil

from benchmarks.bench import Bench
from benchmarks.hosted.client import Job, Outcome, run
from benchmarks.hosted.database import Site, copy_list, fill, open_database
from benchmarks.hosted.pgbench import FIRST_TENANT, ONE_STATEMENT, run_script
from benchmarks.series import rounds_of
from benchmarks.subjects import TASKS_V1, Call
from tests.hosted.service import Issuer, start_issuer
from tests.wire.served import PUBLIC_URL, Served, modern, name_headers, serving

__all__ = ["CLIENTS", "OPERATIONS", "REPLICAS", "SAME", "SINGLE", "TASKS", "TENANTS", "Load", "measure_load"]

TENANTS: Final = (1, 100)

REPLICAS: Final = {1: "1 replica", 2: "2 replicas", 4: "4 replicas"}
"""Numbers of replicas, as the report calls them."""

TASKS: Final = 1_000
"""Tasks of each tenant before the load begins."""

CLIENTS: Final = 16

OPERATIONS: Final[Mapping[str, Sequence[Call]]] = {
    "get": [TASKS_V1.get(str(number)) for number in range(1, 11)],
    "list page": [TASKS_V1.page],
    "create": [TASKS_V1.create],
}
"""The calls of each operation, which clients send in turn."""

SAME: Final = "pgbench, the same statements"
SINGLE: Final = f"pgbench, {ONE_STATEMENT}"

_SETTINGS: Final = {
    "TASK_PUBLIC_URL": PUBLIC_URL,
    "TASK_ALLOWED_HOSTS": "127.0.0.1",
    "TASK_CALLS_PER_SECOND": "1000000",
    "TASK_CALLS_BURST": "1000000000",
    "TASK_CALLS_IN_FLIGHT": "100",
    "TASK_QUOTA_TASKS": "1000000000",
    "TASK_QUOTA_BYTES": "1000000000000",
}
"""Limits that no tenant reaches: the load shows what the service can do, not what it grants."""


@dataclass(frozen=True)
class _Throughput:
    """One repetition of a load: calls per second, seconds in which 95 of 100 are answered, and the cores in use."""

    calls: float
    p95: float
    replicas: float
    """Processor seconds of the replicas in each second."""
    database: float
    """The same of PostgreSQL."""


@dataclass(frozen=True)
class Load:
    """One operation, carried by replicas or by pgbench, round by round."""

    operation: str
    tenants: int
    by: str
    rounds: Sequence[_Throughput]

    def median(self, name: str) -> float:
        """Return the median of one figure of the rounds."""
        return median(getattr(each, name) for each in self.rounds)


def measure_load(bench: Bench) -> list[Load]:
    """Return every combination, all measured in turn on one server."""
    seconds, tasks = bench.pick(4.0, 0.1), bench.pick(TASKS, 50)
    with open_database() as site, start_issuer() as issuer, ExitStack() as stack:
        users = [str(number) for number in range(1, max(TENANTS) + 1)]
        fill(site.url, issuer.tenant(users[0]), tasks)
        names = [str(FIRST_TENANT + number) for number in range(max(TENANTS))]
        copy_list(site, issuer.tenant(users[0]), [*map(issuer.tenant, users[1:]), *names])
        settings = {**_SETTINGS, "TASK_STORE": site.url, "TASK_AUTH_ISSUER": issuer.url}
        command = TASKS_V1.record.module_command
        replicas = [stack.enter_context(serving(command, settings)) for _ in range(max(REPLICAS))]
        works: dict[tuple[str, int, str], Callable[[], _Throughput]] = {}
        for operation, tenants in product(OPERATIONS, TENANTS):
            pgbench = partial(run_script, site, clients=CLIENTS, seconds=seconds, tenants=tenants, tasks=tasks)
            works[operation, tenants, SAME] = partial(_observe, site, replicas, partial(pgbench, operation))
            if operation == "create":
                works[operation, tenants, SINGLE] = partial(_observe, site, replicas, partial(pgbench, ONE_STATEMENT))
            for number, label in REPLICAS.items():
                job = _job(operation, replicas[:number], issuer, users[:tenants], seconds)
                works[operation, tenants, label] = partial(_observe, site, replicas, partial(run, job))
        found = rounds_of(works, bench.pick(5, 1), seconds=bench.pick(1200, 60), warm_up=bench.pick(1, 0))
    return [Load(operation, tenants, by, rounds) for (operation, tenants, by), rounds in found.items()]


def _job(operation: str, replicas: Sequence[Served], issuer: Issuer, users: Sequence[str], seconds: float) -> Job:
    messages = [modern(call.tool, json.dumps({**call.arguments})) for call in OPERATIONS[operation]]
    requests = [(issuer.token(user), body.decode()) for body, _ in messages for user in users]
    headers = name_headers(messages[0][1])
    return Job(seconds, CLIENTS, [replica.address for replica in replicas], "/mcp", headers, requests)


def _observe(site: Site, replicas: Sequence[Served], work: Callable[[], Outcome]) -> _Throughput:
    """Return the outcome of ``work``, and the cores that were busy meanwhile."""
    groups = [[replica.process.pid for replica in replicas], [site.server.pid]]
    before = [sum(map(_processor_seconds, pids)) for pids in groups]
    outcome = work()
    used = [sum(map(_processor_seconds, pids)) - start for pids, start in zip(groups, before, strict=True)]
    return _Throughput(outcome.calls / outcome.seconds, outcome.p95, *(each / outcome.seconds for each in used))


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of those that it has started, ended ones too."""
    root = psutil.Process(pid)
    times = [process.cpu_times() for process in [root, *root.children(recursive=True)]]
    return sum(each.user + each.system for each in times) + times[0].children_user + times[0].children_system

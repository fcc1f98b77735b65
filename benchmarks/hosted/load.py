"""The load that replicas of tasks-v1-mcp carry, beside pgbench with the same statements (HO-11)."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from http.client import HTTPConnection
from itertools import product
from statistics import median
from typing import Final, NamedTuple

import psutil

from benchmarks.hosted.pgbench import FIRST_TENANT, ONE_STATEMENT, Site, copy_list, fill_list, open_site, run_script
from benchmarks.rows import rounds_of
from benchmarks.subjects import TASKS_V1, Bench
from benchmarks.wire import Call
from tests.hosted.service import Issuer, start_issuer
from tests.wire.served import PUBLIC_URL, Served, modern, name_headers, serving

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

_STRIDE: Final = 7
"""Requests between one request of a client and its next, so that all tenants are busy all the time."""

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

Combination = tuple[str, int, str]
"""An operation, the number of tenants, and what carries it."""

Times = tuple[float, Sequence[float]]
"""The seconds of a whole load, and those of each call."""


class Throughput(NamedTuple):
    """A load: calls per second, seconds in which 95 of 100 are answered, and the cores in use."""

    calls: float
    p95: float
    replicas: float
    """Processor seconds of the replicas in each second."""
    database: float
    """The same of PostgreSQL."""


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of ``values`` does not exceed."""
    return sorted(values)[max(round(len(values) * share) - 1, 0)]


def check(status: int, answer: bytes) -> None:
    """Raise ``RuntimeError`` if a call failed, so that its time says nothing."""
    if status != 200 or b'"isError":true' in answer:
        raise RuntimeError(f"{status}: {answer[:500].decode(errors='replace')}")


def measure_load(bench: Bench) -> dict[Combination, Throughput]:
    """Return the medians of every combination, all measured in turn on one server."""
    seconds, tasks = bench.pick(4.0, 0.1), bench.pick(TASKS, 50)
    with open_site() as site, start_issuer() as issuer, ExitStack() as stack:
        users = [str(number) for number in range(1, max(TENANTS) + 1)]
        fill_list(site, issuer.tenant(users[0]), tasks)
        names = [str(FIRST_TENANT + number) for number in range(max(TENANTS))]
        copy_list(site, issuer.tenant(users[0]), [*map(issuer.tenant, users[1:]), *names])
        settings = {**_SETTINGS, "TASK_STORE": site.url, "TASK_AUTH_ISSUER": issuer.url}
        command = TASKS_V1.record.module_command
        replicas = [stack.enter_context(serving(command, settings)) for _ in range(max(REPLICAS))]
        works: dict[Combination, Callable[[], Throughput]] = {}
        for operation, tenants in product(OPERATIONS, TENANTS):
            pgbench = partial(run_script, site, clients=CLIENTS, seconds=seconds, tenants=tenants, tasks=tasks)
            works[operation, tenants, SAME] = partial(_observe, site, replicas, partial(pgbench, operation))
            if operation == "create":
                works[operation, tenants, SINGLE] = partial(_observe, site, replicas, partial(pgbench, ONE_STATEMENT))
            for number, label in REPLICAS.items():
                load = partial(_send, operation, replicas[:number], issuer, users[:tenants], seconds)
                works[operation, tenants, label] = partial(_observe, site, replicas, load)
        found = rounds_of(works, bench.pick(5, 1), seconds=bench.pick(1200, 60), warm_up=bench.pick(1, 0))
    return {key: Throughput(*map(median, zip(*rounds, strict=True))) for key, rounds in found.items()}


def _send(operation: str, replicas: Sequence[Served], issuer: Issuer, users: Sequence[str], seconds: float) -> Times:
    """Let each of the clients keep one connection for some seconds, and send one request after the other."""
    messages = [modern(call.tool, json.dumps({**call.arguments})) for call in OPERATIONS[operation]]
    requests = [(f"Bearer {issuer.token(user)}", body) for body, _ in messages for user in users]
    headers = name_headers(messages[0][1])
    began = time.perf_counter()

    def work(client: int) -> list[float]:
        connection = HTTPConnection(replicas[client % len(replicas)].address, timeout=60)
        found: list[float] = []
        while (started := time.perf_counter()) < began + seconds or not found:
            token, body = requests[(client + _STRIDE * len(found)) % len(requests)]
            connection.request("POST", "/mcp", body, {**headers, "Authorization": token})
            response = connection.getresponse()
            answer = response.read()
            found.append(time.perf_counter() - started)
            check(response.status, answer)
        return found

    with ThreadPoolExecutor(CLIENTS) as pool:
        found = [one for each in pool.map(work, range(CLIENTS)) for one in each]
    return time.perf_counter() - began, found


def _observe(site: Site, replicas: Sequence[Served], work: Callable[[], Times]) -> Throughput:
    """Return the outcome of ``work``, and the cores that were busy meanwhile."""
    groups = [[replica.process.pid for replica in replicas], [site.server.pid]]
    before = [sum(map(_processor_seconds, pids)) for pids in groups]
    seconds, times = work()
    used = [sum(map(_processor_seconds, pids)) - start for pids, start in zip(groups, before, strict=True)]
    return Throughput(len(times) / seconds, percentile(times, 0.95), *(each / seconds for each in used))


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of those that it has started, ended ones too."""
    root = psutil.Process(pid)
    times = [process.cpu_times() for process in [root, *root.children(recursive=True)]]
    return sum(each.user + each.system for each in times) + times[0].children_user + times[0].children_system

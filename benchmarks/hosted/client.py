"""The load: a process whose threads each keep one connection, and send one request after the other.

``python -m benchmarks.hosted.client`` reads a ``Job`` from its input, as JSON, and writes the ``Outcome``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection
from typing import Final, NamedTuple

__all__ = ["Job", "Outcome", "check", "percentile", "run"]

_STRIDE: Final = 7
"""Requests between one request of a client and its next, so that all tenants are busy all the time."""


class Job(NamedTuple):
    """Requests in turn, for some seconds, by so many clients, each to one of the addresses."""

    seconds: float
    clients: int
    addresses: Sequence[str]
    path: str
    headers: Mapping[str, str]
    """The headers of every request."""
    requests: Sequence[tuple[str, str]]
    """The token and the body of each request."""


class Outcome(NamedTuple):
    """The result of a job."""

    calls: int
    seconds: float
    p95: float
    """Seconds in which 95 of 100 calls were answered."""
    cpu: float
    """Processor seconds of the clients themselves."""


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of ``values`` does not exceed."""
    return sorted(values)[max(round(len(values) * share) - 1, 0)]


def check(status: int, answer: bytes) -> bytes:
    """Return the answer of a call, or raise ``RuntimeError`` if the call failed, so that its time says nothing."""
    if status != 200 or b'"isError":true' in answer:
        raise RuntimeError(f"{status}: {answer[:500].decode(errors='replace')}")
    return answer


def run(job: Job) -> Outcome:
    """Carry out a job in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.hosted.client"]
    done = subprocess.run(command, input=json.dumps(job), stdout=subprocess.PIPE, text=True, check=True)
    return Outcome(*json.loads(done.stdout))


def _call(connection: HTTPConnection, job: Job, number: int) -> float:
    token, body = job.requests[number % len(job.requests)]
    started = time.perf_counter()
    connection.request("POST", job.path, body, {**job.headers, "Authorization": f"Bearer {token}"})
    response = connection.getresponse()
    answer = response.read()
    seconds = time.perf_counter() - started
    check(response.status, answer)
    return seconds


def _work(job: Job, client: int) -> list[float]:
    """Return the seconds of each call of one client."""
    connection = HTTPConnection(job.addresses[client % len(job.addresses)], timeout=60)
    found: list[float] = []
    end = time.perf_counter() + job.seconds
    while time.perf_counter() < end:
        found.append(_call(connection, job, client + _STRIDE * len(found)))
    return found


def _main() -> None:
    job = Job(*json.load(sys.stdin))
    before, began = time.process_time(), time.perf_counter()
    with ThreadPoolExecutor(job.clients) as pool:
        found = [one for each in pool.map(partial(_work, job), range(job.clients)) for one in each]
    seconds, cpu = time.perf_counter() - began, time.process_time() - before
    print(json.dumps(Outcome(len(found), seconds, percentile(found, 0.95), cpu)))


if __name__ == "__main__":
    _main()

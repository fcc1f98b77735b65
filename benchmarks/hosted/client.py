"""The load: a process of its own whose threads each keep one connection, and send one request after the other.

``python -m benchmarks.hosted.client`` reads what to send from its input, as JSON, and writes what came of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from typing import Any, Final

__all__ = ["Job", "Outcome", "check", "percentile", "run"]

PATIENCE: Final = 60.0
"""Seconds to wait for an answer."""

_STRIDE: Final = 7
"""Requests between one request of a client and its next, so that all tenants are busy all the time."""


@dataclass(frozen=True)
class Job:
    """A load: for some seconds, by so many clients, each to one of ``addresses``, requests in turn."""

    seconds: float
    clients: int
    addresses: Sequence[str]
    path: str
    headers: Mapping[str, str]
    """of every request"""
    requests: Sequence[tuple[str, str]]
    """the token and the body of each"""


@dataclass(frozen=True)
class Outcome:
    """The result of a job."""

    calls: int
    seconds: float
    p95: float
    """seconds in which 95 of 100 calls were answered"""
    cpu: float
    """seconds of the processor that the clients themselves took"""


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of ``values`` does not exceed."""
    return sorted(values)[max(round(len(values) * share) - 1, 0)]


def check(status: int, answer: bytes) -> bytes:
    """Return the answer of a call that succeeded.

    Raises:
        RuntimeError: the call failed, so its time says nothing.
    """
    if status != 200 or b'"isError":true' in answer:
        raise RuntimeError(f"{status}: {answer[:500].decode(errors='replace')}")
    return answer


def run(job: Job) -> Outcome:
    """Carry out a job in a process of its own.

    Raises:
        CalledProcessError: a call failed.
    """
    command = [sys.executable, "-m", "benchmarks.hosted.client"]
    done = subprocess.run(command, input=json.dumps(asdict(job)), stdout=subprocess.PIPE, text=True, check=True)
    return Outcome(**json.loads(done.stdout))


def _call(connection: HTTPConnection, job: Job, number: int) -> float:
    token, body = job.requests[number % len(job.requests)]
    started = time.perf_counter()
    connection.request("POST", job.path, body, {**job.headers, "Authorization": f"Bearer {token}"})
    response = connection.getresponse()
    answer = response.read()
    seconds = time.perf_counter() - started
    check(response.status, answer)
    return seconds


def _work(job: Job) -> Outcome:
    found: list[float] = []
    failures: list[Exception] = []
    start = threading.Event()

    def work(client: int) -> None:
        connection = HTTPConnection(job.addresses[client % len(job.addresses)], timeout=PATIENCE)
        connection.connect()
        start.wait()
        number = client
        try:
            while time.perf_counter() < end and not failures:
                found.append(_call(connection, job, number))
                number += _STRIDE
        except (OSError, RuntimeError) as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(client,)) for client in range(job.clients)]
    for thread in threads:
        thread.start()
    before, began = time.process_time(), time.perf_counter()
    end = began + job.seconds
    start.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    cpu, seconds = time.process_time() - before, time.perf_counter() - began
    return Outcome(len(found), seconds, percentile(found, 0.95), cpu)


def _main() -> None:
    given: dict[str, Any] = json.load(sys.stdin)
    print(json.dumps(asdict(_work(Job(**given)))))


if __name__ == "__main__":
    _main()

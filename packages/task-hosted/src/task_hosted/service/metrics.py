"""Prometheus metrics of a replica, without tenants (HO-7)."""

import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, make_wsgi_app, start_http_server

from task_core.bootstrap import BadSettings
from task_hosted.service.limits import Limits
from task_hosted.service.tool_calls import log_call

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from task_hosted.postgres import Pool

__all__ = ["Metrics"]

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SILENT_SECONDS: Final = 10
"""Seconds after which a connection that sends nothing is closed."""

_LOCAL_HOST: Final = re.compile(r"(127\.0\.0\.1|localhost)(:\d{1,5})?", re.ASCII | re.IGNORECASE)
_TRANSACTIONS: Final = (1, 2, 4, 8, 16, 32, 64)

_POOL: Final = {
    "pool_size": ("tasks_pool_connections", "Connections to the database."),
    "pool_available": ("tasks_pool_idle_connections", "Connections that nobody uses now."),
    "requests_waiting": ("tasks_pool_waiting", "Threads that wait for a connection."),
}
"""Statistics of ``psycopg_pool``, each with its published name and description."""


def _answer_local_names(app: "WSGIApplication") -> "WSGIApplication":
    """Answer under the names of this machine only: a web page could give any other name its address."""

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if _LOCAL_HOST.fullmatch(environ.get("HTTP_HOST", "")):
            return app(environ, start_response)
        start_response("421 Misdirected Request", [("Content-Type", "text/plain")])
        return [b"Address this server as 127.0.0.1 or localhost.\n"]

    return answer


class Metrics:
    """Counts calls and store operations; both happen in many threads."""

    def __init__(self, port: int, limits: Limits, pool: "Pool | None") -> None:
        """``limits`` counts current requests, and ``pool`` connections."""
        self._port = port
        self.registry = CollectorRegistry()
        """All published metrics."""
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry, buckets=_SECONDS)
        self._calls = counter("tasks_calls", "Calls of tools, by their outcome.", ["tool", "code"])
        self._call_seconds = histogram("tasks_call_seconds", "Seconds of a call.", ["tool"])
        shared = "Changes that shared a commit."
        retried = "Changes that went on after a lost connection or a conflict."
        self._store: dict[str, Callable[[float], None]] = {
            "wait": histogram("tasks_list_wait_seconds", "Seconds that a change waited for its list.").observe,
            "commit": histogram("tasks_commit_seconds", "Seconds of a commit.").observe,
            "transactions": histogram("tasks_commit_transactions", shared, buckets=_TRANSACTIONS).observe,
            "retry": counter("tasks_retries", retried).inc,
            "unknown": counter("tasks_unknown_outcomes", "Commits whose connection was lost.").inc,
        }
        gauge("tasks_calls_in_flight", "Requests under way.").set_function(lambda: limits.calls)
        gauge("tasks_listeners", "Open streams of notifications.").set_function(lambda: limits.streams)
        for key, named in _POOL.items() if pool else ():
            gauge(*named).set_function(lambda key=key: pool.statistics().get(key, 0))

    def publish(self) -> None:
        """Serve ``/metrics`` on the port, for this machine only, from a separate thread.

        It raises ``BadSettings`` if the port cannot be used.
        """
        try:
            server, _ = start_http_server(self._port, "127.0.0.1", self.registry)
        except OSError as error:
            cause = os.strerror(error.errno or 0)
            raise BadSettings(f"TASK_METRICS_PORT {self._port} cannot be used: {cause}") from None
        server.RequestHandlerClass.timeout = _SILENT_SECONDS
        server.set_app(_answer_local_names(make_wsgi_app(self.registry)))

    def note_call(self, name: str, outcome: str, seconds: float) -> None:
        """Count and log one call of a tool."""
        self._calls.labels(name, outcome).inc()
        self._call_seconds.labels(name).observe(seconds)
        log_call(name, outcome, seconds)

    def note_store(self, event: str, value: float) -> None:
        """Count what a store did, as ``Database.note`` describes it."""
        self._store[event](value)

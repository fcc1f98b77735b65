"""The figures in ``docs/scale.md``, and what follows from them, from what the last run found (HO-12)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.hosted.findings import Findings
from benchmarks.hosted.load import ONE_STATEMENT, TENANTS, spell_replicas
from benchmarks.hosted.page import table
from benchmarks.hosted.replicas import OPERATIONS
from task_hosted.service.tenants import MAX_TENANTS

__all__ = ["SCALE", "fill_in", "write_figures"]

SCALE: Final = Path(__file__).parents[2] / "docs" / "scale.md"

_BLOCK: Final = re.compile(r"(<!-- from the run: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)

_ONE, _MANY = TENANTS

_SIZES: Final = (1_000, 1_000_000, 100_000_000)
"""Numbers of tasks that the page speaks about."""

_USERS: Final = 10_000
"""Users that the page speaks about, each with a list of tasks."""

_MIX: Final = dict(zip(OPERATIONS, (0.6, 0.2, 0.2), strict=True))
"""Shares of the operations in the calls of a busy user."""

_SECONDS_BETWEEN_CALLS: Final = 60
"""Seconds between two calls of a busy user."""

_BUSY_SECONDS: Final = 8 * 3600
"""Seconds of a day in which a user is busy."""

_DAY: Final = 24 * 3600

_BYTES: Final = ("bytes", "KB", "MB", "GB", "TB")


def fill_in(text: str, findings: Findings) -> str:
    """Return a page with what the run found in every place for it."""
    blocks: dict[str, Callable[[Findings], str]] = {"figures": _figures, "tasks": _tasks, "users": _users}
    return _BLOCK.sub(lambda found: f"{found[1]}\n{blocks[found[2]](findings)}\n\n{found[3]}", text)


def write_figures(findings: Findings, path: Path = SCALE) -> None:
    """Write what the run found into the page at ``path``."""
    path.write_text(fill_in(path.read_text("utf-8"), findings), "utf-8")


def _figures(findings: Findings) -> str:
    rows = [
        (
            name,
            f"{_rate(findings, name, _MANY):,.0f}/s",
            f"{_each(findings, name, 'replicas') * 1_000:.1f} ms",
            f"{_each(findings, name, 'database') * 1_000:.1f} ms",
        )
        for name in OPERATIONS
    ]
    head = ("call", "one replica, many tenants", "processor: replica", "PostgreSQL")
    most, alone = (findings.find("create", tenants, ONE_STATEMENT).median("calls") for tenants in (_MANY, _ONE))
    return (
        f"{table(head, rows)}\n\nOne list takes {_rate(findings, 'create', _ONE):,.0f} creates a second through one "
        f"replica. PostgreSQL alone, with one statement for\neach create, does {most:,.0f} a second for many tenants, "
        f"and {alone:,.0f} for one."
    )


def _tasks(findings: Findings) -> str:
    rate = _rate(findings, "create", _MANY)
    stored = {
        f"bytes in {name}": findings.size(f"a task in {name}") for name in ("a JSON document", "SQLite", "PostgreSQL")
    }
    stored |= {"of that, indexes": findings.size("of that, in indexes")}
    stored |= {"log (WAL) of their creates": findings.size("log (WAL) of a create, one at a time")}
    rows = [[what, *(_spell_bytes(each * count) for count in _SIZES)] for what, each in stored.items()]
    times = ["time to create them through one replica", *(_spell_seconds(count / rate) for count in _SIZES)]
    return table(("tasks", *(f"{count:,}" for count in _SIZES)), [*rows, times])


def _users(findings: Findings) -> str:
    calls = _USERS / _SECONDS_BETWEEN_CALLS
    cores, database = (
        calls * sum(share * _each(findings, name, part) for name, share in _MIX.items())
        for part in ("replicas", "database")
    )
    creates = _MIX["create"] * calls * _BUSY_SECONDS
    log = creates * findings.size("log (WAL) of a create, one at a time")
    looks = [
        _USERS * findings.size(f"processor time of {name} for each second and tenant that listens") / 1e6
        for name in ("a replica", "PostgreSQL")
    ]
    memory = MAX_TENANTS * findings.size("memory of a tenant in a replica") * 2**10
    replicas = math.ceil(cores + looks[0])
    rows = {
        f"calls, each user one in {_SECONDS_BETWEEN_CALLS} s": f"{calls:,.0f}/s",
        "cores for the replicas, cores for PostgreSQL": f"{cores:.2f}, {database:.2f}",
        "the same for the looks of listeners, if all listen": ", ".join(f"{look:.1f}" for look in looks),
        "replicas, of one core each, for both": str(replicas),
        "their connections": f"{replicas * findings.size('connections of a replica under load'):,.0f}",
        f"memory of {MAX_TENANTS:,} tenants in each replica": _spell_bytes(memory),
        "creates and log (WAL) in a day of 8 busy hours": f"{creates:,.0f}, {_spell_bytes(log)}",
    }
    return table((f"{_USERS:,} busy users", "follows"), rows.items())


def _rate(findings: Findings, operation: str, tenants: int) -> float:
    """Return the calls per second through one replica."""
    return findings.find(operation, tenants, spell_replicas(1)).median("calls")


def _each(findings: Findings, operation: str, part: str) -> float:
    """Return the seconds of the processor that each call takes in ``part``."""
    load = findings.find(operation, _MANY, spell_replicas(1))
    return load.median(part) / load.median("calls")


def _spell_bytes(number: float) -> str:
    power = min(int(math.log10(max(number, 1)) / 3), len(_BYTES) - 1)
    value = number / 1_000**power
    return f"{value:,.{0 if value >= 100 else 1}f} {_BYTES[power]}"


def _spell_seconds(seconds: float) -> str:
    for unit, length in (("days", _DAY), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:,.0f} s"

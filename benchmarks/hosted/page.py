"""The page of a run: what replicas carry beside pgbench, which cores that takes, and what one call is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from benchmarks.hosted.findings import Findings
from benchmarks.hosted.load import (
    CLIENTS,
    ONE_STATEMENT,
    REPLICAS,
    SAME_STATEMENTS,
    TASKS,
    TENANTS,
    Load,
    spell_replicas,
)
from benchmarks.hosted.replicas import OPERATIONS

__all__ = ["TARGET", "judge", "render_page", "table"]

TARGET: Final = 0.3
"""The target rate of creates by many tenants through one replica, as a share of pgbench's rate with one statement."""

_TOP: Final = f"""\
# A hosted service under load

Replicas of tasks-v1-mcp in front of one PostgreSQL, with tokens, over kept HTTP connections (HO-11). Replicas, database
and clients share the cores of one machine, so what counts is the ratio to pgbench there, in the same run.

```sh
python3 hatchw run bench:hosted           # rewrite this page, which takes 20 minutes on a quiet machine
python3 hatchw run bench:hosted --quick   # only to see that everything works: the numbers mean little
```

- {CLIENTS} calls are always under way, sent over plain HTTP/1.1 from a process of its own, each to one replica. Each
  tenant has {TASKS:,} tasks. No proxy is in between, and no tenant reaches its limits.
- *{SAME_STATEMENTS}*: a call is recorded on its way to PostgreSQL, and pgbench sends the same statements in the
  same exchanges, with as many clients, on as many lists of the same size. What the engine makes up, it makes up too.
- *{ONE_STATEMENT}*: all that a create writes in a single statement, without row-level security: the most that
  this PostgreSQL can do.
- PostgreSQL has its durable settings (`fsync`, `full_page_writes` and `synchronous_commit` are on) and otherwise its
  defaults, but for `max_wal_size=4GB` and `shared_buffers=1GB`.
- All combinations were measured in turn, in rounds; the values are medians of the rounds. *Others* is what all other
  processes of the machine used meanwhile."""

_LOAD_HEAD: Final = (
    "tenants",
    "carried by",
    "calls/s",
    "of pgbench",
    "p95",
    "times pgbench",
    "cores: replicas",
    "PostgreSQL",
    "clients",
    "others",
    "replica, each call",
)


def render_page(findings: Findings) -> str:
    """Return the page in Markdown."""
    parts = [_TOP, table(("this run", ""), findings.facts.items()), *_load_parts(findings)]
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def _load_parts(findings: Findings) -> Iterator[str]:
    yield f"## Target\n\n{_verdict(findings)}\n\n{_scaling(findings)}"
    yield "![Calls per second and busy cores by the number of replicas](hosted.png)"
    for operation in OPERATIONS:
        yield f"## {operation.capitalize()}"
        yield table(_LOAD_HEAD, _load_rows(findings, operation))


def _verdict(findings: Findings) -> str:
    many = max(TENANTS)
    load = findings.find("create", many, spell_replicas(1))
    calls, used = load.median("calls"), load.median("replicas")
    most = findings.find("create", many, ONE_STATEMENT).median("calls")
    return (
        f"Creates by {many} tenants through one replica: {calls:,.0f} calls/s, {calls / most:.2f} × the {most:,.0f}/s "
        f"of {ONE_STATEMENT}. The replica, one Python process, used {used:.2f} of a core, {used / calls * 1_000:.2f} "
        f"ms a call, so one core carries at most {calls / used:,.0f} calls/s, {calls / used / most:.2f} ×.\n\n"
        f"Target: at least {TARGET} ×, or its processor is the limit: {judge(calls / most, calls / used / most)}."
    )


def judge(ratio: float, most: float) -> str:
    """Return whether the target is met by a replica with this ratio, whose core carries at most that one."""
    if ratio >= TARGET:
        return "met"
    return "met, its processor is the limit" if most < TARGET else "**missed**"


def _scaling(findings: Findings) -> str:
    rows: list[Sequence[str]] = []
    for operation in OPERATIONS:
        loads = [findings.find(operation, max(TENANTS), spell_replicas(number)) for number in REPLICAS]
        rows.append((operation, *(_spell_step(load, loads[0]) for load in loads)))
    head = (f"{max(TENANTS)} tenants", *map(spell_replicas, REPLICAS))
    return f"More replicas carry more until the cores are full:\n\n{table(head, rows)}"


def _spell_step(load: Load, first: Load) -> str:
    busy = sum(map(load.median, ("replicas", "database", "clients", "others")))
    return f"{load.median('calls') / first.median('calls'):.2f} ×, {busy:.2f} cores busy"


def _load_rows(findings: Findings, operation: str) -> Iterator[Sequence[str]]:
    for tenants in TENANTS:
        floor = findings.find(operation, tenants, SAME_STATEMENTS)
        for load in findings.load:
            if (load.operation, load.tenants) == (operation, tenants):
                yield _load_row(load, floor)


def _load_row(load: Load, floor: Load) -> Sequence[str]:
    is_ours = load.by not in {SAME_STATEMENTS, ONE_STATEMENT}
    calls, p95 = load.median("calls"), load.median("p95")
    return (
        str(load.tenants),
        load.by,
        f"{calls:,.0f}",
        f"{calls / floor.median('calls'):.3f}",
        f"{p95 * 1_000:,.1f} ms",
        f"{p95 / floor.median('p95'):.1f}",
        f"{load.median('replicas'):.2f}" if is_ours else "–",
        *(f"{load.median(name):.2f}" for name in ("database", "clients", "others")),
        f"{load.median('replicas') / calls * 1_000:.2f} ms" if is_ours else "–",
    )

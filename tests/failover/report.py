"""The result of a failover as a page of Markdown."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Final

from tests.failover.load import CLIENTS
from tests.failover.observe import Observation, Timing

__all__ = ["report"]

_PAGE: Final = """\
# Failover

`python3 hatchw run failover` runs the [hosted example](../examples/hosted/README.md), lets {clients} clients change the
tasks of one list all the time, and kills, freezes and cuts off one machine after the other. This page was written by
`python3 hatchw run failover --through both --report docs/failover.md`.

Version {version}, {day}, CPython {python} on {system}, on a machine with two cores that was busy with other things too.
Each event lasts {during:.0f} seconds: after that, what was killed is started again, what was frozen goes on, and what
was cut off is connected again.

Of {acknowledged:,} changes that were acknowledged, {present:,} are there once. Of {unknown} whose outcome was
unknown to their clients, {carried_out} were carried out.

![Changes that were acknowledged in each second, around each event](failover.png)

## Over HTTP, through the proxy

The servers wait up to 40 seconds for the database (`TASK_LOCK_TIMEOUT=40`): a call lasts until another node is the
primary.

{http}

## By the engine itself, in the process of the client

It waits for 10 seconds, which is usual: a call during a longer gap fails, and its client makes another one.

{store}

## Checks

- Every client keeps its own record of what it was answered, outside of any database. Every change leaves a word of its
  own in a task, and no other change removes it. At the end of each event, the words are counted in the tables of
  whatever node is the primary then.
- **Lost**: acknowledged, and not there. **Doubled**: there twice. **Denied**: there, although the error said that
  nothing was saved. **Reversed**: it was unknown whether the change was made, so the client looked for it after its
  next change, and saw what was not so in the end.
- **Unknown** are changes without an answer, and those whose error says that it is unknown whether they were saved.
- **Gap** is the longest time in which no change of any client was acknowledged. **Slowest** is the longest time that an
  acknowledged change took. Patroni gives a primary that does not answer up to 20 seconds, which is the least that it
  can be set to; if only PostgreSQL has ended, it acts within 3 seconds. A gap of more than 30 seconds is a fault.
- A frozen machine is one whose processes are all stopped (`SIGSTOP`) and then continue. One that is cut off has a
  network namespace of its own, whose packets are dropped in both directions. The synchronous standby is the one that
  has every commit. An orphan is a primary whose Patroni was killed: it takes writes while another node becomes primary.

## Causes of missing acknowledgements

{reasons}
"""

_HEAD: Final = (
    "event",
    "acknowledged",
    "present once",
    "lost",
    "doubled",
    "denied",
    "reversed",
    "refused",
    "unknown",
    "of them carried out",
    "gap, s",
    "slowest, s",
)


def report(seen: Sequence[Observation]) -> str:
    """Return the page on what was seen."""
    tables = {way: _table(each for each in seen if each.through == way) for way in ("http", "store")}
    return _PAGE.format(
        clients=CLIENTS,
        version=version("mcp-task-core"),
        day=datetime.now(UTC).date(),
        python=platform.python_version(),
        system=platform.system(),
        during=Timing.during,
        acknowledged=sum(each.tally.acknowledged for each in seen),
        present=sum(each.tally.present for each in seen),
        unknown=sum(each.tally.unknown for each in seen),
        carried_out=sum(each.tally.carried_out for each in seen),
        reasons=_reasons(seen),
        **tables,
    )


def _table(seen: Iterable[Observation]) -> str:
    lines = [_HEAD, ("---", *("---:" for _ in _HEAD[1:])), *map(_row, seen)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(seen: Observation) -> tuple[str, ...]:
    tally = seen.tally
    counts = (tally.acknowledged, tally.present)
    faults = (len(words) for words in (tally.lost, tally.doubled, tally.denied, tally.reversed))
    rest = (tally.refused, tally.unknown, tally.carried_out)
    numbers = (
        [f"{number:,}" for number in counts]
        + [f"**{number}**" for number in faults]
        + [f"{number:,}" for number in rest]
    )
    return (seen.name, *numbers, f"{seen.gap:.1f}", f"{seen.slowest:.1f}")


def _reasons(seen: Sequence[Observation]) -> str:
    """Return each reason with how often it was given, over all events."""
    counts: dict[str, int] = {}
    for each in seen:
        for reason, count in each.reasons.items():
            counts[reason] = counts.get(reason, 0) + count
    return "\n".join(f"- {count} × {reason}" for reason, count in sorted(counts.items(), key=lambda item: -item[1]))

"""The result of a storm as a page of Markdown."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from tests.wire.claim_storm import CLAIM_SECONDS
from tests.wire.storm_client import LOCK_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.wire.claim_storm import ClaimResult
    from tests.wire.storm import Result

__all__ = ["claim_table", "report", "report_claims", "write_page"]

_PAGE: Final = """\
# The storm

`python3 hatchw run storm` lets clients work on one store, each through its own servers, and kills these servers at
random moments: with many calls under way, while they start, and while they are stopped. This page was written by
`python3 hatchw run storm --kills {kills} --seed {seed} --report docs/storm.md`.

Version {version}, {day}, CPython {python} on {system}, {seconds:.0f} seconds. Up to {processes} processes work
on one store at a time, and wait {lock:g} seconds for its lock.

| | {names} |
| --- | {rules} |
{rows}

What was checked:

- After each kill the client looks at the store: it reads the JSON document as another program would, or lets the server
  export its database. Every change that was acknowledged is there. A call that was refused because the store was locked
  has changed nothing. A call that had no answer was carried out whole or not at all. In a database that is certain only
  after one more change, so the client makes one first: until then, what a process wrote in SQLite just before it was
  killed may be seen for the first time when all processes have ended that did not see it, and PostgreSQL may still be
  at work on the commit of a client that was killed.
- Each change of a task comes from one client, so what must be there is known exactly: each field, and each
  appended entry once. If one call acts on the tasks of others (in hierarchy-mcp only one leaf is in progress), the
  task found active must be one that can have been started last.
- Some servers are stopped (`SIGSTOP`) for longer than others wait for the lock, then continue (`SIGCONT`), or are
  killed while stopped.
- At the end of each store: ids are unique, a new server lists what the store holds in the same order, and nothing is
  left over beside it. SQLite's `integrity_check` finds nothing, and the totals that PostgreSQL keeps are what counting
  its rows gives. HEARTBEAT.md agrees with the store inside the section
  and is unchanged outside. A `HEARTBEAT.md.bak` may be there: a server that waits for the file in vain changes tasks
  without a receipt, and an entry of such a task may later be taken for an edit by a person, which is kept.
"""


def report(results: Sequence[Result], processes: int, seed: int) -> str:
    """Return the page on ``results``, one column for each server and engine."""
    rows: dict[str, list[str]] = {
        "Servers killed": [f"{result.counts.kills:,}" for result in results],
        "of them before their first answer": [f"{result.counts.early:,}" for result in results],
        "of them spawned, the others forked": [f"{result.counts.spawned:,}" for result in results],
        "Servers stopped longer than the lock wait": [f"{result.counts.pauses:,}" for result in results],
        "Stores": [f"{result.stores:,}" for result in results],
        "Tasks in them at the end": [f"{result.tasks:,}" for result in results],
        "Calls that change something": [f"{result.counts.calls:,}" for result in results],
        "acknowledged": [f"{result.counts.acknowledged:,}" for result in results],
        "refused as locked": [f"{result.counts.locked:,}" for result in results],
        "without an answer, because of a kill": [f"{result.counts.unanswered:,}" for result in results],
        "of them carried out": [f"{result.counts.counted:,}" for result in results],
        "**Acknowledged changes lost**": ["**0**"] * len(results),
        "**Refused changes found, ids given twice, files left over**": ["**0**"] * len(results),
        "Slowest first create after the last kill, seconds": [f"{result.slowest:.2f}" for result in results],
    }
    return _PAGE.format(
        kills=sum(result.counts.kills for result in results),
        seed=seed,
        version=version("mcp-task-core"),
        day=datetime.now(UTC).date(),
        python=platform.python_version(),
        system=platform.system(),
        seconds=sum(result.seconds for result in results),
        processes=processes,
        lock=LOCK_SECONDS,
        names=" | ".join(f"{result.kind}" for result in results),
        rules=" | ".join("---:" for _ in results),
        rows="\n".join(f"| {name} | {' | '.join(values)} |" for name, values in rows.items()),
    )


_CLAIMS: Final = """\
## Claims

`python3 hatchw run storm --claims` lets server processes of tasks-v1-mcp claim tasks, work on them, rob each other, and
end: by a kill (`SIGKILL`) with calls under way or without, or because their input ends. Some are stopped for a while
(`SIGSTOP`), and one of them nearly all the time, for up to a minute. This part of the page was written by
`python3 hatchw run storm --claims --seconds {seconds:g} --seed {seed} --report docs/storm.md`.

Version {version}, {day}, CPython {python} on {system}.

{table}

- *Held twice*: a claim was acknowledged while another process, which was alive, held the task.
- *Lost*: a living process was refused its own claimed task, or was told that its claim had ended.
- *Changed by others*: a process changed a task that another one held.
- *Longest wait*: from the moment when the system reported the end of the process until another process had claimed the
  task. Some of those that are stopped hold the lock of the store meanwhile, for half a second each, and all wait for
  it. In PostgreSQL a claim has no process, only a deadline (here of {deadline:g} seconds), so there it is the time
  after the deadline; *lapsed* claims are those of processes that were stopped for longer than that, whose late changes
  were refused.
- At the end every open task can be claimed, and no file of a session is left.
"""

_HEADING: Final = "## Claims\n"


def claim_table(results: Sequence[ClaimResult]) -> str:
    """Return a table with a row for each engine."""
    names = "Engine | Processes | Seconds | Kills | Ends | Stops | Claims | Refused | Orphans claimed | Lapsed"
    bars = "**Held twice** | **Lost** | **Changed by others** | Longest wait for an orphan, seconds"
    rows = [
        [
            *(it.engine, f"{it.processes}", f"{it.seconds:.0f}"),
            *(f"{number:,}" for number in (it.kills, it.ends, it.stops, it.claims, it.refused, it.orphans, it.lapsed)),
            *(f"**{number}**" for number in (it.doubles, it.losses, it.intrusions)),
            f"{it.longest:.2f}",
        ]
        for it in results
    ]
    return "\n".join([f"| {names} | {bars} |", f"| --- |{' ---: |' * 13}", *(f"| {' | '.join(row)} |" for row in rows)])


def report_claims(results: Sequence[ClaimResult], seconds: float, seed: int) -> str:
    """Return the part of the page on storms of claims."""
    return _CLAIMS.format(
        seconds=seconds,
        seed=seed,
        version=version("mcp-task-core"),
        day=datetime.now(UTC).date(),
        python=platform.python_version(),
        system=platform.system(),
        table=claim_table(results),
        deadline=CLAIM_SECONDS,
    )


def write_page(path: Path, text: str) -> None:
    """Replace one part of the page, the one on claims or the one before it; the other one stays."""
    page, heading, claims = path.read_text("utf-8").partition(_HEADING) if path.exists() else ("", "", "")
    parts = [page, text] if text.startswith(_HEADING) else [text, heading + claims]
    path.write_text("\n".join(part.rstrip("\n") + "\n" for part in parts if part), "utf-8")

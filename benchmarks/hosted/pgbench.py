"""Runs the engine's statements with pgbench, the load generator of PostgreSQL itself.

``scripts.json`` has the statements that a call of each operation sends, in the same exchanges, as they were recorded
on the way to the database. Values that are the same in each call are constants; the tenant, the id of the task and
numbers that rise are made up anew. A test compares the statements with those of the engine.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.hosted.client import Outcome, percentile
from benchmarks.hosted.database import OWNER, Site
from tests.postgres import SERVER_ROLE, packaged_program

__all__ = ["FIRST_TENANT", "ONE_STATEMENT", "SCRIPTS", "run_script"]

FIRST_TENANT: Final = 10**18 + 1
"""The name of the first tenant of pgbench, which makes up only numbers; each further one has the next number."""

ONE_STATEMENT: Final = "one statement"
"""The script that writes all that a create writes in a single statement."""

SCRIPTS: Final[dict[str, dict[str, Any]]] = json.loads(Path(__file__).with_name("scripts.json").read_text("utf-8"))
"""The lines and the constants of each script, by its name."""

_RATE: Final = re.compile(r"tps = ([\d.]+)")


def run_script(site: Site, name: str, *, clients: int, seconds: float, tenants: int, tasks: int) -> Outcome:
    """Let ``clients`` carry out a script again and again, on lists of ``tenants`` with at least ``tasks`` each.

    In less than a second, the clock of pgbench, each client carries it out a few times.

    The clients have the role of a server, which row-level security binds, but for ``ONE_STATEMENT``.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "script.sql").write_text("".join(f"{line}\n" for line in SCRIPTS[name]["script"]), "utf-8")
        # Numbers that rise from run to run, so that no id comes twice.
        moment = time.time_ns() // 1_000
        given = {**SCRIPTS[name]["constants"], "tenants": tenants, "tasks": tasks, "moment": moment}
        command = [
            str(packaged_program("pgbench")),
            "--no-vacuum",
            "--protocol=prepared",
            f"--host={site.server.sockets}",
            f"--username={OWNER if name == ONE_STATEMENT else SERVER_ROLE}",
            f"--client={clients}",
            f"--jobs={min(clients, 2)}",
            f"--time={round(seconds)}" if seconds >= 1 else "--transactions=5",
            f"--file={folder / 'script.sql'}",
            "--log",
            f"--log-prefix={folder / 'log'}",
            *(f"--define={key}={value}" for key, value in given.items()),
            site.database,
        ]
        with (folder / "output").open("w+b") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        text = (folder / "output").read_text("utf-8")
        found = _RATE.search(text)
        if process.returncode or not found:
            raise RuntimeError(f"pgbench failed: {text}")
        times = [int(line.split()[2]) / 1e6 for log in folder.glob("log.*") for line in log.read_text().splitlines()]
    rate = float(found[1])
    return Outcome(len(times), len(times) / rate, percentile(times, 0.95), usage.ru_utime + usage.ru_stime)

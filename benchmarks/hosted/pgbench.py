"""Runs scripts with pgbench, the load generator of PostgreSQL itself."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.hosted.client import Outcome, percentile
from benchmarks.hosted.database import OWNER, Site
from benchmarks.hosted.scripts import Script
from tests.postgres import SERVER_ROLE, packaged_program

__all__ = ["run_script"]

_RATE: Final = re.compile(r"tps = ([\d.]+)")

_THREADS: Final = 2


def run_script(
    site: Site, script: Script, *, clients: int, seconds: float, tenants: int, tasks: int, is_walled: bool = True
) -> Outcome:
    """Let ``clients`` carry out a script again and again, on lists of ``tenants`` with at least ``tasks`` each.

    With ``is_walled`` they have the role of a server, whom row-level security binds; otherwise that of the owner.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "script.sql").write_text(script.text, "utf-8")
        # Numbers that rise from run to run, so that no id comes twice.
        given = {**script.constants, "tenants": tenants, "tasks": tasks, "moment": time.time_ns() // 1_000}
        command = [
            str(packaged_program("pgbench")),
            "--no-vacuum",
            "--protocol=prepared",
            f"--host={site.server.sockets}",
            f"--username={SERVER_ROLE if is_walled else OWNER}",
            f"--client={clients}",
            f"--jobs={min(clients, _THREADS)}",
            f"--time={max(round(seconds), 1)}",
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

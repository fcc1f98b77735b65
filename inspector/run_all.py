"""Run the conformance scripts of all servers, or of those that are named: ``run_all.py heartbeat tasks_v1``.

Prints one table of all cases and returns a non-zero exit code when a case fails.
"""

from __future__ import annotations

import sys
from typing import Final

import heartbeat
import hierarchy
import tasks_v1
from report import run

__all__ = ["main"]

SCRIPTS: Final = {"heartbeat": heartbeat.PARTS, "hierarchy": hierarchy.PARTS, "tasks_v1": tasks_v1.PARTS}


def main(names: list[str]) -> int:
    """Run the scripts side by side and return the exit code."""
    if unknown := [name for name in names if name not in SCRIPTS]:
        sys.exit(f"There is no conformance script {', '.join(unknown)}; there are {', '.join(SCRIPTS)}.")
    return run([part for name in names or SCRIPTS for part in SCRIPTS[name]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
